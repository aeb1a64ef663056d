# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of the embedded switch for Prometheus."""

from __future__ import annotations

from lanesum_fabric.metrics.families import SWITCH, Samples
from lanesum_switch.dataplane import EmbeddedSwitch


def switch_samples(switch: EmbeddedSwitch) -> Samples:
    """Return the samples of a switch; a program that is loaded resets them, as a restart does."""
    samples, counts = Samples(SWITCH), switch.counts
    for port, packets in counts.by_port_in.items():
        samples.add("lanesum_softswitch_received_packets_total", packets, port)
    for port, packets in counts.by_port_out.items():
        samples.add("lanesum_softswitch_sent_packets_total", packets, port)
    samples.add("lanesum_softswitch_dropped_packets_total", counts.dropped)
    samples.add("lanesum_softswitch_parser_errors_total", counts.parser_errors)
    samples.add("lanesum_softswitch_program_errors_total", counts.program_errors)
    return samples

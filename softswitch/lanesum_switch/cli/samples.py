# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of the embedded switch for Prometheus."""

from __future__ import annotations

from lanesum_fabric.metrics.families import SWITCH, Samples
from lanesum_fabric.program.capabilities import ABSORBING, SLOT, last_name
from lanesum_switch.api import ActionCall
from lanesum_switch.dataplane import EmbeddedSwitch


def switch_samples(switch: EmbeddedSwitch) -> Samples:
    """Return the samples of a switch; a program that is loaded resets them, as a restart does."""
    absorbed = _absorbed(switch)  # before the counts, which include it
    samples, counts = Samples(SWITCH), switch.counts
    for port, packets in counts.by_port_in.items():
        samples.add("lanesum_softswitch_received_packets_total", packets, port)
    for port, packets in counts.by_port_out.items():
        samples.add("lanesum_softswitch_sent_packets_total", packets, port)
    samples.add("lanesum_softswitch_dropped_packets_total", max(0, counts.dropped - absorbed))
    samples.add("lanesum_softswitch_absorbed_packets_total", absorbed)
    samples.add("lanesum_softswitch_parser_errors_total", counts.parser_errors)
    samples.add("lanesum_softswitch_program_errors_total", counts.program_errors)
    return samples


def _absorbed(switch: EmbeddedSwitch) -> int:
    """Return the number of contributions that slots absorbed; 0 for programs without slots."""
    entries = switch.tables[SLOT].entries() if SLOT in switch.tables else []
    return sum(
        entry.counter.packets
        for entry in entries
        if entry.counter is not None
        and isinstance(entry.target, ActionCall)
        and last_name(entry.target.action) in ABSORBING
    )

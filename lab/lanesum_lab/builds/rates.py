# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet rates of a port and bytes of recirculation, from packet sizes."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES
from lanesum_fabric.tofino.chips import PORT_BITS_PER_SECOND
from lanesum_fabric.tofino.profiles import TofinoProfile

# Bytes of preamble, gap and frame check per frame.
WIRE_OVERHEAD = 24
# Headers bridge and passes of p4src/tofino/types.p4, in front of recirculated packets.
RECIRCULATION_HEADER_BYTES = 26
# Workers of the jobs in the table of recirculations.
WORKERS = 8


@dataclass(frozen=True, slots=True)
class PortRates:
    """Maximum rates of a 100G port for one operation in one profile.

    A port carries one contribution in and one result out per packet, so the longer of the two decides.
    """

    operation: LaneOp
    values_per_packet: int
    contribution_bytes: int
    result_bytes: int

    @property
    def packets_per_second(self) -> float:
        return self.packets_at(PORT_BITS_PER_SECOND)

    def packets_at(self, bits_per_second: float) -> float:
        """Return the packets per second of a port with another rate."""
        longer = max(self.contribution_bytes, self.result_bytes) + WIRE_OVERHEAD
        return bits_per_second / (8 * longer)

    @property
    def values_per_second(self) -> float:
        return self.packets_per_second * self.values_per_packet


def rates(built: TofinoProfile, operation: LaneOp) -> PortRates:
    """Return the frame sizes of ``operation`` in ``built``."""
    accumulator = built.accumulator_words
    shape = operation.shape
    uplink = shape.uplink_words(accumulator)
    return PortRates(
        operation,
        accumulator * shape.lanes_per_accumulator_word,
        FRAME_OVERHEAD_BYTES + 4 * uplink,
        FRAME_OVERHEAD_BYTES + 4 * accumulator,
    )


def recirculated_bytes(built: TofinoProfile, operation: LaneOp) -> tuple[int, int]:
    """Return the recirculated wire bytes of every contribution, and the additional ones of the packet with the sum.

    A packet loses one block of its words in every pass, and then gains one block of the sum in every further pass.
    """
    if built.passes == 1:
        return 0, 0
    found = rates(built, operation)
    empty = FRAME_OVERHEAD_BYTES + WIRE_OVERHEAD + RECIRCULATION_HEADER_BYTES
    block = (found.contribution_bytes - FRAME_OVERHEAD_BYTES) // built.passes
    sum_block = (found.result_bytes - FRAME_OVERHEAD_BYTES) // built.passes
    contribution = sum(empty + left * block for left in range(1, built.passes))
    harvest = sum(empty + read * sum_block for read in range(built.passes))
    return contribution, harvest


def recirculated_rate(built: TofinoProfile, operation: LaneOp) -> float:
    """Return the values per second of a job of ``WORKERS`` with ``PORT_BITS_PER_SECOND`` of recirculation bandwidth."""
    contribution, harvest = recirculated_bytes(built, operation)
    per_sum = WORKERS * contribution + harvest
    return PORT_BITS_PER_SECOND / 8 / per_sum * rates(built, operation).values_per_packet

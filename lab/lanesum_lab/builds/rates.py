# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet rates of a port, bytes of recirculation and bytes of a value on the wire, from packet sizes.

The speed-up over gloo follows from the bytes where links are the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import (
    BUILT_ACCUMULATOR_WORDS,
    ETHERNET_BYTES,
    ETHERNET_MTU,
    FRAME_OVERHEAD_BYTES,
    FULL_ACCUMULATOR_WORDS,
    IPV4_BYTES,
    WORD_BYTES,
)
from lanesum.transport.path_check import JUMBO_MTU, largest_words
from lanesum_fabric.tofino.chips import PORT_BITS_PER_SECOND, PROFILES, TofinoProfile
from lanesum_lab.markdown import markdown_table

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


#: Data in a segment of gloo's TCP, which has 20 bytes of header and 12 of time stamps.
TCP_PAYLOAD_BYTES = ETHERNET_MTU - IPV4_BYTES - 32
_FLOAT_BYTES = 4
_WORKERS = (2, 4)


@dataclass(frozen=True, slots=True)
class WireBytes:
    """Bytes of one worker's link for each value, with all headers, preamble, gap and frame check.

    Attributes:
        up: bytes of the contributions.
        down: bytes of the results, which a switch multicasts or a server sends to each worker.
    """

    up: float
    down: float

    @classmethod
    def of(cls, operation: LaneOp, words: int) -> WireBytes:
        """Return the bytes of full packets with ``words`` accumulator words."""
        values = words * operation.shape.lanes_per_accumulator_word
        overhead = FRAME_OVERHEAD_BYTES + WIRE_OVERHEAD
        uplink = operation.shape.uplink_words(words)
        return cls((overhead + WORD_BYTES * uplink) / values, (overhead + WORD_BYTES * words) / values)

    def speed_up(self, workers: int) -> float:
        """Return the time of gloo's ring over that of lanesum, where the busier direction of links is the limit."""
        return gloo_bytes(workers) / max(self.up, self.down)


def gloo_bytes(workers: int, wire_overhead: int = WIRE_OVERHEAD) -> float:
    """Return the bytes of a value in each direction of a worker's link, by a ring of float32 over TCP."""
    wire = ETHERNET_MTU + ETHERNET_BYTES + wire_overhead
    return 2 * (workers - 1) / workers * _FLOAT_BYTES * wire / TCP_PAYLOAD_BYTES


def packet_sizes() -> Iterator[tuple[str, int]]:
    """Yield every profile of a switch, and paths without one, with their accumulator words."""
    for words in BUILT_ACCUMULATOR_WORDS:
        yield f"BMv2, embedded switch: {words}", words
    for profile in PROFILES:
        passes = "one pass" if profile.passes == 1 else f"{profile.passes} passes"
        yield f"`{profile.name}`: {passes}", profile.accumulator_words
    yield f"no switch, {ETHERNET_MTU:,} bytes", FULL_ACCUMULATOR_WORDS
    yield f"no switch, {JUMBO_MTU:,} bytes", largest_words(JUMBO_MTU)


def wire_table() -> str:
    """Return the table of docs/packets.md."""
    head = ["path", "words"]
    for codec in ("`thc`", "`fixed`"):
        head += [f"{codec}: up", "down", *(f"{workers} workers" for workers in _WORKERS)]
    rows = []
    for path, words in packet_sizes():
        row = [path, f"{words:,}"]
        for operation in (LaneOp.EXPAND8, LaneOp.ADD32):
            found = WireBytes.of(operation, words)
            row += [f"{found.up:.3f}", f"{found.down:.3f}"]
            row += [f"{found.speed_up(workers):.2f}" for workers in _WORKERS]
        rows.append(row)
    return markdown_table(head, rows)

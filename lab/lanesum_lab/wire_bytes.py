# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a value on the wire by packet size, and the speed-up over gloo that follows where links are the limit."""

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
from lanesum_fabric.tofino.profiles import PROFILES
from lanesum_lab.builds.rates import WIRE_OVERHEAD
from lanesum_lab.markdown import markdown_table

# A segment of gloo's TCP has 20 bytes of header and 12 of time stamps.
_TCP_BYTES = 32
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


def gloo_bytes(workers: int) -> float:
    """Return the bytes of a value in each direction of a worker's link, by a ring of float32 over TCP."""
    payload = ETHERNET_MTU - IPV4_BYTES - _TCP_BYTES
    wire = ETHERNET_MTU + ETHERNET_BYTES + WIRE_OVERHEAD
    return 2 * (workers - 1) / workers * _FLOAT_BYTES * wire / payload


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

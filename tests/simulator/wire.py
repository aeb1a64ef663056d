# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Independent parser of the header, so that an error of the library's parser is found."""

from __future__ import annotations

import struct
from typing import NamedTuple

CONTRIBUTION, RESULT, PENDING, CONFLICT = 1, 2, 3, 4
VERSION = 2
RETRANSMISSION, COLLISION, ECN, OVERFLOW, PARTIAL, UPPER, BYPASS, GONE = 1, 2, 4, 8, 16, 32, 64, 128
EPOCHS = 1 << 32
_LAYOUT = struct.Struct(">BBHIIIHBBIIBBH")
HEADER_BYTES = _LAYOUT.size


class Seen(NamedTuple):
    """A header in the order of docs/protocol.md; fields that share a byte are not split."""

    version_kind: int
    flags: int
    job: int
    tag: int
    epoch: int
    chunk: int
    shadow_slot: int
    op: int
    spare: int
    workers: int
    racks: int
    fan_in_workers: int
    fan_in_racks: int
    words: int

    @property
    def kind(self) -> int:
        return self.version_kind & 0xF

    @property
    def aggregate(self) -> bool:
        """True for a contribution that a switch has summed."""
        return self.version_kind == VERSION << 4 | CONTRIBUTION and bool(self.flags & UPPER)

    def pack(self) -> bytes:
        return _LAYOUT.pack(*self)

    def __str__(self) -> str:
        """Return the fields that matter in an error message."""
        name = _NAMES.get(self.version_kind, f"packet {self.version_kind:#x}")
        flags = "+".join(name for flag, name in _FLAGS.items() if self.flags & flag) or "none"
        return (
            f"{name} (job {self.job}, tag {self.tag:#x}, epoch {self.epoch}, chunk {self.chunk}, slot "
            f"{self.shadow_slot & 0x7FFF}, shadow set {self.shadow_slot >> 15}, op {self.op}, flags {flags}, "
            f"workers {self.workers:#x} of {self.fan_in_workers}, racks {self.racks:#x} of {self.fan_in_racks}, "
            f"{self.words} words)"
        )


def read(datagram: bytes) -> Seen:
    """Parse the header of ``datagram``, which must be long enough."""
    return Seen._make(_LAYOUT.unpack_from(datagram))


def version_kind(kind: int, version: int = VERSION) -> int:
    return version << 4 | kind


_NAMES = {
    version_kind(CONTRIBUTION): "contribution",
    version_kind(RESULT): "result",
    version_kind(PENDING): "pending answer",
    version_kind(CONFLICT): "conflict",
}
_FLAGS = {
    RETRANSMISSION: "retransmission", COLLISION: "collision", ECN: "ecn", PARTIAL: "partial", UPPER: "upper",
    BYPASS: "bypass", GONE: "gone", OVERFLOW: "overflow",
}  # fmt: skip


def shadow_slot(position: int, slots: int) -> int:
    """Return the two bytes with slot and shadow set of ``position``."""
    return (position // slots % 2) << 15 | position % slots


def flipped(data: bytes, bit: int) -> bytes:
    """Return bytes with another bit."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)

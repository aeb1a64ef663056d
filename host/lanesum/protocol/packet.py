# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packing and unpacking of packets: single ones (``Header``, ``Packet``) and whole rounds (``ChunkBatch``).

All numbers are in network byte order. A single header is packed by shifts, a whole round by one NumPy structured array;
scapy would take hundreds of microseconds per packet.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import (
    HEADER,
    HEADER_BITS,
    HEADER_BYTES,
    MAX_SLOTS,
    VERSION,
    WORD_BYTES,
    Kind,
)


class PacketError(LanesumError):
    """Bytes are not a packet of this protocol version, or a value does not fit its field."""


def _containers() -> Iterator[tuple[str, int]]:
    """Yield runs of header fields that share one byte-aligned integer: their joined names, and its bits."""
    names: list[str] = []
    bits = 0
    for field in HEADER:
        names.append(field.name)
        bits += field.bits
        if bits in (8, 16, 32):
            yield "_".join(names), bits
            names, bits = [], 0
    assert not names, "header fields do not fill whole 8, 16 or 32-bit containers"


# The header as one NumPy record: "version_kind", "flags", "job", ...
HEADER_DTYPE = np.dtype([(name, f">u{bits // 8}") for name, bits in _containers()])
assert HEADER_DTYPE.itemsize == HEADER_BYTES

# A single header is one integer of HEADER_BITS bits. Shifting it is faster than ``struct`` and joining the fields.
_WIDTHS = tuple((field.name, field.bits) for field in HEADER)
_FIELDS_OF = operator.attrgetter(*(field.name for field in HEADER))
_SHIFTS = tuple(
    (HEADER_BITS - end, (1 << field.bits) - 1)
    for field, end in zip(HEADER, itertools.accumulate(field.bits for field in HEADER), strict=True)
)


@dataclass(slots=True)
class Header:
    """The lanesum header as plain integers; ``lanesum.protocol.spec.HEADER`` has the meaning of each."""

    version: int = VERSION
    kind: int = Kind.CONTRIBUTION
    flags: int = 0
    job: int = 0
    tag: int = 0
    epoch: int = 0
    chunk: int = 0
    shadow: int = 0
    slot: int = 0
    op: int = LaneOp.ADD32
    spare: int = 0
    workers: int = 0
    racks: int = 0
    fan_in_workers: int = 0
    fan_in_racks: int = 0
    words: int = 0

    def pack(self) -> bytes:
        """Return the 32 bytes of the header. Raises PacketError if a value does not fit its field."""
        number = 0
        for part, (name, width) in zip(_FIELDS_OF(self), _WIDTHS, strict=True):
            if part >> width:  # also true for negative values
                raise PacketError(f"Header field {name} = {part} does not fit {width} bits.")
            number = number << width | part
        return number.to_bytes(HEADER_BYTES, "big")

    @classmethod
    def unpack(cls, data: bytes | memoryview) -> Header:
        """Read the header at the start of ``data``. Raises PacketError if it is shorter than a header."""
        if len(data) < HEADER_BYTES:
            raise PacketError(f"Packet of {len(data)} bytes is shorter than the {HEADER_BYTES}-byte header.")
        number = int.from_bytes(data[:HEADER_BYTES], "big")
        return cls(*[number >> shift & mask for shift, mask in _SHIFTS])


assert [f.name for f in fields(Header)] == [f.name for f in HEADER]


@dataclass(slots=True)
class Packet:
    """A header with its payload of ``header.words`` words: shape ``(words,)``, dtype uint32, native byte order."""

    header: Header
    payload: NDArray[np.uint32]

    def pack(self) -> bytes:
        """Return header and payload as a UDP payload; set ``header.words`` from the payload."""
        self.header.words = len(self.payload)
        return self.header.pack() + self.payload.astype(">u4").tobytes()

    @classmethod
    def unpack(cls, data: bytes | memoryview) -> Packet:
        """Read a UDP payload. Raises PacketError for another version, or a length that differs from the header."""
        header = Header.unpack(data)
        if header.version != VERSION:
            raise PacketError(f"Packet of protocol version {header.version}; this host uses version {VERSION}.")
        expected = HEADER_BYTES + header.words * WORD_BYTES
        if len(data) != expected:
            raise PacketError(
                f"Packet of {len(data)} bytes, but its header announces {header.words} words ({expected} bytes)."
            )
        return cls(header, np.frombuffer(data, ">u4", header.words, HEADER_BYTES).astype(np.uint32))


_SLOT_AT = sum(field.bits for field in HEADER[: [field.name for field in HEADER].index("shadow")]) // 8


def server_of(datagram: bytes | memoryview, servers: int) -> int:
    """Return the index of the server, out of ``servers``, that has the slot of a contribution."""
    return (datagram[_SLOT_AT] << 8 | datagram[_SLOT_AT + 1]) % MAX_SLOTS % servers


@functools.cache
def _record(uplink_words: int) -> np.dtype[np.void]:
    """Return one packet as a NumPy record. It is cached: creating a dtype takes longer than filling a small round."""
    return np.dtype([("header", HEADER_DTYPE), ("payload", ">u4", (uplink_words,))])


class ChunkBatch:
    """All contributions of one round in one buffer.

    ``words`` of shape ``(chunks, uplink_words)`` become packets ``0 .. chunks - 1``; ``packet(i)`` is a view without
    a copy. Slots and shadow sets follow from ``position`` (docs/protocol.md, "Slots and positions"). ``spare`` replaces
    that of the header. If ``full`` is given, the packets that it does not name have a header alone.
    """

    def __init__(
        self,
        header: Header,
        words: NDArray[np.uint32],
        *,
        position: int,
        slots: int,
        spare: NDArray[np.uint8] | None = None,
        full: NDArray[np.int64] | None = None,
    ) -> None:
        chunks, uplink_words = words.shape
        record = _record(uplink_words)
        self._records = np.empty(chunks, record)
        header.words = uplink_words
        template = np.frombuffer(header.pack(), HEADER_DTYPE)
        self._records["header"] = template[0]
        positions = position + np.arange(chunks, dtype=np.int64)
        self._records["header"]["chunk"] = np.arange(chunks, dtype=np.uint32)
        if spare is not None:
            self._records["header"]["spare"] = spare
        self._records["header"]["shadow_slot"] = ((positions // slots % 2) << 15) | (positions % slots)
        self._records["payload"] = words
        self._sizes = np.full(chunks, record.itemsize if full is None else HEADER_BYTES)
        if full is not None:
            self._sizes[full] = record.itemsize
            self._records["header"]["words"] = (self._sizes - HEADER_BYTES) // WORD_BYTES
        self._view = self._records.view(np.uint8).data

    def __len__(self) -> int:
        return len(self._records)

    def packet(self, chunk: int) -> memoryview:
        """Return the UDP payload of one chunk."""
        begin = chunk * self._records.itemsize
        return self._view[begin : begin + self._sizes[chunk]]

    def set_flags(self, chunk: int, flags: int) -> None:
        """Set the flags of one packet to exactly ``flags``."""
        self._records["header"]["flags"][chunk] = flags

    def last(self, chunks: int) -> ChunkBatch:
        """Return the last ``chunks`` packets as a batch of their own, numbered from 0; the others may be freed."""
        kept = object.__new__(ChunkBatch)
        last = slice(len(self) - chunks, None)
        kept._records = self._records[last].copy()
        kept._view = kept._records.view(np.uint8).data
        kept._sizes = self._sizes[last]
        return kept

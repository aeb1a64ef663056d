# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Single fields of serialized protobuf messages.

Where protobuf has no compiled parser, it takes most of the time of a read of counters, because it makes an object of
each message in the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

#: Wire type of strings and messages.
BYTES = 2
_VARINT = 0
_FIXED = {1: 8, 5: 4}  # length in bytes by wire type
_MAX_BITS = 64


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field that is a varint or has a length; skip the others. Raises ValueError."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ValueError("no field has number 0")
        if kind == _VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == BYTES:
            length, at = varint(data, at)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise ValueError(f"field {number} has wire type {kind}")
        end = at + length
        if end > len(data):
            raise ValueError(f"field {number} ends {end - len(data)} bytes after its message")
        if kind == BYTES:
            yield number, data[at:end]
        at = end


def integer(data: bytes, *path: int) -> int:
    """Return the integer field at the end of ``path``, the field numbers of nested messages; 0 if one is missing.

    Raises ValueError.
    """
    *outer, last = path
    for number in outer:
        data = next((value for field, value in fields(data) if field == number and isinstance(value, bytes)), b"")
    return next((value for field, value in fields(data) if field == last and isinstance(value, int)), 0)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the varint at a position, and the position after it. Raises ValueError."""
    value = 0
    for shift in range(0, _MAX_BITS, 7):
        if at >= len(data):
            raise ValueError("a number is not complete")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"a number has more than {_MAX_BITS} bits")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The obsolete envelope of a device config, ``p4.tmp.P4DeviceConfig``.

simple_switch_grpc still accepts it, and the controllers of p4lang's tutorials still send it.
"""

from __future__ import annotations

_DATA_FIELD = 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def unwrap_device_config(config: bytes) -> bytes:
    """Return the program inside the envelope, or the bytes themselves without an envelope.

    JSON never parses as one: its ``{`` would open a group, a wire type that proto3 does not have.
    """
    try:
        fields = list(_fields(config))
    except ValueError:
        return config
    return next((data for number, data in reversed(fields) if number == _DATA_FIELD), b"")


def _fields(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire_type = tag & 7
        if tag >> 3 == 0:
            raise ValueError("field number 0")
        if wire_type == _VARINT:
            _, at = _varint(data, at)
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        elif wire_type in (_FIXED64, _FIXED32):
            size = 8 if wire_type == _FIXED64 else 4
        else:
            raise ValueError("unknown wire type")
        if at + size > len(data):
            raise ValueError("truncated")
        if wire_type == _BYTES:
            found.append((tag >> 3, data[at : at + size]))
        at += size
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("bad varint")

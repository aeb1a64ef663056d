# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The obsolete envelope of a device config, ``p4.tmp.P4DeviceConfig``.

simple_switch_grpc still accepts it, and the controllers of p4lang's tutorials still send it.
"""

from __future__ import annotations

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

_DATA_FIELD = 3
_BYTES = 2
_WIRE_TYPES = (0, 1, _BYTES, 5)  # without groups


def unwrap_device_config(config: bytes) -> bytes:
    """Return the program inside the envelope, or the bytes themselves without an envelope.

    JSON is none: its ``{`` would open a group, a wire type that proto3 does not have.
    """
    try:
        fields = list(UnknownFieldSet(Empty.FromString(config)))
    except DecodeError:
        return config
    if any(field.wire_type not in _WIRE_TYPES for field in fields):
        return config
    found = [field.data for field in fields if (field.field_number, field.wire_type) == (_DATA_FIELD, _BYTES)]
    return bytes(found[-1]) if found else b""

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fields and values of BF Runtime messages."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from lanesum_control.bfruntime.description import Field
from lanesum_switch.p4runtime.status import invalid


def fields_by_id(fields: Iterable[Any], known: Container[int], owner: str) -> dict[int, Any]:
    """Return fields by id. Raises StatusError for one that ``owner`` lacks, or that comes twice."""
    found: dict[int, Any] = {}
    for one in fields:
        if one.field_id not in known:
            raise invalid(f"{owner} has no field {one.field_id}")
        if one.field_id in found:
            raise invalid(f"Field {one.field_id} of {owner} is there twice")
        found[one.field_id] = one
    return found


def decode(data: bytes, field: Field) -> int:
    """Return a value. Raises StatusError unless it has all bytes of the field, and no bits beyond."""
    value = int.from_bytes(data, "big")
    if len(data) != field.size or value.bit_length() > field.bits:
        raise invalid(f"Field {field.name} has {field.bits} bits in {field.size} bytes, not 0x{data[:32].hex()}")
    return value

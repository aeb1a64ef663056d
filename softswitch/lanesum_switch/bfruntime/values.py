# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fields and values of BF Runtime messages."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from lanesum_fabric.bfruntime.description import BfRuntimeTable, Field
from lanesum_switch.api import NotFoundError
from lanesum_switch.p4runtime.status import invalid


def fields_by_id(fields: Iterable[Any], known: Container[int], owner: str) -> dict[int, Any]:
    """Return fields by id. Raises StatusError for one that ``owner`` lacks, or that comes twice."""
    found: dict[int, Any] = {}
    for one in fields:
        if one.field_id not in known:
            raise invalid(f"{owner} has no field {one.field_id}")
        if one.field_id in found:
            raise invalid(f"Field {one.field_id} of {owner} is there twice: give it once")
        found[one.field_id] = one
    return found


def decode(data: bytes, field: Field) -> int:
    """Return a value. Raises StatusError unless it has all bytes of the field, and no bits beyond."""
    value = int.from_bytes(data, "big")
    if len(data) != field.size or value.bit_length() > field.bits:
        raise invalid(f"Field {field.name} has {field.bits} bits in {field.size} bytes, not 0x{data[:32].hex()}")
    return value


def only_key(entry: Any, described: BfRuntimeTable) -> bytes:
    """Return the value of the only key field. Raises StatusError."""
    given = fields_by_id(entry.key.fields, described.keys, f"Table {described.name}")
    if len(given) != 1:
        raise invalid(f"Table {described.name} has one key field, not {len(given)}")
    (field,) = given.values()
    value: bytes = field.exact.value
    return value


def wanted(entry: Any, described: BfRuntimeTable, key: Any, there: dict[int, Any], what: str) -> list[int]:
    """Return the keys that a read asks for: all, or one. Raises StatusError, NotFoundError."""
    if not entry.HasField("key"):
        return sorted(there)
    number = decode(only_key(entry, described), key)
    if number not in there:
        raise NotFoundError(f"There is no {what} {number}.")
    return [number]

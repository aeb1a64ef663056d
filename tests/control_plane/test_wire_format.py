# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Single fields of serialized messages: those that protobuf reads, and no others."""

from __future__ import annotations

import random

import pytest
from p4.v1 import p4runtime_pb2

from lanesum_control.wire_format import fields, integer


def entry(rng: random.Random) -> p4runtime_pb2.Entity:
    """Return a table entry with some of its fields."""
    found = p4runtime_pb2.Entity()
    table = found.table_entry
    table.table_id = rng.getrandbits(32)
    table.is_default_action = rng.random() < 0.5
    for field in range(rng.randrange(3)):
        table.match.add(field_id=field).exact.value = rng.randbytes(rng.randrange(300))
    if rng.random() < 0.8:
        table.action.action.action_id = rng.getrandbits(rng.choice((7, 14, 32)))
        table.action.action.params.add(param_id=1, value=rng.randbytes(4))
    if rng.random() < 0.8:
        table.counter_data.packet_count = rng.getrandbits(rng.choice((0, 7, 8, 63)))
        table.counter_data.byte_count = rng.getrandbits(63)
    return found


def test_integer_of_an_entry_is_that_of_protobuf() -> None:
    rng = random.Random(5)
    for _ in range(200):
        one = entry(rng)
        data, table = one.SerializeToString(), one.table_entry
        assert integer(data, 2, 1) == table.table_id
        assert integer(data, 2, 3, 1, 1) == table.action.action.action_id
        assert integer(data, 2, 7, 2) == table.counter_data.packet_count
        assert integer(data, 2, 7, 1) == table.counter_data.byte_count


def test_fields_of_fixed_length_are_skipped() -> None:
    # Numbers 1 to 4: a varint, eight bytes, a string, and four bytes.
    data = bytes([0x08, 0x96, 0x01, 0x11, *range(8), 0x1A, 2, 7, 8, 0x25, 1, 2, 3, 4])
    assert list(fields(data)) == [(1, 150), (3, b"\x07\x08")]
    assert integer(data, 2) == integer(data, 9, 1) == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x08", "a number is not complete"),
        (b"\x08\x80", "a number is not complete"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "a number has more than 64 bits"),
        (b"\x0a\x05ab", "field 1 ends 3 bytes after its message"),
        (b"\x0d\x01", "field 1 ends 3 bytes after its message"),
        (b"\x0b", "field 1 has wire type 3"),
        (b"\x00\x01", "no field has number 0"),
    ],
)
def test_bytes_that_are_no_message_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(fields(data))

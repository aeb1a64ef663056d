# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checksums, the action selector, and the hash functions themselves."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum_switch.api import ActionCall, GroupRef, InvalidArgumentError, Match, MemberRef, NotFoundError, TableEntry
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.hashes import crc16, crc32, crc_ccitt, csum16, hash_functions, identity, xor16

from .conftest import Load

CHECK = b"123456789"


def plain_checksum(data: bytes) -> int:
    """RFC 1071, word by word."""
    total = 0
    for word in struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(payload: bytes, source: int = 0x0A000001, port: int = 1000) -> bytes:
    length = 8 + len(payload)
    header = bytearray(struct.pack(">BBHHBBBBHII", 0x45, 0, 20 + length, 7, 0x40, 0, 64, 17, 0, source, 0x0A000002))
    header[10:12] = plain_checksum(bytes(header)).to_bytes(2, "big")
    return bytes(header) + struct.pack(">HHHH", port, 2000, length, 0) + payload


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("checksums")


def test_check_values_of_the_crc_catalogue() -> None:
    assert crc16(CHECK) == 0xBB3D
    assert crc32(CHECK) == 0xCBF43926
    assert crc_ccitt(CHECK) == 0x29B1
    assert hash_functions(random.Random(0))["crc8_custom"](CHECK) == 0xF4
    assert identity(CHECK) == int.from_bytes(CHECK[:8], "big")
    assert xor16(b"\x12\x34\x01") == 0x1334


@given(st.binary(max_size=64))
def test_checksum_by_remainder_is_the_word_sum(data: bytes) -> None:
    assert csum16(data) == plain_checksum(data)


@pytest.mark.parametrize("payload", [b"", b"x", b"some payload", bytes(65)])
def test_checksums_are_updated(switch: EmbeddedSwitch, payload: bytes) -> None:
    (out,) = switch.process(0, packet(payload))
    assert out.port == 9
    assert out.frame[8] == 63
    assert plain_checksum(out.frame[:20]) == 0
    pseudo = out.frame[12:20] + b"\x00\x11" + out.frame[24:26]
    assert plain_checksum(pseudo + out.frame[20:]) == 0


def test_wrong_checksum_is_dropped(switch: EmbeddedSwitch) -> None:
    frame = bytearray(packet(b"payload"))
    frame[14] ^= 1
    assert switch.process(0, bytes(frame)) == []


def test_selector_spreads_flows_and_keeps_them(switch: EmbeddedSwitch) -> None:
    profile, table = switch.action_profiles["I.paths"], switch.tables["I.path"]
    assert profile.with_selector
    for member in (1, 2, 3):
        profile.insert_member(member, ActionCall("I.send", (member,)))
    profile.insert_group(1, [(1, 1), (2, 1), (3, 1)], 8)
    table.insert(TableEntry((Match(0x0A000002),), GroupRef(1)))
    ports = [switch.process(0, packet(b"x", port=flow))[0].port for flow in range(200)]
    assert set(ports) == {1, 2, 3}
    assert ports == [switch.process(0, packet(b"x", port=flow))[0].port for flow in range(200)]
    profile.modify_group(1, [(2, 1)])
    assert {switch.process(0, packet(b"x", port=flow))[0].port for flow in range(20)} == {2}
    profile.modify_member(2, ActionCall("I.send", (5,)))
    assert switch.process(0, packet(b"x"))[0].port == 5
    table.modify(TableEntry((Match(0x0A000002),), MemberRef(3)))
    assert switch.process(0, packet(b"x"))[0].port == 3
    with pytest.raises(InvalidArgumentError, match=r"A table entry uses member 3 of I\.paths"):
        profile.delete_member(3)
    with pytest.raises(InvalidArgumentError):
        profile.delete_member(2)
    with pytest.raises(NotFoundError):
        table.modify(TableEntry((Match(0x0A000002),), MemberRef(77)))
    profile.delete_group(1)
    profile.delete_member(2)

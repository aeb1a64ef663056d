# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checksums that a program verifies and updates."""

from __future__ import annotations

import json

import pytest

from lanesum_switch.compiler.calculations import short_form
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.conftest import PROGRAMS, Load
from tests.softswitch.ipv4_packets import packet, plain_checksum
from tests.softswitch.queries import ask


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("checksums")


@pytest.mark.parametrize("payload", [b"", b"x", b"some payload", bytes(65)])
def test_checksums_after_change_are_updated(switch: EmbeddedSwitch, payload: bytes) -> None:
    (out,) = switch.process(0, packet(payload))
    assert out.port == 9
    assert out.frame[8] == 63
    assert plain_checksum(out.frame[:20]) == 0
    pseudo = out.frame[12:20] + b"\x00\x11" + out.frame[24:26]
    assert plain_checksum(pseudo + out.frame[20:]) == 0


def test_packet_with_wrong_checksum_is_dropped(switch: EmbeddedSwitch) -> None:
    frame = bytearray(packet(b"payload"))
    frame[14] ^= 1
    assert switch.process(0, bytes(frame)) == []


@pytest.mark.parametrize("number", [0, 1, 0xFFFE, 0xFFFF, 0x10000, 0x1FFFE, (1 << 2048) - 1, 0xFFFF << 2000, 1 << 2047])
def test_short_form_of_number_has_same_checksum(number: int) -> None:
    """Equal modulo 65535, and only 0 becomes 0."""
    short = eval(short_form("number"), {"number": number})
    assert 0 <= short <= 0xFFFF
    assert (short - number) % 0xFFFF == 0
    assert (short == 0) == (number == 0)


def test_round_robin_of_two_calculations_counts_apart() -> None:
    program = json.loads((PROGRAMS / "tables.json").read_text())
    for calculation in program["calculations"]:
        calculation["algo"] = "round_robin"
    switch = EmbeddedSwitch()
    switch.load(json.dumps(program).encode())
    assert [ask(switch, which)[0] for which in (8, 8, 9, 8)] == [0, 1, 100, 2]

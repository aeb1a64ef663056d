# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hashes, random numbers, arithmetic, digests, assert and exit."""

from __future__ import annotations

import struct
import zlib

import pytest

from lanesum_switch.api import (
    Digest,
)
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.hashes import CRC16
from tests.softswitch.conftest import Load
from tests.softswitch.queries import ask


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("tables")


def test_hash_primitives_equal_the_hash_functions(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 8, 1, 0x0203, 0x04050607)[0] == zlib.crc32(bytes(range(1, 8)))
    assert ask(switch, 9, c=0x31323334)[0] == 100 + CRC16(b"1234") % 1000


def test_random_numbers_repeat_with_the_seed(load: Load) -> None:
    results = [[ask(switch, 10)[0] for _ in range(20)] for switch in (load("tables", seed=5), load("tables", seed=5))]
    assert results[0] == results[1]
    assert set(results[0]) <= set(range(10, 21))
    other = load("tables", seed=6)
    assert [ask(other, 10)[0] for _ in range(20)] != results[0]


def test_arithmetic_truncates_to_width_and_sign(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 11, a=100, signed=-8) == (255, 0xFFFE)
    assert ask(switch, 11, a=5, signed=8) == (205, 2)
    assert ask(switch, 12, a=4, c=0x80000001, signed=-6) == (0x10, 1)
    assert ask(switch, 12, a=255, c=0xFFFFFFFF, signed=-5) == (0, 0)


def test_digest_reaches_the_listener(switch: EmbeddedSwitch) -> None:
    seen: list[Digest] = []
    ask(switch, 13, 1, 2)
    switch.on_digest(seen.append)
    ask(switch, 13, 3, 4)
    assert list(switch.digests.values()) == [(8, 16)]
    assert [digest.values for digest in seen] == [(3, 4)]
    assert seen[0].name in switch.digests


def test_failed_assert_drops_the_packet(switch: EmbeddedSwitch) -> None:
    ask(switch, 14, 1)
    assert switch.process(0, struct.pack(">BBHIhHI", 14, 0, 0, 0, 0, 0, 0)) == []
    assert switch.counts.program_errors == 1


def test_program_errors_are_logged_first_and_by_number(
    switch: EmbeddedSwitch, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that fails on every packet fills no disk: the first error, then counts at powers of ten."""
    for _ in range(120):
        assert switch.process(0, struct.pack(">BBHIhHI", 14, 0, 0, 0, 0, 0, 0)) == []
    assert switch.counts.program_errors == 120
    first, *counts = (record.getMessage() for record in caplog.records)
    assert "an assert or assume of the P4 program failed" in first
    assert [text.split()[0] for text in counts] == ["10", "100"]


def test_exit_ends_ingress_only(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 15, 0)[0] == 15
    assert ask(switch, 15, 1)[0] == 0

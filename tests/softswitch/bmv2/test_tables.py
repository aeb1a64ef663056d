# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match kinds, counters, meters, hashes, digests and control flow, through programs/tables.p4."""

from __future__ import annotations

import struct
import zlib

import pytest

from lanesum_switch.api import (
    ActionCall,
    AlreadyExistsError,
    CounterValue,
    Digest,
    InvalidArgumentError,
    Match,
    MeterRates,
    NotFoundError,
    PermissionDeniedError,
    TableEntry,
    TableFullError,
)
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.hashes import crc16

from .conftest import Clock, Load

SECOND = 1_000_000_000


def ask(switch: EmbeddedSwitch, which: int, a: int = 0, b: int = 0, c: int = 0, signed: int = 0) -> tuple[int, int]:
    """(result, spare) of one query."""
    out = switch.process(0, struct.pack(">BBHIhHI", which, a, b, c, signed, 0, 0))
    assert [item.port for item in out] == [1]
    assert switch.counts.program_errors == 0
    *_, spare, result = struct.unpack(">BBHIhHI", out[0].frame)
    return result, spare


def answer(value: int) -> ActionCall:
    return ActionCall("I.answer", (value,))


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("tables")


def test_exact_table_and_action_run(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.exact_table"]
    assert ask(switch, 0, 1, 2, 1000) == (404, 0xFFFF)
    table.insert(TableEntry((Match(1), Match(2)), ActionCall("I.add", (10, 5))))
    assert ask(switch, 0, 1, 2, 1000) == (1015, 0xADD)
    table.modify(TableEntry((Match(1), Match(2)), ActionCall("I.nothing")))
    assert ask(switch, 0, 1, 2, 1000) == (0, 0)
    assert table.get((Match(1), Match(2)), 0).counter == CounterValue(2, 32)
    table.write_counter((Match(1), Match(2)), 0, CounterValue(7, 8))
    assert table.entries()[0].counter == CounterValue(7, 8)
    table.delete((Match(1), Match(2)), 0)
    table.set_default(answer(9))
    assert ask(switch, 0, 1, 2)[0] == 9
    assert table.default.target == answer(9)
    table.reset_default()
    assert ask(switch, 0, 1, 2)[0] == 404


def test_longest_prefix_wins(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.lpm_table"]
    for value, length in ((0x0A000000, 8), (0x0A010000, 16), (0x0A010203, 32)):
        table.insert(TableEntry((Match(value, length),), answer(length)))
    assert ask(switch, 1, c=0x0A010203) == (32, 1)
    assert ask(switch, 1, c=0x0A0102FF) == (16, 1)
    assert ask(switch, 1, c=0x0AFF0000) == (8, 1)
    assert ask(switch, 1, c=0x0B000000) == (0, 2)
    table.insert(TableEntry((Match(0, 0),), answer(1000)))
    assert ask(switch, 1, c=0x0B000000) == (1000, 1)
    table.delete((Match(0x0A010000, 16),), 0)
    assert ask(switch, 1, c=0x0A0102FF) == (8, 1)


def test_ternary_priorities_as_in_p4runtime(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.ternary_table"]
    table.insert(TableEntry((Match(0, 0), Match(5), Match(0, 0)), answer(1), priority=1))
    table.insert(TableEntry((Match(0x10, 0xF0), Match(5), Match(0, 0)), answer(2), priority=20))
    table.insert(TableEntry((Match(0x11, 0xFF), Match(5), Match(0x0A000000, 8)), answer(3), priority=10))
    assert ask(switch, 2, 0x11, 5, 0x0A000001)[0] == 2
    assert ask(switch, 2, 0x21, 5)[0] == 1
    assert ask(switch, 2, 0x21, 6)[0] == 0
    table.delete((Match(0x10, 0xF0), Match(5), Match(0, 0)), 20)
    assert ask(switch, 2, 0x11, 5, 0x0A000001)[0] == 3


def test_range_and_optional(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.range_table"]
    table.insert(TableEntry((Match(10, 20), Match(0, 0)), answer(1), priority=1))
    table.insert(TableEntry((Match(15, 15), Match(7, 0xFF)), answer(2), priority=2))
    table.insert(TableEntry((Match(0, 0xFFFF), Match(8, 0xFF)), answer(3), priority=3))
    results = [ask(switch, 3, a, b)[0] for a, b in ((0, 9), (0, 10), (0, 20), (0, 21), (7, 15), (7, 16), (8, 60000))]
    assert results == [0, 1, 1, 0, 2, 1, 3]


def test_const_entries_in_order(switch: EmbeddedSwitch) -> None:
    results = [ask(switch, 4, a, b)[0] for a, b in ((0x15, 9), (0x15, 10), (0x15, 21), (0x33, 20), (0x33, 21))]
    assert results == [1, 2, 7, 2, 3]
    table = switch.tables["I.const_table"]
    assert table.is_const
    assert len(table.entries()) == 3
    with pytest.raises(PermissionDeniedError):
        table.insert(TableEntry((Match(0, 0), Match(0, 1)), answer(1), priority=1))
    with pytest.raises(PermissionDeniedError):
        table.set_default(answer(1))


def test_writes_that_are_refused(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.exact_table"]
    for b in range(3):
        table.insert(TableEntry((Match(1), Match(b)), answer(b)))
    with pytest.raises(TableFullError):
        table.insert(TableEntry((Match(1), Match(3)), answer(3)))
    with pytest.raises(AlreadyExistsError):
        table.insert(TableEntry((Match(1), Match(0)), answer(3)))
    with pytest.raises(NotFoundError):
        table.delete((Match(2), Match(0)), 0)
    with pytest.raises(InvalidArgumentError, match="8 bits"):
        table.insert(TableEntry((Match(256), Match(0)), answer(3)))
    with pytest.raises(InvalidArgumentError, match="has no action"):
        table.modify(TableEntry((Match(1), Match(0)), ActionCall("I.metered", (1,))))
    with pytest.raises(InvalidArgumentError, match="32 bits"):
        table.modify(TableEntry((Match(1), Match(0)), answer(1 << 32)))
    with pytest.raises(InvalidArgumentError, match="priority"):
        table.insert(TableEntry((Match(1), Match(9)), answer(1), priority=1))


def test_indirect_counter(switch: EmbeddedSwitch) -> None:
    ask(switch, 4)
    ask(switch, 4)
    assert switch.counters["I.seen"].read(4) == CounterValue(2, 32)
    switch.process(0, struct.pack(">BBHIhHI", 200, 0, 0, 0, 0, 0, 0))
    assert switch.counts.range_errors == 1
    with pytest.raises(NotFoundError):
        switch.counters["I.seen"].read(16)


def test_idle_timeout_is_reported_once_per_period(switch: EmbeddedSwitch, clock: Clock) -> None:
    table = switch.tables["I.timed_table"]
    table.insert(TableEntry((Match(1),), answer(1), idle_timeout_ns=SECOND))
    table.insert(TableEntry((Match(2),), answer(2)))
    assert list(switch.expire_idle(clock.now)) == []
    clock.now = SECOND // 2
    ask(switch, 5, 1)
    clock.now = SECOND
    assert list(switch.expire_idle(clock.now)) == []
    clock.now = SECOND * 3 // 2
    assert [(name, entry.match) for name, entry in switch.expire_idle(clock.now)] == [("I.timed_table", (Match(1),))]
    assert list(switch.expire_idle(clock.now)) == []


def test_meters_color_by_rate(switch: EmbeddedSwitch, clock: Clock) -> None:
    meter = switch.meters["I.limit"]
    assert ask(switch, 6, 2)[0] == 0
    meter.write(2, MeterRates(cir=1, cburst=1, pir=2, pburst=2))
    assert [ask(switch, 6, 2)[0] for _ in range(3)] == [0, 1, 2]
    clock.now += SECOND
    assert [ask(switch, 6, 2)[0] for _ in range(3)] == [0, 1, 2]
    assert meter.read(2) == MeterRates(1, 1, 2, 2)
    meter.write(2, None)
    assert ask(switch, 6, 2)[0] == 0


def test_direct_meter_counts_bytes(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.metered_table"]
    table.insert(TableEntry((Match(1),), ActionCall("I.metered", (100,))))
    assert ask(switch, 7, 1)[0] == 100
    table.write_meter((Match(1),), 0, MeterRates(cir=1, cburst=16, pir=1, pburst=32))
    assert [ask(switch, 7, 1)[0] for _ in range(3)] == [100, 101, 102]


def test_hashes(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 8, 1, 0x0203, 0x04050607)[0] == zlib.crc32(bytes(range(1, 8)))
    assert ask(switch, 9, c=0x31323334)[0] == 100 + crc16(b"1234") % 1000


def test_random_is_repeatable(load: Load) -> None:
    draws = [[ask(switch, 10)[0] for _ in range(20)] for switch in (load("tables", seed=5), load("tables", seed=5))]
    assert draws[0] == draws[1]
    assert set(draws[0]) <= set(range(10, 21))
    other = load("tables", seed=6)
    assert [ask(other, 10)[0] for _ in range(20)] != draws[0]


def test_arithmetic_of_widths_and_signs(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 11, a=100, signed=-8) == (255, 0xFFFE)
    assert ask(switch, 11, a=5, signed=8) == (205, 2)
    assert ask(switch, 12, a=4, c=0x80000001, signed=-6) == (0x10, 1)
    assert ask(switch, 12, a=255, c=0xFFFFFFFF, signed=-5) == (0, 0)


def test_digest_goes_to_the_listener(switch: EmbeddedSwitch) -> None:
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


def test_exit_ends_ingress_only(switch: EmbeddedSwitch) -> None:
    assert ask(switch, 15, 0)[0] == 15
    assert ask(switch, 15, 1)[0] == 0


def test_loading_wipes_and_a_bad_program_keeps_the_old_one(switch: EmbeddedSwitch) -> None:
    switch.tables["I.exact_table"].insert(TableEntry((Match(1), Match(2)), answer(3)))
    with pytest.raises(InvalidArgumentError):
        switch.load(b"{}")
    with pytest.raises(InvalidArgumentError):
        switch.load(b"not json")
    assert ask(switch, 0, 1, 2)[0] == 3

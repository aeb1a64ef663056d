# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match kinds, entries and idle timeouts of tables."""

from __future__ import annotations

import pytest

from lanesum_switch.api import (
    ActionCall,
    AlreadyExistsError,
    CounterValue,
    InvalidArgumentError,
    Match,
    NotFoundError,
    PermissionDeniedError,
    TableEntry,
    TableFullError,
    UnsupportedProgramError,
)
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.lookup import TupleSpaceSearch
from tests.softswitch.conftest import PROGRAMS, Clock, Load
from tests.softswitch.queries import SECOND, answer, ask


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("tables")


def test_exact_table_runs_action_of_entry(switch: EmbeddedSwitch) -> None:
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
    table.delete((Match(0x0A01FFFF, 16),), 0)  # bits beyond the prefix have no effect
    assert ask(switch, 1, c=0x0A0102FF) == (8, 1)


def test_ternary_entry_with_larger_priority_wins(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.ternary_table"]
    table.insert(TableEntry((Match(0, 0), Match(5), Match(0, 0)), answer(1), priority=1))
    table.insert(TableEntry((Match(0x10, 0xF0), Match(5), Match(0, 0)), answer(2), priority=20))
    table.insert(TableEntry((Match(0x11, 0xFF), Match(5), Match(0x0A000000, 8)), answer(3), priority=10))
    assert ask(switch, 2, 0x11, 5, 0x0A000001)[0] == 2
    assert ask(switch, 2, 0x21, 5)[0] == 1
    assert ask(switch, 2, 0x21, 6)[0] == 0
    table.delete((Match(0x10, 0xF0), Match(5), Match(0, 0)), 20)
    assert ask(switch, 2, 0x11, 5, 0x0A000001)[0] == 3


def test_range_and_optional_keys_match(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.range_table"]
    table.insert(TableEntry((Match(10, 20), Match(0, 0)), answer(1), priority=1))
    table.insert(TableEntry((Match(15, 15), Match(7, 0xFF)), answer(2), priority=2))
    table.insert(TableEntry((Match(0, 0xFFFF), Match(8, 0xFF)), answer(3), priority=3))
    results = [ask(switch, 3, a, b)[0] for a, b in ((0, 9), (0, 10), (0, 20), (0, 21), (7, 15), (7, 16), (8, 60000))]
    assert results == [0, 1, 1, 0, 2, 1, 3]


def test_const_entries_match_in_order(switch: EmbeddedSwitch) -> None:
    results = [ask(switch, 4, a, b)[0] for a, b in ((0x15, 9), (0x15, 10), (0x15, 21), (0x33, 20), (0x33, 21))]
    assert results == [1, 2, 7, 2, 3]
    table = switch.tables["I.const_table"]
    assert table.is_const
    assert len(table.entries()) == 3
    with pytest.raises(PermissionDeniedError, match=r"The entries of table I\.const_table are const: they are part of"):
        table.insert(TableEntry((Match(0, 0), Match(0, 1)), answer(1), priority=1))
    const = r"The default action of table I\.const_table is const: it is part of the program"
    with pytest.raises(PermissionDeniedError, match=const):
        table.set_default(answer(1))
    with pytest.raises(PermissionDeniedError, match=const):
        table.reset_default()


def test_invalid_writes_raise_typed_errors(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.exact_table"]
    for b in range(3):
        table.insert(TableEntry((Match(1), Match(b)), answer(b)))
    with pytest.raises(TableFullError):
        table.insert(TableEntry((Match(1), Match(3)), answer(3)))
    with pytest.raises(AlreadyExistsError, match="already has an entry with this match and priority"):
        table.insert(TableEntry((Match(1), Match(0)), answer(3)))
    with pytest.raises(NotFoundError, match="has no entry with this match and priority"):
        table.delete((Match(2), Match(0)), 0)
    with pytest.raises(InvalidArgumentError, match=r"0x100 does not fit key field .* \(exact, 8 bits\)"):
        table.insert(TableEntry((Match(256), Match(0)), answer(3)))
    with pytest.raises(InvalidArgumentError, match=r"0x5 with 0x4 does not fit key field .* \(range, 16 bits\)"):
        switch.tables["I.range_table"].get((Match(5, 4), Match(0)), 1)
    with pytest.raises(InvalidArgumentError, match=r"Table I\.exact_table has 2 key fields, not 1"):
        table.get((Match(1),), 0)
    with pytest.raises(InvalidArgumentError, match="has no action"):
        table.modify(TableEntry((Match(1), Match(0)), ActionCall("I.metered", (1,))))
    with pytest.raises(InvalidArgumentError, match="32 bits"):
        table.modify(TableEntry((Match(1), Match(0)), answer(1 << 32)))
    with pytest.raises(InvalidArgumentError, match="its entries have priority 0, not 1"):
        table.insert(TableEntry((Match(1), Match(9)), answer(1), priority=1))
    with pytest.raises(InvalidArgumentError, match=r"Table I\.exact_table has no direct meter"):
        table.write_meter((Match(1), Match(0)), 0, None)
    with pytest.raises(InvalidArgumentError, match=r"Table I\.metered_table has no direct counter"):
        switch.tables["I.metered_table"].write_counter((Match(1),), 0, CounterValue())
    with pytest.raises(InvalidArgumentError, match=r"Table \w+ has no key: write its default entry instead"):
        switch.tables["tbl_tables75"].insert(TableEntry((), answer(1)))


def test_hit_and_change_renew_time_of_last_hit(switch: EmbeddedSwitch, clock: Clock) -> None:
    table = switch.tables["I.timed_table"]
    table.insert(TableEntry((Match(1),), answer(1), idle_timeout_ns=SECOND))
    clock.now = SECOND // 2
    ask(switch, 5, 1)
    clock.now = SECOND
    assert table.get((Match(1),), 0).last_hit_ns == SECOND // 2
    table.modify(TableEntry((Match(1),), answer(2), idle_timeout_ns=SECOND))
    assert table.get((Match(1),), 0).last_hit_ns == SECOND


def test_invalid_program_keeps_previous_one(switch: EmbeddedSwitch) -> None:
    switch.tables["I.exact_table"].insert(TableEntry((Match(1), Match(2)), answer(3)))
    with pytest.raises(InvalidArgumentError):
        switch.load(b"{}")
    with pytest.raises(InvalidArgumentError):
        switch.load(b"not json")
    refused = (PROGRAMS / "tables.json").read_bytes().replace(b'"crc16"', b'"of_later_p4c"')
    with pytest.raises(UnsupportedProgramError, match="of_later_p4c"):
        switch.load(refused)
    assert ask(switch, 0, 1, 2)[0] == 3


def test_many_writes_rebuild_the_search_once(switch: EmbeddedSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    rebuilt: list[int] = []
    rebuild = TupleSpaceSearch.rebuild
    monkeypatch.setattr(
        TupleSpaceSearch, "rebuild", lambda self, entries: (rebuilt.append(len(entries)), rebuild(self, entries))[1]
    )
    table = switch.tables["I.ternary_table"]
    keys = [(Match(number, 0xFF), *(Match(0, 0) for _ in table.keys[1:])) for number in range(50)]
    for number, match in enumerate(keys):
        table.insert(TableEntry(match, answer(number), priority=1))
    table.delete(keys[49], 1)
    table.modify(TableEntry(keys[7], answer(77), priority=1))
    assert [ask(switch, 2, number)[0] for number in (7, 8)] == [77, 8]
    assert rebuilt == [49]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counters and meters."""

from __future__ import annotations

import struct

import pytest

from lanesum_switch.api import (
    ActionCall,
    CounterValue,
    InvalidArgumentError,
    Match,
    MeterRates,
    NotFoundError,
    TableEntry,
)
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.externs import RegisterBank
from tests.softswitch.conftest import Clock, Load
from tests.softswitch.queries import SECOND, ask


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("tables")


def test_indirect_counter_counts_packets_and_bytes(switch: EmbeddedSwitch) -> None:
    ask(switch, 4)
    ask(switch, 4)
    assert switch.counters["I.seen"].read(4) == CounterValue(2, 32)
    switch.process(0, struct.pack(">BBHIhHI", 200, 0, 0, 0, 0, 0, 0))
    assert switch.counts.range_errors == 1
    with pytest.raises(NotFoundError, match=r"Counter I\.seen has no cell 16: its size is 16"):
        switch.counters["I.seen"].read(16)


def test_meter_colors_by_rate(switch: EmbeddedSwitch, clock: Clock) -> None:
    meter = switch.meters["I.limit"]
    assert ask(switch, 6, 2)[0] == 0
    meter.write(2, MeterRates(cir=1, cburst=1, pir=2, pburst=2))
    for idle_s in (0, 1, 5):  # a burst size limits the tokens of a longer time
        clock.now += idle_s * SECOND
        assert [ask(switch, 6, 2)[0] for _ in range(3)] == [0, 1, 2]
    assert meter.read(2) == MeterRates(1, 1, 2, 2)
    with pytest.raises(NotFoundError, match=rf"Meter I\.limit has no cell -1: its size is {meter.size}"):
        meter.read(-1)
    meter.write(2, None)
    assert ask(switch, 6, 2)[0] == 0


def test_direct_meter_counts_bytes(switch: EmbeddedSwitch) -> None:
    table = switch.tables["I.metered_table"]
    table.insert(TableEntry((Match(1),), ActionCall("I.metered", (100,))))
    assert ask(switch, 7, 1)[0] == 100
    table.write_meter((Match(1),), 0, MeterRates(cir=1, cburst=16, pir=1, pburst=32))
    assert [ask(switch, 7, 1)[0] for _ in range(3)] == [100, 101, 102]
    table.write_meter((Match(1),), 0, MeterRates(cir=1, cburst=16, pir=1, pburst=32))
    assert ask(switch, 7, 1)[0] == 100  # rates that are written begin with full buckets


def test_register_bank_wrong_cell_or_value_raises() -> None:
    bank = RegisterBank(("low", "high"), size=4, bits=16)
    bank.write("low", 3, 0xFFFF)
    for index in (-1, 4):
        with pytest.raises(NotFoundError, match=f"Register high has no cell {index}: its size is 4"):
            bank.read("high", index)
    for value in (-1, 1 << 16):
        with pytest.raises(InvalidArgumentError, match=f"{value} does not fit register high, which has 16 bits"):
            bank.write("high", 3, value)
    assert (bank.read("low", 3), bank.read("high", 3)) == (0xFFFF, 0)
    bank.write("low", 3, 0x0F0F)
    assert (bank.read("low", 3), bank.read("high", 3)) == (0x0F0F, 0)

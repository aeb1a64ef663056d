# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Flips in the registers of a switch, by a fault plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_switch.api import PacketOut
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.faults import FaultPlan
from lanesum_switch.faults.counters import RuleCounts
from lanesum_switch.faults.links import FaultyMemory, LinkFaults


class Registers:
    """A device of two registers of four cells; a packet changes nothing."""

    def __init__(self) -> None:
        self.cells = {"Lanes.words_0": [0, 5, 0, 7], "Slots.slot_owner": [1, 0, 0, 0]}
        self.packets: list[tuple[int, bytes]] = []

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        self.packets += packets
        return []

    def registers(self) -> dict[str, tuple[int, int]]:
        return {name: (len(cells), 32) for name, cells in self.cells.items()}

    def read_register(self, name: str, index: int) -> int:
        return self.cells[name][index]

    def write_register(self, name: str, index: int, value: int) -> None:
        self.cells[name][index] = value


def plan(*rules: str, seed: int = 1) -> FaultPlan:
    return FaultPlan.parse(f"seed: {seed}\nmemory: [{', '.join(rules)}]\n", "test")


def changed(one: FaultPlan, packets: int = 1, switch: str = "s1") -> Registers:
    device = Registers()
    FaultyMemory(device, one, switch).process_batch([(0, bytes([number])) for number in range(packets)])
    assert len(device.packets) == packets
    return device


@pytest.mark.parametrize(("of", "name"), [("sums", "Lanes.words_0"), ("slots", "Slots.slot_owner")])
def test_flip_changes_one_bit_of_used_cell(of: str, name: str) -> None:
    before, after = Registers().cells, changed(plan(f"{{switch: s1, of: {of}}}")).cells
    differ = [(one, cell) for one in before for cell in range(4) if before[one][cell] != after[one][cell]]
    ((register, cell),) = differ
    assert register == name and before[name][cell]
    assert (before[name][cell] ^ after[name][cell]).bit_count() == 1


def test_flips_follow_from_seed_and_number() -> None:
    rule = "{switch: s1, probability: 0.3}"
    first = changed(plan(rule), 50).cells
    assert changed(plan(rule), 50).cells == first
    assert changed(plan(rule, seed=2), 50).cells != first
    assert changed(plan(rule), 50, "s2").cells == Registers().cells


def test_nth_packet_alone_has_flip(tmp_path: Path) -> None:
    faults = LinkFaults(plan("{name: third, switch: s1, nth: 3}"), tmp_path)
    device = Registers()
    faulty = faults.memory(device, "s1")
    assert faulty is not None and faults.memory(device, "s2") is None
    faulty.process_batch([(0, b""), (0, b"")])
    assert device.cells == Registers().cells
    faulty.process_batch([(0, b""), (0, b"")])
    assert device.cells != Registers().cells
    assert faults.totals(["w1", "s1"])[0] == {"third": RuleCounts(4, 1)}


def test_program_of_embedded_switch_has_named_registers() -> None:
    device = EmbeddedSwitch()
    rules = plan("{switch: s1}", "{switch: s1, of: slots}")
    faulty = FaultyMemory(device, rules, "s1")
    faulty.process_batch([(0, b"before a program")])
    device.load(bmv2_pipeline(32).program)
    (words, *_) = (name for name in device.registers() if name.endswith("words_0"))
    (owner,) = (name for name in device.registers() if name.endswith("slot_owner"))
    for name in (words, owner):
        device.write_register(name, 3, 1)
    faulty.process_batch([(0, b"")] * 200)
    assert device.read_register(owner, 3) != 1
    assert faulty.counters.counts["2 slots of s1"].hit > 0

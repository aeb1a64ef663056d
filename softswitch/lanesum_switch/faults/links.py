# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault injectors of the links of a run, flips of bits in the registers of a switch, and their counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lanesum._internal.output_file import make_folder
from lanesum_switch.faults.counters import FaultCounters, RuleCounts
from lanesum_switch.faults.injector import FaultInjector, RandomNumbers, random_key
from lanesum_switch.faults.plan import UP, FaultPlan, MemoryFault

# Parts of the names of registers in all programs of the project.
_REGISTERS = {"sums": "words_", "slots": "slot_"}


class DeviceWithRegisters(Protocol):
    """The methods of the embedded switch that faults of its memory need."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[Any]: ...

    def registers(self) -> Mapping[str, tuple[int, int]]: ...

    def read_register(self, name: str, index: int) -> int: ...

    def write_register(self, name: str, index: int, value: int) -> None: ...


class FaultyMemory:
    """A switch in whose registers bits flip; the port runner takes it in place of the switch.

    Args:
        device: the switch.
        plan: the plan with the faults.
        switch: name of the switch.
        counters: counters of the faults; None for new ones in memory.

    The effect beside the n-th packet depends on the seed, the switch, n, and the registers that are not 0.
    """

    def __init__(
        self, device: DeviceWithRegisters, plan: FaultPlan, switch: str, counters: FaultCounters | None = None
    ) -> None:
        self.counters = FaultCounters(plan) if counters is None else counters
        self._device = device
        self._faults = [
            (len(plan.rules) + index, fault, random_key(plan.seed, switch, "memory", index))
            for index, fault in enumerate(plan.memory)
            if fault.switch == switch
        ]

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[Any]:
        """Process packets, after the flips beside each."""
        made: list[Any] = []
        for packet in packets:
            for index, fault, key in self._faults:
                self._apply(index, fault, key)
            made += self._device.process_batch([packet])
        return made

    def _apply(self, index: int, fault: MemoryFault, key: bytes) -> None:
        number = self.counters.count_match(index, UP)
        if fault.exact is not None and number not in fault.exact:
            return
        rng = RandomNumbers(key, number)
        if fault.probability is not None and rng.uniform() >= fault.probability:
            return
        shapes = {name: shape for name, shape in self._device.registers().items() if _REGISTERS[fault.of] in name}
        if not shapes:
            return  # no program is loaded yet
        name = sorted(shapes)[rng.below(len(shapes))]
        cells, bits = shapes[name]
        used = [cell for cell in range(cells) if self._device.read_register(name, cell)]
        if used:
            cell = used[rng.below(len(used))]
            changed = self._device.read_register(name, cell) ^ 1 << rng.below(bits)
            self._device.write_register(name, cell, changed)
            self.counters.count_hit(index)


@dataclass(frozen=True, slots=True)
class LinkFaults:
    """The links of one run.

    Attributes:
        counts: folder of the counters, one file per link; None keeps them in memory, where no other process reads
            them.
    """

    plan: FaultPlan
    counts: Path | None = None

    def injector(self, link: str) -> FaultInjector | None:
        """Return the injector of a link, or None if the plan has no faults for it. Call it once per link."""
        if not self.plan.touches(link):
            return None
        return FaultInjector(self.plan, link, counters=self._counters(link))

    def _counters(self, name: str) -> FaultCounters:
        path = None
        if self.counts is not None:
            make_folder(self.counts)
            path = self._path(name)
        return FaultCounters(self.plan, path)

    def memory(self, device: DeviceWithRegisters, switch: str) -> FaultyMemory | None:
        """Return the switch with the plan's faults of its memory, or None if it has none. Call it once per switch."""
        if all(fault.switch != switch for fault in self.plan.memory):
            return None
        return FaultyMemory(device, self.plan, switch, self._counters(switch))

    def totals(self, places: Iterable[str]) -> tuple[dict[str, RuleCounts], list[int]]:
        """Return the counts by rule, and the packets that matched each trigger, at links and switches."""
        rules = {label: RuleCounts() for label in self.plan.labels}
        seen = [0] * len(self.plan.triggers)
        for place in places:
            if self.counts is None or not self._path(place).exists():
                continue
            counters = FaultCounters(self.plan, self._path(place))
            for label, counts in counters.counts.items():
                rules[label] += counts
            for trigger in range(len(seen)):
                seen[trigger] += counters.triggered(trigger)
            counters.close()
        return rules, seen

    def _path(self, place: str) -> Path:
        assert self.counts is not None
        return self.counts / f"{place}.counts"

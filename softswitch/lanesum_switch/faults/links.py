# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault injectors of the links of a run, and their counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lanesum._internal.output_file import make_folder
from lanesum_switch.faults.counters import FaultCounters, RuleCounts
from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.memory import DeviceWithRegisters, FaultyMemory
from lanesum_switch.faults.plan import FaultPlan


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

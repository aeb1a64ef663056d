# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A plan as a process carries it out: which of its links need an injector, and where these count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lanesum_switch.faults.counters import FaultCounters, RuleCounts
from lanesum_switch.faults.injector import FaultInjector
from lanesum_switch.faults.plan import FaultPlan


@dataclass(frozen=True, slots=True)
class LinkFaults:
    """The links of one run.

    Attributes:
        plan: the rules.
        counts: folder of the counts, one file per link; None keeps them in memory, for a process that nobody asks.
    """

    plan: FaultPlan
    counts: Path | None = None

    def injector(self, link: str) -> FaultInjector | None:
        """The injector of a link; None where the plan leaves it alone. One process may ask for a link, once."""
        if not self.plan.touches(link):
            return None
        path = None
        if self.counts is not None:
            self.counts.mkdir(parents=True, exist_ok=True)
            path = self._path(link)
        return FaultInjector(self.plan, link, ledger=FaultCounters(self.plan, path))

    def totals(self, links: Iterable[str]) -> tuple[dict[str, RuleCounts], list[int]]:
        """Counts by rule, and packets seen by each of the plan's triggers, over all ``links`` that have counted."""
        rules = {label: RuleCounts() for label in self.plan.labels}
        seen = [0] * len(self.plan.triggers)
        for link in links:
            if self.counts is None or not self._path(link).exists():
                continue
            ledger = FaultCounters(self.plan, self._path(link))
            for label, counts in ledger.counts.items():
                rules[label] += counts
            for trigger in range(len(seen)):
                seen[trigger] += ledger.seen(trigger)
            ledger.close()
        return rules, seen

    def _path(self, link: str) -> Path:
        assert self.counts is not None
        return self.counts / f"{link}.counts"

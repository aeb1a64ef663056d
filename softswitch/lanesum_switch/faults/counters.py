# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What an injector has counted, in a file if wanted: it outlives the process, and goes on in the next one."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from lanesum_switch.faults.plan import DOWN, UP, Direction, FaultPlan

_WORD_BYTES = 8
_PER_RULE = 4  # matching packets up and down, packets hit, of these lost because nobody could have noticed the error
_UP, _DOWN, _HIT, _LOST = range(_PER_RULE)
_COLUMN: dict[Direction, int] = {UP: _UP, DOWN: _DOWN}


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """Packets of one rule.

    Attributes:
        matched: packets that the rule could have hit.
        hit: packets that it did hit.
        lost: corrupted ones that were lost instead, because no checksum would have told the receiver.
    """

    matched: int = 0
    hit: int = 0
    lost: int = 0

    def __add__(self, other: RuleCounts) -> RuleCounts:
        return RuleCounts(self.matched + other.matched, self.hit + other.hit, self.lost + other.lost)


class FaultCounters:
    """Counts of one link.

    Args:
        plan: whose rules and triggers are counted.
        path: file that holds the counts; None keeps them in memory. A file that is there is continued: the fifth
            packet is the fifth one, however often the process in between died. Several processes may read it.
    """

    def __init__(self, plan: FaultPlan, path: Path | None = None) -> None:
        self._plan = plan
        size = max(1, _PER_RULE * len(plan.rules) + len(plan.triggers)) * _WORD_BYTES
        self._triggers = _PER_RULE * len(plan.rules)
        self._mapped: mmap.mmap | None = None
        if path is None:
            self._words = memoryview(bytearray(size)).cast("Q")
            return
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.ftruncate(descriptor, size)  # what is there stays, what is new is zero
            self._mapped = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._words = memoryview(self._mapped).cast("Q")

    def match(self, rule: int, direction: Direction) -> int:
        """Count a packet that matches a rule; returns its number in this direction, from 1."""
        index = _PER_RULE * rule + _COLUMN[direction]
        number = self._words[index] + 1
        self._words[index] = number
        return number

    def hit(self, rule: int, *, lost: bool = False) -> None:
        """Count a packet that a rule hit."""
        self._words[_PER_RULE * rule + _HIT] += 1
        if lost:
            self._words[_PER_RULE * rule + _LOST] += 1

    def see(self, trigger: int) -> None:
        """Count a packet that a trigger waits for."""
        self._words[self._triggers + trigger] += 1

    def seen(self, trigger: int) -> int:
        """Packets that a trigger waited for so far."""
        return self._words[self._triggers + trigger]

    @property
    def counts(self) -> dict[str, RuleCounts]:
        """Counts by the rule's label."""
        rows = (self._words[start : start + _PER_RULE] for start in range(0, self._triggers, _PER_RULE))
        return {
            label: RuleCounts(row[_UP] + row[_DOWN], row[_HIT], row[_LOST])
            for label, row in zip(self._plan.labels, rows, strict=True)
        }

    def close(self) -> None:
        """Give the file back; idempotent."""
        self._words.release()
        if self._mapped is not None:
            self._mapped.close()

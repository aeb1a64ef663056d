# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Counters of a fault injector, in memory or in a file that the next process continues."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum_switch.faults.plan import DOWN, UP, Direction, FaultPlan

_WORD_BYTES = 8
_PER_RULE = 4  # columns: matching packets up, matching packets down, hit packets, lost packets
_UP, _DOWN, _HIT, _LOST = range(_PER_RULE)
_COLUMN: dict[Direction, int] = {UP: _UP, DOWN: _DOWN}


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """Packets of one rule.

    Attributes:
        hit: packets that the rule was applied to.
        lost: packets that were dropped instead of corrupted, because no checksum covers them.
    """

    matched: int = 0
    hit: int = 0
    lost: int = 0

    def __add__(self, other: RuleCounts) -> RuleCounts:
        return RuleCounts(self.matched + other.matched, self.hit + other.hit, self.lost + other.lost)


class FaultCounters:
    """Counters of one link, or of the memory of one switch.

    Args:
        plan: the plan whose rules and triggers are counted.
        path: file of the counters; None keeps them in memory. Counting continues in an existing file, so packet
            numbers outlast a restart of the process. Several processes may read the file.
    """

    def __init__(self, plan: FaultPlan, path: Path | None = None) -> None:
        self._plan = plan
        self._triggers = _PER_RULE * len(plan.labels)
        size = max(1, self._triggers + len(plan.triggers)) * _WORD_BYTES
        self._mapped: mmap.mmap | None = None
        if path is None:
            self._words = memoryview(bytearray(size)).cast("Q")
            return
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot keep the fault counters in {path}: {error.strerror}.", "Give another folder."
            ) from error
        try:
            os.ftruncate(descriptor, size)  # existing counters stay, new ones are 0
            self._mapped = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._words = memoryview(self._mapped).cast("Q")

    def count_match(self, rule: int, direction: Direction) -> int:
        """Count a packet that matches a rule; return its number in this direction, from 1."""
        index = _PER_RULE * rule + _COLUMN[direction]
        number = self._words[index] + 1
        self._words[index] = number
        return number

    def count_hit(self, rule: int, *, lost: bool = False) -> None:
        """Count a packet that a rule was applied to; ``lost`` if it was dropped instead of corrupted."""
        self._words[_PER_RULE * rule + _HIT] += 1
        if lost:
            self._words[_PER_RULE * rule + _LOST] += 1

    def count_trigger(self, trigger: int) -> None:
        """Count a packet that matches a trigger."""
        self._words[self._triggers + trigger] += 1

    def triggered(self, trigger: int) -> int:
        """Return the number of packets that matched a trigger."""
        return self._words[self._triggers + trigger]

    @property
    def counts(self) -> dict[str, RuleCounts]:
        """The counts of every rule, by its label."""
        rows = (self._words[start : start + _PER_RULE] for start in range(0, self._triggers, _PER_RULE))
        return {
            label: RuleCounts(row[_UP] + row[_DOWN], row[_HIT], row[_LOST])
            for label, row in zip(self._plan.labels, rows, strict=True)
        }

    def close(self) -> None:
        """Close the file; idempotent."""
        self._words.release()
        if self._mapped is not None:
            self._mapped.close()

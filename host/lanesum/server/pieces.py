# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of one chunk, kept apart as long as it is not certain that they belong together.

What arrives is the sum over some set of workers: one worker's own words, or what a switch has added up. Sums over
disjoint sets can be added; overlapping ones cannot, because nothing can be subtracted again (OR and MAX have no
inverse). So disjoint *pieces* are kept, and of two that overlap only one.
"""

from __future__ import annotations

import enum
import functools

from lanesum.aggregation.combine import Words, combine
from lanesum.protocol.lanes import LaneOp


class Fate(enum.Enum):
    """What became of a piece."""

    KEPT = "kept"
    DUPLICATE = "duplicate"  # it names nobody who was missing
    OVERLAP = "overlap"  # it names somebody who was missing, but would cost as many others


class Pieces:
    """Disjoint sets of workers, each with its accumulator words.

    Args:
        op: how words combine.
        single: only single workers are going to arrive. Then nothing can overlap, and one sum is enough.
    """

    def __init__(self, op: LaneOp, *, single: bool = False) -> None:
        self._op = op
        self._single = single
        self._held: dict[int, Words] = {}  # set of workers -> their sum
        self.workers = 0  # the union of all sets

    def __len__(self) -> int:
        return len(self._held)

    def add(self, workers: int, words: Words) -> Fate:
        """Take the sum ``words`` (accumulator words, uint32) over the set ``workers``, which is not empty."""
        if not workers & ~self.workers:
            # Even where it is the union of several pieces, those say more: a later one may overlap with some of them.
            return Fate.DUPLICATE
        overlapping = [held for held in self._held if held & workers]
        replaced = functools.reduce(int.__or__, overlapping, 0)
        if replaced & ~workers and workers.bit_count() <= replaced.bit_count():
            return Fate.OVERLAP
        for held in overlapping:
            del self._held[held]
        self.workers = self.workers & ~replaced | workers
        if self._single and self._held:
            held, total = self._held.popitem()
            workers, words = workers | held, combine(self._op, total, words)
        self._held[workers] = words
        return Fate.KEPT

    def total(self) -> Words:
        """The sum over ``workers``, at least one piece being there."""
        return functools.reduce(functools.partial(combine, self._op), self._held.values())

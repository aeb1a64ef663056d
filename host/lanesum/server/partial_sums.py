# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums of one chunk over disjoint sets of workers.

A contribution is the sum over a set of workers: one worker's own words, or the aggregate of a switch. Sums over
disjoint sets can be added. Overlapping ones cannot, because no sum can be subtracted again (OR and MAX have no
inverse). So disjoint partial sums are kept, and one of two that overlap is dropped.
"""

from __future__ import annotations

import enum
import functools

from lanesum.aggregation.combine import Words, combine
from lanesum.protocol.lanes import LaneOp


class Acceptance(enum.Enum):
    """Outcome of ``PartialSums.add``."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"  # no worker in it was missing
    OVERLAP = "overlap"  # a worker in it was missing, but accepting it would remove at least as many workers


class PartialSums:
    """Disjoint sets of workers, each with its accumulator words.

    Args:
        single_workers: every contribution is one worker's. Sets never overlap then, and one sum is enough.
    """

    def __init__(self, op: LaneOp, *, single_workers: bool = False) -> None:
        self._op = op
        self._single_workers = single_workers
        self._sums: dict[int, Words] = {}  # set of workers -> their sum
        self.workers = 0  # union of all sets

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, workers: int, words: Words) -> Acceptance:
        """Add the sum ``words`` (accumulator words, uint32) over the non-empty set ``workers``.

        The sets stay disjoint, so that ``total`` counts each worker once (INV-1).
        """
        if not workers & ~self.workers:
            # Several smaller sums are more useful than their union: a later one may overlap with some of them only.
            return Acceptance.DUPLICATE
        overlapping = [held for held in self._sums if held & workers]
        replaced = functools.reduce(int.__or__, overlapping, 0)
        if replaced & ~workers and workers.bit_count() <= replaced.bit_count():
            return Acceptance.OVERLAP
        for held in overlapping:
            del self._sums[held]
        self.workers = self.workers & ~replaced | workers
        if self._single_workers and self._sums:
            held, total = self._sums.popitem()
            workers, words = workers | held, combine(self._op, total, words)
        self._sums[workers] = words
        return Acceptance.ACCEPTED

    def total(self) -> Words:
        """Return the sum over ``workers``, which is not empty."""
        return functools.reduce(functools.partial(combine, self._op), self._sums.values())

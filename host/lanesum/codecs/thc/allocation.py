# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bit allocation of ``thc``: a width for each block, where a bit reduces the error most.

All workers must compute the same plan from the same norms. So the reductions are rounded to integers, products and
comparisons are single IEEE operations, equal values keep the order of the blocks, and sums add one element at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Unit of the reductions of an error per word; the last bits of a machine's exp and erf are far below it.
_UNIT = 2.0**-32
# Relative error of blocks by their norms, over the NMSE that is asked for; by the losses of trainings with AdamW.
_RELATIVE = 2.0


class Width(NamedTuple):
    """One way to send a block.

    Attributes:
        number: of its codec; -1 for a block that is not sent.
        cost: words of a block, of the directions that count.
        error: expected squared error of a coordinate of the mean, in units of a worker's variance over the number of
            workers.
    """

    number: int
    cost: int
    error: float


@dataclass(frozen=True)
class Ladder:
    """Widths in order of their costs, each of which reduces the error by less per word than the one before it."""

    widths: tuple[Width, ...]

    @staticmethod
    def of(widths: Sequence[Width], unsent: float = 1.0) -> Ladder:
        """Return the widths on the lower convex hull of errors over costs, from 0 bits on.

        ``unsent``: error of a block of 0 bits. That is the energy of the mean: 1 for different vectors, and the number
        of workers for equal ones.
        """
        hull = [Width(-1, 0, unsent)]
        for width in sorted(widths, key=lambda one: (one.cost, one.error)):
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], width):
                hull.pop()
            if width.error < hull[-1].error:
                hull.append(width)
        return Ladder(tuple(hull))

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Cost of each step up the ladder, and what it reduces the error by per word, in units of 2**-32."""
        pairs = zip(self.widths, self.widths[1:], strict=False)
        return tuple((high.cost - low.cost, round(_slope(low, high) / _UNIT)) for low, high in pairs)

    def plan(self, norms: NDArray[np.float32], exponent: int, budget: int | None, error: float) -> NDArray[np.intp]:
        """Return the index in ``widths`` for each block.

        ``norms``: the largest ones of all workers. ``exponent``: 1 or 2, of a norm in the weight of its block.
        ``budget``: words of all blocks; None for any number. ``error``: steps end where the expected error is at most
        this share of the energy. With the exponent 1 also the error of a block in units of its own energy must be at
        most ``_RELATIVE`` times that, as the mean over the blocks, weighted by their norms.
        """
        wide = norms.astype(np.float64)
        weights = wide if exponent == 1 else wide * wide
        costs, slopes = (np.array(column, np.int64) for column in zip(*self.steps, strict=True))
        # Numbers are sorted much faster than positions, and sorted runs are merged faster than all values are sorted.
        keys = np.sort(
            (~norms.view(np.uint32)).astype(np.uint64) << np.uint64(32) | np.arange(norms.size, dtype=np.uint64)
        )
        falling = keys.astype(np.uint32)
        values = (slopes[:, None] * weights[falling]).reshape(-1)
        # A step comes after the steps below it: slopes fall, and equal values keep their order.
        order = np.argsort(-values, kind="stable")[: np.count_nonzero(values)]
        block, cost = np.tile(falling, costs.size)[order], np.repeat(costs, norms.size)[order]
        share, squares = np.repeat(costs * slopes, norms.size)[order], wide * wide
        total = float(np.add.accumulate(squares)[-1])
        gained = np.add.accumulate(np.append(0, squares[block] * share * _UNIT))[:-1]
        left = total * self.widths[0].error - gained
        taken = left > error * total
        if exponent == 1 and error:
            size = float(np.add.accumulate(wide)[-1])
            gained = np.add.accumulate(np.append(0, wide[block] * share * _UNIT))[:-1]
            taken |= size * self.widths[0].error - gained > _RELATIVE * error * size
        if budget is not None:
            taken &= np.cumsum(cost) <= budget
        return np.bincount(block[: None if taken.all() else int(np.argmin(taken))], minlength=norms.size)

    def expected(self, norms: NDArray[np.float32], plan: NDArray[np.intp]) -> float:
        """Return the expected squared error of a worker's blocks."""
        errors = np.array([round(one.error / _UNIT) * _UNIT for one in self.widths])
        wide = norms.astype(np.float64)
        return float(np.add.accumulate(wide * wide * errors[plan])[-1])

    def cost(self, plan: NDArray[np.intp]) -> int:
        """Return the words of all blocks."""
        return int(np.array([one.cost for one in self.widths])[plan].sum())


def _slope(low: Width, high: Width) -> float:
    return (low.error - high.error) / (high.cost - low.cost) if high.cost > low.cost else -np.inf

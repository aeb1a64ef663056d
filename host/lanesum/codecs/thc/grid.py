# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Grid of ``thc``: its range, and the selection of its integers that are levels.

After the rotation a coordinate is nearly N(0, 1) in units of M/sqrt(d). The grid has the integers 0 to g with a step of
``D = 2T/g``, from -T to T. The error of dithered rounding is ``D**2 / 12`` for any coordinate, and ``D**2 / (12 n**2)``
for the mean of n equal coordinates, because the dithers of n workers are spread evenly.

A code of b bits names 2**b of the integers. If g is larger than ``2**b - 1``, some integers are left out, never two
neighbours, which adds an error of ``D**2`` there. docs/codec-thc.md has the gain that makes up for clamping. The error
has a closed form, both for different and for equal vectors: a search over all g and a fine range of T takes
milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError

# T is a multiple of this step, so it is the same float on every machine.
_LIMIT_STEP = 1 / 64
_LIMITS = np.arange(96, 321, dtype=np.float64) * np.float64(_LIMIT_STEP)
# Closer costs are ties, which the smaller g and T win, independent of the last bits of a machine's exp.
_TIE = 1e-10
# Number of positions between two integers of the grid at which the density is sampled.
_SAMPLES = 16
# Steps of the iteration for a gain, each of which divides its error by 1.5 to 10,000.
_GAIN_STEPS = 50
#: Ratios of a block's norm to the largest one for which gains are tabulated.
RATIOS = np.linspace(0, 1, 129)


@dataclass(frozen=True)
class Grid:
    """Grid of integers.

    Attributes:
        levels: integers that have a code, increasing, from 0 to g.
        limit: T, in standard deviations.
    """

    levels: tuple[int, ...]
    limit: float

    @property
    def granularity(self) -> int:
        """Largest integer g, which is also the maximum contribution of one worker to a lane."""
        return self.levels[-1]

    @property
    def step(self) -> float:
        """Distance D of two neighbouring integers, in standard deviations."""
        return 2 * self.limit / self.granularity

    @property
    def uniform(self) -> bool:
        """True if every integer of the grid is a level, so no table is required."""
        return len(self.levels) == self.granularity + 1

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """Gain of a worker's block for each of ``RATIOS``."""
        return np.array([1.0, *(gain(self.limit, ratio) for ratio in RATIOS[1:].tolist())])

    def error(self, agreeing: int = 1) -> float:
        """Return the expected squared error of the mean of ``agreeing`` equal vectors, in units of their variance."""
        (found,) = _errors(self.levels, np.array([self.limit]), agreeing)
        return float(found)


def agreement_weight(workers: int) -> float:
    """Return the weight of the error of equal vectors against that of different ones.

    At 2, with 4 bits and 8 workers, the former is 0.0007 (at 0: 0.0015), and the latter 0.0117 (0.0112). The weight
    grows with the workers: rounding errors average out over them, clamping errors of equal vectors do not.
    """
    return max(2.0, workers / 8)


@lru_cache(maxsize=256)
def best_grid(bits: int, workers: int, lane_max: int, table: bool) -> Grid:
    """Return the grid of least error for codes of ``bits`` bits whose sum over ``workers`` fits ``lane_max``.

    The error is that of different vectors, plus :func:`agreement_weight` times that of equal ones. ``table``: integers
    may be left out, so a switch has to look codes up.

    Raises ConfigurationError if the coarsest grid does not fit the lane.
    """
    coarsest = 2**bits - 1
    finest = min(lane_max // workers, 2 * coarsest) if table else coarsest
    if coarsest * workers > lane_max:
        raise ConfigurationError(f"{workers} workers x {coarsest} exceed a lane of {lane_max}.", "Use fewer bits.")
    return best_of([outer_levels(bits, granularity) for granularity in range(coarsest, finest + 1)], workers)


def best_of(candidates: list[tuple[int, ...]], workers: int) -> Grid:
    """Return the grid of least error, see :func:`best_grid`, of several choices of levels."""
    best, best_cost = None, math.inf
    for levels in candidates:
        costs = _errors(levels, _LIMITS, 1) + agreement_weight(workers) * _errors(levels, _LIMITS, workers)
        index = int(np.argmax(costs <= costs.min() + _TIE))
        if costs[index] < best_cost - _TIE:
            best, best_cost = Grid(levels, float(_LIMITS[index])), float(costs[index])
    assert best is not None
    return best


def outer_levels(bits: int, granularity: int) -> tuple[int, ...]:
    """Return 2**bits of the integers from 0 to ``granularity``, without the outermost ones that can be left out.

    That is the best choice: the error of each is ``D**2`` times its probability, and the density falls outwards.
    Neither two neighbours nor the ends may be left out, so these are 1, 3, 5 and so on, from both ends.
    """
    left_out = granularity + 1 - 2**bits
    low, high = (left_out + 1) // 2, left_out // 2
    missing = {1 + 2 * i for i in range(low)} | {granularity - 1 - 2 * i for i in range(high)}
    return tuple(level for level in range(granularity + 1) if level not in missing)


@lru_cache(maxsize=1024)
def gain(limit: float, ratio: float = 1.0) -> float:
    """Return the factor c for normal coordinates y of deviation ``ratio``: clamp(c y) to [-T, T] has the slope 1 in y.

    The slope of the best linear fit is ``E[y clamp(c y)] / E[y**2] = c erf(T / (c ratio sqrt 2))``.
    """
    found = 1.0
    for _ in range(_GAIN_STEPS):
        found = 1 / math.erf(limit / (found * ratio * math.sqrt(2)))
    return found


@lru_cache(maxsize=1024)
def clamping_error(limit: float) -> float:
    """Return the expected squared difference of N(0, 1) and its clamping to [-T, T], after the :func:`gain`."""
    stretch = gain(limit)
    t = limit / stretch
    tail = 0.5 * math.erfc(t / math.sqrt(2))
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    return stretch**2 * (1 - 2 * tail - 2 * t * density + 2 * t * t * tail) - 1


def _errors(levels: tuple[int, ...], limits: NDArray[np.float64], agreeing: int) -> NDArray[np.float64]:
    """Return :meth:`Grid.error` for each T."""
    steps = 2 * limits / levels[-1]
    missing = [low + 1 for low, high in pairwise(levels) if high > low + 1]
    samples = (np.arange(2 * _SAMPLES) + 0.5) / _SAMPLES - 1
    at = np.array(missing)[:, None] + samples - levels[-1] / 2
    density = _density(steps[:, None, None] * at) * steps[:, None, None]
    detours = (density * detours_squared(agreeing, 1 - np.abs(samples))).sum(axis=(1, 2)) / _SAMPLES
    clamping = np.array([clamping_error(limit) for limit in limits.tolist()])
    errors: NDArray[np.float64] = clamping + steps**2 * (1 / 12 + detours) / agreeing**2
    return errors


def detours_squared(agreeing: int, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected square of the sum of detours by one step at a left-out integer, for equal vectors.

    ``share``: of the dithers that lead to the integer. The workers with such dithers are neighbours on a ring. Of every
    two neighbours, one goes up and one goes down.
    """
    ways = np.where(np.arange(agreeing) % 2, -1.0, 1.0)
    ring = np.concatenate(([0.0], np.cumsum(np.concatenate((ways, ways)))))
    starts = np.arange(agreeing)
    squares = np.array([np.mean((ring[starts + count] - ring[starts]) ** 2) for count in range(agreeing + 1)])
    interpolated: NDArray[np.float64] = np.interp(share * agreeing, np.arange(agreeing + 1), squares)
    return interpolated


def _density(y: NDArray[np.float64]) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
    return density

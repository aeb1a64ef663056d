# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The grid that ``thc`` rounds to: how wide it reaches, and which of its integers are levels.

After the rotation a coordinate is close to N(0, 1) in units of M/sqrt(d). The grid has the integers 0 to g at a step of
``D = 2T/g``, from -T to T. Dithered rounding of a coordinate to it costs ``D**2 / 12`` whatever the coordinate is, and
``D**2 / (12 n**2)`` for the mean of n equal ones, because the dithers of n workers are spread evenly.

A code of b bits names 2**b of the integers. Where g is larger than ``2**b - 1`` some are left out, never two
neighbours; what would be rounded to one of them goes to a neighbour, at random and without bias, which adds ``D**2``
each time. Beyond -T and T there is the clamping error, which is the same for all workers.

Both for workers that differ and for workers that agree the error is known in closed form, and the best grid is found by
trying every g and a fine range of T: milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError

#: What the error of agreeing workers counts for, beside that of workers that differ. At 2, with 4 bits and 8
#: workers, the former is 0.0007 instead of 0.0015 (at 0), and the latter 0.0117 instead of 0.0112.
AGREEMENT_WEIGHT = 2.0
#: T is a multiple of this, so that it is the same float on every machine.
_LIMIT_STEP = 1 / 64
_LIMITS = np.arange(96, 321, dtype=np.float64) * np.float64(_LIMIT_STEP)
# Costs closer than this are ties and go to the smaller g and T, whatever the last bits of a machine's exp are.
_TIE = 1e-10
# Places between two integers of the grid where the density is looked at.
_PLACES = 16


@dataclass(frozen=True)
class Grid:
    """``levels``: the integers that a code can name, increasing, from 0 to g. ``limit``: T, in deviations."""

    levels: tuple[int, ...]
    limit: float

    @property
    def granularity(self) -> int:
        """g: the largest integer, which is the most that one worker adds to a lane."""
        return self.levels[-1]

    @property
    def step(self) -> float:
        """D: distance of two neighbouring integers, in deviations."""
        return 2 * self.limit / self.granularity

    @property
    def uniform(self) -> bool:
        """Whether every integer of the grid is a level, so that no table is needed."""
        return len(self.levels) == self.granularity + 1

    def error(self, agreeing: int = 1) -> float:
        """Expected squared error of the mean of ``agreeing`` workers with one vector, in units of its variance."""
        (found,) = _errors(self.levels, np.array([self.limit]), agreeing)
        return float(found)


@lru_cache(maxsize=256)
def best_grid(bits: int, workers: int, lane_max: int, table: bool) -> Grid:
    """The grid whose error is least, for codes of ``bits`` bits, of which ``workers`` fit a lane of ``lane_max``.

    Minimizes the error of workers that differ, plus :data:`AGREEMENT_WEIGHT` times that of workers that agree.
    ``table``: whether integers may be left out, for which a switch has to look codes up.

    Raises ConfigurationError where not even one integer per code fits.
    """
    least = 2**bits - 1
    most = min(lane_max // workers, 2 * least) if table else least
    if least * workers > lane_max:
        raise ConfigurationError(f"{workers} workers x {least} do not fit a lane of {lane_max}.", "Use fewer bits.")
    best, best_cost = None, math.inf
    for granularity in range(least, most + 1):
        levels = outer_levels(bits, granularity)
        costs = _errors(levels, _LIMITS, 1) + AGREEMENT_WEIGHT * _errors(levels, _LIMITS, workers)
        index = int(np.argmax(costs <= costs.min() + _TIE))
        if costs[index] < best_cost - _TIE:
            best, best_cost = Grid(levels, float(_LIMITS[index])), float(costs[index])
    assert best is not None
    return best


def outer_levels(bits: int, granularity: int) -> tuple[int, ...]:
    """2**bits of the integers from 0 to ``granularity``, leaving out the outermost ones that can be left out.

    That is the best choice: each costs ``D**2`` times how often it is met, and the density falls outwards. No two
    neighbours may be left out, nor the ends; so it is 1, 3, 5 and so on, from both ends.
    """
    left_out = granularity + 1 - 2**bits
    low, high = (left_out + 1) // 2, left_out // 2
    missing = {1 + 2 * i for i in range(low)} | {granularity - 1 - 2 * i for i in range(high)}
    return tuple(level for level in range(granularity + 1) if level not in missing)


def clamping_error(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected squared distance of N(0, 1) from [-T, T], for every T."""
    tails = np.array([0.5 * math.erfc(limit / math.sqrt(2)) for limit in limits])
    return 2 * ((1 + limits**2) * tails - limits * _density(limits))


def _errors(levels: tuple[int, ...], limits: NDArray[np.float64], agreeing: int) -> NDArray[np.float64]:
    """As :meth:`Grid.error`, for every T."""
    steps = 2 * limits / levels[-1]
    missing = [low + 1 for low, high in pairwise(levels) if high > low + 1]
    places = (np.arange(2 * _PLACES) + 0.5) / _PLACES - 1
    at = np.array(missing)[:, None] + places - levels[-1] / 2
    density = _density(steps[:, None, None] * at) * steps[:, None, None]
    detours = (density * detours_squared(agreeing, 1 - np.abs(places))).sum(axis=(1, 2)) / _PLACES
    return clamping_error(limits) + steps**2 * (1 / 12 + detours) / agreeing**2


def detours_squared(agreeing: int, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected square of the sum of the detours by one step, up or down, where equal workers meet a left-out integer.

    ``share``: the part of the dithers that leads to it. The workers concerned are neighbours on a ring, one more or
    less than ``share`` of them, and of every two workers in a row one goes up and one down.
    """
    ways = np.where(np.arange(agreeing) % 2, -1.0, 1.0)
    ring = np.concatenate(([0.0], np.cumsum(np.concatenate((ways, ways)))))
    starts = np.arange(agreeing)
    squares = np.array([np.mean((ring[starts + count] - ring[starts]) ** 2) for count in range(agreeing + 1)])
    return np.interp(share * agreeing, np.arange(agreeing + 1), squares)


def _density(y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-y * y / 2) / math.sqrt(2 * math.pi)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code tables of THC: the exact optimum by dynamic programming, and the tables of the paper's artifact.

After the rotation a coordinate is nearly N(0, 1) in units of M/sqrt(d). A table has ``2**bits`` increasing integers
from 0 to the granularity ``g``. Its quantization levels are ``(t - g/2) * 2T/g``, inside [-T, T]; the fraction ``p`` of
a standard normal lies outside (two-sided). The error has two parts: the variance of unbiased rounding between
neighbouring levels, which averages over workers, and the squared clamping error beyond T, which does not average for
equal vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError

# Closer costs are ties, which the lower level wins. So all hosts have the same table, although the last bits of erf and
# exp differ between C libraries.
_TIE = 1e-12

#: Values of p that the search tries. Values outside this range are never best for 2 to 4 bits.
SUPPORTS = tuple(1 / f for f in (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048))

#: Tables published with the paper's artifact and its successor (both Apache-2.0), by (bits, granularity, 1/p).
PUBLISHED: dict[tuple[int, int, int], tuple[int, ...]] = {
    **{(4, 30, f): (0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30) for f in (32, 64)},
    **{(4, 30, f): (0, 4, 6, 8, 10, 12, 13, 14, 16, 17, 18, 20, 22, 24, 26, 30) for f in (128, 256)},
    (4, 30, 16): tuple(range(0, 31, 2)),
    (4, 30, 512): (0, 4, 7, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 23, 26, 30),
    **{(4, 34, f): (0, 3, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 31, 34) for f in (16, 32, 64, 128)},
    **{(4, 34, f): (0, 4, 7, 9, 11, 13, 15, 16, 18, 19, 21, 23, 25, 27, 30, 34) for f in (256, 512)},
    (4, 34, 1024): (0, 5, 8, 10, 12, 14, 15, 16, 18, 19, 20, 22, 24, 26, 29, 34),
    (4, 42, 1024): (0, 6, 9, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 33, 36, 42),
    (3, 16, 32): (0, 3, 5, 7, 9, 11, 13, 16),
    (3, 16, 1024): (0, 4, 6, 7, 9, 10, 12, 16),
    (3, 42, 1024): (0, 10, 15, 19, 23, 27, 32, 42),
    (2, 34, 512): (0, 13, 21, 34),
}


@dataclass(frozen=True)
class CodeTable:
    """Table with its expected errors per coordinate of an N(0, 1) input, in units of the variance."""

    values: tuple[int, ...]
    support: float
    rounding: float
    clamping: float

    @property
    def granularity(self) -> int:
        """Largest table value, which is the maximum contribution of one worker to a lane."""
        return self.values[-1]

    def error(self, agreeing: int = 1) -> float:
        """Return the expected normalized error of the mean of ``agreeing`` equal vectors."""
        return self.clamping + self.rounding / agreeing


def support_limit(p: float) -> float:
    """Return T with a fraction ``p`` of a standard normal outside [-T, T].

    It is rounded to 12 decimals: coarser than the differences between C libraries, finer than any use requires.
    """
    if not 0 < p < 1:
        raise ConfigurationError(f"Invalid support parameter p={p}: expected 0 < p < 1, for example 1/32.")
    return round(NormalDist().inv_cdf(1 - p / 2), 12)


def clamping_error(p: float) -> float:
    """Return the expected squared distance of N(0, 1) from [-T, T]."""
    limit = support_limit(p)
    tail = 0.5 * math.erfc(limit / math.sqrt(2))
    return 2 * ((1 + limit**2) * tail - limit * _density(limit))


def rounding_variance(values: Sequence[int], p: float) -> float:
    """Return the expected variance of unbiased rounding of N(0, 1), inside [-T, T], to the levels of a table."""
    cost = _segment_costs(values[-1], p)
    return float(sum(cost[low, high] for low, high in pairwise(values)))


@lru_cache(maxsize=64)
def best_table(bits: int, granularity: int, p: float) -> CodeTable:
    """Return the table of ``2**bits`` levels with the least rounding variance, in O(2**bits * granularity**2).

    Its mirror image ``g - t`` is equally good. Raises ConfigurationError if the granularity is too small.
    """
    _check(bits, granularity)
    values, variance = _solve(2**bits, _segment_costs(granularity, p))
    return CodeTable(values, p, variance, clamping_error(p))


def choose_table(
    bits: int,
    workers: int,
    *,
    lane_max: int = 255,
    agreeing: int = 1,
    supports: Iterable[float] = SUPPORTS,
) -> CodeTable:
    """Return the table of least error over all granularities whose sum over ``workers`` fits a lane, and over p.

    ``agreeing``: expected number of workers with equal vectors. Rounding averages over them and clamping does not, so
    more agreement requires a wider support. The search takes seconds for one worker, and milliseconds for many.

    Raises ConfigurationError if the coarsest table does not fit ``lane_max``.
    """
    _check(bits, lane_max // workers)
    best: CodeTable | None = None
    for p in supports:
        for granularity in range(2**bits - 1, lane_max // workers + 1):
            values, variance = _solve(2**bits, _segment_costs(granularity, p))
            table = CodeTable(values, p, variance, clamping_error(p))
            if best is None or table.error(agreeing) < best.error(agreeing) - _TIE:
                best = table
    if best is None:
        raise ConfigurationError("Invalid supports: expected at least one value.")
    return best


def _check(bits: int, granularity: int) -> None:
    if bits not in (2, 3, 4):
        raise ConfigurationError(f"Invalid bits={bits} for codec thc-paper: expected 2, 3 or 4.")
    if granularity < 2**bits - 1:
        raise ConfigurationError(
            f"Granularity {granularity} is too small for {2**bits} different levels.",
            f"Use granularity {2**bits - 1} or more, fewer bits, or fewer workers.",
        )


def _density(y: float) -> float:
    return math.exp(-y * y / 2) / math.sqrt(2 * math.pi)


def _segment_costs(granularity: int, p: float) -> NDArray[np.float64]:
    """Return ``cost[i, j]``: the integral of (y - v_i)(v_j - y) over the normal density for i < j, else infinity."""
    limit = support_limit(p)
    v = (np.arange(granularity + 1) * 2 - granularity) * (limit / granularity)
    cdf = np.array([0.5 * math.erfc(-y / math.sqrt(2)) for y in v])
    pdf = np.array([_density(y) for y in v])
    mass = cdf - cdf[:, None]  # of [v_i, v_j]
    first = pdf[:, None] - pdf  # its first moment
    second = mass - (v * pdf - (v * pdf)[:, None])
    cost: NDArray[np.float64] = (v + v[:, None]) * first - v * v[:, None] * mass - second
    cost[np.tril_indices(granularity + 1)] = np.inf
    return cost


def _solve(levels: int, cost: NDArray[np.float64]) -> tuple[tuple[int, ...], float]:
    """Return the cheapest path from the first to the last grid point in ``levels - 1`` segments, and its cost."""
    reach = cost[0]
    back = []
    for _ in range(levels - 2):
        through = reach[:, None] + cost
        least = through.min(axis=0)
        back.append((through <= least + _TIE).argmax(axis=0))
        reach = least
    path = [len(cost) - 1]
    for previous in reversed(back):
        path.append(int(previous[path[-1]]))
    return (0, *reversed(path)), float(reach[-1])

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code tables of THC: the exact optimum by dynamic programming.

After the rotation a coordinate is nearly N(0, 1) in units of M/sqrt(d). A table has ``2**bits`` increasing integers
from 0 to the granularity ``g``. Its quantization levels are ``(t - g/2) * 2T/g``, inside [-T, T]; the fraction ``p`` of
a standard normal lies outside (two-sided). The error has two parts: the variance of unbiased rounding between
neighbouring levels, which averages over workers, and the squared clamping error beyond T, which does not average for
equal vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError

# Closer costs are ties, which the lower level wins. So all hosts have the same table, although the last bits of erf and
# exp differ between C libraries.
_TIE = 1e-12


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
def best_table(bits: int, granularity: int, p: float) -> tuple[int, ...]:
    """Return the table of ``2**bits`` levels with the least rounding variance, in O(2**bits * granularity**2).

    Its mirror image ``g - t`` is equally good. Raises ConfigurationError if the granularity is too small.
    """
    if bits not in (2, 3, 4):
        raise ConfigurationError(f"Invalid bits={bits} for codec thc-paper: expected 2, 3 or 4.")
    if granularity < 2**bits - 1:
        raise ConfigurationError(
            f"Granularity {granularity} is too small for {2**bits} different levels.",
            f"Use granularity {2**bits - 1} or more, fewer bits, or fewer workers.",
        )
    cost = _segment_costs(granularity, p)
    # Cheapest path from the first to the last grid point.
    reach = cost[0]
    back = []
    for _ in range(2**bits - 2):
        through = reach[:, None] + cost
        least = through.min(axis=0)
        back.append((through <= least + _TIE).argmax(axis=0))
        reach = least
    path = [granularity]
    for previous in reversed(back):
        path.append(int(previous[path[-1]]))
    return (0, *reversed(path))


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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The dithers of ``thc``: what every worker adds before it cuts off the fraction, and what their sum takes away again.

All workers draw the same number u of 16 bits for a coordinate; worker k of n uses it shifted by its own share of the
circle, so the dithers of n workers are spread evenly over it and every one of them is uniform::

    offset_k = floor(k * 65536 / n)        dither_k = (u + offset_k) mod 65536

A position t on the grid becomes the integer ``floor(t + dither_k / 65536)``, whose error is uniform and independent of
t once the dither is taken away again. From the sum S over all n workers, the sum of their positions is estimated, in
steps of 1/65536, as::

    65536 * S - sum(dither_k) + 32768 * n
    sum(dither_k) = sum(offset_k) + (n * u mod 65536)

The last line is exact: the number of workers whose addition wraps is ``floor(n * u / 65536)``. So one random word per
coordinate is enough, however many workers there are. Where some are not in the sum, their dithers are left out one by
one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: One step of the grid, in the units of dithers.
UNIT = 1 << 16
_HALF = UNIT // 2


def dither_offset(worker: int, workers: int) -> int:
    """What ``worker`` of ``workers`` adds to the dither that all share."""
    return worker * UNIT // workers


@dataclass(frozen=True)
class DitherSum:
    """What makes the sum of levels in a lane an estimate of the sum of positions, less the middle of the grid.

    With the shared dither u of a coordinate that is, modulo 2**32 and in steps of 1/65536::

        65536 * S - (multiplier * u mod 65536) - sign * sum((u + offset) mod 65536 for offset in offsets) - constant

    ``count``: how many workers are in the sum.
    """

    multiplier: int
    offsets: NDArray[np.uint16]
    sign: int
    constant: int
    count: int


def dither_sum(workers: int, granularity: int, contributors: NDArray[np.bool_] | None = None) -> DitherSum:
    """Of the ``contributors`` (boolean, one per worker), or of all ``workers``, on a grid of ``granularity`` steps."""
    offsets = np.arange(workers, dtype=np.int64) * UNIT // workers
    if contributors is None:
        contributors = np.ones(workers, dtype=np.bool_)
    count = int(contributors.sum())
    middle = count * (granularity - 1) * _HALF
    if 2 * count >= workers:
        missing = offsets[~contributors].astype(np.uint16)
        return DitherSum(workers, missing, -1, int(offsets.sum()) + middle, count)
    return DitherSum(0, offsets[contributors].astype(np.uint16), 1, middle, count)


def dither_sums(dithers: NDArray[np.uint32], taken: DitherSum) -> NDArray[np.uint32]:
    """What is to be taken from 65536 times the sum in a lane, for every shared dither; modulo 2**32."""
    total = dithers * np.uint32(taken.multiplier) & np.uint32(UNIT - 1)
    for offset in taken.offsets:
        shifted = dithers + np.uint32(offset) & np.uint32(UNIT - 1)
        total = total + shifted if taken.sign > 0 else total - shifted
    return total + np.uint32(taken.constant % 2**32)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Dithers of ``thc``: noise that each worker adds before rounding down, and that all subtract from the sum.

docs/codec-thc.md has the effects. From a number u of 16 bits that all workers share, worker k of n makes::

    offset_k = floor(k * 65536 / n)        dither_k = (u + offset_k) mod 65536

A position t on the grid becomes the integer ``floor(t + dither_k / 65536)``. Its error is uniform and independent of t
after the dither is subtracted. From the sum S over all n workers, the sum of their positions is estimated, in steps of
1/65536, as::

    65536 * S - sum(dither_k) + 32768 * n
    sum(dither_k) = sum(offset_k) + (n * u mod 65536)

The last line is exact: the number of workers whose addition wraps is ``floor(n * u / 65536)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.kernels.philox import shared_dithers

#: One step of the grid, in the units of dithers.
UNIT = 1 << 16
_HALF = UNIT // 2
_NO_OFFSETS = np.empty(0, np.uint16)


def dither_offset(worker: int, workers: int) -> int:
    """Return the offset of ``worker`` of ``workers`` to the shared dither."""
    return worker * UNIT // workers


class SharedDithers(NamedTuple):
    """Dithers that all workers of a job draw for a run of blocks.

    Attributes:
        seed: 64 bits.
        round: of the all-reduce, modulo 2**32.
        first: number of the first block of the run.
    """

    seed: int
    round: int
    first: int

    def after(self, blocks: int) -> SharedDithers:
        """Return the dithers of the run that starts ``blocks`` later."""
        return SharedDithers(self.seed, self.round, self.first + blocks)

    def draw(self, blocks: int, length: int) -> NDArray[np.uint32]:
        """Return numbers of 16 bits for the first blocks: uint32, shape (blocks, length)."""
        return shared_dithers(blocks, length, seed=self.seed, round=self.round, first=self.first)


class Rounding(NamedTuple):
    """Rounding of one worker to the levels of a grid.

    Attributes:
        granularity: largest integer of the grid.
        cells: for every integer of the grid the code of its level or the next lower one, plus ``LEFT_OUT`` where the
            integer is not a level; empty where every integer is a level and its own code.
        levels: level of each code, 256 entries.
        offset: of this worker's dithers.
        flip: half of the shared dithers, the even (0) or the odd ones (1), with which an integer that is not a level
            becomes the lower of its neighbours.
        op: lane operation of the codes.
    """

    granularity: int
    cells: NDArray[np.uint8]
    levels: NDArray[np.uint8]
    offset: int
    flip: int
    op: int


class DitherSum(NamedTuple):
    """Sum of the dithers of some workers, which decoding subtracts from the sum of their levels.

    With the shared dither u of a coordinate, the sum of positions less the middle of the grid is estimated as follows,
    modulo 2**32 and in steps of 1/65536::

        65536 * S - (multiplier * u mod 65536) - sign * sum((u + offset) mod 65536 for offset in offsets) - constant

    ``num_workers``: in the sum.
    """

    multiplier: int
    offsets: NDArray[np.uint16]
    sign: int
    constant: int
    num_workers: int


def dither_sum(workers: int, granularity: int, contributors: NDArray[np.bool_] | None = None) -> DitherSum:
    """Return the dither sum of the ``contributors`` (boolean, one per worker), or of all ``workers``.

    ``granularity``: steps of the grid.
    """
    if contributors is None:
        total = sum(dither_offset(worker, workers) for worker in range(workers))
        return DitherSum(workers, _NO_OFFSETS, -1, total + workers * (granularity - 1) * _HALF, workers)
    offsets = np.arange(workers, dtype=np.int64) * UNIT // workers
    count = int(contributors.sum())
    middle = count * (granularity - 1) * _HALF
    if 2 * count >= workers:
        missing = offsets[~contributors].astype(np.uint16)
        return DitherSum(workers, missing, -1, int(offsets.sum()) + middle, count)
    return DitherSum(0, offsets[contributors].astype(np.uint16), 1, middle, count)


def dither_sums(dithers: NDArray[np.uint32], taken: DitherSum) -> NDArray[np.uint32]:
    """Return the sum of dithers for each shared dither, modulo 2**32: to subtract from 65536 times a lane's sum."""
    total = dithers * np.uint32(taken.multiplier) & np.uint32(UNIT - 1)
    for offset in taken.offsets:
        shifted = dithers + np.uint32(offset) & np.uint32(UNIT - 1)
        total = total + shifted if taken.sign > 0 else total - shifted
    return total + np.uint32(taken.constant % 2**32)

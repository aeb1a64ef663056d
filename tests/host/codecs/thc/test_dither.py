# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Dithers: their sum in one word, over everything that is possible, and how evenly they are spread."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs.kernels.philox import RandomStream, random_words, shared_dithers
from lanesum.codecs.thc.dither import UNIT, dither_offset, dither_sum, dither_sums

ALL = np.arange(UNIT, dtype=np.uint32)


def dithers_of(worker: int, workers: int) -> np.ndarray:
    return (ALL.astype(np.int64) + dither_offset(worker, workers)) % UNIT


@pytest.mark.parametrize("workers", [*range(1, 41), 64, 100, 1024])
def test_sum_over_all_workers_takes_one_word(workers: int) -> None:
    offsets = [dither_offset(worker, workers) for worker in range(workers)]
    direct = sum(dithers_of(worker, workers) for worker in range(workers))
    assert (direct == sum(offsets) + workers * ALL.astype(np.int64) % UNIT).all()
    # A decoder computes, with a granularity of 15: 65536 S - sum(dithers) + n/2 - n g/2, without the first.
    taken = dither_sum(workers, 15)
    assert (taken.multiplier, taken.offsets.size, taken.num_workers) == (workers, 0, workers)
    assert (dither_sums(ALL, taken) == (direct - workers * UNIT // 2 + workers * 15 * UNIT // 2) % 2**32).all()


@pytest.mark.parametrize("missing", [[0], [3, 4], [0, 2, 5, 6], [0, 1, 2, 3, 5, 6]])
def test_missing_workers_are_left_out_one_by_one(missing: list[int]) -> None:
    there = np.isin(np.arange(7), missing, invert=True)
    direct = sum(dithers_of(worker, 7) for worker in range(7) if there[worker])
    taken = dither_sum(7, 17, there)
    assert taken.num_workers == there.sum() and taken.offsets.size <= 3
    assert (dither_sums(ALL, taken) == (direct + int(taken.num_workers) * 16 * UNIT // 2) % 2**32).all()


@pytest.mark.parametrize("workers", [1, 3, 8, 100])
def test_dithers_of_all_workers_are_spread_evenly(workers: int) -> None:
    # Every gap on the circle is the circle's n-th part, rounded.
    for u in (0, 1, 12345, 65535):
        places = np.sort([(u + dither_offset(worker, workers)) % UNIT for worker in range(workers)])
        gaps = np.diff(places, append=places[0] + UNIT)
        assert gaps.min() >= UNIT // workers and gaps.max() <= -(-UNIT // workers)


@pytest.mark.parametrize("length", [32, 64, 96, 200])
def test_coordinate_has_its_place_in_block_stream(length: int) -> None:
    found = shared_dithers(2, length, seed=5 << 40, round=2**32 + 3, first=7)
    for block in range(2):
        words = random_words(2048, seed=5 << 40, stream=RandomStream.DITHER, round=3, chunk=7 + block)
        for at in range(length):
            inside = at % 64
            word = words[at // 64 * 32 + inside % 16 // 2 * 4 + inside // 32 * 2 + inside % 2]
            assert found[block, at] == word >> (16 * (inside // 16 % 2)) & 0xFFFF

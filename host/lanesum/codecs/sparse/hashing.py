# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Hashes of keys: the three cells and signs of a key in a sketch, and its bits in a Bloom filter.

A key is an integer below 2**32. All hashes come from 64-bit words of the finalizer of MurmurHash3 (Appleby, public
domain). The seed is fresh in every round, so collisions of keys do not repeat. All machines compute the same hashes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint32]

#: Number of keys.
MAX_KEYS = 2**32
#: Keys that share the words of a Bloom filter.
GROUP = 64

_MASK = 2**64 - 1
# 2**64 over the golden ratio, odd: consecutive keys become words far apart.
_STEP = 0x9E3779B97F4A7C15
_FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
_SHIFT = 33
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a sketch, and the placement of the three cells of a key.

    Attributes:
        count: number of cells, at least 3.
        segment: 0 for three distinct cells out of all. A power of two for three consecutive segments of so many cells,
            with a higher peeling threshold (“fuse graph”: Dietzfelbinger and Walzer, ESA 2019). ``count`` is a multiple
            of it then, at least three times it.
    """

    count: int
    segment: int = 0


def mix(word: int) -> int:
    """Return the finalizer of one 64-bit word."""
    for factor in _FACTORS:
        word = (word ^ word >> _SHIFT) * factor & _MASK
    return word ^ word >> _SHIFT


def round_seed(seed: int, round_: int, use: int) -> int:
    """Return the 64-bit seed of one ``use`` (0: sketch, 1: filter) in one round of a job with ``seed``."""
    return mix(mix(seed) + (round_ << 1 | use) * _STEP & _MASK)


def cells_of(keys: Keys, seed: int, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the three distinct cells of each key (int64, shape (keys, 3)), and its signs in them.

    Bit i of the signs is set if the sign in cell i is -1.
    """
    first = _words(keys, seed)
    second = _mixed(first + np.uint64(_STEP))
    placed = np.empty((keys.size, 3), np.uint64)
    if cells.segment:
        within = np.uint64(cells.segment - 1)
        segment = np.uint64(cells.segment)
        start = (first >> _HALF) * np.uint64(cells.count - 2 * cells.segment) >> _HALF
        # Keys with close starts still have different cells in a segment.
        placed[:, 0] = start
        placed[:, 1] = (start + segment) ^ (first & within)
        placed[:, 2] = (start + segment + segment) ^ (second >> _HALF & within)
    else:
        # Drawn from the cells that are not taken yet, then shifted past the taken ones.
        a = (first >> _HALF) * np.uint64(cells.count) >> _HALF
        b = (first & _LOW) * np.uint64(cells.count - 1) >> _HALF
        b += b >= a
        c = (second >> _HALF) * np.uint64(cells.count - 2) >> _HALF
        c += c >= np.minimum(a, b)
        c += c >= np.maximum(a, b)
        placed[:, 0], placed[:, 1], placed[:, 2] = a, b, c
    return placed.astype(np.int64), (second & np.uint64(7)).astype(np.uint32)


def filter_places(
    groups: NDArray[np.uint64], seed: int, words: int, number: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return word and rotation of hash ``number`` (from 0) of each group, in a filter of 64-bit ``words``.

    A *group* is 64 consecutive keys: key ``64 * group + bit`` is its bit ``bit``. All keys of a group use the same
    words, so one word of the filter covers 64 keys at once. Keys of one group do not collide; those of different groups
    collide as in any Bloom filter. Words and rotations are arithmetic progressions, with start and step from one 64-bit
    word each (Kirsch and Mitzenmacher, 2006).
    """
    first = _mixed(groups * np.uint64(_STEP) + np.uint64(seed))
    second = _mixed(first + np.uint64(_STEP))
    place, turn = (some + (some >> _HALF | np.uint64(1)) * np.uint64(number) & _LOW for some in (first, second))
    return (place * np.uint64(words) >> _HALF).astype(np.int64), turn >> np.uint64(26)


def _words(keys: Keys, seed: int) -> NDArray[np.uint64]:
    return _mixed(keys.astype(np.uint64) * np.uint64(_STEP) + np.uint64(seed))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in _FACTORS:
        words = words ^ words >> np.uint64(_SHIFT)
        words *= np.uint64(factor)
    return words ^ words >> np.uint64(_SHIFT)

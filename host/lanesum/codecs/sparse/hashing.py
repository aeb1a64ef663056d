# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Where a key goes: its three cells and signs in a sketch, its places in a Bloom filter. The same on every machine.

A key is a number below 2**32. All draws come from 64-bit words made with the finalizer of MurmurHash3 (Appleby, public
domain) under a seed that is fresh in every round: keys that were unlucky together once are not so again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint32]

#: A key is below this.
MOST_KEYS = 2**32
#: Keys that a word of a Bloom filter is about.
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
    """A sketch's cells, ``count`` of them, 3 at least, and how a key's three are placed.

    ``segment``: 0 draws three distinct cells from all; else a power of two: the three lie in three consecutive segments
    of so many cells, which moves the threshold of peeling up ("fuse graph": Dietzfelbinger and Walzer, ESA 2019).
    ``count`` is a multiple of it then, three times it at least.
    """

    count: int
    segment: int = 0


def mix(word: int) -> int:
    """The finalizer, on one 64-bit word."""
    for factor in _FACTORS:
        word = (word ^ word >> _SHIFT) * factor & _MASK
    return word ^ word >> _SHIFT


def round_seed(seed: int, round_: int, use: int) -> int:
    """64 bits for one ``use`` (0 the sketch, 1 the filter) in one round of a job with ``seed``."""
    return mix(mix(seed) + (round_ << 1 | use) * _STEP & _MASK)


def cells_of(keys: Keys, seed: int, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Three distinct cells of each key (int64, shape (keys, 3)), and in bits 0 to 2 whether its sign there is -1."""
    first = _words(keys, seed)
    second = _mixed(first + np.uint64(_STEP))
    placed = np.empty((keys.size, 3), np.uint64)
    if cells.segment:
        within = np.uint64(cells.segment - 1)
        segment = np.uint64(cells.segment)
        start = (first >> _HALF) * np.uint64(cells.count - 2 * cells.segment) >> _HALF
        # Another place in its segment for each key, however close the starts are.
        placed[:, 0] = start
        placed[:, 1] = (start + segment) ^ (first & within)
        placed[:, 2] = (start + segment + segment) ^ (second >> _HALF & within)
    else:
        # Of all but those already taken; then moved past them.
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
    """Where place ``number`` (from 0) of each group is in a filter of 64-bit ``words``: the word, and by how many bits
    the group is rotated in it.

    A *group* is 64 keys in a row, key ``64 * group + bit`` being its bit ``bit``: all its keys go to the same words, so
    that a word of the filter says something of 64 keys at once. Keys of a group never get in each other's way, those of
    different groups do so as in any Bloom filter. Words and rotations are arithmetic progressions, their starts and
    steps from one 64-bit word each (Kirsch and Mitzenmacher, 2006).
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

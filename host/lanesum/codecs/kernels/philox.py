# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random bits that all implementations share: Philox4x32-7, keyed by the use of the bits.

The counter-based generator is that of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC
2011): the same bits in Python, C++ and GPUs. With seven rounds it is the fastest Philox4x32 that passes BigCrush (table
2 there). Layout of key and counter:

====================  =================================================================
key word 0, 1         low and high half of the 64-bit seed
counter word 0        offset of the 32-bit output word, divided by 4
counter word 1        chunk
counter word 2        round, modulo 2**32
counter word 3        stream << 24 | worker (below 2**24)
====================  =================================================================

Output word ``i`` of a stream is word ``i % 4`` of the block with counter word 0 equal to ``i // 4``.
"""

from __future__ import annotations

import enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Constants of Philox4x32-7.
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 7
_MASK = 0xFFFFFFFF
# Blocks computed at once: the six working arrays fit the second-level cache.
_TILE = 8192
# Coordinates whose dithers come from the same eight blocks of the generator.
_DITHER_GROUP = 64
_SIGNS_OF_BYTE = np.float32(1) - np.float32(2) * np.unpackbits(
    np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"
).astype(np.float32)


class RandomStream(enum.IntEnum):
    """Use of the bits; streams never share a counter."""

    DIAGONAL = 1
    ROUNDING = 2
    DITHER = 3
    MATRIX = 4


def philox4x32(counter: NDArray[np.uint32], key: tuple[int, int]) -> NDArray[np.uint32]:
    """Encrypt counter blocks (uint32, shape (blocks, 4)) under two 32-bit key words; return the same shape."""
    out = np.empty_like(counter)
    for start in range(0, len(counter), _TILE):
        _encrypt(counter[start : start + _TILE].T.astype(np.uint64), key, out[start : start + _TILE])
    return out


def random_words(
    count: int, *, seed: int, stream: RandomStream, worker: int = 0, round: int = 0, chunk: int = 0
) -> NDArray[np.uint32]:
    """Return the first ``count`` words (uint32) of the stream that the arguments name."""
    blocks = -(-count // 4)
    out = np.empty((blocks, 4), dtype=np.uint32)
    key = (seed & _MASK, seed >> 32)
    for start in range(0, blocks, _TILE):
        tile = out[start : start + _TILE]
        counter = np.empty((4, len(tile)), dtype=np.uint64)
        counter[0] = np.arange(start, start + len(tile))
        counter[1] = chunk
        counter[2] = round & _MASK
        counter[3] = stream << 24 | worker
        _encrypt(counter, key, tile)
    return out.reshape(-1)[:count]


def shared_dithers(blocks: int, length: int, *, seed: int, round: int, first: int = 0) -> NDArray[np.uint32]:
    """Return the 16-bit dithers that all workers share (uint32, shape (blocks, length)).

    ``first``: number of the first block, which is the chunk of the counter. A group of 64 coordinates uses 32 words of
    the stream: the low halves of words 0, 1, 4, 5, 8, 9 and so on, then their high halves, then both halves of words 2,
    3, 6, 7 and so on. In that order vector registers of any width load them without a shuffle.
    """
    groups = -(-length // _DITHER_GROUP)
    counter = np.empty((blocks, groups * 8, 4), dtype=np.uint32)
    counter[:, :, 0] = np.arange(groups * 8, dtype=np.uint32)
    counter[:, :, 1] = np.arange(first, first + blocks, dtype=np.uint32)[:, None]
    counter[:, :, 2] = round & _MASK
    counter[:, :, 3] = RandomStream.DITHER << 24
    words = philox4x32(counter.reshape(-1, 4), (seed & _MASK, seed >> 32)).reshape(blocks, groups, 8, 2, 2)
    halves = np.stack((words & np.uint32(0xFFFF), words >> np.uint32(16)), axis=2)
    return np.moveaxis(halves, 4, 2).reshape(blocks, -1)[:, :length]


@lru_cache(maxsize=8)
def sign_words(count: int, seed: int, round: int = 0) -> NDArray[np.uint32]:
    """Return the diagonal of the randomized transform, of ``count`` entries, as bits of words (uint32, read-only).

    Entry ``j`` is -1 if bit ``j % 32`` of word ``j // 32`` is set. So a shorter diagonal is a prefix of a longer one.
    """
    words = random_words(-(-count // 32), seed=seed, stream=RandomStream.DIAGONAL, round=round)
    words.flags.writeable = False
    return words


def expand_signs(words: NDArray[np.uint32], count: int) -> NDArray[np.float32]:
    """Return the first ``count`` entries (float32, +1 or -1) of ``words`` from :func:`sign_words`."""
    # A row for each byte: a table lookup of eight entries at once is as fast as a copy.
    return np.take(_SIGNS_OF_BYTE, words.astype("<u4", copy=False).view(np.uint8), axis=0).reshape(-1)[:count]


def _encrypt(c: NDArray[np.uint64], key: tuple[int, int], out: NDArray[np.uint32]) -> None:
    """Run the rounds on counter words ``c`` (uint64 holding 32 bits, shape (4, blocks), overwritten)."""
    mask, shift = np.uint64(_MASK), np.uint64(32)
    c0, c1, c2, c3 = c
    low0, low1 = np.empty_like(c0), np.empty_like(c0)
    k0, k1 = key
    for _ in range(ROUNDS):
        np.multiply(c0, MULTIPLIERS[0], out=low0)
        np.multiply(c2, MULTIPLIERS[1], out=low1)
        np.right_shift(low1, shift, out=c0)
        c0 ^= c1
        c0 ^= np.uint64(k0)
        np.right_shift(low0, shift, out=c2)
        c2 ^= c3
        c2 ^= np.uint64(k1)
        low0 &= mask
        low1 &= mask
        # The low halves become words 1 and 3; the arrays they replace are scratch space of the next round.
        c1, low1 = low1, c1
        c3, low0 = low0, c3
        k0, k1 = (k0 + WEYL[0]) & _MASK, (k1 + WEYL[1]) & _MASK
    for column, word in enumerate((c0, c1, c2, c3)):
        out[:, column] = word

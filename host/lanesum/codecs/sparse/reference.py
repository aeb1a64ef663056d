# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy reference of the kernels of the sparse codecs; the native extension has the same bits.

A vector is cut into blocks of ``block`` values; the last one is padded with zeros. The number of a block is its *key*.
Keys are uint32 and increase. ``integers`` are the fixed-point values of the blocks of some keys, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.interface import Floats
from lanesum.codecs.sparse.hashing import GROUP, Cells, Keys, cells_of, filter_places
from lanesum.protocol.lanes import WORD_BITS

_GROUP_BITS = np.uint64(GROUP)


@dataclass(frozen=True, slots=True)
class Order:
    """Order in which the keys of a sketch are peeled.

    Attributes:
        placed: cells of all keys, shape (keys, 3).
        signs: see :func:`lanesum.codecs.sparse.hashing.cells_of`.
        levels: keys, and the cell in which each is alone after all earlier levels were peeled.
    """

    placed: NDArray[np.int64]
    signs: NDArray[np.uint32]
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def nonzero_blocks(values: Floats, block: int, keys: Keys) -> tuple[int, int]:
    """Write the keys of blocks with a nonzero value to the front of ``keys``, which has an entry for each block.

    Return their number, and the bits of the largest magnitude, which are not finite exactly if a value is not.
    """
    if not values.size:
        return 0, 0
    found = np.flatnonzero(values)
    if block > 1 and found.size:
        found //= block
        found = found[np.concatenate(([True], found[1:] != found[:-1]))]
    keys[: found.size] = found
    return found.size, int(np.max(values.view(np.uint32) & np.uint32(0x7FFFFFFF)))


def gather_integers(values: Floats, keys: Keys, block: int, exponent: int, peak: int, integers: Words) -> None:
    """Round the blocks of ``keys`` to units of ``2**exponent``, half to even; cut them to plus and minus ``peak``."""
    out = integers.view(np.int32).reshape(keys.size, block)
    whole = values.size // block
    inside = keys < whole
    _to_integers(values[: whole * block].reshape(whole, block)[keys[inside]], exponent, peak, out[: inside.sum()])
    if not inside.all():
        tail = np.zeros((1, block), np.float32)
        tail[0, : values.size - whole * block] = values[whole * block :]
        _to_integers(tail, exponent, peak, out[-1:])


def _to_integers(values: Floats, exponent: int, peak: int, out: NDArray[np.int32]) -> None:
    scaled = np.rint(np.ldexp(values.astype(np.float64), -exponent))
    out[...] = np.clip(scaled, -peak, peak, out=scaled)


def insert(integers: Words, keys: Keys, block: int, seed: int, cells: Cells, sketch: Words) -> None:
    """Add the integers of each key, with its signs, to its three cells of ``block`` words each; sums wrap."""
    placed, signs = cells_of(keys, seed, cells)
    rows = sketch.reshape(cells.count, block)
    blocks = integers.reshape(keys.size, block)
    for number in range(3):
        np.add.at(rows, placed[:, number], blocks * _factors(signs, number))


def peeling_order(keys: Keys, seed: int, cells: Cells, left: Keys) -> tuple[Order, int]:
    """Return the order in which ``keys`` can be peeled from a sketch of all of them. It depends on the keys alone.

    Return also the number of keys that cannot be peeled (the 2-core of their hypergraph). Their indices in ``keys``,
    increasing, are written to the front of ``left``, which has an entry for each key.
    """
    placed, signs = cells_of(keys, seed, cells)
    levels, remaining = _levels(placed, cells.count)
    left[: remaining.size] = remaining
    return Order(placed, signs, levels), remaining.size


def peel(integers: Words, order: Order, block: int, sketch: Words) -> None:
    """Peel ``integers`` from a ``sketch``, which is overwritten; 0 for keys that cannot be peeled.

    ``order``: from ``peeling_order`` of the same implementation.
    """
    rows = sketch.reshape(-1, block)
    blocks = integers.reshape(-1, block)
    blocks.fill(0)
    for of, pivots in order.levels:
        placed, signs = order.placed[of], order.signs[of]
        number = np.argmax(placed == pivots[:, None], axis=1)
        found = rows[pivots] * (1 - 2 * (signs >> number.astype(np.uint32) & 1)).astype(np.uint32)[:, None]
        blocks[of] = found
        for other in range(3):
            np.subtract.at(rows, placed[:, other], found * _factors(signs, other))


def _levels(
    placed: NDArray[np.int64], cells: int
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.int64]]], NDArray[np.int64]]:
    """Return the levels of the ``Order`` of keys with these cells, shape (keys, 3), and the keys in no level."""
    count = len(placed)
    degree = np.bincount(placed.reshape(-1), minlength=cells)
    # The sum of the keys of a cell is the key itself once it is alone. A float64 is exact for all these sums.
    members = np.bincount(placed.reshape(-1), np.repeat(np.arange(count), 3), minlength=cells).astype(np.int64)
    levels = []
    remaining = np.ones(count, np.bool_)
    pure = np.flatnonzero(degree == 1)
    while pure.size:
        # A key may be alone in several cells; the first one is used.
        of, first = np.unique(members[pure], return_index=True)
        levels.append((of, pure[first]))
        remaining[of] = False
        touched = placed[of].reshape(-1)
        np.subtract.at(degree, touched, 1)
        np.subtract.at(members, touched, np.repeat(of, 3))
        pure = np.unique(touched)
        pure = pure[degree[pure] == 1]
    return levels, np.flatnonzero(remaining)


def scatter_floats(integers: Words, keys: Keys, block: int, exponent: int, divisor: int, values: Floats) -> None:
    """Write ``integers * 2**exponent / divisor`` to the blocks of ``keys`` in ``values``."""
    whole = values.size // block
    inside = int(np.searchsorted(keys, whole))
    floats = np.ldexp(integers.view(np.int32).astype(np.float64), exponent)
    floats /= divisor
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        blocks = floats.astype(np.float32).reshape(keys.size, block)
    values[: whole * block].reshape(whole, block)[keys[:inside]] = blocks[:inside]
    if inside < keys.size:
        values[whole * block :] = blocks[-1, : values.size - whole * block]


def count_blocks(integers: Words, keys: Keys, block: int, counts: NDArray[np.int64]) -> None:
    """Count the blocks of ``2**i`` values with a nonzero integer, for each ``i`` below ``counts.size``."""
    found = np.flatnonzero(integers)
    positions = keys[found // block].astype(np.int64) * block + found % block
    for level in range(counts.size):
        counts[level] = np.count_nonzero(np.diff(positions >> level, prepend=-1))


def set_bits(keys: Keys, words: Words) -> None:
    """Set the bits of ``keys`` in a bitmap: bit ``key % 32`` of word ``key // 32``."""
    np.bitwise_or.at(words, keys // WORD_BITS, np.uint32(1) << keys % np.uint32(WORD_BITS))


def keys_of_bits(words: Words, keys: Keys) -> int:
    """Write the keys below ``keys.size`` whose bits are set to the front of ``keys``; return their number."""
    bits = np.unpackbits(words.astype("<u4", copy=False).view(np.uint8), count=keys.size, bitorder="little")
    found = np.flatnonzero(bits)
    keys[: found.size] = found
    return found.size


def fill_filter(keys: Keys, seed: int, hashes: int, words: Words) -> None:
    """Add keys to a Bloom filter: the rotated bits of each group in ``hashes`` words of 64 bits, low half first."""
    groups, of = np.unique(keys // np.uint32(GROUP), return_inverse=True)
    bits = np.zeros(groups.size, np.uint64)
    np.bitwise_or.at(bits, of, np.uint64(1) << (keys % np.uint32(GROUP)).astype(np.uint64))
    filter_ = _joined(words)
    for number in range(hashes):
        at, turn = filter_places(groups.astype(np.uint64), seed, filter_.size, number)
        np.bitwise_or.at(filter_, at, bits << turn | bits >> (_GROUP_BITS - turn) % _GROUP_BITS)
    words[::2], words[1::2] = filter_ & np.uint64(0xFFFFFFFF), filter_ >> np.uint64(WORD_BITS)


def keys_of_filter(words: Words, seed: int, hashes: int, keys: Keys) -> int:
    """Write the keys below ``keys.size`` that a filter may contain to the front of ``keys``; return their number."""
    filter_ = _joined(words)
    groups = np.arange(-(-keys.size // GROUP), dtype=np.uint64)
    bits = np.full(groups.size, 2**64 - 1, np.uint64)
    for number in range(hashes):
        at, turn = filter_places(groups, seed, filter_.size, number)
        found = filter_[at]
        bits &= found >> turn | found << (_GROUP_BITS - turn) % _GROUP_BITS
    halves = np.stack((bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(WORD_BITS)), axis=1)
    return keys_of_bits(halves.astype(np.uint32).reshape(-1), keys)


def _joined(words: Words) -> NDArray[np.uint64]:
    return words[::2] | words[1::2].astype(np.uint64) << np.uint64(WORD_BITS)


def _factors(signs: NDArray[np.uint32], number: int) -> NDArray[np.uint32]:
    """Return the sign of each key in cell ``number``: 1 or -1 modulo 2**32, in one column."""
    return (np.uint32(1) - np.uint32(2) * (signs >> np.uint32(number) & np.uint32(1)))[:, None]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of the sparse codecs, with the bits of :mod:`lanesum.codecs.sparse.reference`.

Sums are of integers that wrap, so the order in which programs add does not matter. Fixed point goes through float64,
where the same values are rounded as in NumPy. Products with powers of two are exact. Adding and subtracting
``_HALVES`` rounds values far below it, half to even.

A program has ``KEYS`` keys with ``BLOCK`` values each; offsets have 64 bits. Keys are the bits of uint32 in int32,
because PyTorch lacks operations on uint32. Triton does not specialize for arguments that differ from round to round.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lanesum.codecs.sparse import hashing as sketch_hash

_STEP = tl.constexpr(sketch_hash._STEP)
_FACTOR_0 = tl.constexpr(sketch_hash._FACTORS[0])
_FACTOR_1 = tl.constexpr(sketch_hash._FACTORS[1])
_SHIFT = tl.constexpr(sketch_hash._SHIFT)
_LOW = tl.constexpr(0xFFFFFFFF)
# From here on, neighbouring float64 numbers are integers.
_HALVES = tl.constexpr(1.5 * 2.0**52)
_BIAS = tl.constexpr(1023)
_MANTISSA_BITS = tl.constexpr(52)
_MAGNITUDE = tl.constexpr(0x7FFFFFFF)
#: In the order of peeling, the bits below the level: which of a key's three cells it is alone in.
PIVOT_BITS = 2
_PIVOT_BITS = tl.constexpr(PIVOT_BITS)
_PIVOT = tl.constexpr((1 << PIVOT_BITS) - 1)


@triton.jit
def _power_of_two(exponent):
    """Return ``2**exponent`` in float64, which must be a normal number."""
    return ((exponent + _BIAS).to(tl.int64) << _MANTISSA_BITS).to(tl.float64, bitcast=True)


@triton.jit
def _to_integers(values, exponent, peak):
    """Return ``values`` in units of ``2**exponent``, rounded half to even and clamped to plus and minus ``peak``."""
    scaled = values.to(tl.float64) * _power_of_two(-exponent)
    limit = peak.to(tl.float64)
    scaled = tl.minimum(tl.maximum(scaled, -limit), limit)
    return ((scaled + _HALVES) - _HALVES).to(tl.int32)


@triton.jit
def _mixed(words):
    words = (words ^ (words >> _SHIFT)) * _FACTOR_0
    words = (words ^ (words >> _SHIFT)) * _FACTOR_1
    return words ^ (words >> _SHIFT)


@triton.jit
def _seed(low, high):
    return (low.to(tl.uint32, bitcast=True).to(tl.uint64)) | (high.to(tl.uint32, bitcast=True).to(tl.uint64) << 32)


@triton.jit
def _cells_of(keys, seed_low, seed_high, count, segment):
    """Return the three cells of each key (int32), and bits 0 to 2 that are set where its sign is -1."""
    first = _mixed(keys.to(tl.uint32, bitcast=True).to(tl.uint64) * _STEP + _seed(seed_low, seed_high))
    second = _mixed(first + _STEP)
    cells = count.to(tl.uint64)
    if segment > 0:
        long = segment.to(tl.uint64)
        a = ((first >> 32) * (cells - 2 * long)) >> 32
        b = (a + long) ^ (first & (long - 1))
        c = (a + long + long) ^ ((second >> 32) & (long - 1))
    else:
        a = ((first >> 32) * cells) >> 32
        b = ((first & _LOW) * (cells - 1)) >> 32
        b += (b >= a).to(tl.uint64)
        c = ((second >> 32) * (cells - 2)) >> 32
        c += (c >= tl.minimum(a, b)).to(tl.uint64)
        c += (c >= tl.maximum(a, b)).to(tl.uint64)
    return a.to(tl.int32), b.to(tl.int32), c.to(tl.int32), (second & 7).to(tl.int32)


@triton.jit
def _signed(values, signs, NUMBER: tl.constexpr):
    return tl.where(((signs >> NUMBER) & 1) != 0, -values, values)


@triton.jit
def _program_keys(keys, count, KEYS: tl.constexpr):
    """Return the indices (int64) of this program's keys, a mask of those that exist, and the keys."""
    number = tl.program_id(0).to(tl.int64) * KEYS + tl.arange(0, KEYS)
    valid = number < count
    return number, valid, tl.load(keys + number, mask=valid, other=0)


@triton.jit
def _places(keys, valid, size, BLOCK: tl.constexpr):
    """Return the offsets of the values of ``keys`` in the vector, shape (KEYS, BLOCK), and a mask of those inside."""
    at = keys.to(tl.uint32, bitcast=True).to(tl.int64)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    return at, valid[:, None] & (at < size)


@triton.jit(do_not_specialize=["size", "blocks"])
def nonzero_blocks(values, size, blocks, flags, largest, KEYS: tl.constexpr, BLOCK: tl.constexpr):
    """Flag the blocks with a nonzero value (uint8); compute the bits of the largest magnitude (int32, 0 before)."""
    number = tl.program_id(0).to(tl.int64) * KEYS + tl.arange(0, KEYS)
    at = number[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    bits = tl.load(values + at, mask=at < size, other=0.0).to(tl.int32, bitcast=True) & _MAGNITUDE
    largest_here = tl.max(bits, axis=1)
    tl.store(flags + number, (largest_here != 0).to(tl.uint8), mask=number < blocks)
    tl.atomic_max(largest, tl.max(largest_here, axis=0))


@triton.jit(do_not_specialize=["count", "size", "exponent", "peak"])
def gather_integers(
    values, size, keys, count, exponent, peak, integers, KEYS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Store the blocks of ``keys`` in units of ``2**exponent``, one after the other."""
    number, valid, own_keys = _program_keys(keys, count, KEYS)
    at, inside = _places(own_keys, valid, size, BLOCK)
    found = _to_integers(tl.load(values + at, mask=inside, other=0.0), exponent, peak)
    to = number[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(integers + to, found, mask=valid[:, None] & (to >= 0))


@triton.jit(do_not_specialize=["count", "size", "exponent", "peak", "seed_low", "seed_high", "cells", "segment"])
def insert(
    values, size, keys, count, exponent, peak, seed_low, seed_high, cells, segment, sketch,
    KEYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add the blocks of ``keys``, in units of ``2**exponent``, with their signs to their cells."""
    _, valid, own_keys = _program_keys(keys, count, KEYS)
    at, inside = _places(own_keys, valid, size, BLOCK)
    found = _to_integers(tl.load(values + at, mask=inside, other=0.0), exponent, peak)
    a, b, c, signs = _cells_of(own_keys, seed_low, seed_high, cells, segment)
    lanes = tl.arange(0, BLOCK)[None, :]
    signs = signs[:, None]
    tl.atomic_add(sketch + a.to(tl.int64)[:, None] * BLOCK + lanes, _signed(found, signs, 0), mask=inside)
    tl.atomic_add(sketch + b.to(tl.int64)[:, None] * BLOCK + lanes, _signed(found, signs, 1), mask=inside)
    tl.atomic_add(sketch + c.to(tl.int64)[:, None] * BLOCK + lanes, _signed(found, signs, 2), mask=inside)


@triton.jit(do_not_specialize=["count", "seed_low", "seed_high", "cells", "segment"])
def place(keys, count, seed_low, seed_high, cells, segment, placed, degree, KEYS: tl.constexpr):
    """Store the cells and signs of keys (int32, shape (keys, 4), signs last), and count the keys of each cell."""
    number, valid, own_keys = _program_keys(keys, count, KEYS)
    a, b, c, signs = _cells_of(own_keys, seed_low, seed_high, cells, segment)
    tl.store(placed + number * 4, a, mask=valid)
    tl.store(placed + number * 4 + 1, b, mask=valid)
    tl.store(placed + number * 4 + 2, c, mask=valid)
    tl.store(placed + number * 4 + 3, signs, mask=valid)
    tl.atomic_add(degree + a, 1, mask=valid)
    tl.atomic_add(degree + b, 1, mask=valid)
    tl.atomic_add(degree + c, 1, mask=valid)


@triton.jit(do_not_specialize=["count", "level"])
def claim(placed, count, degree, level, order, KEYS: tl.constexpr):
    """Assign this ``level`` to keys that are alone in a cell and have no level yet; degrees do not change."""
    number = tl.program_id(0).to(tl.int64) * KEYS + tl.arange(0, KEYS)
    valid = number < count
    left = valid & (tl.load(order + number, mask=valid, other=0) < 0)
    first = tl.load(degree + tl.load(placed + number * 4, mask=left, other=0), mask=left, other=0) == 1
    second = tl.load(degree + tl.load(placed + number * 4 + 1, mask=left, other=0), mask=left, other=0) == 1
    third = tl.load(degree + tl.load(placed + number * 4 + 2, mask=left, other=0), mask=left, other=0) == 1
    pivot = tl.where(first, 0, tl.where(second, 1, 2))
    tl.store(order + number, (level << _PIVOT_BITS) | pivot, mask=left & (first | second | third))


@triton.jit(do_not_specialize=["count", "level"])
def remove(placed, count, degree, level, order, removed, KEYS: tl.constexpr):
    """Remove the keys of a ``level`` from their cells, and count them in ``removed`` at the index of the level."""
    number = tl.program_id(0).to(tl.int64) * KEYS + tl.arange(0, KEYS)
    valid = number < count
    taken = valid & ((tl.load(order + number, mask=valid, other=-1) >> _PIVOT_BITS) == level)
    tl.atomic_add(degree + tl.load(placed + number * 4, mask=taken, other=0), -1, mask=taken)
    tl.atomic_add(degree + tl.load(placed + number * 4 + 1, mask=taken, other=0), -1, mask=taken)
    tl.atomic_add(degree + tl.load(placed + number * 4 + 2, mask=taken, other=0), -1, mask=taken)
    tl.atomic_add(removed + level, tl.sum(taken.to(tl.int32), axis=0))


@triton.jit(do_not_specialize=["count", "level"])
def peel(placed, count, order, level, sketch, integers, KEYS: tl.constexpr, BLOCK: tl.constexpr):
    """Read the keys of a ``level`` from the cells in which they are alone, and remove them from their three cells.

    No other key of the same level is in a cell that is read.
    """
    number = tl.program_id(0).to(tl.int64) * KEYS + tl.arange(0, KEYS)
    valid = number < count
    word = tl.load(order + number, mask=valid, other=-1)
    taken = valid & ((word >> _PIVOT_BITS) == level)
    if tl.max(taken.to(tl.int32), axis=0) > 0:
        pivot = word & _PIVOT
        a = tl.load(placed + number * 4, mask=taken, other=0).to(tl.int64)[:, None]
        b = tl.load(placed + number * 4 + 1, mask=taken, other=0).to(tl.int64)[:, None]
        c = tl.load(placed + number * 4 + 2, mask=taken, other=0).to(tl.int64)[:, None]
        signs = tl.load(placed + number * 4 + 3, mask=taken, other=0)
        lanes = tl.arange(0, BLOCK)[None, :]
        mask = taken[:, None] & (lanes >= 0)
        alone = tl.where(pivot[:, None] == 0, a, tl.where(pivot[:, None] == 1, b, c))
        found = tl.load(sketch + alone * BLOCK + lanes, mask=mask, other=0)
        found = tl.where((((signs >> pivot) & 1) != 0)[:, None], -found, found)
        tl.store(integers + number[:, None] * BLOCK + lanes, found, mask=mask)
        signs = signs[:, None]
        tl.atomic_add(sketch + a * BLOCK + lanes, -_signed(found, signs, 0), mask=mask)
        tl.atomic_add(sketch + b * BLOCK + lanes, -_signed(found, signs, 1), mask=mask)
        tl.atomic_add(sketch + c * BLOCK + lanes, -_signed(found, signs, 2), mask=mask)


@triton.jit(do_not_specialize=["count", "size", "exponent", "divisor"])
def scatter_floats(
    integers, keys, count, size, exponent, divisor, values, KEYS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Store the blocks of ``keys`` in ``values`` as floats: integers times ``2**exponent / divisor``."""
    number, valid, own_keys = _program_keys(keys, count, KEYS)
    at, inside = _places(own_keys, valid, size, BLOCK)
    found = tl.load(integers + number[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :], mask=inside, other=0)
    floats = found.to(tl.float64) * _power_of_two(exponent) / divisor.to(tl.float64)
    tl.store(values + at, floats.to(tl.float32), mask=inside)


@triton.jit(do_not_specialize=["count", "size", "exponent", "peak"])
def subtract_decoded(
    values, size, keys, count, exponent, peak, residual, KEYS: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Store the residual of the blocks of ``keys``: values minus their integers in units of ``2**exponent``.

    Other elements of ``residual`` do not change.
    """
    _, valid, own_keys = _program_keys(keys, count, KEYS)
    at, inside = _places(own_keys, valid, size, BLOCK)
    found = tl.load(values + at, mask=inside, other=0.0)
    decoded = (_to_integers(found, exponent, peak).to(tl.float64) * _power_of_two(exponent)).to(tl.float32)
    tl.store(residual + at, found - decoded, mask=inside)

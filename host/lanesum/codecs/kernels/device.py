# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random bits and Hadamard transform of one block in one Triton program.

The bits are those of :mod:`lanesum.codecs.kernels.philox`: Triton has the same generator. The additions
of the transform have the order of :mod:`lanesum.codecs.kernels.hadamard`.

The coordinates of a block are four tensors, ``x00`` to ``x11``, of 16 columns each. Coordinate ``64 g + 32 p + 16 h +
c`` is in row g and column c of ``x{p}{h}``. One call of the generator makes four words. Their eight halves belong to
two neighbouring columns of one row in all four tensors, so no thread needs the bits of another one.

Both sides of a butterfly of the transform compute it. Each gets the other's value and adds its own with the sign of its
side, which is the same addition. Values come from registers or, by a shuffle, from another thread of the warp. Only
values 512 or 1,024 coordinates apart go through shared memory, in blocks with two or four warps.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.random import philox_impl

from lanesum.codecs.kernels.philox import ROUNDS, RandomStream

_ROUNDS = tl.constexpr(ROUNDS)
_DITHER_STREAM = tl.constexpr(RandomStream.DITHER << 24)


@triton.jit
def words4(offset, chunk, round, tag, key0, key1):
    """Return four words for each of ``offset`` (a tensor of counter words 0); the other arguments are int32 scalars."""
    zero = tl.zeros_like(offset).to(tl.uint32, bitcast=True)
    c0 = offset.to(tl.uint32, bitcast=True)
    c1 = zero + chunk.to(tl.uint32, bitcast=True)
    c2 = zero + round.to(tl.uint32, bitcast=True)
    k0 = key0.to(tl.uint32, bitcast=True)
    k1 = key1.to(tl.uint32, bitcast=True)
    return philox_impl(c0, c1, c2, zero + tag, k0, k1, _ROUNDS)


@triton.jit
def block_dithers(block, round, key0, key1, GROUPS: tl.constexpr):
    """Return the 64 ``GROUPS`` shared dithers of a block: two int32 tensors (GROUPS, 16), for p of 0 and 1.

    The lower halves of the words are for h of 0, the upper halves for h of 1.
    """
    offset = tl.arange(0, GROUPS)[:, None] * 8 + tl.arange(0, 8)[None, :]
    w0, w1, w2, w3 = words4(offset, block, round, _DITHER_STREAM, key0, key1)
    first = tl.reshape(tl.join(w0, w1), [GROUPS, 16]).to(tl.int32, bitcast=True)
    second = tl.reshape(tl.join(w2, w3), [GROUPS, 16]).to(tl.int32, bitcast=True)
    return first, second


def keys(seed: int) -> tuple[int, int]:
    """Return the two key words of a seed as int32 arguments of kernels."""
    return as_int32(seed & 0xFFFFFFFF), as_int32(seed >> 32)


def as_int32(word: int) -> int:
    """Return the int32 with the lowest 32 bits of ``word``: so the type of an argument does not depend on its value."""
    word &= 0xFFFFFFFF
    return word - (1 << 32) if word >> 31 else word


@triton.jit
def _butterflies(x, ABOVE: tl.constexpr, SPAN: tl.constexpr):
    shape: tl.constexpr = x.shape
    own = tl.reshape(x.to(tl.int32, bitcast=True), [ABOVE, 2, SPAN])
    # Bits are added as integers, which wrap: the sum of a pair minus one of them is the other one.
    other = tl.sum(own, 1, keep_dims=True) - own
    # A product with 1 or -1 is exact, so the result is rounded as by an addition alone.
    side = 1.0 - 2.0 * tl.arange(0, 2)[None, :, None].to(tl.float32)
    return tl.reshape(tl.fma(tl.reshape(x, [ABOVE, 2, SPAN]), side, other.to(tl.float32, bitcast=True)), shape)


@triton.jit
def _columns(x, GROUPS: tl.constexpr):
    x = _butterflies(x, GROUPS * 8, 1)
    x = _butterflies(x, GROUPS * 4, 2)
    x = _butterflies(x, GROUPS * 2, 4)
    return _butterflies(x, GROUPS, 8)


@triton.jit
def _rows(x, GROUPS: tl.constexpr, STAGES: tl.constexpr):
    for stage in tl.static_range(STAGES):
        x = _butterflies(x, GROUPS >> (stage + 1), 16 << stage)
    return x


@triton.jit
def hadamard(x00, x01, x10, x11, GROUPS: tl.constexpr, STAGES: tl.constexpr):
    """Return the transform without normalization; ``GROUPS`` is 2 to the power of ``STAGES``.

    For a shorter vector, padded with zeros, the first coordinates are its transform: a sum with zero is exact.
    """
    x00 = _columns(x00, GROUPS)
    x01 = _columns(x01, GROUPS)
    x10 = _columns(x10, GROUPS)
    x11 = _columns(x11, GROUPS)
    sum0, difference0, sum1, difference1 = x00 + x01, x00 - x01, x10 + x11, x10 - x11
    x00 = _rows(sum0 + sum1, GROUPS, STAGES)
    x01 = _rows(difference0 + difference1, GROUPS, STAGES)
    x10 = _rows(sum0 - sum1, GROUPS, STAGES)
    x11 = _rows(difference0 - difference1, GROUPS, STAGES)
    return x00, x01, x10, x11

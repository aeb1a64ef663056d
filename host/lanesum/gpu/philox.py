# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random bits of :mod:`lanesum.codecs.kernels.philox` inside kernels: Triton has the same generator, Philox4x32-10.

The coordinates of a block are four tensors, ``x00`` to ``x11``, of 16 columns each. Coordinate ``64 g + 32 p + 16 h +
c`` is in row g and column c of ``x{p}{h}``. One call of the generator makes four words. Their eight halves belong to
two neighbouring columns of one row in all four tensors, so no thread needs the bits of another one.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.random import philox_impl

from lanesum.codecs.kernels.philox import RandomStream

_DITHER_STREAM = tl.constexpr(RandomStream.DITHER << 24)


@triton.jit
def words4(offset, chunk, round, tag, key0, key1):
    """Return four words for each of ``offset`` (a tensor of counter words 0); the other arguments are int32 scalars."""
    zero = tl.zeros_like(offset).to(tl.uint32, bitcast=True)
    c0 = offset.to(tl.uint32, bitcast=True)
    c1 = zero + chunk.to(tl.uint32, bitcast=True)
    c2 = zero + round.to(tl.uint32, bitcast=True)
    return philox_impl(c0, c1, c2, zero + tag, key0.to(tl.uint32, bitcast=True), key1.to(tl.uint32, bitcast=True))


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

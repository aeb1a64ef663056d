# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The random bits of :mod:`lanesum.codecs.kernels.philox` inside kernels: Triton has the same generator, Philox4x32-10.

A block's coordinates are four tensors here, of 16 columns each, ``x00`` to ``x11``: coordinate ``64 g + 32 p + 16 h +
c`` is in row g and column c of ``x{p}{h}``. The eight halves of the words that one call of the generator makes belong
to both neighbours c of one row in all four, so no thread needs what another one has drawn.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.random import philox_impl

from lanesum.codecs.kernels.philox import Stream

_DITHER_STREAM = tl.constexpr(Stream.DITHER << 24)


@triton.jit
def words4(offset, chunk, round, tag, key0, key1):
    """Four words for each of ``offset`` (a tensor of counter words 0); the others are int32 scalars."""
    zero = tl.zeros_like(offset).to(tl.uint32, bitcast=True)
    c0 = offset.to(tl.uint32, bitcast=True)
    c1 = zero + chunk.to(tl.uint32, bitcast=True)
    c2 = zero + round.to(tl.uint32, bitcast=True)
    return philox_impl(c0, c1, c2, zero + tag, key0.to(tl.uint32, bitcast=True), key1.to(tl.uint32, bitcast=True))


@triton.jit
def block_dithers(block, round, key0, key1, GROUPS: tl.constexpr):
    """Shared dithers of block number ``block``, 64 ``GROUPS`` of them: two int32 tensors (GROUPS, 16), for p of 0 and
    1, with those for h of 0 in the lower halves of the words, those for h of 1 in the upper."""
    offset = tl.arange(0, GROUPS)[:, None] * 8 + tl.arange(0, 8)[None, :]
    w0, w1, w2, w3 = words4(offset, block, round, _DITHER_STREAM, key0, key1)
    first = tl.reshape(tl.join(w0, w1), [GROUPS, 16]).to(tl.int32, bitcast=True)
    second = tl.reshape(tl.join(w2, w3), [GROUPS, 16]).to(tl.int32, bitcast=True)
    return first, second


def keys(seed: int) -> tuple[int, int]:
    """The two key words of a seed, as kernels take them: int32."""
    return as_int32(seed & 0xFFFFFFFF), as_int32(seed >> 32)


def as_int32(word: int) -> int:
    """The int32 with the lowest 32 bits of ``word``: an argument's type then does not depend on its value."""
    word &= 0xFFFFFFFF
    return word - (1 << 32) if word >> 31 else word

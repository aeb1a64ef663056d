# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Triton kernels that pack codes as digits of words, and unpack the digits of sums to lanes.

The counterparts for arrays are :func:`lanesum.codecs.thc.reference.pack_digits` and ``unpack_digits``. One program
makes ``TILE`` words of one block. ``length``: coordinates of a block, a multiple of 32. ``width``: its words. Digit i
of word w belongs to coordinate i ``width`` + w.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["length", "width"])
def pack_digits(codes, words, length, width, PER_WORD: tl.constexpr, BASE: tl.constexpr, TILE: tl.constexpr):
    """Pack ``codes`` (uint8, the bytes of words of a little-endian device) to ``words`` (int32)."""
    block = tl.program_id(0).to(tl.int64)
    codes += block * length
    words += block * width
    word = tl.program_id(1) * TILE + tl.arange(0, TILE)
    packed = tl.zeros([TILE], tl.int32)
    for digit in tl.static_range(PER_WORD):
        coordinate = (PER_WORD - 1 - digit) * width + word
        # The first coordinate of four is in the highest byte of a word.
        there = (word < width) & (coordinate < length)
        packed = packed * BASE + tl.load(codes + (coordinate ^ 3), mask=there, other=0).to(tl.int32)
    tl.store(words + word, packed, mask=word < width)


@triton.jit(do_not_specialize=["length", "width"])
def unpack_digits(
    words, lanes, length, width, PER_WORD: tl.constexpr, BASE: tl.constexpr, LANE: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """Unpack ``words`` (int32) to ``lanes``, which are uint8 or int16, as ``LANE`` says."""
    block = tl.program_id(0).to(tl.int64)
    words += block * width
    lanes += block * length
    word = tl.program_id(1) * TILE + tl.arange(0, TILE)
    rest = tl.load(words + word, mask=word < width, other=0).to(tl.uint32, bitcast=True)
    for digit in tl.static_range(PER_WORD):
        coordinate = digit * width + word
        there = (word < width) & (coordinate < length)
        tl.store(lanes + (coordinate ^ (32 // LANE - 1)), (rest % BASE).to(lanes.dtype.element_ty), mask=there)
        rest = rest // BASE

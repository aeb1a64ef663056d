# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of ``thc``: one program for one block, from its values to words or from its lanes to values.

They have the bits of :mod:`lanesum.codecs.thc.reference`, because they do the same IEEE 754 operations in the same
order. Launch them with ``enable_fp_fusion=False``, which keeps products and sums apart. A block is four tensors
(GROUPS, 16) as in :mod:`lanesum.codecs.kernels.device`. It is read once, kept in registers, and written once.

``size`` is the number of values of the vector, ``first`` the index of the launch's first block, ``length`` the number
of coordinates of a block with its padding. With ``MASKED`` a block may be shorter than 64 ``GROUPS``.

Two kernels pack codes as digits of words, and unpack the digits of sums to lanes. Their counterparts for arrays are
:func:`lanesum.codecs.thc.reference.pack_digits` and ``unpack_digits``. One program makes ``TILE`` words of one block,
whose number of words is ``width``. Digit i of word w belongs to coordinate i ``width`` + w. There ``length`` is a
multiple of 32.
"""

from __future__ import annotations

import triton
import triton.language as tl

from lanesum.codecs.kernels.device import block_dithers, hadamard
from lanesum.codecs.kernels.reference import FLOAT32_MAX, SUM_LANES
from lanesum.codecs.thc.dither import UNIT

_MAX = tl.constexpr(FLOAT32_MAX)
_UNIT = tl.constexpr(UNIT)
# Lanes of a sum of squares, see :func:`lanesum.codecs.kernels.reference.square_sums`.
_SUM_LANES = tl.constexpr(SUM_LANES)


@triton.jit(do_not_specialize=["size"])
def square_sums(
    values, feedback, sums, size, PART: tl.constexpr, PARTS: tl.constexpr, UNROLL: tl.constexpr, FEEDBACK: tl.constexpr
):  # fmt: skip
    """Sum the squares of ``PART`` values (plus their error ``feedback``); one program makes ``PARTS`` sums."""
    part = tl.program_id(0).to(tl.int64) * PARTS + tl.arange(0, PARTS)
    lane = tl.arange(0, _SUM_LANES)
    total = tl.zeros([PARTS, _SUM_LANES], tl.float64)
    at = part[:, None] * PART + lane[None, :]
    for start in range(0, PART, _SUM_LANES * UNROLL):
        for step in tl.static_range(UNROLL):
            here = at + (start + step * _SUM_LANES)
            x = tl.load(values + here, mask=here < size, other=0.0)
            if FEEDBACK:
                x += tl.load(feedback + here, mask=here < size, other=0.0)
            wide = x.to(tl.float64)
            total += wide * wide  # the product of two float32 is exact
    total = tl.sum(tl.reshape(total, [PARTS, 2, 16]), 1)
    total = tl.sum(tl.reshape(total, [PARTS, 2, 8]), 1)
    total = tl.sum(tl.reshape(total, [PARTS, 2, 4]), 1)
    total = tl.sum(tl.reshape(total, [PARTS, 2, 2]), 1)
    total = tl.sum(total, 1)
    tl.store(sums + part, total, mask=part * PART < size)


@triton.jit
def _load(values, feedback, at, left, FEEDBACK: tl.constexpr, MASKED: tl.constexpr):
    """Load the values at ``at``, of which ``left`` exist, plus their error ``feedback``."""
    if MASKED:
        x = tl.load(values + at, mask=at < left, other=0.0)
        if FEEDBACK:
            x += tl.load(feedback + at, mask=at < left, other=0.0)
    else:
        x = tl.load(values + at)
        if FEEDBACK:
            x += tl.load(feedback + at)
    return x


@triton.jit
def _signs(signs, row, BLOCK: tl.constexpr):
    """Load the words with the signs of each row's coordinates."""
    if BLOCK < 64:
        word = tl.load(signs + row * 0)
        return word, word  # the second one is not used
    return tl.load(signs + row * 2), tl.load(signs + row * 2 + 1)


@triton.jit
def _flip(x, word, keep, PLACE: tl.constexpr):
    """Return ``x`` with the signs of 16 columns, from bits ``PLACE`` on of ``word`` (one for each row).

    The result is +0 where ``keep`` is 0; elsewhere ``keep`` is -1.
    """
    sign = (word << (31 - PLACE - tl.arange(0, 16)[None, :])) & -0x80000000
    return ((x.to(tl.int32, bitcast=True) ^ sign) & keep).to(tl.float32, bitcast=True)


@triton.jit
def _quantize(x, dither, factor, middle, offset, flip, coordinate, length,
              GRANULARITY: tl.constexpr, MISSING: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr,
              MASKED: tl.constexpr):  # fmt: skip
    """Return the codes of 16 columns, and their estimates as :func:`lanesum.codecs.thc.reference.residual_blocks` does.

    ``middle`` is the middle of the grid in steps, or 0 where ``factor`` is 0, which makes code and level 0. ``MISSING``
    has a bit for each integer that is not a level: ``LOW`` and ``HIGH`` of them, every other integer from either end.
    Counting them takes fewer registers than a table.
    """
    position = tl.minimum(tl.maximum(x * factor + middle, 0.0), GRANULARITY * _UNIT * 1.0).to(tl.int32)
    shifted = (dither + offset) & (_UNIT - 1)
    level = (position + shifted) >> 16
    code = level
    if MISSING != 0:
        between = (MISSING >> level) & 1
        raised = between & (dither ^ flip)
        missing = tl.minimum((level + 1) >> 1, LOW) + tl.maximum(HIGH - ((GRANULARITY - level) >> 1), 0)
        code = level - missing + raised
        level += 2 * raised - between
    decoded = ((level << 16) - shifted - ((GRANULARITY - 1) * _UNIT // 2)).to(tl.float32)
    if MASKED:
        code = tl.where(coordinate < length, code, 0)
        decoded = tl.where(coordinate < length, decoded, 0.0)
    return code, decoded


@triton.jit
def _pack(words, code, at, length,
          GROUPS: tl.constexpr, CODE: tl.constexpr, LANE: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """Store the codes of 16 columns side by side in words; ``at``: the coordinate of each row's first column."""
    PER_LANES: tl.constexpr = 32 // LANE
    PER_WORD: tl.constexpr = 32 // CODE
    column = tl.arange(0, 16) % PER_WORD
    place = (PER_LANES - 1 - column % PER_LANES) * LANE + column // PER_LANES * CODE
    # Bits of different codes do not overlap, so their sum is their union.
    packed = tl.sum(tl.reshape(code << place[None, :], [GROUPS, 16 // PER_WORD, PER_WORD]), 2)
    here = at + tl.arange(0, 16 // PER_WORD)[None, :] * PER_WORD
    if MASKED:
        tl.store(words + here // PER_WORD, packed, mask=here < length)
    else:
        tl.store(words + here // PER_WORD, packed)


@triton.jit
def _pack_planes(words, code0, code1, at, length, CODE: tl.constexpr, MASKED: tl.constexpr):
    """Store the codes of 32 coordinates, two times 16 columns, as ``CODE`` words with one bit of each."""
    column = tl.arange(0, 16)[None, :]
    place = (3 - column % 4) * 8 + column // 4
    for plane in tl.static_range(CODE):
        bits = (((code0 >> plane) & 1) | (((code1 >> plane) & 1) << 4)) << place
        packed = tl.sum(bits, 1)[:, None]
        if MASKED:
            tl.store(words + at // 32 * CODE + plane, packed, mask=at < length)
        else:
            tl.store(words + at // 32 * CODE + plane, packed)


@triton.jit
def _restore(x, word, scale0, scale1, PLACE: tl.constexpr):
    """Return the values of transformed estimates."""
    x = _flip(x, word, tl.where(scale0 == 0, 0, -1), PLACE) * scale0 * scale1
    return tl.minimum(tl.maximum(x, -_MAX), _MAX)


@triton.jit
def _store(values, x, at, left, MASKED: tl.constexpr):
    if MASKED:
        tl.store(values + at, x, mask=at < left)
    else:
        tl.store(values + at, x)


@triton.jit
def _store_residual(residual, x, decoded, at, left, MASKED: tl.constexpr):
    """Store the difference of the values and their estimates."""
    _store(residual, tl.minimum(tl.maximum(x - decoded, -_MAX), _MAX), at, left, MASKED)


@triton.jit(
    do_not_specialize=["size", "first", "length", "round", "key0", "key1", "offset", "flip"],
    do_not_specialize_on_alignment=["powers", "positions", "scales", "signs"],
)
def encode(
    values, feedback, words, residual, powers, positions, scales, signs,
    size, first, length, round, key0, key1, offset, flip,
    BLOCK: tl.constexpr, GROUPS: tl.constexpr, STAGES: tl.constexpr,
    GRANULARITY: tl.constexpr, MISSING: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr,
    CODE: tl.constexpr, LANE: tl.constexpr, PLANES: tl.constexpr,
    FEEDBACK: tl.constexpr, RESIDUAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Encode values plus error ``feedback`` to words, and store the compression error in ``residual``."""
    block = first + tl.program_id(0)
    start = block.to(tl.int64) * BLOCK
    left = tl.minimum(size - start, BLOCK).to(tl.int32)
    values += start
    feedback += start
    residual += start
    words += start // 32 * CODE
    row = tl.arange(0, GROUPS)[:, None]
    at = row * 64 + tl.arange(0, 16)[None, :]
    power0 = tl.load(powers + 2 * block)
    power1 = tl.load(powers + 2 * block + 1)
    factor = tl.load(positions + block)
    middle = tl.where(factor == 0, 0.0, GRANULARITY * _UNIT / 2)
    signs0, signs1 = _signs(signs, row, BLOCK)
    v00 = _load(values, feedback, at, left, FEEDBACK, MASKED)
    v01 = _load(values, feedback, at + 16, left, FEEDBACK, MASKED)
    v10 = _load(values, feedback, at + 32, left, FEEDBACK, MASKED)
    v11 = _load(values, feedback, at + 48, left, FEEDBACK, MASKED)
    x00 = _flip(v00 * power0 * power1, signs0, -1, 0)
    x01 = _flip(v01 * power0 * power1, signs0, -1, 16)
    x10 = _flip(v10 * power0 * power1, signs1, -1, 0)
    x11 = _flip(v11 * power0 * power1, signs1, -1, 16)
    x00, x01, x10, x11 = hadamard(x00, x01, x10, x11, GROUPS, STAGES)

    half0, half1 = block_dithers(block, round, key0, key1, GROUPS)
    c00, x00 = _quantize(
        x00, half0 & 0xFFFF, factor, middle, offset, flip, at, length, GRANULARITY, MISSING, LOW, HIGH, MASKED
    )
    if not PLANES:
        _pack(words, c00, row * 64, length, GROUPS, CODE, LANE, MASKED)
    c01, x01 = _quantize(
        x01, half0 >> 16 & 0xFFFF, factor, middle, offset, flip, at + 16, length,
        GRANULARITY, MISSING, LOW, HIGH, MASKED,
    )  # fmt: skip
    if PLANES:
        _pack_planes(words, c00, c01, row * 64, length, CODE, MASKED)
    else:
        _pack(words, c01, row * 64 + 16, length, GROUPS, CODE, LANE, MASKED)
    c10, x10 = _quantize(
        x10, half1 & 0xFFFF, factor, middle, offset, flip, at + 32, length, GRANULARITY, MISSING, LOW, HIGH, MASKED
    )
    if not PLANES:
        _pack(words, c10, row * 64 + 32, length, GROUPS, CODE, LANE, MASKED)
    c11, x11 = _quantize(
        x11, half1 >> 16 & 0xFFFF, factor, middle, offset, flip, at + 48, length,
        GRANULARITY, MISSING, LOW, HIGH, MASKED,
    )  # fmt: skip
    if PLANES:
        _pack_planes(words, c10, c11, row * 64 + 32, length, CODE, MASKED)
    else:
        _pack(words, c11, row * 64 + 48, length, GROUPS, CODE, LANE, MASKED)

    if RESIDUAL:
        scale0 = tl.load(scales + 2 * block)
        scale1 = tl.load(scales + 2 * block + 1)
        x00, x01, x10, x11 = hadamard(x00, x01, x10, x11, GROUPS, STAGES)
        # Loaded again, so that they do not occupy registers in between.
        signs0, signs1 = _signs(signs, row, BLOCK)
        _store_residual(residual, v00, _restore(x00, signs0, scale0, scale1, 0), at, left, MASKED)
        _store_residual(residual, v01, _restore(x01, signs0, scale0, scale1, 16), at + 16, left, MASKED)
        _store_residual(residual, v10, _restore(x10, signs1, scale0, scale1, 0), at + 32, left, MASKED)
        _store_residual(residual, v11, _restore(x11, signs1, scale0, scale1, 16), at + 48, left, MASKED)


@triton.jit
def _estimate(words, dither, at, multiplier, constant, length,
              GROUPS: tl.constexpr, LANE: tl.constexpr, MASKED: tl.constexpr):  # fmt: skip
    """Return the estimates of 16 columns from sums in lanes; ``at``: the coordinate of each row's first column."""
    PER_WORD: tl.constexpr = 32 // LANE
    WORDS: tl.constexpr = 16 // PER_WORD
    here = at // PER_WORD + tl.arange(0, WORDS)[None, :]
    if MASKED:
        packed = tl.load(words + here, mask=here * PER_WORD < length, other=0)
    else:
        packed = tl.load(words + here)
    place = (PER_WORD - 1 - tl.arange(0, PER_WORD)) * LANE
    lanes = tl.reshape((packed[:, :, None] >> place[None, None, :]) & ((1 << LANE) - 1), [GROUPS, 16])
    # Modulo 2**32, as in the reference, before it becomes a signed number.
    estimate = ((lanes << 16) - ((dither * multiplier) & (_UNIT - 1)) - constant).to(tl.float32)
    if MASKED:
        estimate = tl.where(at + tl.arange(0, 16)[None, :] < length, estimate, 0.0)
    return estimate


@triton.jit(
    do_not_specialize=["size", "first", "length", "round", "key0", "key1", "multiplier", "constant"],
    do_not_specialize_on_alignment=["scales", "signs"],
)
def decode(
    lanes, values, scales, signs,
    size, first, length, round, key0, key1, multiplier, constant,
    BLOCK: tl.constexpr, GROUPS: tl.constexpr, STAGES: tl.constexpr, LANE: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Decode sums of all workers in lanes, from block number ``first`` on, to values."""
    block = first + tl.program_id(0)
    start = block.to(tl.int64) * BLOCK
    left = tl.minimum(size - start, BLOCK).to(tl.int32)
    values += start
    lanes += tl.program_id(0).to(tl.int64) * (BLOCK * LANE // 32)
    row = tl.arange(0, GROUPS)[:, None]
    at = row * 64 + tl.arange(0, 16)[None, :]
    half0, half1 = block_dithers(block, round, key0, key1, GROUPS)
    x00 = _estimate(lanes, half0 & 0xFFFF, row * 64, multiplier, constant, length, GROUPS, LANE, MASKED)
    x01 = _estimate(lanes, (half0 >> 16) & 0xFFFF, row * 64 + 16, multiplier, constant, length, GROUPS, LANE, MASKED)
    x10 = _estimate(lanes, half1 & 0xFFFF, row * 64 + 32, multiplier, constant, length, GROUPS, LANE, MASKED)
    x11 = _estimate(lanes, (half1 >> 16) & 0xFFFF, row * 64 + 48, multiplier, constant, length, GROUPS, LANE, MASKED)
    x00, x01, x10, x11 = hadamard(x00, x01, x10, x11, GROUPS, STAGES)
    scale0 = tl.load(scales + 2 * block)
    scale1 = tl.load(scales + 2 * block + 1)
    signs0, signs1 = _signs(signs, row, BLOCK)
    _store(values, _restore(x00, signs0, scale0, scale1, 0), at, left, MASKED)
    _store(values, _restore(x01, signs0, scale0, scale1, 16), at + 16, left, MASKED)
    _store(values, _restore(x10, signs1, scale0, scale1, 0), at + 32, left, MASKED)
    _store(values, _restore(x11, signs1, scale0, scale1, 16), at + 48, left, MASKED)


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

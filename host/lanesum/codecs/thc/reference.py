# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loops of ``thc`` in NumPy, on a run of blocks: what the compiled ones do, bit for bit.

All take as many blocks as ``values`` fill; the last one is padded with zeros to a power of two of 32 or more. Arrays
that say something of every block have one row for each. ``first`` is the number of the first block in its vector.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words, expand
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.packing import lanes_of, pack
from lanesum.codecs.kernels.philox import expand_signs, shared_dithers
from lanesum.codecs.thc.dither import UNIT, DitherSum, dither_sums
from lanesum.protocol.lanes import LaneOp

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

_FLOAT32_MAX = float(np.finfo(np.float32).max)
#: Blocks are padded to this at least: a vector of any width holds whole blocks, and bit planes whole groups.
LEAST_BLOCK = 32
# An entry of a table of cells: the code of the level below, and whether the integer itself is left out.
CODE_BITS = 0x7F
LEFT_OUT = 0x80


def padded_length(size: int, block: int) -> int:
    """Coordinates of a vector of ``size`` with its padding; 0 for none."""
    full, rest = divmod(size, block)
    return full * block + (max(LEAST_BLOCK, 1 << (rest - 1).bit_length()) if rest else 0)


def rotate_blocks(values: Floats, powers: Floats, signs: Words, block: int, out: Floats) -> None:
    """``values``, padded, times both ``powers`` of two of their block (float32, shape (blocks, 2), flat) and the
    signs, each block transformed without normalization.

    ``signs``: as of :func:`lanesum.codecs.kernels.philox.sign_words`, the same for every block.
    """
    out[: values.size] = values
    out[values.size :] = 0
    for rows, part in _blocks(out, block):
        for column in (0, 1):
            part *= powers.reshape(-1, 2)[rows, column, None]
        part *= expand_signs(signs, part.shape[1])
        hadamard_transform(part.reshape(-1), block=part.shape[1], normalize=False)


def quantize_blocks(
    rotated: Floats,
    block: int,
    factors: Floats,
    granularity: int,
    cells: Bytes,
    seed: int,
    round: int,
    first: int,
    offset: int,
    flip: int,
    op: int,
    words: Words,
) -> None:
    """Round ``rotated`` to levels, with this worker's dithers, and pack their codes as lane operation ``op`` has them.

    ``factors``: one for every block, to positions in steps of 1/65536 of the grid; a block whose factor is 0 becomes
    zeros. ``cells``: none where every integer is a level and its own code; else for every integer from 0 to the
    granularity the code of the level below, or at it, and :data:`LEFT_OUT` where it is between two levels. ``offset``:
    of this worker's dithers. ``flip``: which half of the shared dithers, the even (0) or the odd ones (1), lets it go
    down from there.
    """
    codes = np.zeros(rotated.size, dtype=np.uint8)
    for rows, part in _blocks(rotated, block):
        scale = factors[rows, None]
        position = part * scale + np.float32(granularity * UNIT / 2)
        position = np.clip(position, 0, granularity * UNIT).astype(np.uint32)
        shared = shared_dithers(*part.shape, seed=seed, round=round, first=first + rows.start)
        dithers = shared + np.uint32(offset) & np.uint32(UNIT - 1)
        found = (position + dithers >> np.uint32(16)).astype(np.uint8)
        if cells.size:
            cell = cells[found]
            found = (cell & np.uint8(CODE_BITS)) + ((cell >= LEFT_OUT) & ((shared & np.uint32(1)) != flip))
        start = rows.start * block
        found *= scale != 0
        codes[start : start + part.size] = found.reshape(-1)
    words[...] = pack(LaneOp(op), codes)


def encode_blocks(
    values: Floats,
    powers: Floats,
    signs: Words,
    block: int,
    factors: Floats,
    granularity: int,
    cells: Bytes,
    seed: int,
    round: int,
    first: int,
    offset: int,
    flip: int,
    op: int,
    words: Words,
) -> None:
    """:func:`rotate_blocks` and :func:`quantize_blocks` in one."""
    rotated = np.empty(padded_length(values.size, block), dtype=np.float32)
    rotate_blocks(values, powers, signs, block, rotated)
    quantize_blocks(rotated, block, factors, granularity, cells, seed, round, first, offset, flip, op, words)


def estimate_blocks(
    lanes: Words,
    lane_bits: int,
    block: int,
    seed: int,
    round: int,
    first: int,
    multiplier: int,
    offsets: NDArray[np.uint16],
    sign: int,
    constant: int,
    out: Floats,
) -> None:
    """Sums in lanes to estimates of the sums of positions, rotated, from the middle of the grid, in 1/65536 steps.

    ``multiplier`` to ``constant``: as of :class:`lanesum.codecs.thc.dither.DitherSum`. ``out``: with the padding.
    """
    taken = DitherSum(multiplier, offsets, sign, constant, 0)
    sums = lanes_of(lanes, lane_bits).astype(np.uint32) << np.uint32(16)
    for (rows, part), (_, there) in zip(_blocks(sums, block), _blocks(out, block), strict=True):
        shared = shared_dithers(*part.shape, seed=seed, round=round, first=first + rows.start)
        there[...] = (part - dither_sums(shared, taken)).view(np.int32)


def restore_blocks(rotated: Floats, signs: Words, block: int, factors: Floats, out: Floats) -> None:
    """``rotated`` (which it writes over) transformed back, times the signs and both factors of its block (float32,
    shape (blocks, 2), flat), cut to the range of float32; zeros where the first factor is 0."""
    for rows, part in _blocks(rotated, block):
        hadamard_transform(part.reshape(-1), block=part.shape[1], normalize=False)
        part *= expand_signs(signs, part.shape[1])
        with np.errstate(over="ignore"):
            for column in (0, 1):
                part *= factors.reshape(-1, 2)[rows, column, None]
        part[factors.reshape(-1, 2)[rows, 0] == 0] = 0
    np.clip(rotated[: out.size], -_FLOAT32_MAX, _FLOAT32_MAX, out=out)


def decode_blocks(
    lanes: Words,
    lane_bits: int,
    signs: Words,
    block: int,
    factors: Floats,
    seed: int,
    round: int,
    first: int,
    multiplier: int,
    offsets: NDArray[np.uint16],
    sign: int,
    constant: int,
    out: Floats,
) -> None:
    """:func:`estimate_blocks` and :func:`restore_blocks` in one; ``out``: without the padding."""
    rotated = np.empty(padded_length(out.size, block), dtype=np.float32)
    estimate_blocks(lanes, lane_bits, block, seed, round, first, multiplier, offsets, sign, constant, rotated)
    restore_blocks(rotated, signs, block, factors, out)


def residual_blocks(
    values: Floats,
    codes: Words,
    op: int,
    levels: Bytes,
    signs: Words,
    block: int,
    factors: Floats,
    granularity: int,
    seed: int,
    round: int,
    first: int,
    offset: int,
    out: Floats,
) -> None:
    """What one worker's own codes did not say: ``values`` minus their decoding, cut to the range of float32.

    ``levels``: the level of every code. ``offset``: of this worker's dithers.
    """
    # Codes are spread over lanes of their own operation; what the switch looks up there is looked up here.
    plain = LaneOp.EXPAND8 if op == LaneOp.TABLE8 else LaneOp(op)
    wide = levels[lanes_of(expand(plain, codes), plain.shape.lane_bits)].astype(np.uint32) << np.uint32(16)
    rotated = np.empty(padded_length(values.size, block), dtype=np.float32)
    own = DitherSum(0, np.array([offset], dtype=np.uint16), 1, (granularity - 1) * UNIT // 2, 1)
    for (rows, part), (_, there) in zip(_blocks(wide, block), _blocks(rotated, block), strict=True):
        shared = shared_dithers(*part.shape, seed=seed, round=round, first=first + rows.start)
        there[...] = (part - dither_sums(shared, own)).view(np.int32)
    said = np.empty_like(values)
    restore_blocks(rotated, signs, block, factors, said)
    with np.errstate(over="ignore"):
        np.subtract(values, said, out=out)
    np.clip(out, -_FLOAT32_MAX, _FLOAT32_MAX, out=out)


def _blocks(padded: NDArray[np.generic], block: int) -> Iterator[tuple[slice, NDArray]]:
    """The full blocks as rows of one array, then the last one if it is shorter; with their numbers."""
    full = padded.size // block
    if full:
        yield slice(0, full), padded[: full * block].reshape(full, block)
    if padded.size % block:
        yield slice(full, full + 1), padded[full * block :].reshape(1, -1)

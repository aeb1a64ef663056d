# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy reference of the kernels of ``thc``, on a run of blocks; the native extension has the same bits.

Each kernel works on the blocks that ``values`` fill. The last block is padded with zeros to a power of two of at least
32. Arrays of properties of blocks have one row for each. With ``places``, vectors are those of all blocks, and a kernel
reads and writes the blocks with these numbers, in increasing order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.aggregation.combine import Words, expand
from lanesum.codecs.base import is_tensor
from lanesum.codecs.kernels.hadamard import hadamard_transform
from lanesum.codecs.kernels.interface import Doubles, Floats, Rotation
from lanesum.codecs.kernels.packing import lanes_of, pack, unpack_lanes
from lanesum.codecs.kernels.philox import expand_signs
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.thc.dither import UNIT, DitherSum, Rounding, SharedDithers, dither_sums
from lanesum.protocol.lanes import LaneOp

_Number = TypeVar("_Number", np.float32, np.uint32, np.uint8)
#: Minimum padded length of a block: vector registers of any width hold whole blocks, and bit planes whole groups.
MIN_BLOCK = 32
# Entry of a table of cells: the code of the level at or below, and a flag for an integer that is not a level.
CODE_BITS = 0x7F
LEFT_OUT = 0x80
# Limits of a factor: inside float32, and far beyond any factor of values that are neither clamped nor lost.
_SMALLEST_FACTOR, _LARGEST_FACTOR = 1e-30, 1e30
# Largest exponent of the first of two powers; the second has the rest.
_FIRST_EXPONENT = 100


def padded_length(size: int, block: int) -> int:
    """Return the number of coordinates of a vector of ``size`` with its padding."""
    full, rest = divmod(size, block)
    return full * block + (max(MIN_BLOCK, 1 << (rest - 1).bit_length()) if rest else 0)


def encode_factors(
    norms: Floats, peaks: Floats, step: float, ratios: Doubles, gains: Doubles, powers: Floats, factors: Floats
) -> None:
    """Write the powers, which scale the norm of a block to 0.5 to 1, and the factors of :func:`encode_blocks`.

    ``peaks``: the largest norms of all workers. ``step``: positions of one unit of them. ``gains``: of the ``ratios``
    of both norms, between which they are interpolated. The factor of a block of zeros on all workers is 0.
    """
    exponents = np.frexp(norms)[1]
    powers[...] = _two_powers(-exponents).reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gain = np.interp(norms / peaks, ratios, gains)
        found = np.clip(step * np.ldexp(1.0, exponents) * gain / peaks, _SMALLEST_FACTOR, _LARGEST_FACTOR)
    factors[...] = np.where(peaks > 0, found, 0)


def decode_factors(peaks: Floats, step: float, size: int, block: int, divisor: float, factors: Floats) -> None:
    """Write two factors from estimates to values for each block of a vector of ``size``, as in :func:`restore_blocks`.

    ``step``: of estimates, in units of ``peaks``. The second factor is a power of two, so the product of both is exact,
    and each is in the range of float32.
    """
    lengths = np.full(peaks.size, float(block))
    lengths[-1:] = padded_length(size, block) - block * (peaks.size - 1)
    mantissas, exponents = np.frexp(peaks.astype(np.float64) * step / (lengths * divisor))
    pairs = _two_powers(exponents)
    pairs[:, 0] *= mantissas.astype(np.float32)
    factors[...] = pairs.reshape(-1)


def _two_powers(exponents: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return two powers of two, whose exponents have the sum of each of ``exponents``: shape (blocks, 2)."""
    first = np.clip(exponents, -_FIRST_EXPONENT, _FIRST_EXPONENT)
    powers: NDArray[np.float32] = np.ldexp(np.float32(1), np.stack((first, exponents - first), axis=1))
    return powers


def encode_blocks(
    values: Floats,
    powers: Floats,
    factors: Floats,
    rotation: Rotation,
    dithers: SharedDithers,
    rounding: Rounding,
    words: Words,
    places: Words | None = None,
) -> None:
    """Rotate ``values``, round them to levels with this worker's dithers, and pack the codes for the lane operation.

    Values are first padded and multiplied by both ``powers`` of two of their block (float32, shape (blocks, 2), flat).
    All blocks have the same signs. ``factors``: one for every block, from rotated values to positions in steps of
    1/65536 of the grid. A block with factor 0 becomes zeros.
    """
    values, block = picked(values, places, rotation.block), rotation.block
    rotated = np.zeros(padded_length(values.size, block), dtype=np.float32)
    rotated[: values.size] = values
    codes = np.zeros(rotated.size, dtype=np.uint8)
    end, cells = rounding.granularity * UNIT, rounding.cells
    for rows, part in _blocks(rotated, block):
        for column in (0, 1):
            part *= powers.reshape(-1, 2)[rows, column, None]
        part *= expand_signs(rotation.signs, part.shape[1])
        hadamard_transform(part.reshape(-1), part.shape[1])
        scale = factors[rows, None]
        position = np.clip(part * scale + np.float32(end / 2), 0, end).astype(np.uint32)
        shared = dithers.after(rows.start).draw(*part.shape)
        own = shared + np.uint32(rounding.offset) & np.uint32(UNIT - 1)
        found = (position + own >> np.uint32(16)).astype(np.uint8)
        if cells.size:
            cell = cells[found]
            found = (cell & np.uint8(CODE_BITS)) + ((cell >= LEFT_OUT) & ((shared & np.uint32(1)) != rounding.flip))
        start = rows.start * block
        found *= scale != 0
        codes[start : start + part.size] = found.reshape(-1)
    words[...] = pack(LaneOp(rounding.op), codes)


def estimate_blocks(
    lanes: Words, lane_bits: int, block: int, dithers: SharedDithers, taken: DitherSum, out: Floats
) -> None:
    """Estimate the sums of rotated positions from the sums in lanes.

    ``out``: with the padding; from the middle of the grid, in steps of 1/65536.
    """
    _subtract_dithers(lanes_of(lanes, lane_bits), block, dithers, taken, out)


def restore_blocks(rotated: Floats, factors: Floats, rotation: Rotation, out: Floats) -> None:
    """Rotate blocks back and multiply them by both ``factors`` of their block; cut to the range of float32.

    ``rotated`` is overwritten. ``factors``: float32, shape (blocks, 2), flat. A block whose first factor is 0 becomes
    zeros.
    """
    for rows, part in _blocks(rotated, rotation.block):
        hadamard_transform(part.reshape(-1), part.shape[1])
        part *= expand_signs(rotation.signs, part.shape[1])
        with np.errstate(over="ignore"):
            for column in (0, 1):
                part *= factors.reshape(-1, 2)[rows, column, None]
        part[factors.reshape(-1, 2)[rows, 0] == 0] = 0
    np.clip(rotated[: out.size], -FLOAT32_MAX, FLOAT32_MAX, out=out)


def decode_blocks(
    lanes: Words,
    lane_bits: int,
    factors: Floats,
    rotation: Rotation,
    dithers: SharedDithers,
    taken: DitherSum,
    out: Floats,
    places: Words | None = None,
) -> None:
    """Combine :func:`estimate_blocks` and :func:`restore_blocks`; ``out``: without the padding."""
    values = picked(out, places, rotation.block)
    rotated = np.empty(padded_length(values.size, rotation.block), dtype=np.float32)
    estimate_blocks(lanes, lane_bits, rotation.block, dithers, taken, rotated)
    restore_blocks(rotated, factors, rotation, values)
    put(values, places, rotation.block, out)


def residual_blocks(
    values: Floats,
    codes: Words,
    factors: Floats,
    rotation: Rotation,
    dithers: SharedDithers,
    rounding: Rounding,
    out: Floats,
    places: Words | None = None,
) -> None:
    """Subtract the decoding of this worker's own ``codes`` from ``values``; cut to the range of float32."""
    values = picked(values, places, rotation.block)
    # Codes are spread over lanes of their own operation; the table lookup of the switch is made here.
    plain = LaneOp.EXPAND8 if rounding.op == LaneOp.TABLE8 else LaneOp(rounding.op)
    own_lanes = lanes_of(expand(plain, codes), plain.shape.lane_bits)
    rotated = np.empty(padded_length(values.size, rotation.block), dtype=np.float32)
    middle = (rounding.granularity - 1) * UNIT // 2
    own = DitherSum(0, np.array([rounding.offset], dtype=np.uint16), 1, middle, 1)
    _subtract_dithers(rounding.levels[own_lanes], rotation.block, dithers, own, rotated)
    decoded = np.empty_like(values)
    restore_blocks(rotated, factors, rotation, decoded)
    with np.errstate(over="ignore"):
        put(np.clip(values - decoded, -FLOAT32_MAX, FLOAT32_MAX), places, rotation.block, out)


def picked(vector: Any, places: NDArray[Any] | None, block: int) -> Any:
    """Return the blocks of an array or a tensor at ``places``, side by side; itself for None."""
    if places is None:
        return vector
    full = len(vector) // block
    whole = vector[: full * block].reshape(full, block)[places[places < full]].reshape(-1)
    if not places.size or places[-1] < full:
        return whole
    rest = vector[full * block :]
    joined = new(vector, len(whole) + len(rest))
    joined[: len(whole)], joined[len(whole) :] = whole, rest
    return joined


def put(blocks: Any, places: NDArray[Any] | None, block: int, out: Any) -> None:
    """Write ``blocks``, which :func:`picked` has returned, or 0 to their ``places`` in ``out``."""
    if places is None:
        out[...] = blocks
        return
    full = len(out) // block
    whole = places[places < full]
    stop, zeros = whole.size * block, isinstance(blocks, int)
    out[: full * block].reshape(full, block)[whole] = 0 if zeros else blocks[:stop].reshape(-1, block)
    if whole.size < places.size:
        out[full * block :] = 0 if zeros else blocks[stop:]


def new(vector: Any, size: int) -> Any:
    """Return ``size`` values that are not set, on the device of ``vector``."""
    return vector.new_empty(size) if is_tensor(vector) else arrays.empty(size, np.float32)


def digit_base(per_word: int) -> int:
    """Return the largest base in which a word has ``per_word`` digits."""
    return next(base for base in range(2 ** (32 // per_word), 2**32) if (base + 1) ** per_word > 2**32)


def pack_digits(codes: Words, block: int, per_word: int, words: Words) -> None:
    """Pack codes, a byte each, as the digits of words. The words of a block have ``per_word`` times their number codes.

    Digit i of the words of a block has its next codes in order, with zeros after the last one.
    """
    powers = _powers(per_word)
    for there, part in _digit_rows(words, unpack_lanes(codes), block, per_word):
        rows = np.zeros((len(part), there.shape[1] * per_word), np.uint32)
        rows[:, : part.shape[1]] = part
        np.sum(rows.reshape(len(part), per_word, -1) * powers, axis=1, out=there)


def unpack_digits(words: Words, block: int, per_word: int, lane_bits: int, lanes: Words) -> None:
    """Unpack the digits of words to lanes of 8 or 16 bits."""
    padded = np.empty(lanes.size * (32 // lane_bits), np.uint32)
    for there, part in _digit_rows(words, padded, block, per_word):
        digits = there[:, None] // _powers(per_word) % np.uint32(digit_base(per_word))
        part[...] = digits.reshape(len(part), -1)[:, : part.shape[1]]
    lanes[...] = padded.astype(f">u{lane_bits // 8}").view(">u4")


def _powers(per_word: int) -> Words:
    return np.array([[digit_base(per_word) ** digit] for digit in range(per_word)], np.uint32)


def _subtract_dithers(
    sums: NDArray[np.integer], block: int, dithers: SharedDithers, taken: DitherSum, out: Floats
) -> None:
    """Write ``sums`` of levels less the dithers in them, in steps of 1/65536."""
    wide = sums.astype(np.uint32) << np.uint32(16)
    for (rows, part), (_, there) in zip(_blocks(wide, block), _blocks(out, block), strict=True):
        there[...] = (part - dither_sums(dithers.after(rows.start).draw(*part.shape), taken)).view(np.int32)


def _blocks(padded: NDArray[_Number], block: int) -> Iterator[tuple[slice, NDArray[_Number]]]:
    """Yield the full blocks as rows of one array, then the last one if it is shorter; each with its block numbers."""
    full = padded.size // block
    if full:
        yield slice(0, full), padded[: full * block].reshape(full, block)
    if padded.size % block:
        yield slice(full, full + 1), padded[full * block :].reshape(1, -1)


def _digit_rows(
    words: Words, padded: NDArray[_Number], block: int, per_word: int
) -> Iterator[tuple[Words, NDArray[_Number]]]:
    """Yield the words and the coordinates of the full blocks, then of the last one if it is shorter, as rows."""
    for _, part in _blocks(padded, block):
        width = -(-part.shape[1] // per_word)
        yield words[: len(part) * width].reshape(len(part), width), part
        words = words[len(part) * width :]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy reference of the kernels of the codecs; the native extension has the same bits.

No order of operations on an element, or of the additions of a sum, depends on a library.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.kernels.interface import BlockUnits, Bytes, Floats, Integers

_MAGNITUDE = np.uint32(0x7FFFFFFF)
FLOAT32_MAX = float(np.finfo(np.float32).max)
#: Bits of the float32 infinity; those of NaN are larger.
INFINITY_BITS = 0x7F800000
# Order of additions in a norm: lane j of 32 adds the squares of elements j, j + 32 and so on of a block. The second
# half of the lanes is added to the first half until one lane is left. The sums of blocks are added one after the other.
SUM_LANES = 32
SUM_BLOCK = 4096


def square_sums(values: Floats, chunk: int, out: NDArray[np.float64]) -> None:
    """Add the squares of every ``chunk`` values in float64. A sum is not finite exactly if a value is not."""
    for index, start in enumerate(range(0, values.size, chunk)):
        part = values[start : start + chunk]
        blocks = -(-part.size // SUM_BLOCK)
        steps = min(SUM_BLOCK, -(-part.size // SUM_LANES) * SUM_LANES) // SUM_LANES
        squares = np.zeros(blocks * steps * SUM_LANES)
        np.square(part, out=squares[: part.size], dtype=np.float64)
        columns = squares.reshape(blocks, steps, SUM_LANES)
        lanes = columns[:, 0].copy()
        for step in range(1, steps):
            lanes += columns[:, step]
        while lanes.shape[1] > 1:
            half = lanes.shape[1] // 2
            lanes = lanes[:, :half] + lanes[:, half:]
        out[index] = np.add.accumulate(lanes[:, 0])[-1]


def magnitudes(values: Floats, block: int, out: NDArray[np.uint32]) -> None:
    """Write the bits of the largest magnitude of every ``block`` values: not finite exactly if a value is not."""
    np.maximum.reduceat(np.abs(values), np.arange(0, values.size, block), out=out.view(np.float32))


def not_below(values: Floats, least: int, mask: Bytes) -> None:
    """Mark each magnitude whose bits are at least ``least`` with 1."""
    np.greater_equal(values.view(np.uint32) & _MAGNITUDE, np.uint32(least), out=mask.view(np.bool_))


def largest(values: Floats, wanted: int, mask: Bytes) -> None:
    """Mark the ``wanted`` largest magnitudes with 1; of equal ones the first, and no zeros.

    ``wanted`` is at most the number of values.
    """
    magnitudes = values.view(np.uint32) & _MAGNITUDE
    least = int(np.partition(magnitudes, values.size - wanted)[values.size - wanted]) if wanted else 1 << 31
    np.greater(magnitudes, np.uint32(least), out=mask.view(np.bool_))
    if 0 < least < 1 << 31:
        equal = np.flatnonzero(magnitudes == least)
        mask[equal[: wanted - int(np.count_nonzero(mask))]] = 1


def to_integers(values: Floats, units: BlockUnits, out: Integers) -> None:
    """Divide ``values`` by their units, round half to even, and cut to plus and minus the peak."""
    unit = _units(units, values.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = values / unit
    # A block of zeros has unit 0. The limit matters only where the maximum of a quorum leaves this worker out.
    scaled = np.where(unit > 0, scaled, 0.0)
    np.rint(scaled, out=scaled)
    out[...] = np.clip(scaled, -units.peak, units.peak, out=scaled)


def from_integers(
    sums: Integers, units: BlockUnits, divisor: float, counts: NDArray[np.float64] | None, out: Floats
) -> None:
    """Multiply ``sums`` of integers by their units; divide all by ``divisor``, or each by its own of ``counts``."""
    values = sums * _units(units, sums.size)
    values /= divisor if counts is None else counts
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        out[...] = values


def integer_residual(values: Floats, integers: Integers, units: BlockUnits, out: Floats) -> None:
    """Subtract from ``values`` the values of their ``integers``."""
    out[...] = values - integers * _units(units, values.size)


def sum_rows(rows: Floats, divisor: float, out: Floats) -> None:
    """Add rows as long as ``out``, one after another, in float64; divide, and round once."""
    total = rows[: out.size].astype(np.float64)
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding. NaN and infinities may
    # be among the rows.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(out.size, rows.size, out.size):  # the order of additions of numpy.sum is not specified
            total += rows[start : start + out.size]
        total /= divisor
        out[...] = total


def _units(units: BlockUnits, size: int) -> NDArray[np.float64]:
    """Return the unit of every value."""
    return np.repeat(units.maxima.astype(np.float64) / units.peak, min(units.block, size))[:size]

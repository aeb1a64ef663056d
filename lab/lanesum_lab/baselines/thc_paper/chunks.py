# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of THC on one chunk: functions of its values, its norm and the largest norm of all workers.

No state is kept between calls, and results and scratch space belong to the caller. So a chunk can be encoded while
others are in flight or decoded, in any thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Vector, Words
from lanesum.codecs.kernels.dispatch import chosen
from lanesum.codecs.kernels.interface import Bytes, Floats, Rotation, rotation_of
from lanesum.codecs.kernels.philox import RandomStream
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.protocol.spec import CODE_TABLE_ENTRIES
from lanesum_lab.baselines.thc_paper import reference
from lanesum_lab.baselines.thc_paper.reference import CODES_PER_WORD, LANES_PER_WORD, LaneContributors, RandomKey, Scale


class PaperKernels(NamedTuple):
    """Kernels of one chunk; :mod:`lanesum_lab.baselines.thc_paper.reference` documents them and their arguments."""

    rotate: Callable[[Floats, tuple[float, float], Rotation, Floats], None]
    quantize: Callable[[Floats, float, Words, RandomKey, Words], None]
    decode: Callable[[Words, LaneContributors, Rotation, Scale, Floats, Floats], None]
    residual: Callable[[Floats, Words, Floats, Bytes | None, Rotation, Scale, Floats, Floats], None]


_REFERENCE = PaperKernels(*(getattr(reference, name) for name in PaperKernels._fields))


def kernels() -> PaperKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "CodecKernels", threads=1)


def powers_of_two(exponent: int) -> tuple[float, float]:
    """Return two factors inside float32 with the product ``2**exponent``; the first is 1 if one is sufficient."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)


@dataclass(frozen=True)
class Chunk:
    """Part of a vector with one norm: ``vector[start:stop]``, padded to ``length`` codes that start at ``offset``."""

    index: int
    start: int
    stop: int
    offset: int
    length: int

    @property
    def values(self) -> slice:
        """Range in the vector."""
        return slice(self.start, self.stop)

    @property
    def codes(self) -> slice:
        """Range of the uplink words among those of all chunks."""
        return slice(self.offset // CODES_PER_WORD, (self.offset + self.length) // CODES_PER_WORD)

    @property
    def lanes(self) -> slice:
        """Range of the accumulator words among those of all chunks."""
        return slice(self.offset // LANES_PER_WORD, (self.offset + self.length) // LANES_PER_WORD)


class ChunkCoder:
    """Encoder and decoder with one table.

    Args:
        levels: integers of the table.
        limit: clamp T, in standard deviations.
        block: coordinates of one transform, None for the whole chunk.
        workers: maximum number of workers in a sum.

    Arrays are contiguous. ``values`` and results are float32 with ``chunk.stop - chunk.start`` elements, ``rotated``
    and ``scratch`` float32 with ``chunk.length``, words uint32 of the range ``codes`` or ``lanes``. ``norm`` is that of
    the chunk, ``peak`` the largest of all workers.
    """

    def __init__(
        self, levels: tuple[int, ...], limit: float, *, block: int | None, diagonal_seed: int, workers: int
    ) -> None:
        self.granularity = levels[-1]
        self._limit = limit
        self._block_limit = block
        self._diagonal_seed = diagonal_seed
        self._workers = workers
        table = np.zeros(CODE_TABLE_ENTRIES, dtype=np.float32)
        table[: len(levels)] = levels
        self._halves = np.float32(2) * table - np.float32(self.granularity)
        cells = np.arange(self.granularity + 1)
        below = np.searchsorted(levels[1:-1], cells, side="right")
        entries = np.take(levels, below) | np.diff(levels)[below] << 8 | below << 16
        self._cells = entries.astype(np.uint32)

    def rotate(self, values: Vector, chunk: Chunk, norm: float, rotated: Vector) -> None:
        """Scale ``values`` to a norm of 0.5 to 1, pad them, and rotate them without normalization."""
        powers = powers_of_two(-math.frexp(norm)[1])
        kernels().rotate(values, powers, self._rotation(chunk), rotated)

    def quantize(
        self, rotated: Vector, chunk: Chunk, norm: float, peak: float, context: CodecContext, codes: Words
    ) -> None:
        """Clamp and round the rotated chunk, and pack its codes."""
        if peak == 0:
            codes.fill(0)
            return
        deviation = peak / math.sqrt(chunk.length) * math.sqrt(self._block(chunk))
        steps = self.granularity / (2 * self._limit) * 2.0 ** math.frexp(norm)[1] / deviation
        # A quorum may leave the largest norm out. All values are clamped then, and the limit avoids infinity.
        factor = min(steps, 1e30)
        key = RandomKey(context.seed, RandomStream.ROUNDING, context.worker, context.round & 0xFFFFFFFF, chunk.index)
        kernels().quantize(rotated, factor, self._cells, key, codes)

    def decode(
        self,
        lanes: Words,
        chunk: Chunk,
        peak: float,
        contributors: int | NDArray[np.integer],
        average: bool,
        scratch: Vector,
        values: Vector,
    ) -> None:
        """Decode sums in lanes to the mean or the sum of the contributors: one number, or one for each word."""
        if peak == 0:
            values.fill(0)
            return
        counts = None if isinstance(contributors, int) else contributors.astype(np.float32)
        offset, divisor = self.granularity, 1
        if isinstance(contributors, int):
            offset, divisor = contributors * self.granularity, contributors if average else 1
        scale = self._scale(chunk, peak, divisor)
        kernels().decode(
            lanes, LaneContributors(offset, counts, average), self._rotation(chunk), scale, scratch, values
        )

    def residual(
        self,
        values: Vector,
        codes: Words,
        chunk: Chunk,
        peak: float,
        included: NDArray[np.bool_] | None,
        scratch: Vector,
        residual: Vector,
    ) -> None:
        """Subtract from ``values`` the decoding of this worker's summed codes.

        ``included``: True for each accumulator word that was summed; None if all were.
        """
        if peak == 0:
            residual[...] = values
            return
        scale = self._scale(chunk, peak, 1)
        counted = None if included is None else np.ascontiguousarray(included).view(np.uint8)
        kernels().residual(values, codes, self._halves, counted, self._rotation(chunk), scale, scratch, residual)

    def _block(self, chunk: Chunk) -> int:
        return chunk.length if self._block_limit is None else min(self._block_limit, chunk.length)

    def _rotation(self, chunk: Chunk) -> Rotation:
        return rotation_of(chunk.length, self._block(chunk), self._diagonal_seed)

    def _scale(self, chunk: Chunk, peak: float, divisor: int) -> Scale:
        """Return the scale from rotated halves of a table step to values.

        The factor is applied as a float32 mantissa and powers of two. So all workers have the same bits, and no
        intermediate value overflows or underflows.
        """
        norms = math.sqrt(chunk.length) * math.sqrt(self._block(chunk))
        mantissa, exponent = math.frexp(peak * self._limit / (self.granularity * divisor) / norms)
        # Levels reach T times the norm. Otherwise no estimate exceeds float32.
        beyond = peak * self._limit * self._workers > FLOAT32_MAX
        return Scale((mantissa, *powers_of_two(exponent)), FLOAT32_MAX if beyond else math.inf)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of ``thc`` on runs of blocks: the arguments of the kernels, from norms and parameters.

No state is kept between calls, and results are written to arrays of the caller. So the parts of a vector can be encoded
and decoded in any order and thread.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.base import CodecContext, Members, Vector
from lanesum.codecs.kernels.dispatch import chosen, threads
from lanesum.codecs.kernels.interface import Doubles, Floats, Rotation, rotation_of
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.codecs.thc import reference
from lanesum.codecs.thc.dither import UNIT, DitherSum, Rounding, SharedDithers, dither_offset, dither_sum
from lanesum.codecs.thc.grid import RATIOS, Grid
from lanesum.codecs.thc.reference import LEFT_OUT, digit_base, padded_length, picked, put
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES


class BlockKernels(NamedTuple):
    """Kernels on runs of blocks; :mod:`lanesum.codecs.thc.reference` documents each of them and its arguments."""

    encode_factors: Callable[[Floats, Floats, float, Doubles, Doubles, Floats, Floats], None]
    decode_factors: Callable[[Floats, float, int, int, float, Floats], None]
    encode_blocks: Callable[[Floats, Floats, Floats, Rotation, SharedDithers, Rounding, Words, Words | None], None]
    estimate_blocks: Callable[[Words, int, int, SharedDithers, DitherSum, Floats], None]
    restore_blocks: Callable[[Floats, Floats, Rotation, Floats], None]
    decode_blocks: Callable[[Words, int, Floats, Rotation, SharedDithers, DitherSum, Floats, Words | None], None]
    residual_blocks: Callable[[Floats, Words, Floats, Rotation, SharedDithers, Rounding, Floats, Words | None], None]
    pack_digits: Callable[[Words, int, int, Words], None]
    unpack_digits: Callable[[Words, int, int, int, Words], None]


_REFERENCE = BlockKernels(*(getattr(reference, name) for name in BlockKernels._fields))


def block_kernels() -> BlockKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "BlockKernels", threads=threads())


@dataclass(frozen=True)
class Run:
    """Blocks ``first`` to ``stop`` (exclusive) of a vector of ``size`` coordinates; the last one may be shorter.

    ``places``: the number of each block of the vector in a longer one that contains them; None if it has no other.
    """

    first: int
    stop: int
    size: int
    block: int
    places: Words | None = None

    def of(self, vector: Vector) -> tuple[Vector, Words | None]:
        """Return the run in the longer vector, for kernels: its values, or all values and the places of its blocks."""
        return (vector[self.values], None) if self.places is None else (vector, self.places[self.blocks])

    @property
    def blocks(self) -> slice:
        """Range of the block numbers."""
        return slice(self.first, self.stop)

    @property
    def values(self) -> slice:
        """Range in the vector."""
        return slice(self.first * self.block, min(self.size, self.stop * self.block))

    @property
    def padded(self) -> slice:
        """Range in the padded vector."""
        start = self.first * self.block
        return slice(start, start + padded_length(self.values.stop - start, self.block))

    def of_shard(self, shard: int, count: int) -> Run:
        """Return this run of the shard ``shard``, in a vector of ``count`` shards of whole blocks."""
        start = shard * (self.size // self.block)
        return Run(start + self.first, start + self.stop, count * self.size, self.block)

    def words(self, bits: int | Fraction) -> slice:
        """Return the range of the words, with ``bits`` per coordinate in whole words for each block."""
        each, before = num_words(self.block, bits), self.stop - 1
        last = self.padded.stop - before * self.block
        return slice(self.first * each, before * each + num_words(last, bits))


def cut(size: int, block: int, piece: int, places: Words | None = None) -> list[Run]:
    """Return a vector of ``size`` coordinates as runs of whole blocks, of about ``piece`` coordinates."""
    blocks, step = -(-size // block), max(1, piece // block)
    return [Run(first, min(blocks, first + step), size, block, places) for first in range(0, blocks, step)]


@functools.lru_cache(maxsize=256)
def num_words(length: int, bits: int | Fraction) -> int:
    """Return the words of ``length`` coordinates with ``bits`` each."""
    return math.ceil(length * bits / 32)


class BlockCoder:
    """Encoder and decoder with one grid and lane operation.

    ``per_word``: coordinates whose codes and sums are digits of a word of ADD32; None for lanes of ``op``. The
    attributes ``code_bits`` and ``lane_bits`` are those of a coordinate in the words that are sent and received.

    ``context`` selects the dithers of a worker and round. Scales are float32, one or two for each block of the vector.
    They are computed once, from this worker's ``norms`` and from ``peaks``, the largest norms of all workers. A
    vector contains the run, see :meth:`Run.of`; words and lanes are those of the run.
    """

    def __init__(self, grid: Grid, op: LaneOp, block: int, per_word: int | None = None) -> None:
        self.grid, self.block, self.per_word = grid, block, per_word
        digits = Fraction(32, per_word) if per_word else None
        self.code_bits, self.lane_bits = digits or op.shape.code_bits, digits or op.shape.lane_bits
        # Kernels have a byte for each code that becomes a digit, and lanes of 8 or 16 bits.
        self.op = LaneOp.ADD8X4 if per_word else op
        self.unpacked_bits = 8 if per_word and digit_base(per_word) <= 256 else 16 if per_word else op.shape.lane_bits
        levels = np.array(grid.levels)
        self._levels = np.zeros(256, dtype=np.uint8)
        self._levels[: levels.size] = levels
        cells = code_cells(grid)
        # Empty if every integer is a level and its own code.
        self._cells = cells[:0] if grid.uniform else cells
        assert all(high - low <= 2 for low, high in pairwise(grid.levels))

    @functools.cached_property
    def _kernels(self) -> BlockKernels:
        return block_kernels()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without native kernels, which are not copied."""
        return {name: value for name, value in vars(self).items() if name != "_kernels"}

    def encode(
        self, values: Vector, run: Run, powers: Vector, positions: Vector, context: CodecContext, words: Words
    ) -> None:
        """Rotate and encode a run to words."""
        (values, places), powers, positions = run.of(values), powers[_pairs(run)], positions[run.blocks]
        dithers, rounding, rotation = _dithers(run, context), self._rounding(context), self._rotation(context)
        codes = np.empty(run.words(8).stop - run.words(8).start, np.uint32) if self.per_word else words
        self._kernels.encode_blocks(values, powers, positions, rotation, dithers, rounding, codes, places)
        self.pack(codes, words)

    def pack(self, codes: Words, words: Words) -> None:
        """Pack the codes of kernels, a byte each, to ``words`` of digits; other codes are words."""
        if self.per_word:
            self._kernels.pack_digits(codes, self.block, self.per_word, words)

    def decode(
        self, lanes: Words, run: Run, scales: Vector, context: CodecContext, taken: DitherSum, out: Vector
    ) -> None:
        """Decode sums to values.

        ``scales``: see :meth:`scales`, with the divisor of the mean or 1. ``taken``: dithers of the contributors.
        """
        lane_bits, rotation, dithers = self.unpacked_bits, self._rotation(context), _dithers(run, context)
        lanes = self.unpacked(lanes, run, lane_bits)
        values, places = run.of(out)
        self._kernels.decode_blocks(lanes, lane_bits, scales[_pairs(run)], rotation, dithers, taken, values, places)

    def decode_members(
        self, lanes: Words, run: Run, peaks: Vector, context: CodecContext, members: Members, out: Vector
    ) -> None:
        """Decode sums that lack some workers. ``members``: contributors of each word of the run."""
        of_coordinates = self._of_coordinates(members.of_word, run)
        rotated = np.empty(of_coordinates.size, dtype=np.float32)
        for number in np.unique(members.of_word):
            taken = dither_sum(context.workers, self.grid.granularity, members.sets[number])
            estimate = self._estimate(lanes, run, context, taken)
            if context.average:
                estimate /= np.float32(taken.num_workers)
            np.copyto(rotated, estimate, where=of_coordinates == number)
        factors = self.scales(run.size, peaks, 1)[_pairs(run)]
        out, places = run.of(out)
        decoded = picked(out, places, self.block)
        self._kernels.restore_blocks(rotated, factors, self._rotation(context), decoded)
        put(decoded, places, self.block, out)

    def residual(
        self,
        values: Vector,
        words: Words,
        run: Run,
        scales: Vector,
        context: CodecContext,
        included: NDArray[np.bool_] | None,
        out: Vector,
    ) -> None:
        """Subtract from ``values`` the decoding of this worker's summed codes.

        ``scales``: with the divisor 1. ``included``: True for each accumulator word that was summed; None if all were.
        """
        factors, rotation, (values, places) = scales[_pairs(run)], self._rotation(context), run.of(values)
        out, _ = run.of(out)
        if included is None:
            dithers, rounding = _dithers(run, context), self._rounding(context)
            codes = self.unpacked(words, run, 8)
            self._kernels.residual_blocks(values, codes, factors, rotation, dithers, rounding, out, places)
            return
        values = picked(values, places, self.block)
        decoded = np.empty_like(values)
        lanes = words if self.per_word else lane_contribution(self.op, words, self._levels[:CODE_TABLE_ENTRIES])
        own = dither_sum(context.workers, self.grid.granularity, np.arange(context.workers) == context.worker)
        rotated = self._estimate(lanes, run, context, own)
        rotated *= self._of_coordinates(included, run)
        self._kernels.restore_blocks(rotated, factors, rotation, decoded)
        with np.errstate(over="ignore"):
            put(np.clip(values - decoded, -FLOAT32_MAX, FLOAT32_MAX), places, self.block, out)

    def _estimate(self, lanes: Words, run: Run, context: CodecContext, taken: DitherSum) -> Vector:
        rotated = np.empty(run.padded.stop - run.padded.start, dtype=np.float32)
        lane_bits = self.unpacked_bits
        lanes = self.unpacked(lanes, run, lane_bits)
        self._kernels.estimate_blocks(lanes, lane_bits, self.block, _dithers(run, context), taken, rotated)
        return rotated

    def unpacked(self, words: Words, run: Run, lane_bits: int) -> Words:
        """Return words of digits as lanes; others as they are."""
        if not self.per_word:
            return words
        lanes = np.empty((run.padded.stop - run.padded.start) * lane_bits // 32, np.uint32)
        self._kernels.unpack_digits(words, self.block, self.per_word, lane_bits, lanes)
        return lanes

    def _of_coordinates(self, of_word: NDArray[Any], run: Run) -> NDArray[Any]:
        """Return the entry of its accumulator word for each padded coordinate."""
        if not self.per_word:
            return np.repeat(of_word, 32 // self.unpacked_bits)
        each = num_words(self.block, self.lane_bits)
        starts = range(0, of_word.size, each)
        rows = [np.tile(of_word[at : at + each], self.per_word)[: self.block] for at in starts]
        return np.concatenate(rows)[: run.padded.stop - run.padded.start]

    def _rounding(self, context: CodecContext) -> Rounding:
        offset, flip = dither_offset(context.worker, context.workers), context.worker & 1
        return Rounding(self.grid.granularity, self._cells, self._levels, offset, flip, int(self.op))

    def _rotation(self, context: CodecContext) -> Rotation:
        """Return the rotation of a round: its diagonal is the same for all blocks, and new in every round."""
        return rotation_of(self.block, self.block, context.seed, context.round & 0xFFFFFFFF)

    def factors(self, norms: Vector, peaks: Vector) -> tuple[Vector, Vector]:
        """Return two powers of two for each block, and the factor from its rotated values to positions."""
        powers, positions = np.empty(2 * norms.size, np.float32), np.empty(norms.size, np.float32)
        step = UNIT * self.grid.granularity / (2 * self.grid.limit)
        self._kernels.encode_factors(norms, peaks, step, RATIOS, self.grid.gains, powers, positions)
        return powers, positions

    def scales(self, size: int, peaks: Vector, divisor: int) -> Vector:
        """Return the factors from rotated estimates to values of a vector of ``size``: two for each block."""
        scales = np.empty(2 * peaks.size, np.float32)
        step = 2 * self.grid.limit / self.grid.granularity / UNIT
        self._kernels.decode_factors(peaks, step, size, self.block, float(divisor), scales)
        return scales


def code_cells(grid: Grid) -> NDArray[np.uint8]:
    """Return the code of the level at or below each integer of ``grid``, plus ``LEFT_OUT`` for an integer between."""
    levels, integers = np.array(grid.levels), np.arange(grid.granularity + 1)
    below = np.searchsorted(levels, integers, side="right") - 1
    return (below + LEFT_OUT * ~np.isin(integers, levels)).astype(np.uint8)


def _pairs(run: Run) -> slice:
    """Return the range of the run in an array with two entries for each block."""
    return slice(2 * run.first, 2 * run.stop)


def _dithers(run: Run, context: CodecContext) -> SharedDithers:
    return SharedDithers(context.seed, context.round & 0xFFFFFFFF, run.first)

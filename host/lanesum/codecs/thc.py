# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc``: Tensor Homomorphic Compression (Li et al., NSDI 2024), 4-bit codes up and 8-bit lanes down.

All workers rotate their chunk with the same randomized Hadamard transform, after which a coordinate is close to
normal with variance at most (M/sqrt(d))**2, M being the largest norm of all workers. They clamp it to T times that
deviation and round it, without bias, to one of ``2**bits`` common levels. Levels are small integers, so their sum
in an 8-bit lane decodes directly to the mean. Follows the artifact that the paper published: one norm for a chunk
of 2**20, zero padding to a power of two, one diagonal (seed 42) for every chunk and round.

Differences from the artifact: rounding is direct instead of by way of a fine grid; the table is the exact optimum
(:mod:`lanesum.codecs.thc_tables`); random bits and operation order are the same on every machine; every chunk is
scaled by a power of two before the transform, so that no magnitude of float32 over- or underflows in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Deferred,
    Result,
    Round,
    RoundShape,
    Steps,
    Vector,
    checked_vector,
    checked_words,
    uniform_contributors,
)
from lanesum.codecs.hadamard import hadamard_transform
from lanesum.codecs.packing import (
    CODES_PER_WORD,
    LANE_MAX,
    LANES_PER_WORD,
    pack_codes,
    unpack_lanes,
)
from lanesum.codecs.random import Stream, random_words, signs, uniforms
from lanesum.codecs.thc_tables import best_table, support_limit
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

FLOAT32_MAX = float(np.finfo(np.float32).max)
#: Length of the independent transforms of ``rotation="block"``: ten butterfly stages, as the artifact ships.
BLOCK = 1024
# Coordinates quantized at a time, so that the temporaries stay in cache.
_TILE = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Part of a vector with one norm: ``vector[start:stop]``, padded to ``length`` codes that begin at ``offset``."""

    index: int
    start: int
    stop: int
    offset: int
    length: int

    @property
    def codes(self) -> slice:
        """Where the chunk's coordinates are in an array of all padded chunks."""
        return slice(self.offset, self.offset + self.length)


class THC:
    """THC for at most ``workers`` workers.

    ``bits``: 2, 3 or 4; a code always takes 4 bits on the wire, fewer bits mean fewer levels. ``codes``:
    ``"table"`` (TABLE8: the switch looks each code up) or ``"uniform"`` (EXPAND8: granularity 2**bits - 1, codes are
    added as they are). ``granularity``: largest table value, 30 by default; ``granularity * workers`` must not
    exceed 255. ``p``: fraction of a normal's mass beyond the clamp, both sides together. ``table``: 2**bits
    increasing integers from 0 to ``granularity``, or None for the best one. ``rotation``: ``"full"``, or ``"block"``
    for independent transforms of 1024 coordinates, which is quicker and clamps much more where the scale varies
    inside a chunk. ``chunk``: coordinates with one norm, a power of two of 8 or more.

    Raises ConfigurationError for values that do not fit together. The codec keeps no state between calls; wrap it
    in :class:`lanesum.codecs.error_feedback.ErrorFeedback` to carry the clamping and rounding error over.

    Wire: one word per chunk up and down (MAX), then 4 bits up and 8 bits down per padded coordinate.
    """

    def __init__(
        self,
        *,
        workers: int,
        bits: int = 4,
        codes: Literal["table", "uniform"] = "table",
        granularity: int | None = None,
        p: float = 1 / 32,
        table: Sequence[int] | None = None,
        rotation: Literal["full", "block"] = "full",
        chunk: int = 1 << 20,
        diagonal_seed: int = 42,
    ) -> None:
        if workers < 1:
            raise ConfigurationError(f"thc cannot serve {workers} workers.", "Give a number from 1.")
        if codes not in ("table", "uniform"):
            raise ConfigurationError(f"There are no {codes!r} codes.", 'Use codes="table" or codes="uniform".')
        if rotation not in ("full", "block"):
            raise ConfigurationError(f"There is no {rotation!r} rotation.", 'Use rotation="full" or "block".')
        if chunk < CODES_PER_WORD or chunk & (chunk - 1):
            raise ConfigurationError(f"A chunk of {chunk} coordinates is not a power of two of 8 or more.")
        self.p = p
        self.limit = support_limit(p)
        self.values = _levels(bits, codes, granularity, p, table)
        self.granularity = self.values[-1]
        self.workers = workers
        self.name = "thc" if codes == "table" else "thc-uniform"
        self.op = LaneOp.TABLE8 if codes == "table" else LaneOp.EXPAND8
        self.rotation = rotation
        self.chunk = chunk
        self.diagonal_seed = diagonal_seed
        _check_lane(self.granularity, workers, len(self.values))

        self._table = np.zeros(CODE_TABLE_ENTRIES, dtype=np.uint8)
        self._table[: len(self.values)] = self.values
        # For every unit cell of [0, g]: the code of the level below, that level, and the gap to the next one.
        cells = np.arange(self.granularity + 1)
        below = np.searchsorted(self.values[1:-1], cells, side="right")
        self._code_below = below.astype(np.uint8)
        self._level_below = np.take(self.values, below).astype(np.float32)
        self._gap = np.diff(self.values)[below].astype(np.float32)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """The 16 table entries of the job (unused ones 0), or None for uniform codes."""
        return self._table.copy() if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :func:`lanesum.codecs.description`."""
        return (
            f"{self.name} workers={self.workers} levels={','.join(map(str, self.values))} p={self.p!r} "
            f"rotation={self.rotation} chunk={self.chunk} diagonal_seed={self.diagonal_seed}"
        )

    def chunks(self, size: int) -> list[Chunk]:
        """How a vector of ``size`` coordinates is cut and padded."""
        cut = []
        for index, start in enumerate(range(0, size, self.chunk)):
            stop = min(start + self.chunk, size)
            length = max(CODES_PER_WORD, 1 << (stop - start - 1).bit_length())
            # All chunks before this one are full, so it starts at the same place in the padded array.
            cut.append(Chunk(index, start, stop, start, length))
        return cut

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """One MAX word per chunk, one word per eight padded coordinates; no round for an empty vector."""
        chunks = self.chunks(size)
        if not chunks:
            return ()
        words = sum(chunk.length for chunk in chunks) // CODES_PER_WORD
        return RoundShape(LaneOp.MAX, len(chunks)), RoundShape(self.op, words)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; two rounds, ``norm`` and ``codes``.

        The rotation overlaps the norm round, and the residual's inverse rotation the code round.
        """
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        norm_shape, code_shape = self.shapes(vector.size)
        chunks = self.chunks(vector.size)

        norms = _norms(vector, chunks, context)
        rotated = Deferred(partial(self._rotate, vector, chunks, norms))
        reply = yield Round(LaneOp.MAX, norms.view(np.uint32), rotated, label="norm")
        peaks = checked_words(reply, norm_shape).view(np.float32)
        if not (np.isfinite(peaks) & (peaks >= 0)).all():
            raise CodecError("The aggregate of the norm round is not a list of non-negative floats.")

        codes = self._quantize(rotated(), chunks, norms, peaks, context)
        residual = partial(self._residual, vector, chunks, codes, peaks)
        own = Deferred(partial(residual, True)) if context.keep_residual else None
        reply = yield Round(self.op, pack_codes(codes), own, label="codes")
        sums = unpack_lanes(checked_words(reply, code_shape))

        values = self._decode(sums, vector.size, chunks, peaks, reply, context.average)
        if own is None:
            return Result(values)
        return Result(values, own() if np.all(reply.included) else residual(reply.included))

    def _block(self, chunk: Chunk) -> int:
        return chunk.length if self.rotation == "full" else min(BLOCK, chunk.length)

    def _rotate(self, vector: Vector, chunks: list[Chunk], norms: Vector) -> Vector:
        """All padded chunks, each brought to a norm of 0.5 to 1, times the diagonal, transformed, not normalized."""
        rotated = np.zeros(chunks[-1].codes.stop, dtype=np.float32)
        for chunk in chunks:
            y = rotated[chunk.codes]
            y[: chunk.stop - chunk.start] = vector[chunk.start : chunk.stop]
            _multiply_power(y, -math.frexp(norms[chunk.index])[1])
            y *= _diagonal(chunk.length, self.diagonal_seed)
            hadamard_transform(y, block=self._block(chunk), normalize=False)
        return rotated

    def _quantize(
        self, rotated: Vector, chunks: list[Chunk], norms: Vector, peaks: Vector, context: CodecContext
    ) -> NDArray[np.uint8]:
        codes = np.zeros(rotated.size, dtype=np.uint8)
        half = np.float32(self.granularity / 2)
        for chunk in chunks:
            norm, peak = float(norms[chunk.index]), float(peaks[chunk.index])
            if peak == 0:
                continue
            deviation = peak / math.sqrt(chunk.length) * math.sqrt(self._block(chunk))
            steps = self.granularity / (2 * self.limit) * 2.0 ** math.frexp(norm)[1] / deviation
            # A quorum may leave the largest norm out. Everything is clamped then; the cap only avoids infinity.
            factor = np.float32(min(steps, 1e30))
            dither = uniforms(
                random_words(
                    chunk.length,
                    seed=context.seed,
                    stream=Stream.ROUNDING,
                    worker=context.worker,
                    round=context.round,
                    chunk=chunk.index,
                )
            )
            y, out = rotated[chunk.codes], codes[chunk.codes]
            for start in range(0, chunk.length, _TILE):
                tile = slice(start, start + _TILE)
                position = np.clip(y[tile] * factor + half, 0, np.float32(self.granularity))
                cell = position.astype(np.intp)
                position -= self._level_below[cell]
                up = position > dither[tile] * self._gap[cell]
                np.add(self._code_below[cell], up, out=out[tile])
        return codes

    def _decode(
        self,
        sums: NDArray[np.uint8],
        size: int,
        chunks: list[Chunk],
        peaks: Vector,
        reply: Aggregate,
        average: bool,
    ) -> Vector:
        count = uniform_contributors(reply)
        values = np.empty(size, dtype=np.float32)
        for chunk in chunks:
            y = np.multiply(sums[chunk.codes], np.float32(2), dtype=np.float32)
            if count is not None:
                y -= np.float32(count * self.granularity)
            else:
                words = slice(chunk.offset // LANES_PER_WORD, chunk.codes.stop // LANES_PER_WORD)
                counts = np.repeat(np.asarray(reply.contributors)[words].astype(np.float32), LANES_PER_WORD)
                y -= counts * np.float32(self.granularity)
                if average:
                    y /= counts
            divisor = count if average and count is not None else 1
            self._rotate_back(y, chunk, float(peaks[chunk.index]), divisor)
            values[chunk.start : chunk.stop] = y[: chunk.stop - chunk.start]
        return values

    def _rotate_back(self, y: Vector, chunk: Chunk, peak: float, divisor: int) -> None:
        """Turn ``y``, in halves of a table step, into values of the vector, in place.

        All arithmetic on elements is float32 in one order, and the one real factor is applied as a float32
        mantissa and a power of two: every worker gets the same bits.
        """
        if peak == 0:
            y.fill(0)
            return
        block = self._block(chunk)
        hadamard_transform(y, block=block, normalize=False)
        y *= _diagonal(chunk.length, self.diagonal_seed)
        scale = peak * self.limit / (self.granularity * divisor) / (math.sqrt(chunk.length) * math.sqrt(block))
        mantissa, exponent = math.frexp(scale)
        y *= np.float32(mantissa)
        with np.errstate(over="ignore"):
            _multiply_power(y, exponent)
        # Levels reach T times the norm: only then can an estimate be larger than float32.
        if peak * self.limit * self.workers > FLOAT32_MAX:
            np.clip(y, -FLOAT32_MAX, FLOAT32_MAX, out=y)

    def _residual(
        self,
        vector: Vector,
        chunks: list[Chunk],
        codes: NDArray[np.uint8],
        peaks: Vector,
        included: bool | NDArray[np.bool_],
    ) -> Vector:
        """What this worker's summed codes did not say: its vector minus their own decoding."""
        residual = vector.copy()
        lanes = self._table[codes]
        counted = np.repeat(np.broadcast_to(included, codes.size // LANES_PER_WORD), LANES_PER_WORD)
        for chunk in chunks:
            y = np.multiply(lanes[chunk.codes], np.float32(2), dtype=np.float32)
            y -= np.float32(self.granularity)
            if included is not True:
                y *= counted[chunk.codes]
            self._rotate_back(y, chunk, float(peaks[chunk.index]), 1)
            left = residual[chunk.start : chunk.stop]
            with np.errstate(over="ignore"):
                left -= y[: chunk.stop - chunk.start]
            np.clip(left, -FLOAT32_MAX, FLOAT32_MAX, out=left)
        return residual


def _levels(bits: int, codes: str, granularity: int | None, p: float, table: Sequence[int] | None) -> tuple[int, ...]:
    """The table's integers for the given parameters, or the ConfigurationError that says why there are none."""
    if codes == "uniform":
        values = tuple(range(2**bits)) if bits in (2, 3, 4) else best_table(bits, 1, p).values
        if granularity not in (None, values[-1]) or (table is not None and tuple(table) != values):
            raise ConfigurationError(
                f"Uniform codes of {bits} bits have granularity {values[-1]}.", 'Use codes="table" for any other.'
            )
        return values
    wanted = granularity if granularity is not None else (30 if table is None else table[-1])
    if table is None:
        return best_table(bits, wanted, p).values
    values = tuple(table)
    increasing = all(low < high for low, high in pairwise(values))
    if len(values) != 2**bits or values[0] != 0 or values[-1] != wanted or not increasing:
        raise ConfigurationError(
            f"The table {list(values)} is not {2**bits} increasing integers from 0 to the granularity {wanted}."
        )
    return values


def _check_lane(granularity: int, workers: int, levels: int) -> None:
    if granularity * workers <= LANE_MAX:
        return
    fit = LANE_MAX // workers
    options = [f"at most {LANE_MAX // granularity} workers"] if granularity <= LANE_MAX else []
    if fit >= levels - 1:
        options.append(f"granularity at most {fit}")
    if granularity > levels - 1 and fit >= levels - 1:
        options.append(f"thc-uniform (g={levels - 1}, up to {LANE_MAX // (levels - 1)} workers)")
    raise ConfigurationError(
        f"g={granularity} x {workers} workers = {granularity * workers} exceeds the 8-bit lane's {LANE_MAX}:",
        f"use {', or '.join(options)}." if options else "use fewer workers, or fewer bits.",
    )


def _norms(vector: Vector, chunks: list[Chunk], context: CodecContext) -> Vector:
    """Euclidean norm of every chunk, float32; added up in float64, where the squares of all float32 fit."""
    norms = [float(np.sqrt(np.square(vector[chunk.start : chunk.stop], dtype=np.float64).sum())) for chunk in chunks]
    for chunk, norm in zip(chunks, norms, strict=True):
        if norm > FLOAT32_MAX:
            raise CodecError(
                f"The norm of elements {chunk.start} to {chunk.stop - 1} of tensor {context.tensor!r} is "
                f"{norm:.3g}, more than float32 holds.",
                "Nothing of it was sent: skip the step or lower the loss scale.",
            )
    return np.array(norms, dtype=np.float32)


def _multiply_power(y: Vector, exponent: int) -> None:
    """Multiply by ``2**exponent`` in place, also where that power alone is beyond float32."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    for part in (half, exponent - half):
        if part:
            y *= np.float32(2.0**part)


@lru_cache(maxsize=8)
def _diagonal(count: int, seed: int) -> NDArray[np.float32]:
    diagonal = signs(count, seed=seed)
    diagonal.flags.writeable = False
    return diagonal

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc-paper``: Tensor Homomorphic Compression (Li et al., NSDI 2024) as published; 4-bit codes up, 8-bit lanes down.

All workers rotate their chunk with the same randomized Hadamard transform, after which a coordinate is close to
normal with variance at most (M/sqrt(d))**2, M being the largest norm of all workers. They clamp it to T times that
deviation and round it, without bias, to one of ``2**bits`` common levels. Levels are small integers, so their sum
in an 8-bit lane decodes directly to the mean. Follows the artifact that the paper published: one norm for a chunk
of 2**20, zero padding to a power of two, one diagonal (seed 42) for every chunk and round.

Differences from the artifact: rounding is direct instead of by way of a fine grid; the table is the exact optimum
(:mod:`lanesum.codecs.thc_paper.tables`); random bits and operation order are the same on every machine; every chunk is
scaled by a power of two before the transform, so that no magnitude of float32 over- or underflows in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs.base import (
    CodecContext,
    Deferred,
    Result,
    Round,
    RoundShape,
    Steps,
    Vector,
    Words,
    always,
    checked_vector,
    checked_words,
    uniform_contributors,
)
from lanesum.codecs.kernels.packing import CODES_PER_WORD, LANE_MAX, LANES_PER_WORD
from lanesum.codecs.norms import checked_peaks, norms_of
from lanesum.codecs.registry import register
from lanesum.codecs.thc_paper.chunks import Chunk, ChunkCoder
from lanesum.codecs.thc_paper.tables import best_table, clamping_error, rounding_variance, support_limit
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES

#: Length of the independent transforms of ``rotation="block"``: ten butterfly stages, as the artifact ships.
BLOCK = 1024


class PaperTHC:
    """THC as published, for at most ``workers`` workers.

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
            raise ConfigurationError(f"thc-paper cannot serve {workers} workers.", "Give a number from 1.")
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
        self.name = "thc-paper" if codes == "table" else "thc-uniform"
        self.op = LaneOp.TABLE8 if codes == "table" else LaneOp.EXPAND8
        error = rounding_variance(self.values, p) + clamping_error(p)
        self.traits = CodecTraits(max_nmse=1.1 * error)
        self.rotation = rotation
        self.chunk = chunk
        self.diagonal_seed = diagonal_seed
        _check_lane(self.granularity, workers, len(self.values))

        self._table = np.zeros(CODE_TABLE_ENTRIES, dtype=np.uint8)
        self._table[: len(self.values)] = self.values
        block = None if rotation == "full" else BLOCK
        #: The codec's arithmetic, chunk by chunk.
        self.coder = ChunkCoder(self.values, self.limit, block=block, diagonal_seed=diagonal_seed, workers=workers)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """The 16 table entries of the job (unused ones 0), or None for uniform codes."""
        return self._table.copy() if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
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

        The rotation of the first chunk overlaps the norm round, and the residual's inverse rotation the code round.
        """
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        norm_shape, code_shape = self.shapes(vector.size)
        chunks = self.chunks(vector.size)

        norms = norms_of(vector, self.chunk, context)
        # Only the first: one chunk at a time stays in cache, and needs no second vector.
        first = Deferred(partial(self._rotate_first, vector, chunks[0], norms))
        reply = yield Round(LaneOp.MAX, norms.view(np.uint32), first, label="norm")
        peaks = checked_peaks(reply, norm_shape)

        codes = arrays.empty(code_shape.words, np.uint32)
        values = arrays.empty(vector.size, np.float32)
        scratch = first()

        def encode(number: int) -> None:
            chunk = chunks[number]
            rotated, norm, peak = scratch[: chunk.length], float(norms[number]), float(peaks[number])
            if number > 0:
                self.coder.rotate(vector[chunk.values], chunk, norm, rotated)
            self.coder.quantize(rotated, chunk, norm, peak, context, codes[chunk.codes])

        def decode(number: int, lanes: Words, contributors: int | NDArray[np.integer] = context.workers) -> None:
            chunk, peak = chunks[number], float(peaks[number])
            out = values[chunk.values]
            self.coder.decode(lanes, chunk, peak, contributors, context.average, scratch, out)

        pieces = RoundPieces(encode, decode, [chunk.codes.stop for chunk in chunks], self.op.shape)
        if not context.in_pieces:
            pieces.encode_all()
        residual = partial(self._residual, vector, chunks, codes, peaks)
        own = Deferred(partial(residual, True)) if context.keep_residual else None
        reply = yield Round(
            self.op, codes, own, label="codes", pieces=pieces if context.in_pieces else None, last=always
        )

        sums = checked_words(reply, code_shape)
        if pieces.decoded < len(pieces):
            count = uniform_contributors(reply)
            for chunk in chunks:
                decode(
                    chunk.index,
                    sums[chunk.lanes],
                    np.asarray(reply.contributors)[chunk.lanes] if count is None else count,
                )
        if own is None:
            return Result(values)
        return Result(values, own() if np.all(reply.included) else residual(reply.included))

    def _rotate_first(self, vector: Vector, chunk: Chunk, norms: Vector) -> Vector:
        """The rotated first chunk, which is the longest; its space is the next ones', too."""
        rotated = np.empty(chunk.length, dtype=np.float32)
        self.coder.rotate(vector[chunk.values], chunk, float(norms[chunk.index]), rotated)
        return rotated

    def _residual(
        self, vector: Vector, chunks: list[Chunk], codes: Words, peaks: Vector, included: bool | NDArray[np.bool_]
    ) -> Vector:
        """What this worker's summed codes did not say, for the whole vector."""
        residual = arrays.empty(vector.size, np.float32)
        scratch = np.empty(chunks[0].length, dtype=np.float32)
        summed = None if included is True else np.broadcast_to(included, codes.size * CODES_PER_WORD // LANES_PER_WORD)
        for chunk in chunks:
            counted = None if summed is None else summed[chunk.lanes]
            peak, out = float(peaks[chunk.index]), residual[chunk.values]
            self.coder.residual(vector[chunk.values], codes[chunk.codes], chunk, peak, counted, scratch, out)
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


register("thc-paper", PaperTHC)
register("thc-uniform", PaperTHC, preset={"codes": "uniform"})

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``thc-paper``: Tensor Homomorphic Compression (Li et al., NSDI 2024) as published.

Codes have 4 bits on the uplink, lanes 8 bits on the downlink. All workers rotate their chunk with the same randomized
Hadamard transform. Then a coordinate is nearly normal with variance at most (M/sqrt(d))**2, where M is the largest norm
of all workers. They clamp it to T times that deviation, and round it without bias to one of ``2**bits`` common levels.
Levels are small integers, so their sum in an 8-bit lane decodes directly to the mean. As in the artifact of the paper,
a chunk of 2**20 has one norm, it is padded with zeros to a power of two, and all chunks and rounds have one diagonal
(seed 42).

Differences from the artifact:

- Rounding is direct, without a fine grid.
- Random bits and the order of operations are the same on every machine.
- Each chunk is scaled by a power of two before the transform, so no float32 magnitude overflows or underflows.

The code table is the exact optimum by dynamic programming. A table has ``2**bits`` increasing integers from 0 to the
granularity ``g``. Its quantization levels are ``(t - g/2) * 2T/g``, inside [-T, T]; the fraction ``p`` of a standard
normal lies outside (two-sided). The error has two parts: the variance of unbiased rounding between neighbouring levels,
which averages over workers, and the squared clamping error beyond T, which does not average for equal vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum._internal.deferred import Deferred
from lanesum.codecs.base import (
    CodecContext,
    Result,
    Round,
    RoundPieces,
    RoundShape,
    Steps,
    Vector,
    Words,
    always,
    round_in_pieces,
)
from lanesum.codecs.checks import checked_vector, checked_words, uniform_contributors
from lanesum.codecs.norms import checked_peaks, norms_of
from lanesum.codecs.registry import register
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES
from lanesum_lab.baselines.thc_paper.chunks import Chunk, ChunkCoder
from lanesum_lab.baselines.thc_paper.reference import CODES_PER_WORD, LANE_MAX, LANES_PER_WORD

# Closer costs are ties, which the lower level wins. So all hosts have the same table, although the last bits of erf and
# exp differ between C libraries.
_TIE = 1e-12


def support_limit(p: float) -> float:
    """Return T with a fraction ``p`` of a standard normal outside [-T, T].

    It is rounded to 12 decimals: coarser than the differences between C libraries, finer than any use requires.
    """
    if not 0 < p < 1:
        raise ConfigurationError(f"Invalid support parameter p={p}: expected 0 < p < 1, for example 1/32.")
    return round(NormalDist().inv_cdf(1 - p / 2), 12)


def clamping_error(p: float) -> float:
    """Return the expected squared distance of N(0, 1) from [-T, T]."""
    limit = support_limit(p)
    tail = 0.5 * math.erfc(limit / math.sqrt(2))
    return 2 * ((1 + limit**2) * tail - limit * _density(limit))


def rounding_variance(values: Sequence[int], p: float) -> float:
    """Return the expected variance of unbiased rounding of N(0, 1), inside [-T, T], to the levels of a table."""
    cost = _segment_costs(values[-1], p)
    return float(sum(cost[low, high] for low, high in pairwise(values)))


@lru_cache(maxsize=64)
def best_table(bits: int, granularity: int, p: float) -> tuple[int, ...]:
    """Return the table of ``2**bits`` levels with the least rounding variance, in O(2**bits * granularity**2).

    Its mirror image ``g - t`` is equally good. Raises ConfigurationError if the granularity is too small.
    """
    if bits not in (2, 3, 4):
        raise ConfigurationError(f"Invalid bits={bits} for codec thc-paper: expected 2, 3 or 4.")
    if granularity < 2**bits - 1:
        raise ConfigurationError(
            f"Granularity {granularity} is too small for {2**bits} different levels.",
            f"Use granularity {2**bits - 1} or more, fewer bits, or fewer workers.",
        )
    cost = _segment_costs(granularity, p)
    # Cheapest path from the first to the last grid point.
    reach = cost[0]
    back = []
    for _ in range(2**bits - 2):
        through = reach[:, None] + cost
        least = through.min(axis=0)
        back.append((through <= least + _TIE).argmax(axis=0))
        reach = least
    path = [granularity]
    for previous in reversed(back):
        path.append(int(previous[path[-1]]))
    return (0, *reversed(path))


def _density(y: float) -> float:
    return math.exp(-y * y / 2) / math.sqrt(2 * math.pi)


def _segment_costs(granularity: int, p: float) -> NDArray[np.float64]:
    """Return ``cost[i, j]``: the integral of (y - v_i)(v_j - y) over the normal density for i < j, else infinity."""
    limit = support_limit(p)
    v = (np.arange(granularity + 1) * 2 - granularity) * (limit / granularity)
    cdf = np.array([0.5 * math.erfc(-y / math.sqrt(2)) for y in v])
    pdf = np.array([_density(y) for y in v])
    mass = cdf - cdf[:, None]  # of [v_i, v_j]
    first = pdf[:, None] - pdf  # its first moment
    second = mass - (v * pdf - (v * pdf)[:, None])
    cost: NDArray[np.float64] = (v + v[:, None]) * first - v * v[:, None] * mass - second
    cost[np.tril_indices(granularity + 1)] = np.inf
    return cost


#: Length of the independent transforms of ``rotation="block"``: ten butterfly stages, as the artifact ships.
BLOCK = 1024


class PaperTHC:
    """THC as published, for at most ``workers`` workers.

    Args:
        workers: maximum number of workers.
        bits: 2, 3 or 4. A code always has 4 bits on the wire; fewer bits mean fewer levels.
        codes: ``"table"`` (TABLE8: the switch looks each code up) or ``"uniform"`` (EXPAND8: the switch adds the codes;
            the granularity is 2**bits - 1).
        granularity: largest table value, 30 by default; ``granularity * workers`` must not exceed 255.
        p: fraction of a normal distribution outside the clamp, both sides together.
        table: 2**bits increasing integers from 0 to ``granularity``; None for the best ones.
        rotation: ``"full"``, or ``"block"`` for independent transforms of 1024 coordinates. Those are faster, and clamp
            much more if the scale varies in a chunk.
        chunk: coordinates with one norm, a power of two from 8.
        diagonal_seed: seed of the signs before the rotation.

    Raises ConfigurationError for invalid combinations. The codec is stateless. Wrap it in
    :class:`lanesum.codecs.error_feedback.ErrorFeedback` to carry clamping and rounding errors over.

    Wire: one word per chunk, uplink and downlink (MAX), then 4 uplink and 8 downlink bits per padded coordinate.
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
            raise ConfigurationError(f"Invalid workers={workers} for codec thc-paper: expected an integer from 1.")
        if codes not in ("table", "uniform"):
            raise ConfigurationError(f"Invalid codes={codes!r} for codec thc-paper: expected table or uniform.")
        if rotation not in ("full", "block"):
            raise ConfigurationError(f"Invalid rotation={rotation!r} for codec thc-paper: expected full or block.")
        if chunk < CODES_PER_WORD or chunk & (chunk - 1):
            raise ConfigurationError(f"Invalid chunk={chunk} for codec thc-paper: expected a power of two from 8.")
        if not 0 <= diagonal_seed < 2**64:
            raise ConfigurationError(
                f"Invalid diagonal_seed={diagonal_seed} for codec thc-paper: expected an integer below 2**64, from 0."
            )
        if codes == "table" and granularity is not None and bits in (2, 3, 4):
            _check_lane(granularity, workers, 2**bits)  # the work for a table grows with the square
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
        #: Arithmetic of the codec on chunks.
        self.coder = ChunkCoder(self.values, self.limit, block=block, diagonal_seed=diagonal_seed, workers=workers)

    @property
    def code_table(self) -> NDArray[np.uint8] | None:
        """Code table of the job (16 entries, unused ones 0), or None for uniform codes."""
        return self._table.copy() if self.op is LaneOp.TABLE8 else None

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return (
            f"{self.name} workers={self.workers} levels={','.join(map(str, self.values))} p={self.p!r} "
            f"rotation={self.rotation} chunk={self.chunk} diagonal_seed={self.diagonal_seed}"
        )

    def chunks(self, size: int) -> list[Chunk]:
        """Return the chunks of a vector of ``size`` coordinates."""
        cut = []
        for index, start in enumerate(range(0, size, self.chunk)):
            stop = min(start + self.chunk, size)
            length = max(CODES_PER_WORD, 1 << (stop - start - 1).bit_length())
            # All earlier chunks are full, so the offsets with and without padding are equal.
            cut.append(Chunk(index, start, stop, start, length))
        return cut

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one MAX word per chunk and one word per eight padded coordinates; no round for an empty vector."""
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
        # Only the first chunk: one chunk at a time stays in cache, without a second vector.
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
        residual = partial(self._residual, vector, chunks, codes, peaks)
        own = Deferred(partial(residual, True)) if context.keep_residual else None
        reply = yield round_in_pieces(context, self.op, codes, "codes", pieces, own, always)
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
        """Return the rotated first chunk, which is the longest. Its array is scratch space for the others."""
        rotated = np.empty(chunk.length, dtype=np.float32)
        self.coder.rotate(vector[chunk.values], chunk, float(norms[chunk.index]), rotated)
        return rotated

    def _residual(
        self, vector: Vector, chunks: list[Chunk], codes: Words, peaks: Vector, included: bool | NDArray[np.bool_]
    ) -> Vector:
        """Return the vector minus the decoding of this worker's summed codes."""
        residual = arrays.empty(vector.size, np.float32)
        scratch = np.empty(chunks[0].length, dtype=np.float32)
        summed = None if included is True else np.broadcast_to(included, codes.size * CODES_PER_WORD // LANES_PER_WORD)
        for chunk in chunks:
            counted = None if summed is None else summed[chunk.lanes]
            peak, out = float(peaks[chunk.index]), residual[chunk.values]
            self.coder.residual(vector[chunk.values], codes[chunk.codes], chunk, peak, counted, scratch, out)
        return residual


def _levels(bits: int, codes: str, granularity: int | None, p: float, table: Sequence[int] | None) -> tuple[int, ...]:
    """Return the integers of the table. Raises ConfigurationError if the parameters do not fit together."""
    if codes == "uniform":
        values = tuple(range(2**bits)) if bits in (2, 3, 4) else best_table(bits, 1, p)
        if granularity not in (None, values[-1]) or (table is not None and tuple(table) != values):
            raise ConfigurationError(
                f"Uniform codes of {bits} bits have granularity {values[-1]}.", 'Use codes="table" for any other.'
            )
        return values
    wanted = granularity if granularity is not None else (30 if table is None else table[-1])
    if table is None:
        return best_table(bits, wanted, p)
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

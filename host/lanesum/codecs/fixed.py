# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``fixed``: 32-bit fixed point with one scale per block, agreed on by a MAX round.

The idea is SwitchML's shared exponent (NSDI 2021) with the exact maximum in the exponent's place: workers
exchange the largest magnitude of each block, then everyone scales that maximum to the largest integer that
n workers can add without overflow. The sum of the integers is exact, so the only error is each worker's own
rounding.

A vector of few values is gathered instead: every worker has words of its own in one round, and adds up what all of
them have sent. That needs no scale and half the time, which is all round trips when there is so little to send.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum.aggregation.pieces import RoundPieces
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
    Words,
    always,
    checked_vector,
    checked_words,
    refuse_not_finite,
    uniform_contributors,
)
from lanesum.codecs.gathered import divisor, gathered_shape, gathering, summed
from lanesum.codecs.kernels.arguments import BlockUnits
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.kernels.threaded import threads
from lanesum.codecs.registry import register
from lanesum.codecs.traits import FLOAT32_NMSE, CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

INT32_MAX = 2**31 - 1
# Coordinates of a piece, for a thread: few enough to stay in cache, enough to make the pieces' own cost small.
_PIECE = 1 << 18
_INFINITY = 0x7F800000  # the bits of a float32; those of NaN are above
# About what a round trip costs in words where round trips are short and links quick.
_GATHERED = 2048


class FixedPoint:
    """int32 fixed point for at most ``workers`` workers, one scale per ``block`` coordinates.

    Error of the mean, for a block whose largest magnitude over all workers is M: at most ``M / (2 * peak) *
    (1 + 2**-20)``, with ``peak = (2**31 - 1) // workers``, from the rounding to integers (half to even),
    plus half a unit in the last place of the float32 result. Overflow is impossible, because ``workers *
    peak <= 2**31 - 1``. All arithmetic is in float64, so no float32 magnitude, denormal or near the
    largest, makes the scale infinite or zero.

    Without a quorum, vectors whose coordinates are at most ``gathered`` words for all workers together come as they
    are: the error of their sum is that of adding in float64, in the order of the workers, and of rounding to float32.

    ``power_of_two``: the unit of a block is the power of two that is next above, so that whole numbers, and all
    multiples of it, are summed exactly; the error is up to four times as large. (Blocks with values from 2**127 on
    keep their own unit, for a float32 holds no larger power.)

    Wire: one word per block up and down (MAX), then one word per coordinate up and down (ADD32). Gathered: one word
    per coordinate and worker up and down (ADD32), all but the worker's own zero.
    """

    name = "fixed"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(nearly_exact=True, max_nmse=FLOAT32_NMSE)

    def __init__(
        self, *, workers: int, block: int = 1024, gathered: int = _GATHERED, power_of_two: bool = False
    ) -> None:
        if not 1 <= workers <= INT32_MAX:
            raise ConfigurationError(f"fixed cannot serve {workers} workers.", "Give a number from 1.")
        if block < 1:
            raise ConfigurationError(f"A block of {block} coordinates has no maximum.", "Give block=1 or more.")
        if gathered < 0:
            raise ConfigurationError(f"{gathered} words cannot be gathered.", "Give gathered=0 for no vector at all.")
        self.workers = workers
        self.block = block
        self.gathered = gathered
        #: Integer that the largest magnitude of a block becomes.
        self.peak = INT32_MAX // workers
        self.power_of_two = power_of_two
        if power_of_two:
            self.peak = 1 << self.peak.bit_length() - 1

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        units = " power_of_two" if self.power_of_two else ""
        return f"{self.name} workers={self.workers} block={self.block} gathered={self.gathered}{units}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """See the class; as without a quorum. No round for an empty vector."""
        if size == 0:
            return ()
        if self.gathers(size):
            return (gathered_shape(size, self.workers),)
        return self._scaled(size)

    def gathers(self, size: int) -> bool:
        """Whether vectors of ``size`` coordinates come as they are, in one round, where there is no quorum."""
        return size * self.workers <= self.gathered

    def _scaled(self, size: int) -> tuple[RoundShape, RoundShape]:
        return RoundShape(LaneOp.MAX, -(-size // self.block)), RoundShape(LaneOp.ADD32, size)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; rounds ``scale`` and ``values``, or only ``values``."""
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        if context.complete and self.gathers(vector.size):
            result: Result = yield from self._gather(vector, context)
            return result
        scale_shape, value_shape = self._scaled(vector.size)

        magnitudes = np.empty(scale_shape.words, dtype=np.uint32)
        kernels().magnitudes(vector, self.block, magnitudes)
        if not np.isfinite(magnitudes.view(np.float32)).all():
            refuse_not_finite(vector, context)
        reply = yield Round(LaneOp.MAX, magnitudes, label="scale")
        maxima = checked_words(reply, scale_shape).view(np.float32)
        if not (np.isfinite(maxima) & (maxima >= 0)).all():
            raise CodecError("The aggregate of the scale round is not a list of non-negative floats.")
        if self.power_of_two:
            maxima = _next_power_of_two(maxima)

        integers = arrays.empty(vector.size, np.int32)
        values = arrays.empty(vector.size, np.float32)
        units = BlockUnits(maxima, self.peak, self.block)
        parts = [(of, units.part(blocks.start, blocks.stop)) for of, blocks in self._parts(vector.size)]

        def encode(number: int) -> None:
            of, own = parts[number]
            kernels().to_integers(vector[of], own, integers[of])

        def decode(number: int, sums: Words) -> None:
            of, own = parts[number]
            divisor = context.workers if context.average else 1
            kernels().from_integers(sums.view(np.int32), own, divisor, None, values[of])

        pieces = RoundPieces(encode, decode, [of.stop for of, _ in parts], LaneOp.ADD32.shape)
        if not context.in_pieces:
            pieces.encode_all()
        residual = Deferred(partial(_residual, vector, integers, units)) if context.keep_residual else None
        words = integers.view(np.uint32)
        reply = yield Round(
            LaneOp.ADD32, words, residual, label="values", pieces=pieces if context.in_pieces else None, last=always
        )
        sums = checked_words(reply, value_shape).view(np.int32)

        if pieces.decoded < len(pieces):
            count = uniform_contributors(reply) if context.average else 1
            counts = np.asarray(reply.contributors, dtype=np.float64) if count is None else None
            kernels().from_integers(sums, units, count or 1, counts, values)
        return Result(values, None if residual is None else _add_excluded(residual(), vector, reply))

    def _gather(self, vector: Vector, context: CodecContext) -> Steps:
        """All workers' values side by side, which everybody adds up alike."""
        # It all counts in so short a round trip, and most of all what comes after it, when caches are cold.
        loops = kernels(few=True)
        largest = np.empty(1, np.uint32)
        loops.magnitudes(vector, vector.size, largest)
        if largest[0] >= _INFINITY:
            refuse_not_finite(vector, context)
        shape = gathered_shape(vector.size, self.workers)
        values = np.empty_like(vector)
        result = Result(values, np.zeros_like(vector) if context.keep_residual else None)
        reply = yield gathering(vector.view(np.uint32), self.workers, context, last=always)
        sent = summed(reply, shape, context).view(np.float32)
        loops.sum_rows(sent[: context.workers * vector.size], divisor(context), values)
        return result

    def _parts(self, size: int) -> Iterator[tuple[slice, slice]]:
        """Whole blocks, about ``_PIECE`` coordinates for a thread: where they are in the vector, and which blocks."""
        blocks = max(1, _PIECE * threads() // self.block)
        for first in range(0, -(-size // self.block), blocks):
            stop = min(size, (first + blocks) * self.block)
            yield slice(first * self.block, stop), slice(first, -(-stop // self.block))


def _residual(vector: Vector, integers: NDArray[np.int32], units: BlockUnits) -> Vector:
    left = arrays.empty(vector.size, np.float32)
    kernels().integer_residual(vector, integers, units, left)
    return left


def _next_power_of_two(maxima: Vector) -> Vector:
    """The least power of two from each of ``maxima`` on; 0 stays, and so does what float32 holds no power above of."""
    mantissa, exponent = np.frexp(maxima)
    with np.errstate(over="ignore"):
        power = np.ldexp(np.float32(1), exponent - (mantissa == 0.5))
    return np.where((maxima > 0) & np.isfinite(power), power, maxima).astype(np.float32)


def _add_excluded(residual: Vector, vector: Vector, reply: Aggregate) -> Vector:
    """Where this worker's words were not summed, everything it had to say is still unsaid."""
    return residual if np.all(reply.included) else np.where(reply.included, residual, vector)


register("fixed", FixedPoint)

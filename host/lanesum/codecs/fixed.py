# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``fixed``: 32-bit fixed point with one scale per block, agreed on in a MAX round.

The idea is the shared exponent of SwitchML (NSDI 2021), with the exact maximum instead of the exponent. Workers
exchange the largest magnitude of each block. Then all of them scale that maximum to the largest integer that n workers
can add without overflow. The sum of the integers is exact, so the only error is the rounding at each worker.

A short vector is gathered instead: each worker has words of its own in one round, and adds the values of all workers.
That requires no scale and one round trip instead of two.

``ElementwiseFixed`` is for sums like those of gloo and NCCL: a NaN or an infinity changes its own element alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal import arrays
from lanesum._internal.deferred import Deferred
from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    Result,
    Round,
    RoundPieces,
    RoundShape,
    Steps,
    UnencodableError,
    Vector,
    Words,
    always,
    never,
    round_in_pieces,
)
from lanesum.codecs.checks import checked_vector, checked_words, refuse_not_finite, summed, uniform_contributors
from lanesum.codecs.gathered import gathered_shape, gathering
from lanesum.codecs.kernels.dispatch import kernels, threads
from lanesum.codecs.kernels.interface import BlockUnits
from lanesum.codecs.kernels.reference import INFINITY_BITS
from lanesum.codecs.norms import non_negative
from lanesum.codecs.registry import register
from lanesum.codecs.shards import Shards, as_all_reduce, scattered_round
from lanesum.codecs.traits import FLOAT32_NMSE, CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS

INT32_MAX = 2**31 - 1
# Coordinates of a part, per thread: they fit the cache, and the fixed cost of a part is small beside them.
_PIECE = 1 << 18
# About the number of words that cost as much as one round trip, on fast links with short round trips.
_GATHERED = 2048


class FixedPoint:
    """Fixed point (int32) for at most ``workers`` workers, with one scale per ``block`` coordinates.

    Error of the mean, for a block whose largest magnitude over all workers is M: at most ``M / (2 * peak) *
    (1 + 2**-20)``, with ``peak = (2**31 - 1) // workers``, from the rounding to integers (half to even), plus half a
    unit in the last place of the float32 result. Overflow is impossible, because ``workers * peak <= 2**31 - 1``. All
    arithmetic is in float64, so the scale of no float32 magnitude is infinite or zero.

    Without a quorum, vectors of at most ``gathered`` words for all workers together are gathered. The error of their
    sum is that of float64 additions in the order of the workers, and of one rounding to float32.

    ``power_of_two``: the unit of a block is the next higher power of two, so integers and all multiples of the unit are
    summed exactly. The error is up to four times as large. Blocks with values from 2**127 on keep their own unit,
    because float32 has no larger power.

    Wire: one word per block, uplink and downlink (MAX), then one word per coordinate (ADD32). Gathered: one word per
    coordinate and worker (ADD32), zero except for the worker's own.
    """

    name = "fixed"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(nearly_exact=True, scatters=True, max_nmse=FLOAT32_NMSE)
    #: Gathered vectors may have NaN and infinities.
    sums_not_finite = False

    def __init__(
        self, *, workers: int, block: int = 1024, gathered: int = _GATHERED, power_of_two: bool = False
    ) -> None:
        if not 1 <= workers <= INT32_MAX:
            raise ConfigurationError(f"Invalid workers={workers} for codec fixed: expected an integer from 1.")
        if block < 1:
            raise ConfigurationError(f"Invalid block={block} for codec fixed: expected an integer from 1.")
        if gathered < 0:
            raise ConfigurationError(
                f"Invalid gathered={gathered} for codec fixed: expected an integer from 0.", "0 gathers no vector."
            )
        self.workers = workers
        self.block = block
        self.gathered = gathered
        #: Integer of the largest magnitude of a block.
        self.peak = INT32_MAX // workers
        self.power_of_two = power_of_two
        if power_of_two:
            self.peak = 1 << self.peak.bit_length() - 1

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        units = " power_of_two" if self.power_of_two else ""
        return f"{self.name} workers={self.workers} block={self.block} gathered={self.gathered}{units}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds without a quorum; none for an empty vector."""
        if size == 0:
            return ()
        if self.gathers(size):
            return (gathered_shape(size, self.workers),)
        return self._scaled(size)

    def gathers(self, size: int) -> bool:
        """Return True if vectors of ``size`` coordinates are gathered in jobs without a quorum."""
        return size * self.workers <= self.gathered

    def _scaled(self, size: int) -> tuple[RoundShape, RoundShape]:
        return RoundShape(LaneOp.MAX, -(-size // self.block)), RoundShape(LaneOp.ADD32, size)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`; rounds ``scale`` and ``values``, or only ``values``."""
        vector = checked_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        gathers = context.complete and self.gathers(vector.size)
        shards = None if gathers else Shards.of(vector.size, self.block, context)
        if shards is None and context.scattered:
            return (yield from as_all_reduce(self, vector, context))
        return (yield from self._gather(vector, context) if gathers else self._sum(vector, context, shards))

    def _sum(self, given: Vector, context: CodecContext, shards: Shards | None) -> Steps:
        """Sum integers; with ``shards``, those of this worker's shard."""
        vector = given if shards is None else shards.pad(given)
        scale_shape, value_shape = self._scaled(vector.size)

        magnitudes = np.empty(scale_shape.words, dtype=np.uint32)
        kernels().magnitudes(vector, self.block, magnitudes)
        if not np.isfinite(magnitudes.view(np.float32)).all():
            refuse_not_finite(given, context)
        if context.not_finite:
            magnitudes[:] = INFINITY_BITS
        reply = yield Round(LaneOp.MAX, magnitudes, label="scale")
        words = checked_words(reply, scale_shape)
        if (words == INFINITY_BITS).any():
            raise UnencodableError(f"Tensor {context.tensor!r} is not finite at some worker.")
        maxima = non_negative(words, "scale round")
        if self.power_of_two:
            maxima = _next_power_of_two(maxima)

        integers = arrays.empty(vector.size, np.int32)
        values = context.array_of_values(vector) if shards is None else arrays.empty(shards.padded, np.float32)
        units = BlockUnits(maxima, self.peak, self.block)
        layout = shards or Shards(1, 0, vector.size, vector.size)
        parts = list(self._parts(layout.padded, layout.count))

        def units_of(blocks: slice, shard: int) -> BlockUnits:
            first = shard * (layout.padded // self.block)
            return units.part(first + blocks.start, first + blocks.stop)

        def encode(number: int) -> None:
            of, blocks = parts[number]
            for shard in range(layout.count):
                rows = slice(shard * layout.padded + of.start, shard * layout.padded + of.stop)
                kernels().to_integers(vector[rows], units_of(blocks, shard), integers[rows])

        def decode(number: int, sums: Words) -> None:
            of, blocks = parts[number]
            kernels().from_integers(
                sums.view(np.int32), units_of(blocks, layout.own), context.divisor, None, values[of]
            )

        pieces = RoundPieces(encode, decode, [of.stop for of, _ in parts], LaneOp.ADD32.shape)
        residual = Deferred(partial(_residual, vector, integers, units)) if context.keep_residual else None
        words = integers.view(np.uint32)
        if shards is not None:
            reply = yield scattered_round(context, LaneOp.ADD32, words, "values", pieces, residual)
            pieces.decode_up_to(shards.padded, checked_words(reply, RoundShape(LaneOp.ADD32, shards.padded)))
            return Result(values[: shards.size], None if residual is None else shards.unpad(residual()))
        reply = yield round_in_pieces(context, LaneOp.ADD32, words, "values", pieces, residual, always)
        sums = checked_words(reply, value_shape).view(np.int32)

        if pieces.decoded < len(pieces):
            count = uniform_contributors(reply) if context.average else 1
            counts = np.asarray(reply.contributors, dtype=np.float64) if count is None else None
            kernels().from_integers(sums, units, count or 1, counts, values)
        return Result(values, None if residual is None else _add_excluded(residual(), vector, reply))

    def _gather(self, vector: Vector, context: CodecContext) -> Steps:
        """Gather the values of all workers, and add them in the same order on every worker."""
        # The round trip is short: as little work as possible after it, with cold caches.
        loops = kernels()
        largest = np.empty(1, np.uint32)
        loops.magnitudes(vector, vector.size, largest)
        if largest[0] >= INFINITY_BITS and not self.sums_not_finite:
            refuse_not_finite(vector, context)
        if context.not_finite:
            vector = np.full_like(vector, np.nan)
        shape = gathered_shape(vector.size, self.workers)
        values = np.empty_like(vector)
        result = Result(values, np.zeros_like(vector) if context.keep_residual else None)
        reply = yield gathering(vector.view(np.uint32), self.workers, context, last=always)
        sent = summed(reply, shape, context).view(np.float32)
        loops.sum_rows(sent[: context.workers * vector.size], context.divisor, values)
        if np.isnan(values[0]) and not self.sums_not_finite:
            raise UnencodableError(f"Tensor {context.tensor!r} is not finite at some worker.")
        return result

    def _parts(self, size: int, shards: int) -> Iterator[tuple[slice, slice]]:
        """Yield parts of each of ``shards`` of ``size`` coordinates: range of values, range of whole blocks.

        A part has about ``_PIECE`` coordinates per thread, of all shards together.
        """
        blocks = max(1, _PIECE * threads() // (self.block * shards))
        for first in range(0, -(-size // self.block), blocks):
            stop = min(size, (first + blocks) * self.block)
            yield slice(first * self.block, stop), slice(first, -(-stop // self.block))


def _residual(vector: Vector, integers: NDArray[np.int32], units: BlockUnits) -> Vector:
    left = arrays.empty(vector.size, np.float32)
    kernels().integer_residual(vector, integers, units, left)
    return left


def _next_power_of_two(maxima: Vector) -> Vector:
    """Return the least power of two that is not below each of ``maxima``; 0 and values above 2**127 stay."""
    mantissa, exponent = np.frexp(maxima)
    with np.errstate(over="ignore"):
        power = np.ldexp(np.float32(1), exponent - (mantissa == 0.5))
    return np.where((maxima > 0) & np.isfinite(power), power, maxima).astype(np.float32)


def _add_excluded(residual: Vector, vector: Vector, reply: Aggregate) -> Vector:
    """Return the residual of a quorum: the whole vector where this worker's words were not summed."""
    return residual if np.all(reply.included) else np.where(reply.included, residual, vector)


register("fixed", FixedPoint)


# Each worker adds 1 to an element for its plus infinity, and this number for minus infinity; both for NaN. So a sum
# over all workers has both counts.
_MINUS = 2 * MAX_WORKERS * MAX_RACKS


class ElementwiseFixed(FixedPoint):
    """Fixed point whose sum has NaN and infinities in the elements that have them at some worker, as float addition.

    Only for jobs without a quorum, and without residuals. Vectors that are finite have the rounds and the bits of
    ``fixed``. Otherwise all workers learn it from the round of the scales. They sum the finite elements then, and
    after that the counts of infinities for each element.
    """

    sums_not_finite = True

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of vectors that are not finite, which are the most."""
        shapes = super().shapes(size)
        return shapes if len(shapes) < 2 else (shapes[0], *shapes, *shapes)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`."""
        with contextlib.suppress(UnencodableError):
            result: Result = yield from super().all_reduce(x, context)
            return result
        finite = np.isfinite(x)
        if not finite.all():  # the other workers wait for the round of the scales
            with contextlib.suppress(UnencodableError):
                yield from super().all_reduce(np.zeros_like(x), replace(context, not_finite=True))
        values = (yield from _not_last(super().all_reduce(np.where(finite, x, np.float32(0)), context))).values
        own = (x != -np.inf).astype(np.float32) + np.float32(_MINUS) * (x != np.inf)
        own[finite] = 0
        counted = yield from super().all_reduce(own, replace(context, average=False))
        minus, plus = np.divmod(np.rint(counted.values), np.float32(_MINUS))
        values[plus > 0] = np.inf
        values[minus > 0] = -np.inf
        values[(plus > 0) & (minus > 0)] = np.nan
        return Result(values)


def _not_last(steps: Steps) -> Generator[Any, Any, Result]:
    """Yield the rounds of ``steps`` as rounds that are followed by others."""
    reply = None
    try:
        while True:
            made = steps.send(reply)
            reply = yield replace(made, last=never) if isinstance(made, Round) else made
    except StopIteration as stop:
        result: Result = stop.value
        return result

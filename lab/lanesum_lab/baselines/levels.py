# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``qsgd`` and ``terngrad``: a scale for many values, which are rounded without bias to a few levels.

QSGD (Alistarh et al., NeurIPS 2017) and TernGrad (Wen et al., NeurIPS 2017), whose levels are -1, 0 and 1. As
published, each worker has scales of its own. Such codes cannot be added, so they are gathered. With shared scales, the
largest of all workers, they can be added.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Result, Round, RoundShape, Steps, UnencodableError, Vector
from lanesum.codecs.checks import NOTHING_SENT
from lanesum.codecs.gathered import gathered_shape, summed
from lanesum.codecs.kernels.philox import RandomStream, random_words
from lanesum.codecs.norms import non_negative
from lanesum.codecs.registry import register
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_steps import (
    checked_workers,
    field_words,
    finite_vector,
    gather,
    pack_fields,
    rounded,
    uniforms,
    unpack_fields,
)

Norm = Literal["max", "l2"]
ScaleOwner = Literal["own", "shared"]


class Levels:
    """Base of ``qsgd`` and ``terngrad``.

    A value x of a bucket becomes an integer from -s to s, in units of scale / s: ``floor(|x| s / scale + u)`` with the
    sign of x, and u uniform in [0, 1).

    ``scale``: ``"own"``, or ``"shared"`` for the largest scale of all workers. ``bucket``: number of values with one
    scale; None for one scale for each parameter of the context. ``clip``: values are cut at so many standard deviations
    of their bucket first, which is a bias.

    Wire, for n workers: ``own``: n times the codes of b bits and a word per bucket, in one round. ``shared``: a MAX
    word per bucket, then fields for the sum of n codes. Uplink and downlink are equal.
    """

    name = ""
    code_table: NDArray[np.uint8] | None = None

    def __init__(
        self, *, workers: int, bits: int, bucket: int | None, norm: Norm, clip: float | None, scale: ScaleOwner
    ) -> None:
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Invalid bits={bits} for codec {self.name}: expected an integer from 2 to 16.")
        if bucket is not None and bucket < 1:
            raise ConfigurationError(f"Invalid bucket={bucket} for codec {self.name}: expected an integer from 1.")
        if norm not in ("max", "l2"):
            raise ConfigurationError(f"Invalid norm={norm!r} for codec {self.name}: expected max or l2.")
        if scale not in ("own", "shared"):
            raise ConfigurationError(f"Invalid scale={scale!r} for codec {self.name}: expected own or shared.")
        if clip is not None and not 0 < clip < math.inf:
            raise ConfigurationError(f"Invalid clip={clip} for codec {self.name}: expected a number above 0, or None.")
        self.workers = checked_workers(self.name, workers)
        self.bits = bits
        #: Largest level: s.
        self.steps: int = 2 ** (bits - 1) - 1
        self.bucket = bucket
        self.norm: Norm = norm
        self.clip = clip
        self.scale: ScaleOwner = scale
        # All workers: without one, gathered codes or the offsets in a sum of codes would be misread.
        self.traits = CodecTraits(needs_all_workers=True, packs_values=True, max_nmse=self._max_nmse())
        #: Bits of one field of a sum.
        self.sum_bits = (2 * self.steps * workers).bit_length()

    def _max_nmse(self) -> float:
        """Return the bound of ``CodecTraits.max_nmse``.

        Rounding to one of two levels has a variance of at most a quarter of their squared distance. Clipping has an
        error of at most the value. The largest normal value is below 6 standard deviations.
        """
        clip = 6.0 if self.clip is None else self.clip
        largest = min(clip, 6.0) if self.norm == "max" else math.sqrt(self.bucket or 1 << 20)
        clipping = 0.0 if self.clip is None else 1.0
        return (largest / (2 * self.steps)) ** 2 + clipping

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        options = f"bits={self.bits} bucket={self.bucket} norm={self.norm} clip={self.clip} scale={self.scale}"
        return f"{self.name} workers={self.workers} {options}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of one parameter; none for an empty vector."""
        return self._shapes(size, self._starts(size, CodecContext(workers=1, worker=0)).size) if size else ()

    def _shapes(self, size: int, buckets: int) -> tuple[RoundShape, ...]:
        if self.scale == "own":
            return (gathered_shape(buckets + field_words(size, self.bits), self.workers),)
        return RoundShape(LaneOp.MAX, buckets), RoundShape(LaneOp.ADD32, field_words(size, self.sum_bits))

    def _starts(self, size: int, context: CodecContext) -> NDArray[np.intp]:
        """Return the index of the first value of each bucket."""
        if self.bucket is not None:
            return np.arange(0, size, self.bucket)
        return np.array([part.start for part in context.parts if part.stop > part.start] or [0])

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: round ``values``, after ``scale`` if scales are shared."""
        vector = finite_vector(x, context, self.workers)
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        starts = self._starts(vector.size, context)
        lengths = np.diff(starts, append=vector.size)
        sent = self._clipped(vector, starts, lengths)
        scales = self._scales(sent, starts, context)
        shapes = self._shapes(vector.size, starts.size)
        if self.scale == "own":
            numbers = self._rounded(sent, scales, lengths, context)
            codes = pack_fields((numbers + self.steps).astype(np.uint32), self.bits)
            messages = yield from gather(np.concatenate((scales.view(np.uint32), codes)), self.workers, context)
            total = np.zeros(vector.size)
            for words in messages[: context.workers]:
                integers = unpack_fields(words[scales.size :], self.bits, vector.size).astype(np.int32) - self.steps
                total += self._decoded(integers, non_negative(words[: scales.size], "scale round"), lengths)
        else:
            reply = yield Round(LaneOp.MAX, scales.view(np.uint32), label="scale")
            scales = non_negative(summed(reply, shapes[0], context), "scale round")
            numbers = self._rounded(sent, scales, lengths, context)
            codes = pack_fields((numbers + self.steps).astype(np.uint32), self.sum_bits)
            reply = yield Round(LaneOp.ADD32, codes, label="values")
            sums = unpack_fields(summed(reply, shapes[1], context), self.sum_bits, vector.size).astype(np.int64)
            total = self._decoded(sums - self.steps * context.workers, scales, lengths)
        residual = None
        if context.keep_residual:
            residual = (vector - self._decoded(numbers, scales, lengths)).astype(np.float32)
        return Result(rounded(total, context), residual)

    def _clipped(self, vector: Vector, starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> Vector:
        if self.clip is None:
            return vector
        # Deviations from zero, the mean of a gradient: a single value is not cut.
        squares = np.add.reduceat(np.square(vector, dtype=np.float64), starts)
        limits = self.clip * np.sqrt(squares / lengths)
        bound = np.repeat(limits, lengths)
        return np.clip(vector, -bound, bound).astype(np.float32)

    def _scales(self, vector: Vector, starts: NDArray[np.intp], context: CodecContext) -> Vector:
        if self.norm == "max":
            return np.maximum.reduceat(np.abs(vector), starts)
        norms = np.sqrt(np.add.reduceat(np.square(vector, dtype=np.float64), starts))
        with np.errstate(over="ignore"):
            scales = norms.astype(np.float32)
        if not np.isfinite(scales).all():
            raise UnencodableError(
                f"A norm of tensor {context.tensor!r} is {norms.max():.3g}, more than float32 holds.",
                NOTHING_SENT,
            )
        return scales

    def _rounded(
        self, vector: Vector, scales: Vector, lengths: NDArray[np.intp], context: CodecContext
    ) -> NDArray[np.int32]:
        with np.errstate(divide="ignore"):
            factors = np.where(scales > 0, self.steps / scales.astype(np.float64), 0)
        positions = np.abs(vector) * np.repeat(factors, lengths)
        words = random_words(
            vector.size, seed=context.seed, stream=RandomStream.ROUNDING, worker=context.worker, round=context.round
        )
        # The scale itself may be a rounding error above s.
        levels = np.minimum(np.floor(positions + uniforms(words)), self.steps)
        integers: NDArray[np.int32] = np.copysign(levels, vector).astype(np.int32)
        return integers

    def _decoded(
        self, numbers: NDArray[np.signedinteger], scales: Vector, lengths: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        values: NDArray[np.float64] = numbers.astype(np.float64)
        values *= np.repeat(scales.astype(np.float64) / self.steps, lengths)
        return values


class QSGD(Levels):
    """Codes of ``bits`` bits, sign included, in buckets of ``bucket`` values.

    The scale is the largest magnitude or the Euclidean norm of the bucket. The paper uses the norm in its analysis, and
    the magnitude in its experiments.
    """

    name = "qsgd"

    def __init__(
        self, *, workers: int, bits: int = 4, bucket: int = 512, norm: Norm = "max", scale: ScaleOwner = "own"
    ) -> None:
        super().__init__(workers=workers, bits=bits, bucket=bucket, norm=norm, clip=None, scale=scale)


class TernGrad(Levels):
    """Levels -1, 0 and 1 times one scale for each parameter; values are cut at ``clip`` standard deviations.

    The scale is shared by default, as in the paper where scaled gradients are summed.
    """

    name = "terngrad"

    def __init__(self, *, workers: int, clip: float | None = 2.5, scale: ScaleOwner = "shared") -> None:
        super().__init__(workers=workers, bits=2, bucket=None, norm="max", clip=clip, scale=scale)


register("qsgd", QSGD)
register("terngrad", TernGrad)

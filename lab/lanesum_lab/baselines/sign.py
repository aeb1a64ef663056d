# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``signsgd``: a sign for every value, and a majority vote (Bernstein et al., ICML 2018), counted in the switch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, CodecError, Result, Round, RoundShape, Steps, Vector
from lanesum.codecs.gathered import summed
from lanesum.codecs.norms import non_negative
from lanesum.codecs.registry import register
from lanesum.codecs.traits import CodecTraits
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_steps import checked_workers, field_words, finite_vector, pack_fields, unpack_fields


class SignVote:
    """Majority vote of the workers on the sign of each value; 0 for a tie.

    ``scaled``: the signs are multiplied by the mean of the workers' mean magnitudes, so the result is an estimate of
    the mean gradient. The residual, for error feedback, is the worker's vector minus its own signs times its own mean
    magnitude. Without it the result is the signs alone, as published. The learning rate is the step then, and there is
    no residual.

    Wire: a field of ``workers.bit_length()`` bits per value, and a word per worker for the magnitudes, uplink and
    downlink.
    """

    name = "signsgd"
    code_table: NDArray[np.uint8] | None = None
    # All workers: mean magnitudes are gathered.
    traits = CodecTraits(needs_all_workers=True, packs_values=True)

    def __init__(self, *, workers: int, scaled: bool = True) -> None:
        self.workers = checked_workers(self.name, workers)
        self.scaled = scaled
        #: Bits of a count of votes.
        self.bits = workers.bit_length()

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{self.name} workers={self.workers} scaled={self.scaled}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one round; none for an empty vector."""
        scales = self.workers if self.scaled else 0
        return (RoundShape(LaneOp.ADD32, field_words(size, self.bits) + scales),) if size else ()

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: one round, ``votes``. A zero votes as positive."""
        vector = finite_vector(x, context, self.workers)
        if context.keep_residual and not self.scaled:
            raise CodecError("Codec signsgd without a scale has no residual.", "Build it with scaled=True.")
        if vector.size == 0:
            return Result(vector.copy(), vector.copy() if context.keep_residual else None)
        (shape,) = self.shapes(vector.size)
        positive = vector >= 0
        votes = pack_fields(positive.astype(np.uint32), self.bits)
        words = np.zeros(shape.words, np.uint32)
        words[: votes.size] = votes
        magnitude = np.float32(np.mean(np.abs(vector), dtype=np.float64))
        if self.scaled:
            words[votes.size + context.worker] = magnitude.view(np.uint32)
        reply = yield Round(LaneOp.ADD32, words, label="votes")
        sums = summed(reply, shape, context)
        counts = unpack_fields(sums[: votes.size], self.bits, vector.size).astype(np.int32)
        scale = 1.0
        if self.scaled:
            scale = sum(non_negative(sums[votes.size :], "magnitudes").tolist()) / context.workers
        if not context.average:
            scale *= context.workers
        signs = np.sign(2 * counts - context.workers)
        with np.errstate(over="ignore"):
            values = (signs * scale).astype(np.float32)
        residual = None
        if context.keep_residual:
            residual = vector - np.where(positive, magnitude, -magnitude)
        return Result(values, residual)


register("signsgd", SignVote)

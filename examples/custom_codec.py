# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Write a codec, register it under a name, and use it in a job.

The codec is fixed point with a constant unit: one round of int32 additions, without a round that agrees on a scale.
Values beyond the range are clamped, so it suits vectors whose range is known. The job must be admitted at the
controller first, for any codec without a code table such as ``fixed``; examples/README.md shows the commands.
"""

from __future__ import annotations

import argparse

import numpy as np

from lanesum.codecs import CodecContext, CodecTraits, Result, Round, RoundShape, Steps, register
from lanesum.codecs.base import Vector, always
from lanesum.codecs.checks import checked_vector, checked_words, refuse_not_finite
from lanesum.joining import join, wait_for_others
from lanesum.protocol import LaneOp
from lanesum.session import Session


class ConstantUnit:
    """int32 fixed point in units of ``2**-bits``, for at most ``workers`` workers."""

    name = "constant-unit"
    code_table = None  # the switch adds plain words
    traits = CodecTraits(max_nmse=1e-6)

    def __init__(self, *, workers: int, bits: int = 16) -> None:
        self.workers = workers
        self.bits = bits
        # The sum of all workers must not overflow an int32.
        self.largest = (2**31 - 1) // workers

    def describe(self) -> str:
        """Return name and parameters; workers with different lines must not be in one job."""
        return f"{self.name} workers={self.workers} bits={self.bits}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return one ADD32 round with a word for each value; none for an empty vector."""
        return (RoundShape(LaneOp.ADD32, size),) if size else ()

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """Yield the only round, and decode its aggregate."""
        x = checked_vector(x, context, self.workers)
        if not x.size:
            return Result(x.copy(), x.copy() if context.keep_residual else None)
        if not np.isfinite(x).all():
            refuse_not_finite(x, context)
        integers = np.rint(np.ldexp(x.astype(np.float64), self.bits)).clip(-self.largest, self.largest)
        words = integers.astype(np.int32).view(np.uint32)
        # `last` lets the session start the next all-reduce while this round is in flight.
        aggregate = yield Round(LaneOp.ADD32, words, label="values", last=always)
        (shape,) = self.shapes(x.size)
        sums = np.ldexp(checked_words(aggregate, shape).view(np.int32).astype(np.float64), -self.bits)
        # With a quorum, the number of contributors may differ between words.
        values = sums / aggregate.contributors if context.average else sums
        residual = None
        if context.keep_residual:
            # Error feedback: the part of this worker's vector that its words do not contain.
            decoded = np.where(aggregate.included, np.ldexp(integers, -self.bits), 0)
            residual = (x - decoded).astype(np.float32)
        return Result(values.astype(np.float32), residual)


register("constant-unit", ConstantUnit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--controller", default="127.0.0.1:19551", help="host:port of the controller")
    parser.add_argument("--job", required=True, help="name of the job")
    parser.add_argument("--worker", type=int, required=True, help="number of this worker, from 0")
    parser.add_argument("--bits", type=int, default=16, help="bits after the binary point; the same on all workers")
    options = parser.parse_args()

    ticket = join(controller=options.controller, job=options.job, worker=options.worker)
    codec = ConstantUnit(workers=ticket.workers, bits=options.bits)
    # Session(ticket, codec="constant-unit") works, too, with the default parameters.
    with Session(ticket, codec=codec) as session:
        wait_for_others(ticket, options.controller, description=session.describe())
        array = np.linspace(-1, 1, 1001, dtype=np.float32) * (ticket.worker + 1)
        mean = session.all_reduce(array, average=True)
        exact = np.linspace(-1, 1, 1001) * (ticket.workers + 1) / 2
        print(f"worker {ticket.worker}: largest error of the mean {np.abs(mean - exact).max():.1e}")
        session.leave()


if __name__ == "__main__":
    main()

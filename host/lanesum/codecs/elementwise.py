# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``fixed`` for sums like those of gloo and NCCL: a NaN or an infinity changes its own element alone."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from lanesum.codecs.base import CodecContext, Result, Round, RoundShape, Steps, UnencodableError, Vector, never
from lanesum.codecs.fixed import FixedPoint
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS

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

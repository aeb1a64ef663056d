# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-gather by sums: each worker has words of its own in one sum, in which the words of all others are zero.

For messages that cannot be added. Each worker sends and receives as many words as all messages have together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    CodecContext,
    CodecError,
    Round,
    RoundShape,
    Vector,
    Words,
    checked_words,
    never,
)
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.protocol.lanes import LaneOp


def gathered_shape(words: int, workers: int) -> RoundShape:
    """Return the shape of the round in which ``workers`` workers gather messages of ``words`` words."""
    return RoundShape(LaneOp.ADD32, words * workers)


def gather(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Generator[Round, Any, Words]:
    """Send ``message`` (uint32), and return the messages of all workers, shape (workers, message.size).

    All messages have the same length. ``workers``: of the codec. ``last``: see :class:`lanesum.codecs.base.Round`.
    Raises CodecError if a worker is missing in the sum.
    """
    reply = yield gathering(message, workers, context, label, last)
    return summed(reply, gathered_shape(message.size, workers), context).reshape(workers, -1)


def gathering(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Round:
    """Return the round in which this worker sends ``message``; :func:`summed` checks its aggregate."""
    words = np.zeros(workers * message.size, np.uint32)
    words[context.worker * message.size : (context.worker + 1) * message.size] = message
    return Round(LaneOp.ADD32, words, label=label, last=last)


def summed(reply: Aggregate, shape: RoundShape, context: CodecContext) -> Words:
    """Return the words of a sum over all workers. Raises CodecError if a worker is missing."""
    words = checked_words(reply, shape)
    counts = reply.contributors
    if (counts != context.workers).any() if isinstance(counts, np.ndarray) else counts != context.workers:
        raise CodecError(
            f"Some of the {context.workers} workers are not in a sum, and this codec requires all of them.",
            "Use fixed or thc in jobs with a quorum.",
        )
    return words


def sum_in_order(vectors: NDArray[np.float32], context: CodecContext) -> Vector:
    """Return the sum or mean of the rows of ``vectors``, added in float64 in order, and rounded once to float32."""
    values = np.empty(vectors.shape[1], np.float32)
    if values.size:
        kernels().sum_rows(vectors[: context.workers].reshape(-1), context.divisor, values)
    return values


def rounded(total: NDArray[np.float64], context: CodecContext) -> Vector:
    """Return a sum (float64, may be overwritten) as float32, or the mean if the context asks for it."""
    total /= context.divisor
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        return total.astype(np.float32)

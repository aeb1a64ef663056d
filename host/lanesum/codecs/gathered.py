# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Messages that cannot be added: every worker's comes in words of its own of one sum, in which the others' are zero.

That is an all-gather made of what a switch can do, at its price: every worker sends and gets as many words as all
messages have together.
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
    """The round in which ``workers`` workers gather messages of ``words`` words."""
    return RoundShape(LaneOp.ADD32, words * workers)


def gather(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Generator[Round, Any, Words]:
    """Send this worker's ``message`` (uint32); returns everybody's, shape ``(workers, message.size)``.

    All workers' messages have the same length; ``workers`` is what the codec was built for; ``last`` as of
    :class:`lanesum.codecs.base.Round`. Raises CodecError where a
    worker is missing in the sum.
    """
    reply = yield gathering(message, workers, context, label, last)
    return summed(reply, gathered_shape(message.size, workers), context).reshape(workers, -1)


def gathering(
    message: Words, workers: int, context: CodecContext, label: str = "values", last: Callable[[], bool] = never
) -> Round:
    """The round in which this worker sends ``message``; ``summed`` makes everybody's of what comes back."""
    words = np.zeros(workers * message.size, np.uint32)
    words[context.worker * message.size : (context.worker + 1) * message.size] = message
    return Round(LaneOp.ADD32, words, label=label, last=last)


def summed(reply: Aggregate, shape: RoundShape, context: CodecContext) -> Words:
    """The words of a sum of all workers. Raises CodecError where one is missing in it."""
    words = checked_words(reply, shape)
    counts = reply.contributors
    if (counts != context.workers).any() if isinstance(counts, np.ndarray) else counts != context.workers:
        raise CodecError(
            f"Some of the {context.workers} workers are not in a sum, and this codec cannot do without them.",
            "Use fixed or thc in jobs with a quorum.",
        )
    return words


def sum_in_order(vectors: NDArray[np.float32], context: CodecContext) -> Vector:
    """Sum or mean of the rows of ``vectors``: in float64, in the order of the workers, then rounded to float32."""
    values = np.empty(vectors.shape[1], np.float32)
    if values.size:
        kernels().sum_rows(vectors[: context.workers].reshape(-1), divisor(context), values)
    return values


def divisor(context: CodecContext) -> int:
    """What a sum of all workers' values is divided by."""
    return context.workers if context.average else 1


def rounded(total: NDArray[np.float64], context: CodecContext) -> Vector:
    """A sum (float64, may be overwritten) as float32, or the mean where the context asks for that."""
    if context.average:
        total /= context.workers
    # A sum (not a mean) can leave the range of float32; infinity is then its correct rounding.
    with np.errstate(over="ignore"):
        return total.astype(np.float32)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the vectors that codecs get, and of the aggregates of their rounds."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from lanesum.codecs.base import Aggregate, CodecContext, CodecError, RoundShape, UnencodableError, Vector, Words

# A comparison with a type constructs a dtype every time.
_FLOAT32, _UINT32 = np.dtype(np.float32), np.dtype(np.uint32)
#: Next step of errors about values that are raised before the first round.
NOTHING_SENT = "Nothing of it was sent: skip the step or lower the loss scale."


def checked_vector(x: Vector, context: CodecContext, workers: int) -> Vector:
    """Return ``x`` as a contiguous vector. Raises CodecError if its type, its shape or the context does not fit.

    The first pass of the codec checks that all elements are finite: see :func:`refuse_not_finite`.
    """
    refuse_more_workers(context, workers)
    if not isinstance(x, np.ndarray) or x.dtype != _FLOAT32 or x.ndim != 1:
        found = f"{x.dtype} with shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        raise CodecError(f"Expected {_named(context)} as a float32 array of one dimension, not {found}.")
    return np.ascontiguousarray(x)


def refuse_more_workers(context: CodecContext, workers: int) -> None:
    """Raise CodecError if the job has more workers than a codec was built for."""
    if context.workers > workers:
        raise CodecError(
            f"{context.workers} workers would sum lanes that are sized for {workers}.",
            "Build the codec with the job's number of workers.",
        )


def refuse_not_finite(x: Vector, context: CodecContext) -> NoReturn:
    """Raise the UnencodableError that names the first NaN or infinity of ``x``, and its parameter if it is known."""
    finite = np.isfinite(x)
    index = int(np.argmin(finite))
    named, position = _named(context), index
    for part in context.parts:
        if part.start <= index < part.stop:
            named, position = f"tensor {part.key!r}", index - part.start
    raise UnencodableError(
        f"Cannot encode {named}: element {position} is {x[index]}, and {x.size - int(finite.sum())} "
        f"of {x.size} elements are not finite.",
        NOTHING_SENT,
    )


def _named(context: CodecContext) -> str:
    return f"tensor {context.tensor!r}" if context.tensor else "the vector"


def checked_words(aggregate: Aggregate, round_: RoundShape) -> Words:
    """Return the words of ``aggregate``. Raises CodecError if they cannot belong to ``round_``."""
    words = aggregate.words
    if words.dtype != _UINT32 or words.shape != (round_.result_words,):
        raise CodecError(
            f"The aggregate of a {round_.op.name} round has {words.dtype} words of shape "
            f"{words.shape}, not {round_.result_words} uint32."
        )
    for what, per_word in (("contributors", aggregate.contributors), ("included", aggregate.included)):
        if isinstance(per_word, np.ndarray) and per_word.shape not in ((), aggregate.words.shape):
            raise CodecError(f"{what} of a {round_.op.name} aggregate has shape {per_word.shape}, not one per word.")
    counted = aggregate.contributors
    if (counted.min(initial=1) if isinstance(counted, np.ndarray) else counted) < 1:
        raise CodecError(f"The aggregate of a {round_.op.name} round has no contributor.")
    return np.ascontiguousarray(words)


def uniform_contributors(aggregate: Aggregate) -> int | None:
    """Return the number of contributors if it is the same for every word, else None."""
    if isinstance(aggregate.contributors, int):
        return aggregate.contributors
    counts = aggregate.contributors
    if counts.size and (counts == counts.flat[0]).all():
        return int(counts.flat[0])
    return None


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

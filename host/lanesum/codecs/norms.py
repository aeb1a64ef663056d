# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Norms of the parts of a vector, as the words of a MAX round, and checks of floats that come back.

The aggregate of the round is the largest norm of all workers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, CodecContext, CodecError, RoundShape, UnencodableError, Vector, Words
from lanesum.codecs.checks import NOTHING_SENT, checked_words, refuse_not_finite
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.kernels.reference import FLOAT32_MAX


def norms_of(vector: Vector, part: int, context: CodecContext) -> Vector:
    """Return the Euclidean norm (float32) of every ``part`` elements, with squares added in float64.

    Raises UnencodableError if an element is not finite, or if a norm exceeds float32.
    """
    sums = np.empty(-(-vector.size // part))
    kernels().square_sums(vector, part, sums)
    return checked_norms(sums, part, context, vector.size, lambda: vector)


def checked_norms(
    sums: NDArray[np.float64], part: int, context: CodecContext, size: int, vector: Callable[[], Vector]
) -> Vector:
    """Return the norms from the ``sums`` of squares of the parts of a vector of ``size`` elements.

    ``vector`` returns the vector itself, for an error. Raises the exceptions of :func:`norms_of`.
    """
    norms = np.sqrt(sums)
    if not norms.max(initial=0) <= FLOAT32_MAX:
        if not np.isfinite(sums).all():
            refuse_not_finite(vector(), context)
        index = int(np.argmax(norms > FLOAT32_MAX))
        stop = min(size, (index + 1) * part)
        raise UnencodableError(
            f"The norm of elements {index * part} to {stop - 1} of tensor {context.tensor!r} is "
            f"{norms[index]:.3g}, more than float32 holds.",
            NOTHING_SENT,
        )
    return norms.astype(np.float32)


def checked_peaks(aggregate: Aggregate, shape: RoundShape) -> Vector:
    """Return the largest norms of all workers. Raises CodecError if a word is not a norm."""
    return non_negative(checked_words(aggregate, shape), "norm round")


def non_negative(words: Words, source: str) -> Vector:
    """Return ``words`` as floats. Raises CodecError, which names the ``source``, if one is negative or not finite."""
    floats = words.view(np.float32)
    if not (floats.min(initial=0) >= 0 and floats.max(initial=0) <= FLOAT32_MAX):
        raise CodecError(f"The aggregate of the {source} is not a list of non-negative floats.")
    return floats

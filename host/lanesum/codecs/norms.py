# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Norms of the parts of a vector, as the words of a MAX round: its largest is the largest of all workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    NOTHING_SENT,
    Aggregate,
    CodecContext,
    CodecError,
    RoundShape,
    Vector,
    checked_words,
    refuse_not_finite,
)
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.kernels.reference import FLOAT32_MAX


def norms_of(vector: Vector, part: int, context: CodecContext) -> Vector:
    """Euclidean norm of every ``part`` elements, float32; added up in float64, where the squares of all float32 fit.

    Raises CodecError where an element is not finite, or a norm is more than float32 holds.
    """
    sums = np.empty(-(-vector.size // part))
    kernels().square_sums(vector, part, sums)
    return checked_norms(sums, part, context, vector.size, lambda: vector)


def checked_norms(
    sums: NDArray[np.float64], part: int, context: CodecContext, size: int, vector: Callable[[], Vector]
) -> Vector:
    """Norms from the ``sums`` of squares of the parts of a vector of ``size``; raises as :func:`norms_of` does.

    ``vector``: makes the vector itself, which only an error needs.
    """
    if not np.isfinite(sums).all():
        refuse_not_finite(vector(), context)
    norms = np.sqrt(sums)
    if norms.max(initial=0) > FLOAT32_MAX:
        index = int(np.argmax(norms > FLOAT32_MAX))
        stop = min(size, (index + 1) * part)
        raise CodecError(
            f"The norm of elements {index * part} to {stop - 1} of tensor {context.tensor!r} is "
            f"{norms[index]:.3g}, more than float32 holds.",
            NOTHING_SENT,
        )
    return norms.astype(np.float32)


def checked_peaks(aggregate: Aggregate, shape: RoundShape) -> Vector:
    """The largest norms of all workers. Raises CodecError where they are none."""
    peaks = checked_words(aggregate, shape).view(np.float32)
    if not (np.isfinite(peaks) & (peaks >= 0)).all():
        raise CodecError("The aggregate of the norm round is not a list of non-negative floats.")
    return peaks

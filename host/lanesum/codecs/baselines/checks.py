# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of workers and vectors that the baselines share."""

from __future__ import annotations

import numpy as np

from lanesum.codecs.base import CodecContext, CodecError, Part, Vector, checked_vector, refuse_not_finite
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS

#: Places and counts are kept in 32 bits.
MOST_VALUES = 2**31 - 1


def checked_workers(name: str, workers: int) -> int:
    """The number of workers, or the ConfigurationError that says why it is none."""
    if not 1 <= workers <= MAX_WORKERS * MAX_RACKS:
        raise ConfigurationError(
            f"{name} cannot serve {workers} workers.", f"Give a number from 1 to {MAX_WORKERS * MAX_RACKS}."
        )
    return workers


def finite_vector(x: Vector, context: CodecContext, workers: int) -> Vector:
    """``x`` as a contiguous vector of finite numbers. Raises CodecError as codecs do, and for too many values."""
    if isinstance(x, np.ndarray) and x.size > MOST_VALUES:
        raise CodecError(
            f"{x.size:,} values are more than the {MOST_VALUES:,} of one vector.", "Reduce the tensor in pieces."
        )
    vector = checked_vector(x, context, workers)
    if not np.isfinite(vector).all():
        refuse_not_finite(vector, context)
    return vector


def parts_of(context: CodecContext, size: int) -> tuple[Part, ...]:
    """The parameters of a vector; one with the tensor's name where nobody has told."""
    return context.parts or (Part(context.tensor, 0, size),)

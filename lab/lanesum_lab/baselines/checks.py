# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of workers and vectors that the baselines share."""

from __future__ import annotations

import numpy as np

from lanesum.codecs.base import CodecContext, CodecError, Vector
from lanesum.codecs.checks import checked_vector, refuse_not_finite
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import MAX_RACKS, MAX_WORKERS

#: Positions and counts are 32-bit integers.
MAX_VALUES = 2**31 - 1


def checked_workers(name: str, workers: int) -> int:
    """Return ``workers``. Raises ConfigurationError if no job can have so many."""
    if not 1 <= workers <= MAX_WORKERS * MAX_RACKS:
        raise ConfigurationError(
            f"Invalid workers={workers} for codec {name}: expected an integer from 1 to {MAX_WORKERS * MAX_RACKS}."
        )
    return workers


def finite_vector(x: Vector, context: CodecContext, workers: int) -> Vector:
    """Return ``x`` as a contiguous vector of finite values.

    Raises CodecError as :meth:`lanesum.codecs.base.Codec.all_reduce` does, and for too many values.
    """
    if isinstance(x, np.ndarray) and x.size > MAX_VALUES:
        raise CodecError(
            f"{x.size:,} values are more than the {MAX_VALUES:,} of one vector.", "Reduce the tensor in pieces."
        )
    vector = checked_vector(x, context, workers)
    if not np.isfinite(vector).all():
        refuse_not_finite(vector, context)
    return vector

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Guard of the autoencoder: a check of its error on the current values, before they are compressed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Words
from lanesum.errors import ConfigurationError

#: Words of the guard in a MAX round.
GUARD_WORDS = 2


class Guard:
    """Limit of the autoencoder's error. Above it the values are sent without the autoencoder.

    The error is the largest squared error of a worker, relative to the largest energy of all workers, usually that of
    the leader. The largest energy dominates the mean: a worker with small values may lose all of them, and error
    feedback restores them.
    """

    def __init__(self, limit: float) -> None:
        if not 0 < limit <= 1:
            raise ConfigurationError(
                f"Invalid guard={limit}: expected 0 < guard <= 1.", "At 1 the error may be that of sending zeros."
            )
        self.limit = limit

    def words(self, values: NDArray[np.floating], decoded: NDArray[np.floating]) -> Words:
        """Return this worker's words of a MAX round: the norms of error and values (float32)."""
        wide = values.astype(np.float64)
        with np.errstate(all="ignore"):
            error = math.sqrt(float(np.sum((decoded - wide) ** 2)))
            energy = math.sqrt(float(np.sum(wide**2)))
        norms = [error if math.isfinite(error) else math.inf, energy]
        with np.errstate(over="ignore"):
            return np.array(norms, np.float64).astype(np.float32).view(np.uint32)

    def trips(self, words: Words) -> bool:
        """Return True if the maxima of all workers' words exceed the limit. Raises CodecError for invalid words."""
        error, energy = (float(one) for one in words.view(np.float32))
        if not (error >= 0 and energy >= 0):
            raise CodecError("The aggregate of the guard's round is not a list of non-negative floats.")
        return not (error == 0 or (math.isfinite(energy) and error**2 <= self.limit * energy**2))

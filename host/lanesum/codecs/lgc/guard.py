# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the autoencoder may be used: what it makes of the values at hand, before anything is lost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Words
from lanesum.errors import ConfigurationError

#: Words of a MAX round that the guard needs.
GUARD_WORDS = 2


class Guard:
    """Keeps the autoencoder out where some worker's values come back with more than ``limit`` of the largest energy of
    all workers as squared error: the values are sent as they are then.

    Errors are measured against the largest energy, the leader's as a rule, because that is what the mean is made of: a
    worker whose values are small may lose all of them without much harm, and error feedback brings them back.
    """

    def __init__(self, limit: float) -> None:
        if not 0 < limit <= 1:
            raise ConfigurationError(
                f"An autoencoder with an error of {limit} is not guarded.",
                "Give 0 < guard <= 1; at 1 it may be as bad as sending nothing.",
            )
        self.limit = limit

    def words(self, values: NDArray[np.floating], decoded: NDArray[np.floating]) -> Words:
        """This worker's words of a MAX round: norms of error and values, float32."""
        wide = values.astype(np.float64)
        with np.errstate(all="ignore"):
            error = math.sqrt(float(np.sum((decoded - wide) ** 2)))
            energy = math.sqrt(float(np.sum(wide**2)))
        norms = [error if math.isfinite(error) else math.inf, energy]
        with np.errstate(over="ignore"):
            return np.array(norms, np.float64).astype(np.float32).view(np.uint32)

    def trips(self, words: Words) -> bool:
        """What the sum of all workers' words says; the same on all of them. Raises CodecError for words of none."""
        error, energy = (float(one) for one in words.view(np.float32))
        if not (error >= 0 and energy >= 0):
            raise CodecError("The aggregate of the guard's round is not a list of non-negative floats.")
        return not (error == 0 or (math.isfinite(energy) and error**2 <= self.limit * energy**2))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Latents as small integers that a switch adds, and the guard that checks the error of an autoencoder.

The integers are in units of the largest latent of all workers. The guard works on the current values, before they are
compressed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_steps import field_words, pack_fields, unpack_fields

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


Real = NDArray[np.float64]


class LatentCodes:
    """Codes of ``bits`` bits, in fields for the sum of ``workers`` of them."""

    def __init__(self, bits: int, workers: int) -> None:
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Invalid latent_bits={bits}: expected an integer from 2 to 16.")
        self._workers = workers
        self._steps = 2 ** (bits - 1) - 1
        self._field = (2 * self._steps * workers).bit_length()

    def words(self, count: int) -> int:
        """Return the number of words of a message with ``count`` latents."""
        return field_words(count, self._field)

    def codes(self, latents: Real, peak: float) -> NDArray[np.int32]:
        """Return the nearest integers from -s to s. ``peak``: the largest magnitude of all latents."""
        unit = self._steps / peak if peak > 0 else 0.0
        return np.clip(np.rint(latents * unit), -self._steps, self._steps).astype(np.int32)

    @staticmethod
    def peak(latents: Real) -> float:
        """Return the largest magnitude, or 0 if it is not a finite float32: the guard trips then anyway."""
        largest = float(np.max(np.abs(latents), initial=0))
        return largest if largest < FLOAT32_MAX else 0.0

    @staticmethod
    def received_peak(words: Words) -> float:
        """Return the peak in the first word of a message. Raises CodecError if no worker could have sent it."""
        peak = float(words[:1].view(np.float32)[0])
        if not 0 <= peak < np.inf:
            raise CodecError(f"The peak of the latents is {peak:g}: expected a finite number from 0.")
        return peak

    def pack(self, codes: NDArray[np.int32]) -> Words:
        """Return the words of a worker."""
        return pack_fields((codes + self._steps).astype(np.uint32), self._field)

    def unpack(self, words: Words, count: int, workers: int) -> NDArray[np.int64]:
        """Return the sums of the codes of ``workers`` workers."""
        sums: NDArray[np.int64] = unpack_fields(words, self._field, count).astype(np.int64) - self._steps * workers
        return sums

    def latents(self, codes: NDArray[np.signedinteger], peak: float, workers: int = 1) -> Real:
        """Return the mean of the latents from a sum of ``codes`` over ``workers`` workers."""
        mean: Real = codes * (peak / (self._steps * workers))
        return mean

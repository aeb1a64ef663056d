# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Latents as small whole numbers that a switch adds: in units of the largest of all workers'."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Words
from lanesum.codecs.baselines.fields import field_words, pack_fields, unpack_fields
from lanesum.errors import ConfigurationError

Real = NDArray[np.float64]


class LatentCodes:
    """``bits`` for each latent of a worker; fields hold the sum of ``workers`` of them."""

    def __init__(self, bits: int, workers: int) -> None:
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Latents cannot have {bits} bits.", "Give latent_bits from 2 to 16.")
        self._workers = workers
        self._steps = 2 ** (bits - 1) - 1
        self._field = (2 * self._steps * workers).bit_length()

    def words(self, count: int) -> int:
        """Of a message with so many latents."""
        return field_words(count, self._field)

    def codes(self, latents: Real, peak: float) -> NDArray[np.int32]:
        """Whole numbers from -s to s, nearest to ``latents``, of which none is larger than ``peak``."""
        unit = self._steps / peak if peak > 0 else 0.0
        return np.clip(np.rint(latents * unit), -self._steps, self._steps).astype(np.int32)

    def pack(self, codes: NDArray[np.int32]) -> Words:
        """A worker's words."""
        return pack_fields((codes + self._steps).astype(np.uint32), self._field)

    def unpack(self, words: Words, count: int, workers: int) -> NDArray[np.int64]:
        """Sums of the codes of so many ``workers``."""
        return unpack_fields(words, self._field, count).astype(np.int64) - self._steps * workers

    def latents(self, codes: NDArray[np.signedinteger], peak: float, workers: int = 1) -> Real:
        """The mean of what was added up."""
        return codes * (peak / (self._steps * workers))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Correction that a worker of the parameter-server instance sends for its own values, beside the common decoding.

First a *gain*: in the course of training the values of a leader predict those of the others less and less, until the
decoding is worse than zeros. With the gain of least squared error it never is. Then the *innovation*: the largest
remaining errors, as small integers in units of the largest one. A bitmap names their positions, or a list if that is
shorter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Vector, Words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS
from lanesum_lab.baselines.fields import bits_to_words, pack_bits, unpack_bits, words_to_bits

# Gain and unit are the upper halves of float32 values.
_HALF_BITS = 16
_HEADER_BITS = 2 * _HALF_BITS


class Innovation:
    """Message of the largest errors: a ``share`` of the selected values, rounded up, with ``bits`` each."""

    def __init__(self, share: float, bits: int) -> None:
        if not 0 < share <= 1:
            raise ConfigurationError(f"Invalid innovation={share}: expected 0 < innovation <= 1.")
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Invalid innovation_bits={bits}: expected an integer from 2 to 16.")
        self.share = share
        self.bits = bits
        self._steps = 2 ** (bits - 1) - 1

    def words(self, size: int) -> int:
        """Return the number of words of a message for ``size`` selected values."""
        count = self._count(size)
        return -(-(_HEADER_BITS + min(size, count * _position_bits(size)) + count * self.bits) // WORD_BITS)

    def message(self, sent: Vector, decoded: Vector) -> Words:
        """Return the message that corrects ``decoded`` to ``sent`` (both float32, of one size).

        ``decoded`` may contain values that are not finite.
        """
        wide, guess = sent.astype(np.float64), decoded.astype(np.float64)
        with np.errstate(all="ignore"):
            energy = float(np.sum(guess**2))
            gain = _half(float(np.sum(guess * wide)) / energy if energy > 0 else 0.0)
            errors = np.nan_to_num(wide - float(gain) * guess, nan=0.0, posinf=0.0, neginf=0.0)
        count = self._count(sent.size)
        positions = np.sort(np.argpartition(-np.abs(errors), count - 1)[:count])
        unit = _half(float(np.abs(errors[positions]).max()))
        steps = np.rint(errors[positions] * (self._steps / float(unit) if unit else 0.0))
        codes = (np.clip(steps, -self._steps, self._steps) + self._steps).astype(np.uint32)
        halves = np.array([gain, unit], np.float32).view(np.uint32) >> np.uint32(WORD_BITS - _HALF_BITS)
        stream = (pack_bits(halves, _HALF_BITS), _listed(positions, sent.size), pack_bits(codes, self.bits))
        return bits_to_words(np.concatenate(stream))

    def corrected(self, decoded: Vector, message: Words) -> Vector:
        """Return ``decoded`` (float32) corrected by the message of a worker.

        Raises CodecError for an invalid message.
        """
        size, count = decoded.size, self._count(decoded.size)
        stream = words_to_bits(message, message.size * WORD_BITS)
        halves = unpack_bits(stream[:_HEADER_BITS], _HALF_BITS) << np.uint32(WORD_BITS - _HALF_BITS)
        gain, unit = (float(half) for half in halves.view(np.float32))
        positions, stream = _unlisted(stream[_HEADER_BITS:], size, count)
        codes = unpack_bits(stream[: count * self.bits], self.bits).astype(np.int64) - self._steps
        if positions.size != count or not math.isfinite(gain) or not 0 <= unit < math.inf or codes.max() > self._steps:
            raise CodecError("The innovation of a worker has invalid positions or values.")
        with np.errstate(all="ignore"):
            values = gain * decoded.astype(np.float64)
            values[positions] += codes * (unit / self._steps)
            return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)

    def _count(self, size: int) -> int:
        return math.ceil(self.share * size)


def _half(number: float) -> np.float32:
    """Return ``number`` truncated to the upper half of a float32; 0 if it is not finite."""
    limited = np.float32(min(max(number, -FLOAT32_MAX), FLOAT32_MAX) if math.isfinite(number) else 0.0)
    return np.uint32(int(limited.view(np.uint32)) & 0xFFFF0000).view(np.float32)


def _position_bits(size: int) -> int:
    return max(1, (size - 1).bit_length())


def _listed(positions: NDArray[np.intp], size: int) -> NDArray[np.uint8]:
    """Return sorted positions as bits: a bitmap or a list, whichever is shorter."""
    if positions.size * _position_bits(size) < size:
        return pack_bits(positions.astype(np.uint32), _position_bits(size))
    bitmap = np.zeros(size, np.uint8)
    bitmap[positions] = 1
    return bitmap


def _unlisted(stream: NDArray[np.uint8], size: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Return the positions, fewer than ``count`` if they are invalid, and the rest of the stream."""
    width = _position_bits(size)
    if count * width < size:
        positions = np.unique(unpack_bits(stream[: count * width], width)).astype(np.intp)
        return positions[positions < size], stream[count * width :]
    return np.flatnonzero(stream[:size]), stream[size:]

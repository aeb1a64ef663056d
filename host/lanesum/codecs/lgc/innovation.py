# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a worker of the parameter-server instance says of its own values, beside what is decoded for everybody.

A *gain* first: as training goes on, a leader's values say less and less of the others', until what is decoded for them
is worse than zeros. Times the gain with the least squared error it never is. Then the *innovation*: errors that are
largest even so, as small whole numbers in units of the largest, at places that a bitmap names, or a list where that is
shorter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Vector, Words
from lanesum.codecs.baselines.fields import bits_to_words, pack_bits, unpack_bits, words_to_bits
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS

# Gain and unit are upper halves of float32.
_HALF_BITS = 16
_HEADER_BITS = 2 * _HALF_BITS


class Innovation:
    """``share`` of the selected values, rounded up, with ``bits`` each."""

    def __init__(self, share: float, bits: int) -> None:
        if not 0 < share <= 1:
            raise ConfigurationError(f"An innovation of {share} is no share.", "Give 0 < innovation <= 1.")
        if not 2 <= bits <= 16:
            raise ConfigurationError(f"Innovations cannot have {bits} bits.", "Give innovation_bits from 2 to 16.")
        self.share = share
        self.bits = bits
        self._steps = 2 ** (bits - 1) - 1

    def words(self, size: int) -> int:
        """Of a message about ``size`` selected values."""
        count = self._count(size)
        return -(-(_HEADER_BITS + min(size, count * _place_bits(size)) + count * self.bits) // WORD_BITS)

    def message(self, sent: Vector, decoded: Vector) -> Words:
        """What makes ``sent`` of ``decoded`` (float32 both, of one size, the latter perhaps not finite)."""
        wide, guess = sent.astype(np.float64), decoded.astype(np.float64)
        with np.errstate(all="ignore"):
            energy = float(np.sum(guess**2))
            gain = _half(float(np.sum(guess * wide)) / energy if energy > 0 else 0.0)
            errors = np.nan_to_num(wide - float(gain) * guess, nan=0.0, posinf=0.0, neginf=0.0)
        count = self._count(sent.size)
        places = np.sort(np.argpartition(-np.abs(errors), count - 1)[:count])
        unit = _half(float(np.abs(errors[places]).max()))
        steps = np.rint(errors[places] * (self._steps / float(unit) if unit else 0.0))
        codes = (np.clip(steps, -self._steps, self._steps) + self._steps).astype(np.uint32)
        halves = np.array([gain, unit], np.float32).view(np.uint32) >> np.uint32(WORD_BITS - _HALF_BITS)
        stream = (pack_bits(halves, _HALF_BITS), _listed(places, sent.size), pack_bits(codes, self.bits))
        return bits_to_words(np.concatenate(stream))

    def corrected(self, decoded: Vector, message: Words) -> Vector:
        """What a worker's message makes of what was decoded for it (float32).

        Raises CodecError for a message that nobody can have sent.
        """
        size, count = decoded.size, self._count(decoded.size)
        stream = words_to_bits(message, message.size * WORD_BITS)
        halves = unpack_bits(stream[:_HEADER_BITS], _HALF_BITS) << np.uint32(WORD_BITS - _HALF_BITS)
        gain, unit = (float(half) for half in halves.view(np.float32))
        places, stream = _unlisted(stream[_HEADER_BITS:], size, count)
        codes = unpack_bits(stream[: count * self.bits], self.bits).astype(np.int64) - self._steps
        if places.size != count or not math.isfinite(gain) or not 0 <= unit < math.inf or codes.max() > self._steps:
            raise CodecError("A worker's innovation has places or values that cannot be.")
        with np.errstate(all="ignore"):
            values = gain * decoded.astype(np.float64)
            values[places] += codes * (unit / self._steps)
            return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)

    def _count(self, size: int) -> int:
        return math.ceil(self.share * size)


def _half(number: float) -> np.float32:
    """The nearest number in the upper half of a float32 that is not larger; 0 for what is not finite."""
    limited = np.float32(min(max(number, -FLOAT32_MAX), FLOAT32_MAX) if math.isfinite(number) else 0.0)
    return np.uint32(int(limited.view(np.uint32)) & 0xFFFF0000).view(np.float32)


def _place_bits(size: int) -> int:
    return max(1, (size - 1).bit_length())


def _listed(places: NDArray[np.intp], size: int) -> NDArray[np.uint8]:
    """Sorted places as bits: which ones are among them, or their numbers, whichever is shorter."""
    if places.size * _place_bits(size) < size:
        return pack_bits(places.astype(np.uint32), _place_bits(size))
    bitmap = np.zeros(size, np.uint8)
    bitmap[places] = 1
    return bitmap


def _unlisted(stream: NDArray[np.uint8], size: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """The places, fewer than ``count`` where they cannot be, and what comes after them."""
    width = _place_bits(size)
    if count * width < size:
        places = np.unique(unpack_bits(stream[: count * width], width)).astype(np.intp)
        return places[places < size], stream[count * width :]
    return np.flatnonzero(stream[:size]), stream[size:]

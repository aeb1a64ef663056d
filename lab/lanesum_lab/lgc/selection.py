# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Selection of positions: the largest values of a leader, in order of their magnitude, parameter by parameter.

In that order the leader's values are a falling curve, which an autoencoder learns easily. Their signs are nearly
random. They are sent with the positions, and all workers multiply their values by them. Otherwise an autoencoder with a
quarter as many latents as values would lose three quarters of the energy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Part, Vector, Words
from lanesum.codecs.kernels.reference import FLOAT32_MAX
from lanesum_lab.baselines.floats import BF16_MAX
from lanesum_lab.codec_steps import bits_to_words, pack_bits, unpack_bits, words_to_bits

_SCALE_BITS = 16


@dataclass(frozen=True)
class SelectionLayout:
    """Number of selected values of each parameter, and the message that names them.

    Message, for each parameter: a scale (16 bits, the upper half of a float32), then position in the parameter and sign
    of each value.
    """

    parts: tuple[Part, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, parts: Sequence[Part], density: float) -> SelectionLayout:
        """Return the layout that selects a share of ``density`` of each parameter, rounded up."""
        some = tuple(part for part in parts if part.stop > part.start)
        return cls(some, tuple(math.ceil((part.stop - part.start) * density) for part in some))

    @property
    def size(self) -> int:
        """Number of selected values."""
        return sum(self.counts)

    @property
    def words(self) -> int:
        """Number of words of the message."""
        bits = sum(
            _SCALE_BITS + count * (_position_bits(part) + 1)
            for part, count in zip(self.parts, self.counts, strict=True)
        )
        return -(-bits // 32)

    def select(self, vector: Vector) -> Selection:
        """Return the leader's selection. Ties are decided by the leader alone, which prefers the first positions."""
        positions, scales = [], []
        for part, count in zip(self.parts, self.counts, strict=True):
            magnitudes = np.abs(vector[part.start : part.stop])
            largest = np.argpartition(-magnitudes, count - 1)[:count]
            chosen = largest[np.lexsort((largest, -magnitudes[largest]))]
            positions.append(chosen + part.start)
            scales.append(_rounded_up(magnitudes[chosen[0]]))
        chosen = np.concatenate(positions)
        return Selection(chosen, np.where(vector[chosen] < 0, np.float32(-1), np.float32(1)), self._repeat(scales))

    def encode(self, selection: Selection) -> Words:
        """Return the message of a selection."""
        stream, start = [], 0
        for part, count in zip(self.parts, self.counts, strict=True):
            stop = start + count
            scale = selection.scales[start : start + 1].view(np.uint32) >> np.uint32(32 - _SCALE_BITS)
            own = (selection.positions[start:stop] - part.start).astype(np.uint32)
            negative = (selection.signs[start:stop] < 0).astype(np.uint32)
            numbers = own << np.uint32(1) | negative
            stream += [pack_bits(scale, _SCALE_BITS), pack_bits(numbers, _position_bits(part) + 1)]
            start = stop
        return bits_to_words(np.concatenate(stream))

    def decode(self, words: Words) -> Selection:
        """Return the selection of a message. Raises CodecError for invalid positions or scales."""
        stream = words_to_bits(words, words.size * 32)
        positions, signs, scales, start = [], [], [], 0
        for part, count in zip(self.parts, self.counts, strict=True):
            scale = unpack_bits(stream[start : start + _SCALE_BITS], _SCALE_BITS) << np.uint32(32 - _SCALE_BITS)
            scales.append(scale.view(np.float32)[0])
            start += _SCALE_BITS
            width = _position_bits(part) + 1
            numbers = unpack_bits(stream[start : start + count * width], width)
            start += count * width
            own = (numbers >> np.uint32(1)).astype(np.intp)
            if own.max(initial=0) >= part.stop - part.start or np.unique(own).size != count:
                raise CodecError(f"The leader has sent positions that parameter {part.key!r} does not have.")
            positions.append(own + part.start)
            signs.append(np.where(numbers & np.uint32(1), np.float32(-1), np.float32(1)))
        if not np.isfinite(scales).all() or min(scales, default=0) < 0:
            raise CodecError("The leader has sent a scale that is not a non-negative number.")
        return Selection(np.concatenate(positions), np.concatenate(signs), self._repeat(scales))

    def _repeat(self, scales: Sequence[np.float32]) -> Vector:
        return np.repeat(np.array(scales, np.float32), self.counts)


@dataclass(frozen=True)
class Selection:
    """Positions in a vector, with the leader's sign and the scale of the parameter for each (float32)."""

    positions: NDArray[np.intp]
    signs: Vector
    scales: Vector

    def normalized(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return ``values`` at these positions times the leader's signs, in units of its scale; 0 for scale 0."""
        units = self.scales.astype(np.float64)
        factors = np.divide(self.signs, units, out=np.zeros(units.size), where=units > 0)
        return np.asarray(values * factors, np.float64)

    def rows(self, vectors: Iterable[Vector]) -> Vector:
        """Return normalized vectors for training (float32); infinite where a value exceeds the leader's too far."""
        with np.errstate(over="ignore"):
            return np.stack([self.normalized(one) for one in vectors]).astype(np.float32)

    def restored(self, normalized: NDArray[np.float64]) -> Vector:
        """Return the values of ``normalized`` ones (float32), cut to the range of float32."""
        values = normalized * self.signs * self.scales.astype(np.float64)
        return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)


def _position_bits(part: Part) -> int:
    return max(1, (part.stop - part.start - 1).bit_length())


def _rounded_up(magnitude: np.float32) -> np.float32:
    """Return ``magnitude`` rounded up to the upper half of a float32, at most to the largest finite one."""
    bits = min(int(np.float32(magnitude).view(np.uint32)) + 0xFFFF & ~0xFFFF, int(BF16_MAX.view(np.uint32)))
    return np.uint32(bits).view(np.float32)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Which places all workers send: a leader's largest values, in order of their magnitude, parameter by parameter.

In that order the leader's values are a falling curve, which an autoencoder learns easily; their signs, which are as
good as random, come with the places, and all workers turn their values by them. Without that an autoencoder with a
quarter as many numbers inside would lose three quarters of the energy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecError, Part, Vector, Words
from lanesum.codecs.baselines.fields import bits_to_words, pack_bits, unpack_bits, words_to_bits
from lanesum.codecs.baselines.floats import BF16_MAX
from lanesum.codecs.kernels.reference import FLOAT32_MAX

_SCALE_BITS = 16


@dataclass(frozen=True)
class Layout:
    """How many values of each parameter are selected, and how that is written down.

    Per parameter: a scale (16 bits: the upper half of a float32), then for each value its place in the parameter and
    its sign.
    """

    parts: tuple[Part, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, parts: Sequence[Part], density: float) -> Layout:
        """The share ``density`` of every parameter, rounded up."""
        some = tuple(part for part in parts if part.stop > part.start)
        return cls(some, tuple(math.ceil((part.stop - part.start) * density) for part in some))

    @property
    def size(self) -> int:
        """Values that are selected."""
        return sum(self.counts)

    @property
    def words(self) -> int:
        """Of the message."""
        bits = sum(
            _SCALE_BITS + count * (_place_bits(part) + 1) for part, count in zip(self.parts, self.counts, strict=True)
        )
        return -(-bits // 32)

    def select(self, vector: Vector) -> Selection:
        """The leader's own choice. Of equal magnitudes the first ones, as far as that matters to the leader alone."""
        positions, scales = [], []
        for part, count in zip(self.parts, self.counts, strict=True):
            magnitudes = np.abs(vector[part.start : part.stop])
            largest = np.argpartition(-magnitudes, count - 1)[:count]
            chosen = largest[np.lexsort((largest, -magnitudes[largest]))]
            positions.append(chosen + part.start)
            scales.append(_rounded_up(magnitudes[chosen[0]]))
        places = np.concatenate(positions)
        return Selection(places, np.where(vector[places] < 0, np.float32(-1), np.float32(1)), self._repeat(scales))

    def encode(self, selection: Selection) -> Words:
        """The message, ``words`` long."""
        stream, start = [], 0
        for part, count in zip(self.parts, self.counts, strict=True):
            stop = start + count
            scale = selection.scales[start : start + 1].view(np.uint32) >> np.uint32(32 - _SCALE_BITS)
            places = (selection.positions[start:stop] - part.start).astype(np.uint32)
            negative = (selection.signs[start:stop] < 0).astype(np.uint32)
            numbers = places << np.uint32(1) | negative
            stream += [pack_bits(scale, _SCALE_BITS), pack_bits(numbers, _place_bits(part) + 1)]
            start = stop
        return bits_to_words(np.concatenate(stream))

    def decode(self, words: Words) -> Selection:
        """What a message says. Raises CodecError for places that are none, or scales that are no numbers."""
        stream = words_to_bits(words, words.size * 32)
        positions, signs, scales, start = [], [], [], 0
        for part, count in zip(self.parts, self.counts, strict=True):
            scale = unpack_bits(stream[start : start + _SCALE_BITS], _SCALE_BITS) << np.uint32(32 - _SCALE_BITS)
            scales.append(scale.view(np.float32)[0])
            start += _SCALE_BITS
            width = _place_bits(part) + 1
            numbers = unpack_bits(stream[start : start + count * width], width)
            start += count * width
            places = (numbers >> np.uint32(1)).astype(np.intp)
            if places.max(initial=0) >= part.stop - part.start or np.unique(places).size != count:
                raise CodecError(f"The leader has sent places that parameter {part.key!r} does not have.")
            positions.append(places + part.start)
            signs.append(np.where(numbers & np.uint32(1), np.float32(-1), np.float32(1)))
        if not np.isfinite(scales).all() or min(scales, default=0) < 0:
            raise CodecError("The leader has sent a scale that is not a non-negative number.")
        return Selection(np.concatenate(positions), np.concatenate(signs), self._repeat(scales))

    def _repeat(self, scales: Sequence[np.float32]) -> Vector:
        return np.repeat(np.array(scales, np.float32), self.counts)


@dataclass(frozen=True)
class Selection:
    """Places in a vector, with the leader's sign and its parameter's scale for each (float32)."""

    positions: NDArray[np.intp]
    signs: Vector
    scales: Vector

    def normalized(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """Values at these places in units of the leader's, turned by its signs; 0 where the leader's scale is 0."""
        units = self.scales.astype(np.float64)
        factors = np.divide(self.signs, units, out=np.zeros(units.size), where=units > 0)
        return np.asarray(values * factors, np.float64)

    def rows(self, vectors: Iterable[Vector]) -> Vector:
        """Normalized vectors to learn from (float32); infinite where they are too far above the leader's for that."""
        with np.errstate(over="ignore"):
            return np.stack([self.normalized(one) for one in vectors]).astype(np.float32)

    def restored(self, normalized: NDArray[np.float64]) -> Vector:
        """The other way round (float32); what float32 does not hold becomes its largest number."""
        values = normalized * self.signs * self.scales.astype(np.float64)
        return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)


def _place_bits(part: Part) -> int:
    return max(1, (part.stop - part.start - 1).bit_length())


def _rounded_up(magnitude: np.float32) -> np.float32:
    """The next number of 16 bits (those of a float32's upper half), or the last finite one."""
    bits = min(int(np.float32(magnitude).view(np.uint32)) + 0xFFFF & ~0xFFFF, int(BF16_MAX.view(np.uint32)))
    return np.uint32(bits).view(np.float32)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface that the kernels in NumPy and those of the native extension implement, and arguments that they share.

The native extension has a struct of the same name and fields for each argument here. It reads the fields by position
(``host/native/src/bindings/arguments.hpp``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.philox import sign_words

Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.uint8]


class Rotation(NamedTuple):
    """Randomized Hadamard transform: a diagonal of signs, then an unnormalized transform of each block.

    Attributes:
        signs: words of :func:`lanesum.codecs.kernels.philox.sign_words`.
        block: coordinates of one transform, a power of two.
    """

    signs: NDArray[np.uint32]
    block: int


@lru_cache(maxsize=8)
def rotation_of(length: int, block: int, seed: int, round: int = 0) -> Rotation:
    """Return the rotation of ``length`` coordinates with the diagonal that ``seed`` and ``round`` name."""
    return Rotation(sign_words(length, seed, round), block)


class BlockUnits(NamedTuple):
    """Units of fixed-point integers: ``maxima[i] / peak`` for block i of ``block`` values."""

    maxima: NDArray[np.float32]
    peak: float
    block: int

    def part(self, first: int, stop: int) -> BlockUnits:
        """Return the units of blocks ``first`` to ``stop`` (exclusive)."""
        whole = first == 0 and stop == self.maxima.size
        return self if whole else BlockUnits(self.maxima[first:stop], self.peak, self.block)


class Kernels(Protocol):
    """Kernels that several codecs share; :mod:`lanesum.codecs.kernels.reference` documents each of them."""

    def square_sums(self, values: Floats, chunk: int, out: NDArray[np.float64]) -> None: ...

    def magnitudes(self, values: Floats, block: int, out: Words) -> None: ...

    def not_below(self, values: Floats, least: int, mask: Bytes) -> None: ...

    def largest(self, values: Floats, wanted: int, mask: Bytes) -> None: ...

    def to_integers(self, values: Floats, units: BlockUnits, out: Integers) -> None: ...

    def from_integers(
        self, sums: Integers, units: BlockUnits, divisor: float, counts: NDArray[np.float64] | None, out: Floats
    ) -> None: ...

    def integer_residual(self, values: Floats, integers: Integers, units: BlockUnits, out: Floats) -> None: ...

    def sum_rows(self, rows: Floats, divisor: float, out: Floats) -> None: ...

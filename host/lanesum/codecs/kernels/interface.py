# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface that the kernels in NumPy and those of the native extension implement, and arguments that they share.

The native extension has a struct of the same name and fields for each argument here. It reads the fields by position
(``host/native/src/bindings/arguments.hpp``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.philox import sign_words

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
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


class Kernels(NamedTuple):
    """Kernels that several codecs share; :mod:`lanesum.codecs.kernels.reference` documents them and their arguments."""

    square_sums: Callable[[Floats, int, NDArray[np.float64]], None]
    magnitudes: Callable[[Floats, int, Words], None]
    not_below: Callable[[Floats, int, Bytes], None]
    largest: Callable[[Floats, int, Bytes], None]
    to_integers: Callable[[Floats, BlockUnits, Integers], None]
    from_integers: Callable[[Integers, BlockUnits, float, NDArray[np.float64] | None, Floats], None]
    integer_residual: Callable[[Floats, Integers, BlockUnits, Floats], None]
    sum_rows: Callable[[Floats, float, Floats], None]

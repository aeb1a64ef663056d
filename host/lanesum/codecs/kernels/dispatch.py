# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: the native extension where it is installed, else :mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job may use different ones. All arrays have one dimension and are contiguous.
Results are written to arrays of the caller. Native kernels release the GIL, and may run in several threads at once on
different results; ``LANESUM_THREADS`` does so (:mod:`lanesum.codecs.kernels.threaded`).
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.arguments import BlockUnits, LaneContributors, RandomKey, Rotation, Scale
from lanesum.codecs.kernels.threaded import ThreadedKernels, threads

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.uint8]


class Kernels(Protocol):
    """Kernels that several codecs share; :mod:`lanesum.codecs.kernels.reference` documents each of them."""

    def square_sums(self, values: Floats, chunk: int, out: NDArray[np.float64]) -> None: ...

    def rotate(self, values: Floats, powers: tuple[float, float], rotation: Rotation, out: Floats) -> None: ...

    def quantize(self, rotated: Floats, factor: float, cells: Words, key: RandomKey, words: Words) -> None: ...

    def decode(
        self,
        lanes: Words,
        contributors: LaneContributors,
        rotation: Rotation,
        scale: Scale,
        scratch: Floats,
        out: Floats,
    ) -> None: ...

    def residual(
        self,
        values: Floats,
        codes: Words,
        levels: Floats,
        included: Bytes | None,
        rotation: Rotation,
        scale: Scale,
        scratch: Floats,
        out: Floats,
    ) -> None: ...

    def magnitudes(self, values: Floats, block: int, out: Words) -> None: ...

    def not_below(self, values: Floats, least: int, mask: Bytes) -> None: ...

    def largest(self, values: Floats, wanted: int, mask: Bytes) -> None: ...

    def to_integers(self, values: Floats, units: BlockUnits, out: NDArray[np.int32]) -> None: ...

    def from_integers(
        self,
        sums: NDArray[np.int32],
        units: BlockUnits,
        divisor: float,
        counts: NDArray[np.float64] | None,
        out: Floats,
    ) -> None: ...

    def integer_residual(self, values: Floats, integers: NDArray[np.int32], units: BlockUnits, out: Floats) -> None: ...

    def sum_rows(self, rows: Floats, divisor: float, out: Floats) -> None: ...


def kernels(*, few: bool = False) -> Kernels:
    """Return the kernels to use: see :func:`lanesum._internal.native.availability`, also for exceptions.

    ``few``: for so few values that one thread computes all of them.
    """
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: Kernels = reference if core is None else native(core)
    return loops if few or threads() == 1 else cast(Kernels, ThreadedKernels(loops))


@functools.cache
def native(core: ModuleType) -> Kernels:
    """Return the native kernels for this processor."""
    return cast(Kernels, core.CodecKernels())


def powers_of_two(exponent: int) -> tuple[float, float]:
    """Return two factors inside float32 with the product ``2**exponent``; the first is 1 if one is sufficient."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)

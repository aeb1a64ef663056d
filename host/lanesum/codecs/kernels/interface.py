# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The interface that the kernels in NumPy and those of the native extension implement."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.arguments import BlockUnits

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.uint8]


class Kernels(Protocol):
    """Kernels that several codecs share; :mod:`lanesum.codecs.kernels.reference` documents each of them."""

    def square_sums(self, values: Floats, chunk: int, out: NDArray[np.float64]) -> None: ...

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

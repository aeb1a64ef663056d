# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the sparse codecs: the native extension where it is installed, else
:mod:`lanesum.codecs.sparse.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.interface import Floats
from lanesum.codecs.sparse import reference
from lanesum.codecs.sparse.hashing import Cells, Keys


class SketchKernels(Protocol):
    """Kernels of the sparse codecs; :mod:`lanesum.codecs.sparse.reference` documents each of them."""

    def nonzero_blocks(self, values: Floats, block: int, keys: Keys) -> tuple[int, int]: ...

    def gather_integers(
        self, values: Floats, keys: Keys, block: int, exponent: int, peak: int, integers: Words
    ) -> None: ...

    def insert(self, integers: Words, keys: Keys, block: int, seed: int, cells: Cells, sketch: Words) -> None: ...

    def peeling_order(self, keys: Keys, seed: int, cells: Cells, left: Keys) -> tuple[Any, int]: ...

    def peel(self, integers: Words, order: Any, block: int, sketch: Words) -> None: ...

    def scatter_floats(
        self, integers: Words, keys: Keys, block: int, exponent: int, divisor: int, values: Floats
    ) -> None: ...

    def count_blocks(self, integers: Words, keys: Keys, block: int, counts: NDArray[np.int64]) -> None: ...

    def set_bits(self, keys: Keys, words: Words) -> None: ...

    def keys_of_bits(self, words: Words, keys: Keys) -> int: ...

    def fill_filter(self, keys: Keys, seed: int, hashes: int, words: Words) -> None: ...

    def keys_of_filter(self, words: Words, seed: int, hashes: int, keys: Keys) -> int: ...


def sketch_kernels() -> SketchKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.kernels`."""
    core = availability().core
    # mypy checks the module against the protocol here.
    return reference if core is None else native(core)


@functools.cache
def native(core: ModuleType) -> SketchKernels:
    """Return the native kernels."""
    return cast(SketchKernels, core.SketchKernels())

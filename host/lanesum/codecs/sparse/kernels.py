# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse codecs' loops: compiled where that is installed, else NumPy's (:mod:`lanesum.codecs.sparse.reference`).

Both have the same bits, so workers of one job need not have the same. Arrays have one dimension, are contiguous, and
are the caller's. The compiled ones run without the GIL and may run in several threads at once, on different results.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.codecs.sparse import reference as sketch_reference
from lanesum.codecs.sparse.hashing import Cells, Keys
from lanesum.codecs.sparse.reference import Floats, Words


class SketchKernels(Protocol):
    """What a set of loops has to have; :mod:`lanesum.codecs.sparse.reference` says what each of them does."""

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
    """The loops to use; see :func:`lanesum._internal.native.availability` for who decides and what it raises."""
    core = availability().core
    # mypy checks the module against the protocol here.
    return sketch_reference if core is None else compiled(core)


@functools.cache
def compiled(core: ModuleType) -> SketchKernels:
    """Those of the compiled part."""
    return cast(SketchKernels, core.SketchKernels())

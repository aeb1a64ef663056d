# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the sparse codecs: the native extension where it is installed, else
:mod:`lanesum.codecs.sparse.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.dispatch import chosen
from lanesum.codecs.kernels.interface import Floats
from lanesum.codecs.sparse import reference
from lanesum.codecs.sparse.hashing import Cells, Keys


class SketchKernels(NamedTuple):
    """Kernels of the sparse codecs; :mod:`lanesum.codecs.sparse.reference` documents them and their arguments."""

    nonzero_blocks: Callable[[Floats, int, Keys], tuple[int, int]]
    gather_integers: Callable[[Floats, Keys, int, int, int, Words], None]
    insert: Callable[[Words, Keys, int, int, Cells, Words], None]
    peeling_order: Callable[[Keys, int, Cells, Keys], tuple[Any, int]]
    peel: Callable[[Words, Any, int, Words], None]
    scatter_floats: Callable[[Words, Keys, int, int, int, Floats], None]
    count_blocks: Callable[[Words, Keys, int, NDArray[np.int64]], None]
    set_bits: Callable[[Keys, Words], None]
    keys_of_bits: Callable[[Words, Keys], int]
    fill_filter: Callable[[Keys, int, int, Words], None]
    keys_of_filter: Callable[[Words, int, int, Keys], int]


_REFERENCE = SketchKernels(*(getattr(reference, name) for name in SketchKernels._fields))


def sketch_kernels() -> SketchKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "SketchKernels")

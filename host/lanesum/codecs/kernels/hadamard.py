# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fast Walsh-Hadamard transform in place, with the same order of operations everywhere.

Butterflies run with spans 1, 2, 4 and so on. Each is a float32 addition and subtraction, which IEEE 754 fixes. So all
workers have the same bits for the same input, on any processor and number of threads. C++ and GPU kernels keep the
order of spans and have the same bits. A matrix product would be faster in NumPy, but the order of summation of a BLAS
depends on the processor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Panels of 1024 rows by 64 columns: two of them (512 KiB) fit a second-level cache, and 64 contiguous floats are
# long enough for the inner loops of the smallest spans.
_ROWS = 1024
_COLUMNS = 64


def hadamard_transform(x: NDArray[np.float32], block: int) -> None:
    """Transform each ``block`` of ``x`` (float32, one dimension, contiguous) in place.

    The result is in natural (Sylvester) order. It lacks the factor ``block ** -0.5`` of the orthonormal transform.
    Raises ValueError unless ``block`` is a power of two that divides ``x.size``.
    """
    if block < 1 or block & (block - 1) or x.size % block or x.ndim != 1 or not x.flags.c_contiguous:
        raise ValueError(f"Cannot transform blocks of {block} in an array of shape {x.shape}.")
    inner = min(block, _ROWS)
    scratch = np.empty((2, max(inner, block // inner), _COLUMNS), dtype=np.float32)
    rows = x.reshape(-1, inner)
    for start in range(0, len(rows), _COLUMNS):
        tile = rows[start : start + _COLUMNS]
        tile[...] = _butterflies(tile.T, scratch).T
    if block > inner:
        for matrix in x.reshape(-1, block // inner, inner):
            for start in range(0, inner, _COLUMNS):
                panel = matrix[:, start : start + _COLUMNS]
                panel[...] = _butterflies(panel, scratch)


def _butterflies(source: NDArray[np.float32], scratch: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transform the columns of ``source`` (rows a power of two); the result is a view into ``scratch``."""
    count, width = source.shape
    here = scratch[0].reshape(-1)[: count * width]
    there = scratch[1].reshape(-1)[: count * width]
    here.reshape(count, width)[...] = source
    span = 1
    while span < count:
        old, new = here.reshape(-1, 2, span * width), there.reshape(-1, 2, span * width)
        np.add(old[:, 0], old[:, 1], out=new[:, 0])
        np.subtract(old[:, 0], old[:, 1], out=new[:, 1])
        here, there = there, here
        span *= 2
    result: NDArray[np.float32] = here.reshape(count, width)
    return result

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of large arrays. The native extension keeps freed memory for later arrays (``host/native/src/memory``).

The gradients of a step are as long as those of the step before. Memory that is new to the process costs a page fault
for every page; for large arrays this takes about as long as compressing their content.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lanesum._internal.native import availability
from lanesum.protocol.spec import WORD_BYTES


def empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return ``numpy.empty(size, dtype)``; a large array may reuse pooled memory."""
    item = np.dtype(dtype)
    core = availability().core
    if core is None or size * item.itemsize < core.MIN_POOLED_BYTES:
        return np.empty(size, item)
    words: NDArray[np.uint32] = core.allocate_words(-(-size * item.itemsize // WORD_BYTES))
    return words.view(item)[:size]


def release_pooled() -> None:
    """Return pooled memory that is not in use to the operating system, for all sessions of the process."""
    core = availability().core
    if core is not None:
        core.release_pooled()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of large arrays, which the compiled part keeps for the next ones (``host/native/src/memory``).

A step's gradients are as long as those of the step before. Where they are large, memory that is new to the process
costs a page fault for every page, which takes about as long as it takes to compress what is written there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lanesum._internal.native import availability
from lanesum.protocol.spec import WORD_BYTES


def empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """As ``numpy.empty(size, dtype)``; large ones in memory that somebody may have used before."""
    item = np.dtype(dtype)
    core = availability().core
    if core is None or size * item.itemsize < core.LEAST_KEPT_BYTES:
        return np.empty(size, item)
    words: NDArray[np.uint32] = core.make_words(-(-size * item.itemsize // WORD_BYTES))
    return words.view(item)[:size]


def release_kept() -> None:
    """Give the system what is kept and not in use, of all sessions of the process."""
    core = availability().core
    if core is not None:
        core.release_kept()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the kernels of ``thc-paper``; see :mod:`lanesum.codecs.kernels.interface`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Coordinates in a word of codes, and in one of lanes.
CODES_PER_WORD, LANES_PER_WORD = 8, 4
LANE_MAX = 255


class RandomKey(NamedTuple):
    """Name of a stream of random words; see :mod:`lanesum.codecs.kernels.philox`.

    ``round`` counts modulo 2**32.
    """

    seed: int
    stream: int
    worker: int
    round: int
    chunk: int


class Scale(NamedTuple):
    """Factors that are applied in turn, and the largest magnitude of a result (infinity: no limit)."""

    factors: tuple[float, float, float]
    limit: float


class LaneContributors(NamedTuple):
    """Number of workers in the lanes of a sum.

    Attributes:
        offset: excess of the lanes over the sum of levels around 0, in half steps; of one worker where ``counts`` is
            given, else of all.
        counts: workers in each accumulator word (float32); None where all words have the same.
        average: sums are divided by ``counts``.
    """

    offset: float
    counts: NDArray[np.float32] | None
    average: bool

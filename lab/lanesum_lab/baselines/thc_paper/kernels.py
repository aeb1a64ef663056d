# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc-paper``: the native extension where it is installed, else
:mod:`lanesum_lab.baselines.thc_paper.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.dispatch import chosen
from lanesum.codecs.kernels.interface import Bytes, Floats, Rotation
from lanesum_lab.baselines.thc_paper import reference
from lanesum_lab.baselines.thc_paper.reference import LaneContributors, RandomKey, Scale


class PaperKernels(NamedTuple):
    """Kernels of one chunk; :mod:`lanesum_lab.baselines.thc_paper.reference` documents them and their arguments."""

    rotate: Callable[[Floats, tuple[float, float], Rotation, Floats], None]
    quantize: Callable[[Floats, float, Words, RandomKey, Words], None]
    decode: Callable[[Words, LaneContributors, Rotation, Scale, Floats, Floats], None]
    residual: Callable[[Floats, Words, Floats, Bytes | None, Rotation, Scale, Floats, Floats], None]


_REFERENCE = PaperKernels(*(getattr(reference, name) for name in PaperKernels._fields))


def kernels() -> PaperKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    return chosen(_REFERENCE, "CodecKernels", threads=1)


def powers_of_two(exponent: int) -> tuple[float, float]:
    """Return two factors inside float32 with the product ``2**exponent``; the first is 1 if one is sufficient."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)

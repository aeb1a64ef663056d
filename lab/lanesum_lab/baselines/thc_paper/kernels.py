# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc-paper``: the native extension where it is installed, else
:mod:`lanesum_lab.baselines.thc_paper.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

import math
from typing import Protocol

from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.dispatch import chosen
from lanesum.codecs.kernels.interface import Bytes, Floats, Rotation
from lanesum_lab.baselines.thc_paper import reference
from lanesum_lab.baselines.thc_paper.reference import LaneContributors, RandomKey, Scale


class PaperKernels(Protocol):
    """Kernels of one chunk; :mod:`lanesum_lab.baselines.thc_paper.reference` documents each of them."""

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


def kernels() -> PaperKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.chosen`."""
    of_numpy: PaperKernels = reference  # mypy checks the module against the protocol here
    return chosen(of_numpy, "CodecKernels", threads=1)


def powers_of_two(exponent: int) -> tuple[float, float]:
    """Return two factors inside float32 with the product ``2**exponent``; the first is 1 if one is sufficient."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)

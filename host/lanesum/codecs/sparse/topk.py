# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``topk``: only the largest values of a vector, summed by one of the sparse codecs.

The switch sums the sparse vectors, so what a worker sends and gets depends on the union of all workers' choices, not on
their number; an all-gather of them would bring every worker's values and places to every worker.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    CodecContext,
    Result,
    RoundShape,
    Steps,
    Vector,
    checked_vector,
    refuse_not_finite,
)
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.registry import register
from lanesum.codecs.sparse.all_reduce import INFINITY_BITS
from lanesum.codecs.sparse.auto import Auto
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.sketch import Sketch
from lanesum.codecs.sparse.union import Union
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError

_INNER: dict[str, type[SparseCodec]] = {"auto": Auto, "sketch": Sketch, "union": Union}


class TopK:
    """The largest values of each worker's vector, the others as zero.

    ``density``: share of the values that is kept, rounded up; of equal magnitudes those that come first. Or
    ``threshold``: all values from this magnitude on; None for the density. ``codec``: ``"auto"``, ``"sketch"`` or
    ``"union"``, which sums them, exactly. What was not kept is the residual: use it with error feedback
    (:class:`lanesum.codecs.error_feedback.ErrorFeedback`, the hook's, or a policy's), or it is lost.
    """

    name = "topk"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(needs_all_workers=True, depends_on_past_sums=True, stateful=True)

    def __init__(
        self, *, workers: int, density: float = 0.01, threshold: float | None = None, codec: str = "auto"
    ) -> None:
        if not 0 < density <= 1:
            raise ConfigurationError(f"A density of {density} keeps nothing or too much.", "Give 0 < density <= 1.")
        if threshold is not None and not 0 < threshold < math.inf:
            raise ConfigurationError(f"A threshold of {threshold} is not a magnitude.", "Give a number above 0.")
        if codec not in _INNER:
            raise ConfigurationError(f"{codec!r} sums no sparse vectors.", f"Use one of {', '.join(_INNER)}.")
        self.codec = _INNER[codec](workers=workers)
        self.workers = workers
        self.density = density
        self.threshold = threshold

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`; what a worker keeps is its own business."""
        return f"{self.name} {self.codec.describe()}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Rounds of the codec inside."""
        return self.codec.shapes(size)

    def kept(self, x: Vector) -> NDArray[np.bool_]:
        """Which values of ``x`` (float32, finite) are sent."""
        mask = np.empty(x.size, np.bool_)
        if self.threshold is not None:
            kernels().not_below(x, max(1, int(np.float32(self.threshold).view(np.uint32))), mask.view(np.uint8))
        else:
            kernels().largest(x, math.ceil(x.size * self.density), mask.view(np.uint8))
        return mask

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: the rounds of the codec inside."""
        vector = checked_vector(x, context, self.workers)
        if vector.size:
            magnitude = np.empty(1, np.uint32)
            kernels().magnitudes(vector, vector.size, magnitude)
            if magnitude[0] >= INFINITY_BITS:
                refuse_not_finite(vector, context)
        mask = self.kept(vector)
        result: Result = yield from self.codec.all_reduce(np.where(mask, vector, np.float32(0)), context)
        if result.residual is None:
            return result
        return replace(result, residual=np.where(mask, result.residual, vector))

    def state_dict(self) -> dict[str, Any]:
        """That of the codec inside."""
        return self.codec.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """That of the codec inside."""
        self.codec.load_state_dict(state)


register("topk", TopK)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``topk``: only the largest values of a vector, summed by one of the sparse codecs.

The switch sums the sparse vectors. So the words of a worker depend on the union of all selections, not on the number of
workers. An all-gather would send the values and positions of each worker to all workers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Result, RoundShape, Steps, Vector
from lanesum.codecs.checks import checked_vector, refuse_not_finite
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.kernels.reference import INFINITY_BITS
from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.methods import Auto, Sketch, Union
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError

_INNER: dict[str, type[SparseCodec]] = {"auto": Auto, "sketch": Sketch, "union": Union}


class TopK:
    """Largest values of each worker's vector; all others count as zero.

    ``density``: share of the values that is sent, rounded up; of equal magnitudes the first ones. ``threshold``: send
    all values of at least this magnitude instead; None for the density. ``codec``: ``"auto"``, ``"sketch"`` or
    ``"union"``, which sums the values. The other values are the residual. Use error feedback, or they are lost:
    :class:`lanesum.codecs.error_feedback.ErrorFeedback`, that of the DDP hook, or that of a policy.
    """

    name = "topk"
    code_table: NDArray[np.uint8] | None = None
    traits = CodecTraits(needs_all_workers=True, depends_on_past_sums=True, stateful=True)

    def __init__(
        self, *, workers: int, density: float = 0.01, threshold: float | None = None, codec: str = "auto"
    ) -> None:
        if not 0 < density <= 1:
            raise ConfigurationError(f"Invalid density={density} for codec topk: expected 0 < density <= 1.")
        if threshold is not None and not 0 < threshold < math.inf:
            raise ConfigurationError(f"Invalid threshold={threshold} for codec topk: expected a number above 0.")
        if codec not in _INNER:
            raise ConfigurationError(f"Invalid codec={codec!r} for codec topk: expected one of {', '.join(_INNER)}.")
        self.codec = _INNER[codec](workers=workers)
        self.workers = workers
        self.density = density
        self.threshold = threshold

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`. The selection does not change the meaning of words."""
        return f"{self.name} {self.codec.describe()}"

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        """Return the rounds of the inner codec."""
        return self.codec.shapes(size)

    def kept(self, x: Vector) -> NDArray[np.bool_]:
        """Return a mask of the values of ``x`` (float32, finite) that are sent."""
        mask = np.empty(x.size, np.bool_)
        if self.threshold is not None:
            kernels().not_below(x, max(1, int(np.float32(self.threshold).view(np.uint32))), mask.view(np.uint8))
        else:
            kernels().largest(x, math.ceil(x.size * self.density), mask.view(np.uint8))
        return mask

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        """See :meth:`lanesum.codecs.base.Codec.all_reduce`: the rounds of the inner codec."""
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
        """Return the state of the inner codec."""
        return self.codec.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state of the inner codec."""
        self.codec.load_state_dict(state)


register("topk", TopK)

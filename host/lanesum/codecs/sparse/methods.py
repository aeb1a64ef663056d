# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse codecs by their method: ``sketch``, ``union``, ``auto``, which takes the cheapest, and ``topk``."""

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
from lanesum.codecs.sparse.plan import Placement, SparseMethod
from lanesum.codecs.traits import CodecTraits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import WORD_BITS


class Sketch(SparseCodec):
    """Signed count sketch over blocks, with three distinct cells per block, and the index of the union.

    ``block``: values of a block, a power of two up to 1,024; None for the fewest words, by the density of the last
    sums. ``placement``: of the cells of a key; see :class:`lanesum.codecs.sparse.hashing.Cells` and
    :func:`lanesum.codecs.sparse.plan.cells_for`.

    Sizes come from the last unions of the same tensor. The first all-reduce of a tensor is that of ``union``. If the
    sketch would be larger than the tensor, the tensor is sent as by ``fixed``.
    """

    name = "sketch"
    _methods = (SparseMethod.SKETCH,)

    def __init__(self, *, workers: int, block: int | None = None, placement: Placement = "best") -> None:
        super().__init__(workers=workers, block=block, placement=placement)


class Union(SparseCodec):
    """Compaction in two rounds: the index of the union of all workers' blocks, then the values of its blocks.

    It sends fewer words than ``sketch``, in one more round trip. ``block``: see ``sketch``. If the union covers most of
    the tensor, the tensor is sent as by ``fixed``.
    """

    name = "union"
    _methods = (SparseMethod.UNION,)

    def __init__(self, *, workers: int, block: int | None = None) -> None:
        super().__init__(workers=workers, block=block)


class Auto(SparseCodec):
    """Cheapest method for each tensor, by the density of its last sums; :meth:`choice` explains it.

    ``round_trip_bytes``: bandwidth-delay product of the slowest link. A sketch may send so many bytes more than
    ``union``, because it saves one round trip. ``block`` and ``placement``: see ``sketch``.
    """

    name = "auto"
    _methods = (SparseMethod.SKETCH, SparseMethod.UNION)

    def __init__(
        self, *, workers: int, block: int | None = None, placement: Placement = "best", round_trip_bytes: int = 1 << 16
    ) -> None:
        if round_trip_bytes < 0:
            raise ConfigurationError(
                f"Invalid round_trip_bytes={round_trip_bytes} for codec auto: expected an integer from 0."
            )
        words = round_trip_bytes * 8 // WORD_BITS
        super().__init__(workers=workers, block=block, placement=placement, round_trip_words=words)
        self.round_trip_bytes = round_trip_bytes

    def describe(self) -> str:
        """See :meth:`lanesum.codecs.base.Codec.describe`."""
        return f"{super().describe()} round_trip_bytes={self.round_trip_bytes}"


register("sketch", Sketch)
register("union", Union)
register("auto", Auto)


_INNER: dict[str, type[SparseCodec]] = {"auto": Auto, "sketch": Sketch, "union": Union}


class TopK:
    """Largest values of each worker's vector; all others count as zero.

    The switch sums the sparse vectors. So the words of a worker depend on the union of all selections, not on the
    number of workers. An all-gather would send the values and positions of each worker to all workers.

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

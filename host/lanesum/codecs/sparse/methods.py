# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse codecs by their method: ``sketch``, ``union``, and ``auto``, which takes the cheapest."""

from __future__ import annotations

from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.plan import Placement, SparseMethod
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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``sketch``: index and values of a sparse tensor in one round trip."""

from __future__ import annotations

from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.plan import Method, Placement


class Sketch(SparseCodec):
    """Signed count sketch over blocks, with three distinct cells per block, and the index of the union.

    ``block``: values of a block, a power of two up to 1,024; None for the fewest words, by the density of the last
    sums. ``placement``: of the cells of a key; see :class:`lanesum.codecs.sparse.hashing.Cells` and
    :func:`lanesum.codecs.sparse.plan.cells_for`.

    Sizes come from the last unions of the same tensor. The first all-reduce of a tensor is that of ``union``. If the
    sketch would be larger than the tensor, the tensor is sent as by ``fixed``.
    """

    name = "sketch"
    _methods = (Method.SKETCH,)

    def __init__(self, *, workers: int, block: int | None = None, placement: Placement = "best") -> None:
        super().__init__(workers=workers, block=block, placement=placement)


register("sketch", Sketch)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``union``: the index of a sparse tensor first, then the values of the union, and nothing else."""

from __future__ import annotations

from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.plan import Method


class Union(SparseCodec):
    """Two-round compaction: once all workers know the union of their blocks, they send the values of its blocks only.

    Fewer words than ``sketch``, one round trip more. ``block`` as there. Where the union is most of the tensor, the
    tensor is sent as by ``fixed``.
    """

    name = "union"
    _methods = (Method.UNION,)

    def __init__(self, *, workers: int, block: int | None = None) -> None:
        super().__init__(workers=workers, block=block)


register("union", Union)

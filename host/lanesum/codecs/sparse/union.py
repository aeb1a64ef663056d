# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``union``: the index of a sparse tensor first, then only the values of the union."""

from __future__ import annotations

from lanesum.codecs.registry import register
from lanesum.codecs.sparse.engine import SparseCodec
from lanesum.codecs.sparse.plan import Method


class Union(SparseCodec):
    """Compaction in two rounds: the index of the union of all workers' blocks, then the values of its blocks.

    It sends fewer words than ``sketch``, in one more round trip. ``block``: see ``sketch``. If the union covers most of
    the tensor, the tensor is sent as by ``fixed``.
    """

    name = "union"
    _methods = (Method.UNION,)

    def __init__(self, *, workers: int, block: int | None = None) -> None:
        super().__init__(workers=workers, block=block)


register("union", Union)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs for sparse tensors: ``sketch``, ``union``, ``auto`` and ``topk``."""

from lanesum.codecs.sparse.auto import Auto
from lanesum.codecs.sparse.engine import Choice, SparseCodec
from lanesum.codecs.sparse.sketch import Sketch
from lanesum.codecs.sparse.topk import TopK
from lanesum.codecs.sparse.union import Union

__all__ = ["Auto", "Choice", "Sketch", "SparseCodec", "TopK", "Union"]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Codecs for sparse tensors: ``sketch``, ``union``, ``auto`` and ``topk``."""

from lanesum.codecs.sparse.engine import Choice, SparseCodec
from lanesum.codecs.sparse.methods import Auto, Sketch, TopK, Union

__all__ = ["Auto", "Choice", "Sketch", "SparseCodec", "TopK", "Union"]

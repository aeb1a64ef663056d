# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors (COO), such as the gradients of ``nn.Embedding(sparse=True)``, as rows."""

from __future__ import annotations

import math

import numpy as np
import torch

from lanesum.codecs.sparse.rows import RowUnion


class SparseRows:
    """Rows of a COO tensor of float32. Its sparse dimensions together number the rows, its dense ones form a row.

    Attributes:
        values: all rows, one after the other, on the device of the tensor.
        codec: sums them over the workers.
    """

    def __init__(self, tensor: torch.Tensor, workers: int) -> None:
        tensor = tensor.coalesce()
        self._shape = tensor.shape
        self._sparse, self._dense = tensor.shape[: tensor.sparse_dim()], tensor.shape[tensor.sparse_dim() :]
        self.values = tensor.values().reshape(-1)
        # The indices of a coalesced tensor are distinct and in the order of these numbers.
        rows = np.ravel_multi_index(tuple(tensor.indices().cpu().numpy()), self._sparse)
        self.codec = RowUnion(
            rows.astype(np.int64), num_rows=math.prod(self._sparse), width=math.prod(self._dense), workers=workers
        )

    def tensor(self, values: torch.Tensor, *, not_finite: bool = False) -> torch.Tensor:
        """Return the sum, a coalesced COO tensor of the rows of all workers; with ``not_finite``, of NaN."""
        indices = torch.from_numpy(np.stack(np.unravel_index(self.codec.union, self._sparse))).to(values.device)
        if not_finite:  # the values are as many as those of this worker
            values = values.new_full((self.codec.union.size * math.prod(self._dense),), math.nan)
        rows = values.view(self.codec.union.size, *self._dense)
        return torch.sparse_coo_tensor(indices, rows, self._shape, is_coalesced=True, check_invariants=False)

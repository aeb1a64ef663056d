# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse codecs on vectors of a device: values are processed there, index and plans on the host.

The bus carries the keys of this worker's blocks, the sketch or the values of the union in both directions, and the keys
of the union. It carries no vector of full length, unless the plan is to send the vector dense.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Round, RoundPieces, Words, always, round_in_pieces
from lanesum.codecs.checks import refuse_not_finite
from lanesum.codecs.kernels.reference import INFINITY_BITS
from lanesum.codecs.sparse import device_loops as loops
from lanesum.codecs.sparse.all_reduce import SparseReduction
from lanesum.codecs.sparse.plan import BLOCKS, SparsePlan
from lanesum.gpu.availability import require
from lanesum.gpu.staging import StreamEvent, staging_for, to_host
from lanesum.protocol.lanes import LaneOp

# Words of values that are copied, sent and decoded at once.
_PIECE = 1 << 18


class DeviceReduction(SparseReduction):
    """All-reduce of a tensor that ``lanesum.codecs.tensors.checked_tensor`` has returned; its result has tensors."""

    def __init__(self, vector: Any, context: CodecContext, plan: SparsePlan, exponent: int | None, peak: int) -> None:
        require(vector.device)
        self._tensor: torch.Tensor = vector
        self._staging = staging_for(self._tensor.device)
        self._sketch_copied: StreamEvent | None = None
        self._device_keys: torch.Tensor | None = None
        super().__init__(vector, context, plan, exponent, peak)

    def _scan(self) -> tuple[NDArray[np.uint32], int]:
        with self._staging.stream():
            self._own_keys, largest = loops.nonzero_blocks(self._tensor, self._plan.block)
            if largest >= INFINITY_BITS:
                refuse_not_finite(to_host(self._tensor), self._context)
            return to_host(self._own_keys).view(np.uint32), largest

    def _words(self, size: int) -> tuple[torch.Tensor, Words]:
        pinned = self._staging.empty_pinned(size, torch.int32)
        return pinned, pinned.numpy().view(np.uint32)

    def _new_cells(self, words: int) -> Words:
        """Launch the sketch and its copy to the host; the host makes the index meanwhile."""
        pinned, cells = self._words(words)
        if self._expected is not None:
            with self._staging.stream():
                sketch = loops.insert(
                    self._tensor, self._own_keys, self._plan.block, self._expected, self._peak, self._sketch_seed,
                    self._plan.cells,
                )  # fmt: skip
                self._sketch_copied = self._staging.copy_to_host(sketch, pinned)
        return cells

    def _encode_cells(self, _: int) -> None:
        assert self._sketch_copied is not None
        self._sketch_copied.synchronize()

    def _find_order(self) -> None:
        with self._staging.stream():
            self._order, left = loops.peeling_order(self._all_keys, self._sketch_seed, self._plan.cells)
            self._missing = to_host(left.to(torch.int32)).view(np.uint32)

    @property
    def _all_keys(self) -> torch.Tensor:
        """Keys of the union, on the device."""
        if self._device_keys is None:
            with self._staging.stream():
                self._device_keys = self._staging.copy_to_device(self._keys.view(np.int32))
        return self._device_keys

    def _read(self, cells: Words) -> torch.Tensor:
        with self._staging.stream():
            return loops.peel(self._order, self._plan.block, self._staging.copy_to_device(cells.view(np.int32)))

    def _value_pieces(self, keys: NDArray[np.uint32], exponent: int) -> Round:
        """Launch the kernels and copies of all pieces; each piece is waited for before it is sent."""
        block, staging = self._plan.block, self._staging
        pinned, words = self._words(keys.size * block)
        step = max(1, _PIECE // block)
        parts = [slice(start, min(keys.size, start + step)) for start in range(0, keys.size, step)]
        copied = []
        with staging.stream():
            device_keys = staging.copy_to_device(keys.view(np.int32))
            self._sums = torch.empty(words.size, dtype=torch.int32, device=self._tensor.device)
            for part in parts:
                integers = loops.gather_integers(self._tensor, device_keys[part], block, exponent, self._peak)
                copied.append(staging.copy_to_host(integers, pinned[part.start * block : part.stop * block]))

        def encode(number: int) -> None:
            copied[number].synchronize()

        def decode(number: int, sums: Words) -> None:
            part = parts[number]
            with staging.stream():
                target = self._sums[part.start * block : part.stop * block]
                self._scatter_to(staging.copy_to_device(sums.view(np.int32), target), device_keys[part], exponent)

        pieces = RoundPieces(encode, decode, [part.stop * block for part in parts], LaneOp.ADD32.shape)
        prepare = partial(self._prepare, exponent)
        return round_in_pieces(self._context, LaneOp.ADD32, words, "values", pieces, prepare, always)

    def _prepare(self, exponent: int) -> None:
        with self._staging.stream():
            if self._values is None:
                self._values = torch.zeros(self._size, dtype=torch.float32, device=self._tensor.device)
            if self._context.keep_residual and (self._residual is None or self._residual[0] != exponent):
                left = loops.residual(self._tensor, self._own_keys, self._plan.block, exponent, self._peak)
                self._residual = exponent, left

    def _scatter(self, sums: NDArray[np.uint32] | torch.Tensor, keys: NDArray[np.uint32], exponent: int) -> None:
        with self._staging.stream():
            if isinstance(sums, np.ndarray):
                sums = self._sums = self._staging.copy_to_device(sums.view(np.int32))
            same = keys.size == self._keys.size
            device_keys = self._all_keys if same else self._staging.copy_to_device(keys.view(np.int32))
            self._scatter_to(sums, device_keys, exponent)

    def _scatter_to(self, sums: torch.Tensor, keys: torch.Tensor, exponent: int) -> None:
        self._prepare(exponent)
        loops.scatter_floats(sums, keys, self._plan.block, exponent, self._context.divisor, self._values)

    def _with_missing(self, sums: torch.Tensor | None, words: Words) -> torch.Tensor:
        """Return the sums of all keys; ``words``, of the missing ones, are on the device since they were scattered."""
        if sums is None:
            return self._sums if words.size else torch.empty(0, dtype=torch.int32, device=self._tensor.device)
        with self._staging.stream():
            at = self._staging.copy_to_device(self._missing.astype(np.int64))
            sums.view(-1, self._plan.block)[at] = self._sums.view(-1, self._plan.block)
        return sums

    def _count(self, sums: torch.Tensor) -> list[int]:
        with self._staging.stream():
            return loops.count_blocks(sums, self._all_keys, self._plan.block, len(BLOCKS))

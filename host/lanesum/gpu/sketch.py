# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse codecs on vectors of a device: what looks at values is done there, index and plans on the host.

Across the bus go the keys of this worker's blocks, the sketch or the values of the union, there and back, and the keys
of the union: no vector of full length, unless the plan is to send all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.aggregation.pieces import RoundPieces
from lanesum.codecs.base import CodecContext, Result, Round, Steps, Words, always, refuse_not_finite
from lanesum.codecs.sparse.all_reduce import INFINITY_BITS, SparseReduction
from lanesum.codecs.sparse.plan import BLOCKS, Plan
from lanesum.gpu import sketch_loops as loops
from lanesum.gpu.availability import require
from lanesum.gpu.staging import Mark, on_host, staging
from lanesum.gpu.tensors import checked_tensor, on_host_instead
from lanesum.protocol.lanes import LaneOp

if TYPE_CHECKING:
    from lanesum.codecs.sparse.engine import SparseCodec

# Words of values that are fetched, sent and used at once.
_PIECE = 1 << 18


def all_reduce(codec: SparseCodec, x: torch.Tensor, context: CodecContext) -> Steps:
    """``codec``'s, of a tensor (float32, contiguous, one dimension) of a device."""
    x = checked_tensor(x, context, codec.workers)
    planned = codec.planned_blocks(context, x.numel())
    if planned is None:
        staged: Result = yield from on_host_instead(codec, x, context)
        return staged
    require(x.device)
    result: Result = yield from codec.by_blocks(DeviceReduction, x, x.numel(), *planned, context)
    return result


class DeviceReduction(SparseReduction):
    """Of one vector of a device; its result has tensors."""

    def __init__(self, vector: Any, context: CodecContext, plan: Plan, exponent: int | None, peak: int) -> None:
        self._staging = staging(vector.device)
        self._sketched: Mark | None = None
        self._all: torch.Tensor | None = None
        super().__init__(vector, context, plan, exponent, peak)

    def _scan(self) -> tuple[NDArray[np.uint32], int]:
        with self._staging.stream():
            self._own_keys, largest = loops.nonzero_blocks(self._vector, self._plan.block)
            if largest >= INFINITY_BITS:
                refuse_not_finite(on_host(self._vector), self._context)
            return on_host(self._own_keys).view(np.uint32), largest

    def _words(self, size: int) -> tuple[torch.Tensor, Words]:
        pinned = self._staging.pinned(size, torch.int32)
        return pinned, pinned.numpy().view(np.uint32)

    def _new_cells(self, words: int) -> Words:
        """The sketch is on its way here while the index is made."""
        pinned, cells = self._words(words)
        if self._expected is not None:
            with self._staging.stream():
                sketch = loops.insert(
                    self._vector, self._own_keys, self._plan.block, self._expected, self._peak, self._sketch_seed,
                    self._plan.cells,
                )  # fmt: skip
                self._sketched = self._staging.fetch(sketch, pinned)
        return cells

    def _encode_cells(self, _: int) -> None:
        assert self._sketched is not None
        self._sketched.wait()

    def _find_order(self) -> None:
        with self._staging.stream():
            self._order, left = loops.peeling_order(self._all_keys, self._sketch_seed, self._plan.cells)
            self._missing = on_host(left.to(torch.int32)).view(np.uint32)

    @property
    def _all_keys(self) -> torch.Tensor:
        """Of the union, on the device."""
        if self._all is None:
            with self._staging.stream():
                self._all = self._staging.put(self._keys.view(np.int32))
        return self._all

    def _read(self, cells: Words) -> torch.Tensor:
        with self._staging.stream():
            return loops.peel(self._order, self._plan.block, self._staging.put(cells.view(np.int32)))

    def _value_pieces(self, keys: NDArray[np.uint32], exponent: int) -> Round:
        """All pieces' kernels and copies are launched here; a piece is waited for before it is sent."""
        block, own = self._plan.block, self._staging
        pinned, words = self._words(keys.size * block)
        step = max(1, _PIECE // block)
        parts = [slice(start, min(keys.size, start + step)) for start in range(0, keys.size, step)]
        marks = []
        with own.stream():
            there = own.put(keys.view(np.int32))
            self._sums = torch.empty(words.size, dtype=torch.int32, device=self._vector.device)
            for of in parts:
                integers = loops.gather_integers(self._vector, there[of], block, exponent, self._peak)
                marks.append(own.fetch(integers, pinned[of.start * block : of.stop * block]))

        def encode(number: int) -> None:
            marks[number].wait()

        def decode(number: int, sums: Words) -> None:
            of = parts[number]
            with own.stream():
                put = own.put(sums.view(np.int32), self._sums[of.start * block : of.stop * block])
                self._scatter_to(put, there[of], exponent)

        pieces = RoundPieces(encode, decode, [of.stop * block for of in parts], LaneOp.ADD32.shape)
        prepare: Callable[[], None] = lambda: self._prepare(exponent)  # noqa: E731
        return self._round(LaneOp.ADD32, words, "values", pieces, prepare, always)

    def _prepare(self, exponent: int) -> None:
        with self._staging.stream():
            if self._values is None:
                self._values = torch.zeros(self._size, dtype=torch.float32, device=self._vector.device)
            if self._context.keep_residual and (self._said is None or self._said[0] != exponent):
                left = loops.residual(self._vector, self._own_keys, self._plan.block, exponent, self._peak)
                self._said = exponent, left

    def _scatter(self, sums: Any, keys: NDArray[np.uint32], exponent: int) -> None:
        with self._staging.stream():
            if isinstance(sums, np.ndarray):
                sums = self._staging.put(sums.view(np.int32))
                self._sums = sums
            there = self._all_keys if keys.size == self._keys.size else self._staging.put(keys.view(np.int32))
            self._scatter_to(sums, there, exponent)

    def _scatter_to(self, sums: torch.Tensor, keys: torch.Tensor, exponent: int) -> None:
        self._prepare(exponent)
        divisor = self._context.workers if self._context.average else 1
        loops.scatter_floats(sums, keys, self._plan.block, exponent, divisor, self._values)

    def _with_missing(self, sums: Any, words: Words) -> torch.Tensor:
        """The words are on the device already, since they were scattered there."""
        if sums is None:
            return self._sums if words.size else torch.empty(0, dtype=torch.int32, device=self._vector.device)
        with self._staging.stream():
            at = self._staging.put(self._missing.astype(np.int64))
            sums.view(-1, self._plan.block)[at] = self._sums.view(-1, self._plan.block)
        return sums

    def _count(self, sums: torch.Tensor) -> list[int]:
        with self._staging.stream():
            return loops.count_blocks(sums, self._all_keys, self._plan.block, len(BLOCKS))

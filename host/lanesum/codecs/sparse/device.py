# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse codecs on vectors of a device: values are processed there, index and plans on the host.

The bus carries the keys of this worker's blocks, the sketch or the values of the union in both directions, and the keys
of the union. It carries no vector of full length, unless the plan is to send the vector dense.

The functions launch loops in the current stream. They correspond to :mod:`lanesum.codecs.sparse.reference`, but return
new tensors. Keys are int32 with the bits of uint32, words are int32, and the order of peeling has levels that the
device finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lanesum.codecs.base import CodecContext, Round, RoundPieces, Words, always, round_in_pieces
from lanesum.codecs.checks import refuse_not_finite
from lanesum.codecs.kernels.device import keys as halves
from lanesum.codecs.kernels.reference import INFINITY_BITS
from lanesum.codecs.sparse import device_kernels as kernels
from lanesum.codecs.sparse.all_reduce import SparseReduction
from lanesum.codecs.sparse.hashing import Cells
from lanesum.codecs.sparse.plan import BLOCKS, SparsePlan
from lanesum.gpu.availability import require
from lanesum.gpu.staging import StreamEvent, staging_for, to_host
from lanesum.protocol.lanes import LaneOp

# Values of a program; also its keys, in kernels that read no values.
_PROGRAM = 1024
# Levels launched before the host checks that they were enough; each time it launches twice as many.
_LEVELS = 8
# Maximum number of elements that torch.nonzero accepts.
_MAX_NONZERO = 1 << 30
# No FMA: products and sums are rounded separately, as in NumPy.
_OPTIONS: dict[str, Any] = {"enable_fp_fusion": False}


@dataclass(frozen=True, slots=True)
class DeviceOrder:
    """Order of peeling.

    Attributes:
        placed: three cells and the signs of each key, int32.
        order: level and pivot of each key, int32; -1 for a key that cannot be read.
    """

    placed: torch.Tensor
    order: torch.Tensor
    levels: int


def nonzero_blocks(values: torch.Tensor, block: int) -> tuple[torch.Tensor, int]:
    """Return the keys of blocks with a nonzero value, and the bits of the largest magnitude; the thread waits."""
    blocks = -(-values.numel() // block)
    flags = torch.empty(blocks, dtype=torch.uint8, device=values.device)
    largest = torch.zeros(1, dtype=torch.int32, device=values.device)
    grid, shape = _launch(blocks, block)
    kernels.nonzero_blocks[grid](values, values.numel(), blocks, flags, largest, **shape, **_OPTIONS)
    keys = _nonzero(flags).to(torch.int32)
    return keys, int(largest.item())


def gather_integers(
    values: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, peak: int, integers: torch.Tensor | None = None
) -> torch.Tensor:
    """Return the blocks of ``keys`` in units of ``2**exponent``."""
    if integers is None:
        integers = torch.empty(keys.numel() * block, dtype=torch.int32, device=keys.device)
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.gather_integers[grid](
            values, values.numel(), keys, keys.numel(), exponent, peak, integers, **shape, **_OPTIONS
        )
    return integers


def insert(
    values: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, peak: int, seed: int, cells: Cells
) -> torch.Tensor:
    """Return a sketch of the blocks of ``keys``, in units of ``2**exponent``."""
    sketch = torch.zeros(cells.count * block, dtype=torch.int32, device=keys.device)
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.insert[grid](
            values, values.numel(), keys, keys.numel(), exponent, peak, *halves(seed), cells.count, cells.segment,
            sketch, **shape, **_OPTIONS,
        )  # fmt: skip
    return sketch


def peeling_order(keys: torch.Tensor, seed: int, cells: Cells) -> tuple[DeviceOrder, torch.Tensor]:
    """Return the order in which keys can be read from a sketch of all of them, and the indices of those that cannot.

    The thread waits once for every few levels.
    """
    count = keys.numel()
    placed = torch.empty(count * 4, dtype=torch.int32, device=keys.device)
    order = torch.full((count,), -1, dtype=torch.int32, device=keys.device)
    degree = torch.zeros(cells.count, dtype=torch.int32, device=keys.device)
    levels = 0
    if count:
        grid = (-(-count // _PROGRAM),)
        kernels.place[grid](
            keys, count, *halves(seed), cells.count, cells.segment, placed, degree, KEYS=_PROGRAM, **_OPTIONS
        )
        launched, left = _LEVELS, count
        while True:
            removed = torch.zeros(levels + launched, dtype=torch.int32, device=keys.device)
            for level in range(levels, levels + launched):
                kernels.claim[grid](placed, count, degree, level, order, KEYS=_PROGRAM, **_OPTIONS)
                kernels.remove[grid](placed, count, degree, level, order, removed, KEYS=_PROGRAM, **_OPTIONS)
            found = [taken for taken in removed[levels:].tolist() if taken]
            levels += len(found)
            left -= sum(found)
            if not left or len(found) < launched:
                break
            launched *= 2
    return DeviceOrder(placed, order, levels), _nonzero(order < 0)


def peel(order: DeviceOrder, block: int, sketch: torch.Tensor) -> torch.Tensor:
    """Return the integers of all keys in a ``sketch``, which is overwritten; 0 for keys that cannot be read."""
    count = order.order.numel()
    integers = torch.zeros(count * block, dtype=torch.int32, device=sketch.device)
    grid, shape = _launch(count, block)
    for level in range(order.levels):
        kernels.peel[grid](order.placed, count, order.order, level, sketch, integers, **shape, **_OPTIONS)
    return integers


def scatter_floats(
    integers: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, divisor: int, values: torch.Tensor
) -> None:
    """Store the blocks of ``keys`` in ``values`` as floats."""
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.scatter_floats[grid](
            integers, keys, keys.numel(), values.numel(), exponent, divisor, values, **shape, **_OPTIONS
        )


def residual(values: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, peak: int) -> torch.Tensor:
    """Return ``values`` minus the integers, in units of ``2**exponent``, of the blocks of ``keys``."""
    left = values.clone()
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.subtract_decoded[grid](
            values, values.numel(), keys, keys.numel(), exponent, peak, left, **shape, **_OPTIONS
        )
    return left


def count_blocks(integers: torch.Tensor, keys: torch.Tensor, block: int, levels: int) -> list[int]:
    """Return the number of blocks of ``2**i`` values with a nonzero integer, for every ``i`` below ``levels``.

    The thread waits for the device.
    """
    found = _nonzero(integers)
    if not found.numel():
        return [0] * levels
    places = (keys.to(torch.int64) & 0xFFFFFFFF)[found // block] * block + found % block
    counts = [((places[1:] >> level) != (places[:-1] >> level)).sum() + 1 for level in range(levels)]
    return [int(count) for count in torch.stack(counts).tolist()]


def _nonzero(flags: torch.Tensor) -> torch.Tensor:
    """Return the indices of nonzero elements (int64, increasing); the thread waits for the device."""
    if flags.numel() <= _MAX_NONZERO:
        return torch.nonzero(flags).view(-1)
    pieces = range(0, flags.numel(), _MAX_NONZERO)
    return torch.cat([torch.nonzero(flags[first : first + _MAX_NONZERO]).view(-1) + first for first in pieces])


def _launch(keys: int, block: int) -> tuple[Callable[[Any], tuple[int]] | tuple[int], dict[str, int]]:
    """Return the grid of a kernel, and its compile-time constants."""
    each = max(1, _PROGRAM // block)
    return (-(-keys // each),), {"KEYS": each, "BLOCK": block}


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
            self._own_keys, largest = nonzero_blocks(self._tensor, self._plan.block)
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
                sketch = insert(
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
            self._order, left = peeling_order(self._all_keys, self._sketch_seed, self._plan.cells)
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
            return peel(self._order, self._plan.block, self._staging.copy_to_device(cells.view(np.int32)))

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
                integers = gather_integers(self._tensor, device_keys[part], block, exponent, self._peak)
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
                left = residual(self._tensor, self._own_keys, self._plan.block, exponent, self._peak)
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
        scatter_floats(sums, keys, self._plan.block, exponent, self._context.divisor, self._values)

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
            return count_blocks(sums, self._all_keys, self._plan.block, len(BLOCKS))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loops of the sparse codecs on tensors of a device, launched in the current stream.

They correspond to :mod:`lanesum.codecs.sparse.reference`, but return new tensors. Keys are int32 with the bits of
uint32, words are int32, and the order of peeling has levels that the device finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from lanesum.codecs.kernels.device import keys as halves
from lanesum.codecs.sparse import device_kernels as kernels
from lanesum.codecs.sparse.hashing import Cells

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

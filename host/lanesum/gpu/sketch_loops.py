# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The sparse codecs' loops on tensors of a device, launched in the current stream.

As :mod:`lanesum.codecs.sparse.reference`, but what they make is new, keys are int32 with the bits of uint32, words
int32, and the order of peeling goes by levels that the device finds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from lanesum.codecs.sparse.hashing import Cells
from lanesum.gpu import sketch_kernels as kernels
from lanesum.gpu.philox import keys as halves

# Values that a program has; as many keys where no values are looked at.
_PROGRAM = 1024
# Levels that are launched before the host looks whether that was enough; more are launched at once each time.
_LEVELS = 8
# PyTorch looks at so many elements at once, and no more.
_MOST = 1 << 30
# No FMA: what NumPy rounds twice is rounded twice.
_OPTIONS: dict[str, Any] = {"enable_fp_fusion": False}


@dataclass(frozen=True, slots=True)
class DeviceOrder:
    """What ``peeling_order`` found: cells and signs of all keys, level and pivot of those that can be read (-1 where
    they cannot), and how many levels there are."""

    placed: torch.Tensor
    order: torch.Tensor
    levels: int


def nonzero_blocks(values: torch.Tensor, block: int) -> tuple[torch.Tensor, int]:
    """Keys of blocks with a value other than zero, and the bits of the largest magnitude. The thread waits for them."""
    blocks = -(-values.numel() // block)
    flags = torch.empty(blocks, dtype=torch.uint8, device=values.device)
    largest = torch.zeros(1, dtype=torch.int32, device=values.device)
    grid, shape = _launch(blocks, block)
    kernels.nonzero_blocks[grid](values, values.numel(), blocks, flags, largest, **shape, **_OPTIONS)
    keys = _places(flags).to(torch.int32)
    return keys, int(largest.item())


def gather_integers(
    values: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, peak: int, integers: torch.Tensor | None = None
) -> torch.Tensor:
    """The blocks of ``keys`` in units of ``2**exponent``."""
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
    """A sketch of the blocks of ``keys``, in units of ``2**exponent``."""
    sketch = torch.zeros(cells.count * block, dtype=torch.int32, device=keys.device)
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.insert[grid](
            values, values.numel(), keys, keys.numel(), exponent, peak, *halves(seed), cells.count, cells.segment,
            sketch, **shape, **_OPTIONS,
        )  # fmt: skip
    return sketch


def peeling_order(keys: torch.Tensor, seed: int, cells: Cells) -> tuple[DeviceOrder, torch.Tensor]:
    """Which keys can be read from a sketch of all of them, level by level; and the places of those that cannot,
    increasing. The thread waits for every few levels."""
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
    return DeviceOrder(placed, order, levels), _places(order < 0)


def peel(order: DeviceOrder, block: int, sketch: torch.Tensor) -> torch.Tensor:
    """Take all keys out of a ``sketch``, which is overwritten: their integers, 0 for those that cannot be read."""
    count = order.order.numel()
    integers = torch.zeros(count * block, dtype=torch.int32, device=sketch.device)
    grid, shape = _launch(count, block)
    for level in range(order.levels):
        kernels.peel[grid](order.placed, count, order.order, level, sketch, integers, **shape, **_OPTIONS)
    return integers


def scatter_floats(
    integers: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, divisor: int, values: torch.Tensor
) -> None:
    """The blocks of ``keys``, as floats, to their places in ``values``."""
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.scatter_floats[grid](
            integers, keys, keys.numel(), values.numel(), exponent, divisor, values, **shape, **_OPTIONS
        )


def residual(values: torch.Tensor, keys: torch.Tensor, block: int, exponent: int, peak: int) -> torch.Tensor:
    """What integers in units of ``2**exponent`` of the blocks of ``keys`` do not say of ``values``."""
    left = values.clone()
    if keys.numel():
        grid, shape = _launch(keys.numel(), block)
        kernels.subtract_said[grid](
            values, values.numel(), keys, keys.numel(), exponent, peak, left, **shape, **_OPTIONS
        )
    return left


def count_blocks(integers: torch.Tensor, keys: torch.Tensor, block: int, levels: int) -> list[int]:
    """How many blocks of ``2**i`` values have an integer other than zero, for every ``i`` below ``levels``. The thread
    waits for them."""
    found = _places(integers)
    if not found.numel():
        return [0] * levels
    places = (keys.to(torch.int64) & 0xFFFFFFFF)[found // block] * block + found % block
    counts = [((places[1:] >> level) != (places[:-1] >> level)).sum() + 1 for level in range(levels)]
    return [int(count) for count in torch.stack(counts).tolist()]


def _places(of: torch.Tensor) -> torch.Tensor:
    """Where it is not zero (int64), increasing. The thread waits for them."""
    if of.numel() <= _MOST:
        return torch.nonzero(of).view(-1)
    pieces = range(0, of.numel(), _MOST)
    return torch.cat([torch.nonzero(of[first : first + _MOST]).view(-1) + first for first in pieces])


def _launch(keys: int, block: int) -> tuple[Callable[[Any], tuple[int]] | tuple[int], dict[str, int]]:
    """Programs, and what is fixed when they are compiled."""
    each = max(1, _PROGRAM // block)
    return (-(-keys // each),), {"KEYS": each, "BLOCK": block}

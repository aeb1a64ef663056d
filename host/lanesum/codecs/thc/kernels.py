# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc``: the native extension where it is installed, else :mod:`lanesum.codecs.thc.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Protocol, cast

from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.dispatch import threads
from lanesum.codecs.kernels.interface import Floats, Rotation
from lanesum.codecs.thc import reference
from lanesum.codecs.thc.dither import DitherSum, Rounding, SharedDithers


class BlockKernels(Protocol):
    """Kernels on runs of blocks; :mod:`lanesum.codecs.thc.reference` documents each of them."""

    def encode_blocks(
        self,
        values: Floats,
        powers: Floats,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        rounding: Rounding,
        words: Words,
        places: Words | None = None,
    ) -> None: ...
    def estimate_blocks(
        self, lanes: Words, lane_bits: int, block: int, dithers: SharedDithers, taken: DitherSum, out: Floats
    ) -> None: ...
    def restore_blocks(self, rotated: Floats, factors: Floats, rotation: Rotation, out: Floats) -> None: ...
    def decode_blocks(
        self,
        lanes: Words,
        lane_bits: int,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        taken: DitherSum,
        out: Floats,
        places: Words | None = None,
    ) -> None: ...
    def residual_blocks(
        self,
        values: Floats,
        codes: Words,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        rounding: Rounding,
        out: Floats,
        places: Words | None = None,
    ) -> None: ...


def block_kernels() -> BlockKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.kernels`."""
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: BlockKernels = reference if core is None else native_blocks(core, threads())
    return loops


@functools.cache
def native_blocks(core: ModuleType, num_threads: int) -> BlockKernels:
    """Return the native kernels for this processor."""
    return cast(BlockKernels, core.BlockKernels(threads=num_threads))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of ``thc``: the native extension where it is installed, else :mod:`lanesum.codecs.thc.reference`.

The conventions are those of :mod:`lanesum.codecs.kernels.dispatch`.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Protocol, cast

from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.arguments import Rotation
from lanesum.codecs.kernels.interface import Floats
from lanesum.codecs.kernels.threaded import in_parts, threads
from lanesum.codecs.thc import reference
from lanesum.codecs.thc.dither import DitherSum, Rounding, SharedDithers
from lanesum.protocol.lanes import WORD_BITS, LaneOp


class BlockKernels(Protocol):
    """Kernels on runs of blocks; :mod:`lanesum.codecs.thc.reference` documents each of them."""

    def rotate_blocks(self, values: Floats, powers: Floats, rotation: Rotation, out: Floats) -> None: ...

    def quantize_blocks(
        self,
        rotated: Floats,
        factors: Floats,
        block: int,
        dithers: SharedDithers,
        rounding: Rounding,
        words: Words,
    ) -> None: ...

    def encode_blocks(
        self,
        values: Floats,
        powers: Floats,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        rounding: Rounding,
        words: Words,
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
    ) -> None: ...


def block_kernels() -> BlockKernels:
    """Return the kernels to use; see :func:`lanesum.codecs.kernels.dispatch.kernels`."""
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: BlockKernels = reference if core is None else native_blocks(core)
    return loops if threads() == 1 else cast(BlockKernels, ThreadedBlocks(loops))


@functools.cache
def native_blocks(core: ModuleType) -> BlockKernels:
    """Return the native kernels for this processor."""
    return cast(BlockKernels, core.BlockKernels())


class ThreadedBlocks:
    """``BlockKernels`` whose blocks are shared by threads."""

    def __init__(self, loops: BlockKernels) -> None:
        self._loops = loops

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loops, name)

    def rotate_blocks(self, values: Floats, powers: Floats, rotation: Rotation, out: Floats) -> None:
        block = rotation.block

        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            self._loops.rotate_blocks(values[of], powers[2 * first : 2 * stop], rotation, out[of])

        in_parts(values.size, block, work)

    def quantize_blocks(
        self,
        rotated: Floats,
        factors: Floats,
        block: int,
        dithers: SharedDithers,
        rounding: Rounding,
        words: Words,
    ) -> None:
        bits = LaneOp(rounding.op).shape.code_bits

        def work(first: int, stop: int) -> None:
            part = words[_words(first, stop, block, bits)]
            of = slice(first * block, stop * block)
            self._loops.quantize_blocks(rotated[of], factors[first:stop], block, dithers.after(first), rounding, part)

        in_parts(rotated.size, block, work)

    def encode_blocks(
        self,
        values: Floats,
        powers: Floats,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        rounding: Rounding,
        words: Words,
    ) -> None:
        block, bits = rotation.block, LaneOp(rounding.op).shape.code_bits

        def work(first: int, stop: int) -> None:
            self._loops.encode_blocks(
                values[first * block : stop * block],
                powers[2 * first : 2 * stop],
                factors[first:stop],
                rotation,
                dithers.after(first),
                rounding,
                words[_words(first, stop, block, bits)],
            )

        in_parts(values.size, block, work)

    def decode_blocks(
        self,
        lanes: Words,
        lane_bits: int,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        taken: DitherSum,
        out: Floats,
    ) -> None:
        block = rotation.block

        def work(first: int, stop: int) -> None:
            self._loops.decode_blocks(
                lanes[_words(first, stop, block, lane_bits)],
                lane_bits,
                factors[2 * first : 2 * stop],
                rotation,
                dithers.after(first),
                taken,
                out[first * block : stop * block],
            )

        in_parts(out.size, block, work)

    def residual_blocks(
        self,
        values: Floats,
        codes: Words,
        factors: Floats,
        rotation: Rotation,
        dithers: SharedDithers,
        rounding: Rounding,
        out: Floats,
    ) -> None:
        block, bits = rotation.block, LaneOp(rounding.op).shape.code_bits

        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            self._loops.residual_blocks(
                values[of],
                codes[_words(first, stop, block, bits)],
                factors[2 * first : 2 * stop],
                rotation,
                dithers.after(first),
                rounding,
                out[of],
            )

        in_parts(values.size, block, work)


def _words(first: int, stop: int, block: int, bits: int) -> slice:
    """Return the words of whole blocks; the last block may be shorter."""
    return slice(first * block * bits // WORD_BITS, stop * block * bits // WORD_BITS)

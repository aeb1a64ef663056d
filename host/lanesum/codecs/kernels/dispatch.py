# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Element loops of the codecs: the native extension where it is installed, else
:mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job need not have the same. All arrays have one dimension and are contiguous;
results go into arrays that the caller made. The compiled ones run without the GIL and may run in several threads at
once, on different results; ``LANESUM_THREADS`` has them do so (:mod:`lanesum.codecs.kernels.threaded`).
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.threaded import ThreadedBlocks, ThreadedKernels, threads
from lanesum.codecs.thc import reference as thc_reference

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.uint8]


class Kernels(Protocol):
    """What a set of loops has to have; :mod:`lanesum.codecs.kernels.reference` says what each of them does."""

    def square_sums(self, values: Floats, chunk: int, out: NDArray[np.float64]) -> None: ...

    def rotate(self, values: Floats, powers: tuple[float, float], signs: Words, block: int, out: Floats) -> None: ...

    def quantize(
        self,
        rotated: Floats,
        factor: float,
        cells: Words,
        seed: int,
        worker: int,
        round: int,
        chunk: int,
        words: Words,
    ) -> None: ...

    def decode(
        self,
        lanes: Words,
        offset: float,
        counts: Floats | None,
        average: bool,
        signs: Words,
        block: int,
        factors: tuple[float, float, float],
        limit: float,
        scratch: Floats,
        out: Floats,
    ) -> None: ...

    def residual(
        self,
        codes: Words,
        levels: Floats,
        included: NDArray[np.uint8] | None,
        signs: Words,
        block: int,
        factors: tuple[float, float, float],
        limit: float,
        values: Floats,
        scratch: Floats,
        out: Floats,
    ) -> None: ...

    def magnitudes(self, values: Floats, block: int, out: Words) -> None: ...

    def not_below(self, values: Floats, least: int, mask: Bytes) -> None: ...

    def largest(self, values: Floats, wanted: int, mask: Bytes) -> None: ...

    def to_integers(self, values: Floats, maxima: Floats, peak: float, block: int, out: NDArray[np.int32]) -> None: ...

    def from_integers(
        self,
        sums: NDArray[np.int32],
        maxima: Floats,
        peak: float,
        block: int,
        divisor: float,
        counts: NDArray[np.float64] | None,
        out: Floats,
    ) -> None: ...

    def integer_residual(
        self, values: Floats, integers: NDArray[np.int32], maxima: Floats, peak: float, block: int, out: Floats
    ) -> None: ...

    def sum_rows(self, rows: Floats, divisor: float, out: Floats) -> None: ...


class BlockKernels(Protocol):
    """Those of ``thc``, on runs of blocks; :mod:`lanesum.codecs.thc.reference` says what each of them does."""

    def rotate_blocks(self, values: Floats, powers: Floats, signs: Words, block: int, out: Floats) -> None: ...

    def quantize_blocks(
        self,
        rotated: Floats,
        block: int,
        factors: Floats,
        granularity: int,
        cells: Bytes,
        seed: int,
        round: int,
        first: int,
        offset: int,
        flip: int,
        op: int,
        words: Words,
    ) -> None: ...

    def encode_blocks(
        self,
        values: Floats,
        powers: Floats,
        signs: Words,
        block: int,
        factors: Floats,
        granularity: int,
        cells: Bytes,
        seed: int,
        round: int,
        first: int,
        offset: int,
        flip: int,
        op: int,
        words: Words,
    ) -> None: ...

    def estimate_blocks(
        self,
        lanes: Words,
        lane_bits: int,
        block: int,
        seed: int,
        round: int,
        first: int,
        multiplier: int,
        offsets: NDArray[np.uint16],
        sign: int,
        constant: int,
        out: Floats,
    ) -> None: ...

    def restore_blocks(self, rotated: Floats, signs: Words, block: int, factors: Floats, out: Floats) -> None: ...

    def decode_blocks(
        self,
        lanes: Words,
        lane_bits: int,
        signs: Words,
        block: int,
        factors: Floats,
        seed: int,
        round: int,
        first: int,
        multiplier: int,
        offsets: NDArray[np.uint16],
        sign: int,
        constant: int,
        out: Floats,
    ) -> None: ...

    def residual_blocks(
        self,
        values: Floats,
        codes: Words,
        op: int,
        levels: Bytes,
        signs: Words,
        block: int,
        factors: Floats,
        granularity: int,
        seed: int,
        round: int,
        first: int,
        offset: int,
        out: Floats,
    ) -> None: ...


def kernels(*, few: bool = False) -> Kernels:
    """The loops to use; see :func:`lanesum._internal.native.availability` for who decides and what it raises.

    ``few``: for no more values than one thread makes anyway.
    """
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: Kernels = reference if core is None else compiled(core)
    return loops if few or threads() == 1 else cast(Kernels, ThreadedKernels(loops))


def block_kernels() -> BlockKernels:
    """As :func:`kernels`, for ``thc``."""
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: BlockKernels = thc_reference if core is None else compiled_blocks(core)
    return loops if threads() == 1 else cast(BlockKernels, ThreadedBlocks(loops))


@functools.cache
def compiled_blocks(core: ModuleType) -> BlockKernels:
    """Those of the compiled part, for this processor."""
    return cast(BlockKernels, core.BlockKernels())


@functools.cache
def compiled(core: ModuleType) -> Kernels:
    """Those of the compiled part, for this processor."""
    return cast(Kernels, core.CodecKernels())


def powers_of_two(exponent: int) -> tuple[float, float]:
    """Two factors, each inside float32, whose product is ``2**exponent``; the first is 1 unless one alone is beyond."""
    half = exponent // 2 if abs(exponent) > 120 else 0
    return math.ldexp(1.0, half), math.ldexp(1.0, exponent - half)

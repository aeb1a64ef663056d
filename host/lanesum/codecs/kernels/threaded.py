# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The codecs' loops on several threads: blocks are computed each by itself, so no bit depends on how many there are.

``LANESUM_THREADS`` in the environment says how many a process uses, 1 by default: ranks of a job usually share a
machine's cores already, and a rank's network thread wants one too. NumPy and the compiled loops work without the GIL.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp

if TYPE_CHECKING:
    from lanesum.codecs.kernels.dispatch import BlockKernels, Bytes, Floats, Kernels, Words

VARIABLE = "LANESUM_THREADS"
# Values that a thread is woken for: they take longer than waking it does.
_LEAST = 1 << 16
_WORD_BITS = 32


def threads() -> int:
    """Threads that the loops of this process may use. Raises ConfigurationError where the environment says nonsense."""
    return _parsed(os.environ.get(VARIABLE, "1"))


@functools.cache
def _parsed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:
        raise ConfigurationError(f"{VARIABLE}={text} is no number of threads.", "Give a number from 1 to 256.")
    return int(text)


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="lanesum-codec")


# A process that was forked has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


def in_parts(values: int, unit: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, stop)`` for ranges of all units, ``unit`` values each but for the last, side by side.

    Returns when all have ended; raises what one of them has raised.
    """
    units = -(-values // unit)
    parts = min(threads(), max(1, values // _LEAST), units)
    if parts <= 1:
        work(0, units)
        return
    bounds = [number * units // parts for number in range(parts + 1)]
    others = [_pool(parts - 1).submit(work, bounds[number], bounds[number + 1]) for number in range(1, parts)]
    try:
        work(bounds[0], bounds[1])
    finally:
        wait(others)  # arrays are the caller's again only then
    for other in others:
        other.result()


class ThreadedKernels:
    """``Kernels`` whose loops over independent blocks are shared by threads; all others are those of ``loops``."""

    def __init__(self, loops: Kernels) -> None:
        self._loops = loops

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loops, name)

    def square_sums(self, values: Floats, chunk: int, out: NDArray[np.float64]) -> None:
        def work(first: int, stop: int) -> None:
            self._loops.square_sums(values[first * chunk : stop * chunk], chunk, out[first:stop])

        in_parts(values.size, chunk, work)

    def magnitudes(self, values: Floats, block: int, out: Words) -> None:
        def work(first: int, stop: int) -> None:
            self._loops.magnitudes(values[first * block : stop * block], block, out[first:stop])

        in_parts(values.size, block, work)

    def to_integers(self, values: Floats, maxima: Floats, peak: float, block: int, out: NDArray[np.int32]) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            self._loops.to_integers(values[of], maxima[first:stop], peak, block, out[of])

        in_parts(values.size, block, work)

    def from_integers(
        self,
        sums: NDArray[np.int32],
        maxima: Floats,
        peak: float,
        block: int,
        divisor: float,
        counts: NDArray[np.float64] | None,
        out: Floats,
    ) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            counted = None if counts is None else counts[of]
            self._loops.from_integers(sums[of], maxima[first:stop], peak, block, divisor, counted, out[of])

        in_parts(sums.size, block, work)

    def integer_residual(
        self, values: Floats, integers: NDArray[np.int32], maxima: Floats, peak: float, block: int, out: Floats
    ) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            self._loops.integer_residual(values[of], integers[of], maxima[first:stop], peak, block, out[of])

        in_parts(values.size, block, work)


class ThreadedBlocks:
    """``BlockKernels`` whose loops are shared by threads."""

    def __init__(self, loops: BlockKernels) -> None:
        self._loops = loops

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loops, name)

    def rotate_blocks(self, values: Floats, powers: Floats, signs: Words, block: int, out: Floats) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * block, stop * block)
            self._loops.rotate_blocks(values[of], powers[2 * first : 2 * stop], signs, block, out[of])

        in_parts(values.size, block, work)

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
    ) -> None:
        def work(begin: int, stop: int) -> None:
            self._loops.quantize_blocks(
                rotated[begin * block : stop * block], block, factors[begin:stop], granularity, cells, seed, round,
                first + begin, offset, flip, op, words[_words(begin, stop, block, LaneOp(op).shape.code_bits)],
            )  # fmt: skip

        in_parts(rotated.size, block, work)

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
    ) -> None:
        def work(begin: int, stop: int) -> None:
            self._loops.encode_blocks(
                values[begin * block : stop * block], powers[2 * begin : 2 * stop], signs, block, factors[begin:stop],
                granularity, cells, seed, round, first + begin, offset, flip, op,
                words[_words(begin, stop, block, LaneOp(op).shape.code_bits)],
            )  # fmt: skip

        in_parts(values.size, block, work)

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
    ) -> None:
        def work(begin: int, stop: int) -> None:
            self._loops.decode_blocks(
                lanes[_words(begin, stop, block, lane_bits)], lane_bits, signs, block, factors[2 * begin : 2 * stop],
                seed, round, first + begin, multiplier, offsets, sign, constant, out[begin * block : stop * block],
            )  # fmt: skip

        in_parts(out.size, block, work)

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
    ) -> None:
        def work(begin: int, stop: int) -> None:
            of = slice(begin * block, stop * block)
            self._loops.residual_blocks(
                values[of], codes[_words(begin, stop, block, LaneOp(op).shape.code_bits)], op, levels, signs, block,
                factors[2 * begin : 2 * stop], granularity, seed, round, first + begin, offset, out[of],
            )  # fmt: skip

        in_parts(values.size, block, work)


def _words(first: int, stop: int, block: int, bits: int) -> slice:
    """Where the words of whole blocks are; the last one may be shorter."""
    return slice(first * block * bits // _WORD_BITS, stop * block * bits // _WORD_BITS)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels on several threads. Blocks are independent, so no bit depends on the number of threads.

The environment variable ``LANESUM_THREADS`` sets the number for a process; the default is 1. The ranks of a job usually
share the cores of a machine already, and the network thread of a rank requires one, too. NumPy and the native kernels
release the GIL.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanesum import environment
from lanesum.aggregation.combine import Words
from lanesum.codecs.kernels.arguments import BlockUnits
from lanesum.errors import ConfigurationError

if TYPE_CHECKING:
    from lanesum.codecs.kernels.interface import Floats, Kernels

VARIABLE = environment.THREADS
# Minimum number of values per thread: computing fewer is faster than waking a thread.
_MIN_VALUES = 1 << 16


def threads() -> int:
    """Return the number of threads of kernels. Raises ConfigurationError if the environment variable is invalid."""
    return _parsed(os.environ.get(VARIABLE, "1"))


@functools.cache
def _parsed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:
        raise ConfigurationError(f"Invalid {VARIABLE}={text!r}: expected an integer from 1 to 256.")
    return int(text)


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="lanesum-codec")


# A forked process does not inherit the threads of its parent.
os.register_at_fork(after_in_child=_pool.cache_clear)


def in_parts(values: int, unit: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, stop)`` in parallel for ranges of units, each of ``unit`` values but the last.

    Return when all calls have ended. Raises the exception of one of them.
    """
    units = -(-values // unit)
    parts = min(threads(), max(1, values // _MIN_VALUES), units)
    if parts <= 1:
        work(0, units)
        return
    bounds = [number * units // parts for number in range(parts + 1)]
    others = [_pool(parts - 1).submit(work, bounds[number], bounds[number + 1]) for number in range(1, parts)]
    try:
        work(bounds[0], bounds[1])
    finally:
        wait(others)  # the caller may reuse its arrays only then
    for other in others:
        other.result()


class ThreadedKernels:
    """``Kernels`` that distribute independent blocks over threads; other kernels are those of ``loops``."""

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

    def to_integers(self, values: Floats, units: BlockUnits, out: NDArray[np.int32]) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * units.block, stop * units.block)
            self._loops.to_integers(values[of], units.part(first, stop), out[of])

        in_parts(values.size, units.block, work)

    def from_integers(
        self,
        sums: NDArray[np.int32],
        units: BlockUnits,
        divisor: float,
        counts: NDArray[np.float64] | None,
        out: Floats,
    ) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * units.block, stop * units.block)
            counted = None if counts is None else counts[of]
            self._loops.from_integers(sums[of], units.part(first, stop), divisor, counted, out[of])

        in_parts(sums.size, units.block, work)

    def integer_residual(self, values: Floats, integers: NDArray[np.int32], units: BlockUnits, out: Floats) -> None:
        def work(first: int, stop: int) -> None:
            of = slice(first * units.block, stop * units.block)
            self._loops.integer_residual(values[of], integers[of], units.part(first, stop), out[of])

        in_parts(values.size, units.block, work)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: the native extension where it is installed, else :mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job may use different ones. All arrays have one dimension and are contiguous.
Results are written to arrays of the caller. Native kernels release the GIL, and may run in several threads at once on
different results.

Blocks are independent, so no bit depends on the number of threads (:func:`thread_choice`). The threads belong to the
native extension (``host/native/src/threads``). The kernels in NumPy use one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from lanesum import environment
from lanesum._internal.native import availability
from lanesum._internal.processors import usable_cores
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.interface import Kernels
from lanesum.errors import ConfigurationError

_Some = TypeVar("_Some")
#: Threads that the native kernels permit.
MAX_THREADS = 256
# More threads were no faster: 4 ranks on 16 cores, 25 M values, see docs/codecs.md.
_MAX_DEFAULT_THREADS = 4
# On 2 busy cores two threads take 1.25 times as long as one for 500,000 values of thc, and .95 for 4 million.
_MIN_SHARE = 3
_REFERENCE = Kernels(*(getattr(reference, name) for name in Kernels._fields))


def kernels() -> Kernels:
    """Return the kernels that codecs share; see :func:`chosen`."""
    return chosen(_REFERENCE, "CodecKernels", threads=threads())


def chosen(reference: _Some, name: str, **options: int) -> _Some:
    """Return the kernels of the native class ``name``, or the ``reference`` without the native extension.

    Raises the exceptions of :func:`lanesum._internal.native.availability`.
    """
    core = availability().core
    found: _Some = reference if core is None else native(getattr(core, name), **options)
    return found


@functools.cache
def native(kind: Callable[..., Any], **options: int) -> Any:
    """Return the native kernels of a class for this processor."""
    return kind(**options)


class ThreadChoice(NamedTuple):
    """Number of threads of kernels, and the reason."""

    number: int
    reason: str


def threads() -> int:
    """Return the number of threads of kernels; see :func:`thread_choice`."""
    return thread_choice().number


def thread_choice() -> ThreadChoice:
    """Return the number of threads of kernels, which is fixed at its first use, and the reason.

    Raises ConfigurationError if ``LANESUM_THREADS`` or ``LOCAL_WORLD_SIZE`` is invalid.
    """
    ranks = os.environ.get(environment.SPAWNED_RANKS) or os.environ.get(environment.LOCAL_WORLD_SIZE)
    return _chosen(os.environ.get(environment.THREADS), ranks)


@functools.cache
def _chosen(given: str | None, ranks: str | None) -> ThreadChoice:
    if given is not None:
        return ThreadChoice(_parsed(environment.THREADS, given, MAX_THREADS), f"{environment.THREADS} says so")
    if ranks is None:
        return ThreadChoice(1, f"{environment.LOCAL_WORLD_SIZE} does not say how many ranks share the host")
    sharing, cores = _parsed(environment.LOCAL_WORLD_SIZE, ranks, 1 << 16), usable_cores()
    # The thread that sends needs a core as well.
    share = cores // sharing
    number = min(share, _MAX_DEFAULT_THREADS) if share >= _MIN_SHARE else 1
    return ThreadChoice(number, f"usable cores: {cores}, ranks of this host: {sharing}")


def _parsed(variable: str, text: str, highest: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= highest:
        raise ConfigurationError(f"Invalid {variable}={text!r}: expected an integer from 1 to {highest}.")
    return int(text)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: the native extension where it is installed, else :mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job may use different ones. All arrays have one dimension and are contiguous.
Results are written to arrays of the caller. Native kernels release the GIL, and may run in several threads at once on
different results.

The environment variable ``LANESUM_THREADS`` sets the number of their threads for a process; the default is 1. Blocks
are independent, so no bit depends on it. The ranks of a job usually share the cores of a machine already, and the
network thread of a rank requires one, too. The threads belong to the native extension (``host/native/src/threads``).
The kernels in NumPy use one.
"""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import cast

from lanesum import environment
from lanesum._internal.native import availability
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.interface import Kernels
from lanesum.errors import ConfigurationError

_REFERENCE = Kernels(*(getattr(reference, name) for name in Kernels._fields))


def kernels() -> Kernels:
    """Return the kernels to use: see :func:`lanesum._internal.native.availability`, also for exceptions."""
    core = availability().core
    return _REFERENCE if core is None else native(core, threads())


@functools.cache
def native(core: ModuleType, num_threads: int) -> Kernels:
    """Return the native kernels for this processor."""
    return cast(Kernels, core.CodecKernels(threads=num_threads))


def threads() -> int:
    """Return the number of threads of kernels. Raises ConfigurationError if the environment variable is invalid."""
    return _parsed(os.environ.get(environment.THREADS, "1"))


@functools.cache
def _parsed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:
        raise ConfigurationError(f"Invalid {environment.THREADS}={text!r}: expected an integer from 1 to 256.")
    return int(text)

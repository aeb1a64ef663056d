# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: the native extension where it is installed, else :mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job may use different ones. All arrays have one dimension and are contiguous.
Results are written to arrays of the caller. Native kernels release the GIL, and may run in several threads at once on
different results; ``LANESUM_THREADS`` makes them do so (:mod:`lanesum.codecs.kernels.threaded`).
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import cast

from lanesum._internal.native import availability
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.interface import Kernels
from lanesum.codecs.kernels.threaded import threads


def kernels() -> Kernels:
    """Return the kernels to use: see :func:`lanesum._internal.native.availability`, also for exceptions."""
    core = availability().core
    # mypy checks the module against the protocol here.
    loops: Kernels = reference if core is None else native(core, threads())
    return loops


@functools.cache
def native(core: ModuleType, num_threads: int) -> Kernels:
    """Return the native kernels for this processor."""
    return cast(Kernels, core.CodecKernels(threads=num_threads))

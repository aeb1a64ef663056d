# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the codecs: the native extension where it is installed, else :mod:`lanesum.codecs.kernels.reference`.

Both have the same bits, so workers of one job may use different ones. All arrays have one dimension and are contiguous.
Results are written to arrays of the caller. Native kernels release the GIL, and may run in several threads at once on
different results.

Blocks are independent, so no bit depends on the number of threads (:func:`threads`). The threads belong to the
native extension (``host/native/src/threads``). The kernels in NumPy use one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from lanesum._internal.native import availability
from lanesum._internal.processors import thread_choice
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.interface import Kernels

_Some = TypeVar("_Some")
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


def threads() -> int:
    """Return the number of threads of kernels; see :func:`lanesum._internal.processors.thread_choice`."""
    return thread_choice().number

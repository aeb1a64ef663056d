# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Backward passes and traces of PyTorch: exceptions at their end, and ranges of the profiler."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import torch
from torch.autograd import profiler


def open_range(name: str) -> contextlib.AbstractContextManager[object] | None:
    """Return a range for the trace of the running PyTorch profiler, or None if none runs."""
    # The flag that PyTorch keeps for such checks: a record_function without a profiler takes microseconds.
    return profiler.record_function(name) if profiler._is_profiler_enabled else None


def raise_after_backward(check: Callable[[], None]) -> None:
    """Let ``backward()`` raise the exception of ``check`` itself; outside a backward pass do nothing.

    DDP takes the exception of a future for its result, so users would see RuntimeError("Unable to cast ... to Tensor").
    Callbacks run at the end of backward in the order of their registration. So this one runs before the one with which
    DDP waits for its futures.
    """
    # Outside a backward pass there is no end to wait for. Then the future alone has the exception.
    with contextlib.suppress(RuntimeError):
        torch.autograd.Variable._execution_engine.queue_callback(check)

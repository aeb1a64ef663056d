# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A timer with a descriptor (timerfd_create(2)), which the standard library has from Python 3.13 on."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time

_TIMER_ABSTIME = 1
_NANOSECONDS = 1_000_000_000


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class DeadlineTimer:
    """A timer whose descriptor polls readable once ``time.monotonic()`` reaches the deadline. Thread-safe."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        # The descriptor's flags have the values of open(2).
        self._descriptor: int = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def fileno(self) -> int:
        return self._descriptor

    def set(self, deadline: float | None) -> None:
        """Set the deadline; None disarms the timer."""
        value = _Timespec(0, 0)  # disarms
        if deadline is not None:
            # At least 1 ns, because 0 disarms the timer.
            value = _Timespec(*divmod(max(1, int(deadline * _NANOSECONDS)), _NANOSECONDS))
        setting = _Setting(_Timespec(0, 0), value)
        if self._libc.timerfd_settime(self._descriptor, _TIMER_ABSTIME, ctypes.byref(setting), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        """Close the descriptor; idempotent."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1

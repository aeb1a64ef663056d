# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that serve until they are stopped: their limits, their line on standard output, and their signals."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import select
import signal
import socket
from collections.abc import Callable

_MAX_FILES = 1 << 16
_M_ARENA_MAX, _MAX_HEAPS = -8, 2  # option of mallopt in malloc.h of glibc

#: First words of the line on standard output with which a command says that it serves.
READY = "lanesum is ready:"


def raise_file_limit() -> None:
    """Let this process open some ten thousand files, if it may: each connection to a service is one."""
    now, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(limit, _MAX_FILES)), limit))


def limit_heaps() -> None:
    """Let all threads of this process share two heaps; call it before they start.

    glibc gives a heap to each thread, and keeps what is freed in it. Floods filled the heaps of all threads of gRPC.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _MAX_HEAPS)


def wait_for_signal() -> None:
    """Wait until a signal with a handler arrives, in the main thread.

    ``signal.pause`` misses a signal that another thread receives, or that arrives just before the call: a service that
    was stopped right after its start ran on for ever. The descriptor of ``set_wakeup_fd`` remembers it.
    """
    arrivals, arrived = socket.socketpair()
    with arrivals, arrived:
        arrived.setblocking(False)
        before = signal.set_wakeup_fd(arrived.fileno())
        try:
            select.select([arrivals], [], [])
        finally:
            signal.set_wakeup_fd(before)


def serve_until_signal(what: str, wait: Callable[[], object] = wait_for_signal) -> None:
    """Print that this process serves now, as ``what`` and where; ``wait`` until SIGINT or SIGTERM raises an exception.

    A reader of standard output that has ended, and a full disk, are no errors.
    """
    with contextlib.suppress(OSError):
        print(READY, what, flush=True)
    while True:
        wait()

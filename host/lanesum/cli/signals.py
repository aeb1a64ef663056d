# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that serve until they are stopped: their line on standard output, and their signals."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Callable

_MAX_FILES = 1 << 16

#: First words of the line on standard output with which a command says that it serves.
READY = "lanesum is ready:"


def raise_file_limit() -> None:
    """Let this process open some ten thousand files, if it may: each connection to a service is one."""
    now, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(limit, _MAX_FILES)), limit))


def serve_until_signal(what: str, wait: Callable[[], object] = signal.pause) -> None:
    """Print that this process serves now, as ``what`` and where; ``wait`` until SIGINT or SIGTERM raises an exception.

    A reader of standard output that has ended, and a full disk, are no errors.
    """
    with contextlib.suppress(OSError):
        print(READY, what, flush=True)
    while True:
        wait()

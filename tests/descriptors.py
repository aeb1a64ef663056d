# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A process that has used all of its descriptors."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

_MORE = 8


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """Let no descriptor be free, in the whole process."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    copies = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + _MORE, limits[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                copies.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for copy in copies:
            os.close(copy)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Threads of a native server, and the steering of packets to them."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence

from lanesum.protocol import steering

_log = logging.getLogger(__name__)

_MAX_DEFAULT_THREADS = 4


def default_threads() -> int:
    """Return the number of threads of a native server by default: one for two processors of the process, at most 4."""
    return max(1, min(_MAX_DEFAULT_THREADS, len(os.sched_getaffinity(0)) // 2))


class Steering:
    """Steering of the sockets of one server.

    Args:
        sockets: see ``steering.steer``.

    Attributes:
        by: ``"slot"``; or ``"sender"`` if the kernel refuses, which the log says once; or ``"none"`` with one socket.
    """

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self.by = "none"
        self._sockets = sockets
        self._servers = 0
        self.set_servers(1)

    def set_servers(self, servers: int) -> None:
        """Steer by runs of slots of jobs with ``servers`` servers. For one thread at a time."""
        if len(self._sockets) == 1 or self.by == "sender" or servers == self._servers:
            return
        self._servers = servers
        refused = steering.steer(self._sockets, servers)
        self.by = "slot" if refused is None else "sender"
        if refused is not None:
            _log.warning(
                "The kernel refuses to steer packets to the server's %d threads by slot: %s. It selects a thread by "
                "the worker's address, so threads may have unequal work.",
                len(self._sockets),
                refused.strerror,
            )

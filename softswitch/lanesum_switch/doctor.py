# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the embedded switch for ``lanesum doctor``."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

from lanesum.doctor.finding import Finding, note, ok


def checks() -> Iterator[Finding]:
    """Check the privileges that ports at network interfaces need."""
    root = os.geteuid() == 0
    yield ok("user", "Root." if root else "Not root: workers, servers and runs on loopback work.")
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        what = f"Cannot open raw sockets ({error.strerror}): the embedded switch has no ports at network interfaces."
        yield note("AF_PACKET", what, "Run with the capability CAP_NET_RAW, or use ports on loopback.")
    else:
        yield ok("AF_PACKET", "Raw sockets work: the embedded switch can have ports at network interfaces.")

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
    yield ok("user", "Root." if root else "Not root: workers, server and runs on loopback need no more.")
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        what = f"Raw sockets cannot be opened ({error.strerror}): the embedded switch has no ports at interfaces."
        yield note("AF_PACKET", what, "Give it the capability CAP_NET_RAW, or use its ports on loopback.")
    else:
        yield ok("AF_PACKET", "Raw sockets can be opened: the embedded switch can have ports at interfaces.")

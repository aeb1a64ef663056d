# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Users who can answer at an address of this machine: at a socket file, or at a port of the loopback interface."""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path

_PROC = Path("/proc/net")
_LISTENING = "0A"  # TCP_LISTEN of linux/net/tcp_states.h
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LOOPBACK_V6 = socket.inet_pton(socket.AF_INET6, "::1")


def foreign_user_at_socket(path: Path) -> str | None:
    """Return how a user other than this one and root can answer at a socket file, as the end of a sentence.

    Empty if none can; None if there is no such file.
    """
    try:
        resolved = path.resolve(strict=True)
        for one in (resolved, *resolved.parents):
            found = one.stat()
            if found.st_uid not in _trusted():
                return f"user {found.st_uid} owns {one}"
            shared = found.st_mode & _OTHERS_MAY_WRITE and not found.st_mode & stat.S_ISVTX
            if one != resolved and shared:
                return f"other users may replace files in {one}"
    except OSError:
        return None
    return ""


def foreign_user_at_port(port: int) -> str | None:
    """Return how a user other than this one and root can answer at a TCP port of loopback, as the end of a sentence.

    Empty if none can; None if no process listens there. The source is the kernel's table of sockets, ``/proc/net/tcp``
    of proc(5).
    """
    listeners = _listeners("tcp", port) | _listeners("tcp6", port)
    foreign = listeners - _trusted()
    if foreign:
        return f"user {min(foreign)} listens there"
    return "" if listeners else None


def _trusted() -> set[int]:
    return {0, os.getuid()}


def _listeners(table: str, port: int) -> set[int]:
    """Return the users who listen at ``port`` of the loopback interface or of all interfaces."""
    try:
        lines = (_PROC / table).read_text().splitlines()[1:]
    except OSError:
        return set()
    found = set()
    for line in lines:
        fields = line.split()
        host, _, number = fields[1].partition(":")
        if fields[3] == _LISTENING and int(number, 16) == port and _is_here(host):
            found.add(int(fields[7]))
    return found


def _is_here(text: str) -> bool:
    """Return True for an address of loopback or of all interfaces: 32-bit words in hexadecimal, in host byte order."""
    words = struct.unpack(f">{len(text) // 8}I", bytes.fromhex(text))
    address = struct.pack(f"={len(words)}I", *words)
    if address.startswith(bytes(10) + b"\xff\xff"):
        address = address[12:]  # an IPv4 address in a socket of IPv6
    if len(address) == 4:
        return address[0] in (0, 127)
    return address in (bytes(16), _LOOPBACK_V6)

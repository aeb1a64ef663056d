# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Free ports of this machine, for processes that open them later."""

import contextlib
import socket

LOCALHOST = "127.0.0.1"


def free_ports(count: int, kind: socket.SocketKind = socket.SOCK_DGRAM, host: str = LOCALHOST) -> list[int]:
    """Return different free ports: all are held until the last one is found."""
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(count):
            probe = held.enter_context(socket.socket(socket.AF_INET, kind))
            probe.bind((host, 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


def free_address(host: str = LOCALHOST, kind: socket.SocketKind = socket.SOCK_DGRAM) -> tuple[str, int]:
    """Return a free address of a host."""
    return host, free_ports(1, kind, host)[0]

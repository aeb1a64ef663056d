# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Free ports of this machine, for processes that open them later."""

import contextlib
import errno
import itertools
import os
import random
import socket

LOCALHOST = "127.0.0.1"
# Below the ports that a kernel gives to clients and to sockets without a port (from 32768): no other program gets one
# of these between the search and its use. Test processes that run at once have blocks of their own.
_FIRST, _BLOCK, _BLOCKS = 20_000, 1_500, 8
_process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _BLOCKS
_numbers = itertools.count(random.SystemRandom().randrange(_BLOCK))


def free_ports(count: int, kind: socket.SocketKind = socket.SOCK_DGRAM, host: str = LOCALHOST) -> list[int]:
    """Return different free ports, which later calls return only after all others. Raises OSError if none is left."""
    ports: list[int] = []
    for number in itertools.islice(_numbers, _BLOCK):
        with contextlib.closing(socket.socket(socket.AF_INET, kind)) as probe:
            try:
                probe.bind((host, _FIRST + _process * _BLOCK + number % _BLOCK))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            ports.append(int(probe.getsockname()[1]))
        if len(ports) == count:
            return ports
    raise OSError(errno.EADDRINUSE, f"Fewer than {count} ports of {host} are free in the block of this process")


def free_address(host: str = LOCALHOST, kind: socket.SocketKind = socket.SOCK_DGRAM) -> tuple[str, int]:
    """Return a free address of a host."""
    return host, free_ports(1, kind, host)[0]

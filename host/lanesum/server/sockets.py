# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the server: one for each of its threads, all bound to the server's address."""

from __future__ import annotations

import socket

from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.errors import ConfigurationError


def open_server_sockets(address: Address, number: int) -> list[socket.socket]:
    """Return non-blocking sockets that report ECN marks; the kernel distributes senders over them.

    Raises:
        ConfigurationError: the port is taken, also by the sockets of another server.
    """
    opened: list[socket.socket] = []
    try:
        # The first one binds without SO_REUSEPORT. With it, it would share the port of another server and receive half
        # of its packets.
        opened.append(open_udp_socket(address))
        address = opened[0].getsockname()
        if number > 1:
            opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened += [open_udp_socket(address, reuse_port=True) for _ in range(number - 1)]
        for sock in opened:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    except (OSError, OverflowError) as error:  # OverflowError: a port above 65,535
        for sock in opened:
            sock.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"The aggregation server cannot bind {address[0]}:{address[1]}: {reason}.",
            "Stop the process that holds the port, or choose another address. Behind a switch on loopback, start the "
            "server with --behind-switch.",
        ) from error
    return opened

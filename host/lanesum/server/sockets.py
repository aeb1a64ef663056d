# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The server's sockets: one for each of its threads, all bound to the server's address."""

from __future__ import annotations

import socket

from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.errors import ConfigurationError


def open_server_sockets(address: Address, number: int) -> list[socket.socket]:
    """Non-blocking sockets with ECN marks in their ancillary data; the kernel deals senders out to them.

    Raises ConfigurationError when the port is taken, by another server's sockets too.
    """
    opened: list[socket.socket] = []
    try:
        # Alone at first: with SO_REUSEPORT it would join another server that has the port, and take half its packets.
        opened.append(open_udp_socket(address))
        address = opened[0].getsockname()
        if number > 1:
            opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened += [open_udp_socket(address, together=True) for _ in range(number - 1)]
        for sock in opened:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    except (OSError, OverflowError) as error:  # the latter for a port beyond 65,535
        for sock in opened:
            sock.close()
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(
            f"The aggregation server cannot bind {address[0]}:{address[1]}: {reason}.",
            "Stop the process that holds the port, or choose another address.",
        ) from error
    return opened

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""UDP sockets as worker, server and switch port open them."""

from __future__ import annotations

import socket

Address = tuple[str, int]

# Whole windows of all workers may wait; the kernel grants what its limits allow.
BUFFER_BYTES = 4 << 20
MAX_DATAGRAM_BYTES = 65536
# ECT(0), RFC 3168: queues on the way may mark instead of drop. Marks come back as a flag of the results.
_ECN_CAPABLE = 0x02


def open_udp_socket(
    local: Address, *, peer: Address | None = None, shared: bool = False, ecn: bool = False, together: bool = False
) -> socket.socket:
    """A non-blocking IPv4 socket with large buffers, bound to ``local``.

    With ``peer`` it sends there and receives from there only. ``shared`` lets several sockets of one program have the
    same local address, each with its own peer. With ``ecn`` queues on the way may mark its packets instead of dropping
    them. ``together`` shares the address, and what is sent there, with others that say so (SO_REUSEPORT). Raises
    OSError; nothing is left open then.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if together:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if ecn:
            # Before the route is looked up: the kernel forgets it, and its MTU, when this changes.
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, _ECN_CAPABLE)
        sock.bind(local)
        if peer is not None:
            sock.connect(peer)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def switch_stands_in(local: Address) -> bool:
    """A worker's address on loopback: the switch before the server has sockets with it too, so it must be shared."""
    return local[0].startswith("127.") and local[1] != 0

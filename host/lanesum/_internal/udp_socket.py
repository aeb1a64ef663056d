# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""UDP sockets of workers, servers and switch ports."""

from __future__ import annotations

import socket

Address = tuple[str, int]

# Room for the windows of all workers of a job; the kernel grants at most its own limits.
BUFFER_BYTES = 4 << 20
MAX_DATAGRAM_BYTES = 65536
# ECT(0), RFC 3168: queues may mark packets instead of dropping them. The marks come back as a flag of the results.
_ECN_CAPABLE = 0x02
IP_MTU_DISCOVER, _IP_PMTUDISC_OMIT = 10, 5  # linux/in.h


def open_udp_socket(
    local: Address, *, peer: Address | None = None, shared: bool = False, ecn: bool = False, reuse_port: bool = False
) -> socket.socket:
    """Return a non-blocking IPv4 socket with large buffers, bound to ``local``.

    Its datagrams are cut for the MTU of the interface alone. Every host can forge an ICMP message that claims a smaller
    path MTU (RFC 5927, section 7.2), and neither switches nor servers read fragments made for it.

    Args:
        peer: address to connect to; the socket then sends to and receives from this address only.
        shared: let sockets with different peers share the local address (SO_REUSEADDR).
        ecn: let queues mark packets instead of dropping them.
        reuse_port: share the local address and its datagrams with other such sockets (SO_REUSEPORT).

    Raises OSError: an option or the address was refused; no socket is left open.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, _IP_PMTUDISC_OMIT)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if ecn:
            # Before the route is looked up: a change of this option drops the cached route and its MTU.
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, _ECN_CAPABLE)
        sock.bind(local)
        if peer is not None:
            sock.connect(peer)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def own_address(peer: Address) -> str:
    """Return the address from which this host sends to ``peer``. Raises OSError without a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(peer)
        return str(probe.getsockname()[0])


def is_shared_with_switch(local: Address) -> bool:
    """Return True for a worker's address on loopback: the embedded switch opens sockets with the same address."""
    return local[0].startswith("127.") and local[1] != 0

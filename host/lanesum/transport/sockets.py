# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker's sockets: one for each aggregation server of its job, all with the worker's one address and port."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable, Sequence
from typing import Protocol

from lanesum._internal.closing import Closing
from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.protocol.packet import server_of
from lanesum.transport.constants import ICMP_ERRNOS, MAX_SEND_TRIES

# Datagrams of one server received in a row, at most, before the next server's turn.
_MAX_TURN = 16


class DatagramSocket(Protocol):
    """The methods of a connected socket that the transport uses."""

    def send(self, data: bytes | memoryview, /) -> int: ...
    def recv_into(self, buffer: bytearray | memoryview, /) -> int: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


# Wraps a socket, for tests.
WrapSocket = Callable[[socket.socket], DatagramSocket]


class ServerSockets(Closing):
    """Connected, non-blocking UDP sockets from ``local`` to each of ``servers``, in their order.

    Each receives datagrams from its server's address only. A switch answers in the server's name. Use as a context
    manager, or call ``close``.

    Args:
        local: IPv4 address and UDP port to send from; port 0 picks one, the same for all.
        servers: addresses of the job's servers, one or more, all different.
        shared: other sockets of this host have ``local`` too, each with a peer of its own; otherwise none may.
        ecn: mark packets as ECN-capable: queues may mark them instead of dropping them.
        wrap_socket: for tests: takes each socket, and returns the object to use in its place.

    Attributes:
        local: address and port of all sockets.

    Raises OSError, and leaves nothing open then.
    """

    def __init__(
        self,
        local: Address,
        servers: Sequence[Address],
        *,
        shared: bool = False,
        ecn: bool = True,
        wrap_socket: WrapSocket | None = None,
    ) -> None:
        opened: list[socket.socket] = []
        try:
            for server in servers:
                # The first socket checks that the address is free. Only then is it shared with the others.
                sock = open_udp_socket(local, peer=server, shared=shared or bool(opened), ecn=ecn)
                opened.append(sock)
                local = sock.getsockname()
                if len(servers) > 1:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            for sock in opened:
                sock.close()
            raise
        self.local: Address = local
        self._servers, self._unwrapped = servers, opened
        self._sockets: Sequence[DatagramSocket] = opened
        if wrap_socket is not None:
            self._sockets = [wrap_socket(sock) for sock in opened]
        self._turn = 0  # number of the server whose turn it is
        self._received = 0  # in this turn

    def __len__(self) -> int:
        return len(self._sockets)

    def send(self, datagram: bytes | memoryview) -> None:
        """Send a contribution to the server of its slot. Raises OSError as a socket does."""
        self._sockets[server_of(datagram, len(self._sockets))].send(datagram)

    def receive_into(self, buffer: bytearray | memoryview) -> int:
        """Receive the next datagram that waits at any of the sockets, and return its size.

        Raises BlockingIOError if none waits, and other OSErrors as a socket does; it can be called again after either.
        """
        for _ in self._sockets:
            if self._received < _MAX_TURN:
                with contextlib.suppress(BlockingIOError):
                    size = self._sockets[self._turn].recv_into(buffer)
                    self._received += 1
                    return size
            self._turn = (self._turn + 1) % len(self._sockets)
            self._received = 0
        size = self._sockets[self._turn].recv_into(buffer)
        self._received = 1
        return size

    def obstacle(self) -> str:
        """Send empty datagrams, and return why this host cannot send to one of the servers now; empty if it can."""
        for sock, (server, _) in zip(self._unwrapped, self._servers, strict=True):
            number = _errno_of_empty_datagram(sock)
            if number not in (0, errno.EAGAIN):
                return f"this host cannot send to {server}: {os.strerror(number)}"
        return ""

    def filenos(self) -> list[int]:
        """Return the file descriptors, in the servers' order."""
        return [sock.fileno() for sock in self._sockets]

    def close(self) -> None:
        """Close the sockets; idempotent."""
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.close()


def _errno_of_empty_datagram(sock: socket.socket) -> int:
    """Return 0 if the socket could send one; the reports of earlier ICMP messages do not count."""
    number = 0
    for _ in range(MAX_SEND_TRIES):
        try:
            sock.send(b"")
        except OSError as error:
            number = error.errno or 0
        else:
            return 0
        if number not in ICMP_ERRNOS:
            break
    return number

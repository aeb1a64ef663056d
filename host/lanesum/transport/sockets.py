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
from lanesum.protocol.steering import steer
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

    Each receives datagrams from its server's address only. A switch answers in the server's name. After ``divide`` each
    belongs to a thread instead. Use as a context manager, or call ``close``.

    Args:
        local: IPv4 address and UDP port to send from; port 0 picks one, the same for all.
        servers: addresses of the job's servers, one or more, all different.
        shared: other sockets of this host have ``local`` too, each with a peer of its own; otherwise none may.
        ecn: mark packets as ECN-capable: queues may mark them instead of dropping them.
        wrap_socket: for tests: takes each socket, and returns the object to use in its place.

    Attributes:
        local: address and port of all sockets.
        divided: see ``divide``.

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
        opened = _open_connected(local, servers, shared, ecn)
        self.local: Address = opened[0].getsockname()
        self.divided = False
        self._servers, self._unwrapped, self._shared = servers, opened, shared
        self._connected: socket.socket | None = None  # see divide
        self._sockets: Sequence[DatagramSocket] = opened
        if wrap_socket is not None:
            self._sockets = [wrap_socket(sock) for sock in opened]
        self._turn = 0  # number of the server whose turn it is
        self._received = 0  # in this turn

    def __len__(self) -> int:
        return len(self._sockets)

    def divide(self, threads: int) -> OSError | None:
        """Replace the sockets by one for each of ``threads``, of which the kernel selects one by a packet's slot.

        They are not connected, because the kernel steers no packets to connected sockets. They receive datagrams of any
        sender.

        Returns:
            None, or the reason why the kernel refuses to steer. The sockets are connected then.

        Raises OSError if the address cannot be opened again; all sockets are closed then.
        """
        for sock in self._unwrapped:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened = [open_udp_socket(self.local, shared=True, ecn=True)]
        self.close()
        # The kernel numbers sockets in the order in which they join. A connected one would have been the first.
        opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            for _ in range(1, threads):
                opened.append(open_udp_socket(self.local, shared=True, reuse_port=True, ecn=True))
            # Only if one of these sockets is connected, here to itself, kernels look further for connected sockets of
            # a switch with the same address.
            connected = open_udp_socket(self.local, peer=self.local, shared=True, reuse_port=True)
            refused = steer(opened, len(self._servers), jobs=False)
            opened.append(connected)
        except OSError as error:
            refused = error
        if refused is None:
            for sock in opened:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, self._shared)
            self._connected = opened.pop()
        else:
            for sock in opened:
                sock.close()
            opened = _open_connected(self.local, self._servers, self._shared, True)
        self.divided = refused is None
        self._sockets = self._unwrapped = opened
        return refused

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
        for number, server in enumerate(self._servers):
            sock = self._unwrapped[0 if self.divided else number]
            reason = _errno_of_empty_datagram(sock, server)
            if reason not in (0, errno.EAGAIN):
                return f"this host cannot send to {server[0]}: {os.strerror(reason)}"
        return ""

    def filenos(self) -> list[int]:
        """Return the file descriptors, in the order of the servers or threads."""
        return [sock.fileno() for sock in self._sockets]

    def close(self) -> None:
        """Close the sockets; idempotent."""
        for sock in (*self._sockets, *([self._connected] if self._connected else [])):
            with contextlib.suppress(OSError):
                sock.close()


def _open_connected(local: Address, servers: Sequence[Address], shared: bool, ecn: bool) -> list[socket.socket]:
    """Return sockets connected to each of ``servers``. Raises OSError, and leaves nothing open then."""
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
    return opened


def _errno_of_empty_datagram(sock: socket.socket, server: Address) -> int:
    """Return 0 if the socket could send one; the reports of earlier ICMP messages do not count."""
    number = 0
    for _ in range(MAX_SEND_TRIES):
        try:
            sock.sendto(b"", server)
        except OSError as error:
            number = error.errno or 0
        else:
            return 0
        if number not in ICMP_ERRNOS:
            break
    return number

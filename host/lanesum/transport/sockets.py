# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker's sockets: one for each aggregation server of its job, all with the worker's one address and port."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence
from typing import Any

from lanesum._internal.closing import Closing
from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.protocol.packet import server_of

# So many datagrams of one server are taken before those of the next one have their turn.
_TURN = 16

# What stands between the transport and a socket: an object with the socket's send, recv_into, fileno and close.
WrapSocket = Callable[[socket.socket], Any]


class ServerSockets(Closing):
    """Connected, non-blocking UDP sockets from ``local`` to each of ``servers``, in their order.

    Each receives what bears its server's address and nothing else, whoever has made it: a switch answers in the
    server's name. Use as a context manager, or call ``close``.

    Args:
        local: IPv4 address and UDP port to send from; port 0 picks one, the same for all.
        servers: addresses of the job's servers, one or more, all different.
        shared: other sockets of this host have ``local`` too, each with a peer of its own. Otherwise nobody may.
        ecn: say that packets may be marked instead of dropped.
        wrap_socket: for tests: takes each socket, and returns what is used in its place.

    Raises OSError; nothing is left open then.
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
                # The first one tells whether the address is free, and only then lets the others have it too.
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
        self._sockets: list[Any] = opened if wrap_socket is None else [wrap_socket(sock) for sock in opened]
        self._at = 0  # whose turn it is
        self._taken = 0  # in this turn

    def __len__(self) -> int:
        return len(self._sockets)

    def send(self, datagram: bytes | memoryview) -> None:
        """Send a contribution to the server of its slot. Raises OSError as a socket does."""
        self._sockets[server_of(datagram, len(self._sockets))].send(datagram)

    def receive_into(self, buffer: bytearray | memoryview) -> int:
        """The next datagram that waits at any of the sockets; returns its size.

        Raises BlockingIOError when none waits, and other OSErrors as a socket does; either way it can be called again.
        """
        for _ in self._sockets:
            if self._taken < _TURN:
                with contextlib.suppress(BlockingIOError):
                    size: int = self._sockets[self._at].recv_into(buffer)
                    self._taken += 1
                    return size
            self._at = (self._at + 1) % len(self._sockets)
            self._taken = 0
        size = self._sockets[self._at].recv_into(buffer)
        self._taken = 1
        return size

    def filenos(self) -> list[int]:
        """Descriptors to wait at, in the servers' order."""
        return [sock.fileno() for sock in self._sockets]

    def close(self) -> None:
        """Give the sockets back; idempotent."""
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.close()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections between rank 0 and the other ranks of a quorum: they end with a process, at once."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable

from lanesum._internal.closing import Closing
from lanesum._internal.udp_socket import Address
from lanesum.joining import NotReadyError
from lanesum.transport.errors import TransportError

_RANK_BYTES = 4
_HELLO_S = 1.0  # for the first bytes of a connection, which may be of another program
_STOP_S = 2.0
# A machine without power closes no connection: probes of TCP find it within five seconds.
_PROBES = ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3))


class ReplicaLostError(TransportError, RuntimeError):
    """The process of another rank has ended, or has begun another quorum. It is a RuntimeError, as with gloo.

    Attributes:
        rank: its rank in the quorum.
    """

    def __init__(self, rank: int, label: str) -> None:
        next_step = "Let the Manager begin the next quorum without it, and read the log of that replica."
        super().__init__(f"Rank {rank} of {label} is lost: Connection closed by peer.", next_step)
        self.rank = rank


class QuorumAbortedError(TransportError, RuntimeError):
    """The process group was aborted, or a sum of the quorum has failed; the message names the cause."""

    def __init__(self, label: str, why: str) -> None:
        super().__init__(f"The {label} was aborted: {why}", "Let the Manager begin the next quorum.")


class QuorumConnections(Closing):
    """Connections by the rank at the other end: rank 0 has all, the others have that of rank 0.

    Call ``start``, and ``close`` at the end, which the other ranks take as a loss of this one.
    """

    def __init__(self, connections: dict[int, socket.socket]) -> None:
        self._connections, self._closed = connections, False
        self._thread: threading.Thread | None = None
        for connection in connections.values():
            connection.settimeout(None)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _PROBES:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)

    @classmethod
    def accept(cls, listener: socket.socket, size: int, key: bytes, timeout_s: float) -> QuorumConnections:
        """Return the connections of rank 0, which begin with ``key``. Raises NotReadyError, which names the others."""
        deadline, found = time.monotonic() + timeout_s, dict[int, socket.socket]()
        ranks = {key + rank.to_bytes(_RANK_BYTES): rank for rank in range(1, size)}
        with contextlib.ExitStack() as opened:
            while missing := ranks.values() - found.keys():
                try:
                    if (remaining_s := deadline - time.monotonic()) <= 0:
                        raise TimeoutError
                    listener.settimeout(remaining_s)
                    connection = opened.enter_context(listener.accept()[0])
                except TimeoutError as error:
                    names = ", ".join(map(str, sorted(missing)))
                    what = f"Rank {names} of the quorum has not connected to rank 0 within {timeout_s:g} s."
                    raise NotReadyError(what, "Read its log; the next quorum goes on without it.") from error
                connection.settimeout(_HELLO_S)
                with contextlib.suppress(OSError, KeyError):
                    found.setdefault(ranks[connection.recv(len(key) + _RANK_BYTES, socket.MSG_WAITALL)], connection)
            opened.pop_all()
        return cls(found)

    @classmethod
    def connect(cls, address: Address, rank: int, key: bytes, timeout_s: float) -> QuorumConnections:
        """Return the connection of another rank to rank 0. Raises NotReadyError."""
        try:
            connection = socket.create_connection(address, timeout_s)
            connection.sendall(key + rank.to_bytes(_RANK_BYTES))
        except OSError as error:
            raise NotReadyError(
                f"Rank {rank} of the quorum cannot connect to rank 0 at {address[0]}:{address[1]}: {error}.",
                "Check the route and the firewall between the hosts, and the log of rank 0.",
            ) from error
        return cls({0: connection})

    def start(self, lost: Callable[[int], object]) -> None:
        """Call ``lost`` with the rank of the first process that ends, in a thread: then the quorum cannot go on."""
        self._thread = threading.Thread(target=self._watch, args=(lost,), name="lanesum-quorum", daemon=True)
        self._thread.start()

    def _watch(self, lost: Callable[[int], object]) -> None:
        with selectors.DefaultSelector() as selector:
            for rank, connection in self._connections.items():
                selector.register(connection, selectors.EVENT_READ, rank)
            rank, told = selector.select()[0][0].data, b""
        with contextlib.suppress(OSError):
            told = self._connections[rank].recv(_RANK_BYTES, socket.MSG_WAITALL)
        if self._closed:
            return
        if rank == 0 and len(told) == _RANK_BYTES:
            rank = int.from_bytes(told)
        for other in self._connections.keys() - {0, rank}:
            with contextlib.suppress(OSError):
                self._connections[other].sendall(rank.to_bytes(_RANK_BYTES))
        lost(rank)

    def close(self) -> None:
        """End the connections; idempotent."""
        self._closed = True
        for connection in self._connections.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join(_STOP_S)
        for connection in self._connections.values():
            connection.close()

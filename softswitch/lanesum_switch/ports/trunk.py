# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A cable between two switch processes on one machine: whole frames as UDP datagrams on loopback. No root needed.

Datagrams need no connection, so either process may end and come back; what is sent meanwhile is lost, as on a cable
that is unplugged. (Unix datagram sockets would do, but Linux queues only 10 datagrams on them by default:
net.unix.max_dgram_qlen.)
"""

from __future__ import annotations

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError

_RECEIVE_BATCH = 64


class TrunkPort:
    """One end of the cable, from ``local`` to ``peer``. Raises ConfigurationError when ``local`` is taken."""

    def __init__(self, local: Address, peer: Address) -> None:
        self.unsent = 0  # frames that nobody took: the other switch is not there, or its queue is full
        try:
            self._socket = open_udp_socket(local, peer=peer)
        except OSError as error:
            raise ConfigurationError(
                f"The link between two switches cannot use {local[0]}:{local[1]}: {error.strerror}.",
                "Stop the other process that holds the address (another run?).",
            ) from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, 64 at most."""
        frames: list[bytes] = []
        for _ in range(_RECEIVE_BATCH):
            try:
                frames.append(self._socket.recv(MAX_DATAGRAM_BYTES))
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                continue  # the news that an earlier frame found nobody
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame; one that cannot be sent is counted and lost."""
        try:
            self._socket.send(frame)
        except (BlockingIOError, ConnectionRefusedError):
            self.unsent += 1

    def close(self) -> None:
        """Give the socket back; idempotent."""
        self._socket.close()

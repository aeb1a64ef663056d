# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A link between two switch processes on one machine: frames as UDP datagrams on loopback. It needs no root.

Datagrams need no connection, so either process may restart. Frames sent meanwhile are lost, as on an unplugged cable.
Unix datagram sockets are not used because Linux queues only 10 datagrams on them by default
(net.unix.max_dgram_qlen).
"""

from __future__ import annotations

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError

_RECEIVE_BATCH = 64


class TrunkPort:
    """An end of the link.

    Attributes:
        unsent: frames that the kernel did not accept: the other process does not run, its queue is full, or a datagram
            cannot hold the frame.

    Raises ConfigurationError if ``local`` is in use.
    """

    def __init__(self, local: Address, peer: Address) -> None:
        self.unsent = 0
        try:
            self._socket = open_udp_socket(local, peer=peer)
        except OSError as error:
            raise ConfigurationError(
                f"The link between two switches cannot use the address {local[0]}:{local[1]}: {error.strerror}.",
                "Stop the process that uses the address (another run?).",
            ) from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64."""
        frames: list[bytes] = []
        for _ in range(_RECEIVE_BATCH):
            try:
                frames.append(self._socket.recv(MAX_DATAGRAM_BYTES))
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                continue  # an earlier frame was refused
        return frames

    def send(self, frame: bytes) -> None:
        """Send a frame; count and drop it if the kernel does not accept it."""
        try:
            self._socket.send(frame)
        except OSError:
            self.unsent += 1

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._socket.close()

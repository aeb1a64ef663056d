# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The port of aggregation servers on loopback. It needs no root.

Workers send to a server's address, where the switch's UDP ports listen (see ``udp``); the server itself listens at its
*backend* address. This port has a socket with each worker's address. The server therefore sees the worker as the
sender, and its replies arrive at the switch. A port for several servers has such sockets for each of them.
"""

from __future__ import annotations

import itertools
import select
import socket
from dataclasses import dataclass

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol.frames import ipv4_int
from lanesum_switch.ports.udp_flow import UdpFlow

_RECEIVE_BATCH = 64


@dataclass(frozen=True, slots=True)
class ServerPortConfig:
    """Configuration of a ``ServerPort``.

    Attributes:
        servers: addresses that workers send to.
        backends: address that the process of each of these servers listens at.
        server_mac: six bytes, the source of received frames.
        switch_mac: six bytes, their destination.
        workers: address of every worker.
        checksums: frames have UDP checksums, and corrupted frames do not reach the server (see ``UdpFlow``).
    """

    servers: tuple[Address, ...]
    backends: tuple[Address, ...]
    server_mac: bytes
    switch_mac: bytes
    workers: tuple[Address, ...]
    checksums: bool = False


class ServerPort:
    """A port for aggregation servers, with a socket per worker and server.

    Attributes:
        undeliverable: frames from or to another address, without UDP, corrupted, or not accepted by the kernel.

    Raises ConfigurationError if a worker's address is in use by a socket that does not share it.
    """

    def __init__(self, config: ServerPortConfig) -> None:
        self.undeliverable = 0
        self._flows: dict[bytes, tuple[UdpFlow, socket.socket]] = {}  # by addresses, then ports, as bytes of a frame
        self._by_descriptor: dict[int, tuple[UdpFlow, socket.socket]] = {}
        self._poll = select.epoll()
        try:
            for worker, (server, backend) in itertools.product(
                config.workers, zip(config.servers, config.backends, strict=True)
            ):
                flow = UdpFlow(server, worker, config.server_mac, config.switch_mac, checksums=config.checksums)
                sock = open_udp_socket(worker, peer=backend, shared=True)
                key = b"".join(ipv4_int(ip).to_bytes(4, "big") for ip in (worker[0], server[0]))
                key += b"".join(port.to_bytes(2, "big") for port in (worker[1], server[1]))
                self._flows[key] = self._by_descriptor[sock.fileno()] = flow, sock
                self._poll.register(sock.fileno(), select.EPOLLIN)
        except OSError as error:
            self.close()
            raise ConfigurationError(
                f"The switch cannot send to the server from the worker's address {worker[0]}:{worker[1]}: "
                f"{error.strerror}.",
                "Stop the process that uses the address (another run?), or choose another topology address.",
            ) from error

    def fileno(self) -> int:
        return self._poll.fileno()

    def receive_batch(self) -> list[bytes]:
        """Return waiting frames, at most 64 from every socket."""
        frames: list[bytes] = []
        for descriptor, _ in self._poll.poll(0):
            flow, sock = self._by_descriptor[descriptor]
            try:
                for _ in range(_RECEIVE_BATCH):
                    frames.append(flow.frame(sock.recv(MAX_DATAGRAM_BYTES)))
            except (BlockingIOError, ConnectionRefusedError):
                continue  # refused: the server does not run now; workers retransmit
        return frames

    def send(self, frame: bytes) -> None:
        """Send a worker's UDP payload to the server from the worker's address; count and drop any other frame."""
        found = self._flows.get(frame[26:38])
        payload = None if found is None else found[0].payload(frame)
        if found is None or payload is None:
            self.undeliverable += 1
            return
        try:
            found[1].send(payload)
        except (BlockingIOError, ConnectionRefusedError):
            self.undeliverable += 1

    def close(self) -> None:
        """Close the sockets; idempotent."""
        self._poll.close()
        for _, sock in self._flows.values():
            sock.close()

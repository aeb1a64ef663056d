# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The switch port that an aggregation server hangs at on loopback. No root needed.

Workers write to the server's address, where the switch's host ports listen in its stead (see ``udp``); the server
itself listens beside it, at its *backend* address. Behind this port every worker has a socket with the worker's own
address, so that the server sees who sends and answers there, and the answers come back to the switch. A cable that
leads to all servers has such sockets for each of them.
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
    """The port.

    Attributes:
        servers: addresses that workers write to.
        backends: address that the process of each of these servers listens at.
        server_mac: six bytes, the source of incoming frames.
        switch_mac: six bytes, their destination.
        workers: address of every worker.
        checksums: frames have UDP checksums, and damaged ones do not reach the server (see ``UdpFlow``).
    """

    servers: tuple[Address, ...]
    backends: tuple[Address, ...]
    server_mac: bytes
    switch_mac: bytes
    workers: tuple[Address, ...]
    checksums: bool = False


class ServerPort:
    """Carries the servers' datagrams as frames, one socket per worker and server behind one descriptor.

    Raises ConfigurationError when a worker's address is held by a socket that does not share it.
    """

    def __init__(self, config: ServerPortConfig) -> None:
        self.undeliverable = 0  # frames from or to anybody else, without UDP, damaged, or not taken by the kernel
        self._flows: dict[bytes, tuple[UdpFlow, socket.socket]] = {}  # by addresses, then ports, as in a frame
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
                f"The switch cannot stand in for the worker at {worker[0]}:{worker[1]} before the server: "
                f"{error.strerror}.",
                "Stop the other process that holds the address (another run?), or choose another topology address.",
            ) from error

    def fileno(self) -> int:
        return self._poll.fileno()

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, 64 at most from every worker's socket."""
        frames: list[bytes] = []
        for descriptor, _ in self._poll.poll(0):
            flow, sock = self._by_descriptor[descriptor]
            try:
                for _ in range(_RECEIVE_BATCH):
                    frames.append(flow.frame(sock.recv(MAX_DATAGRAM_BYTES)))
            except (BlockingIOError, ConnectionRefusedError):
                continue  # refused: the server is not there now; what it missed is sent again
        return frames

    def send(self, frame: bytes) -> None:
        """Deliver a worker's UDP payload to the server in the worker's name; anything else is counted and dropped."""
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
        """Give the sockets back; idempotent."""
        self._poll.close()
        for _, sock in self._flows.values():
            sock.close()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch port on plain UDP sockets: a host that only speaks UDP to the servers hangs behind it. No root needed.

The program parses Ethernet frames, a UDP socket carries payloads: on the way in the port writes the Ethernet, IPv4 and
UDP headers that the datagram had on a wire, on the way out it takes them off again. The host sends to a *server's*
address, where a socket of this port is bound in its stead: the switch is on the path.
"""

from __future__ import annotations

import select
import socket
from dataclasses import dataclass

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol.frames import ipv4_int
from lanesum_switch.ports.udp_flow import UdpFlow

_RECEIVE_BATCH = 64


@dataclass(frozen=True, slots=True)
class UdpPortConfig:
    """One port.

    Attributes:
        number: the port's number in the program.
        servers: addresses that the host writes to; the port listens there.
        host: address that the host writes from; only its datagrams come in here.
        host_mac: six bytes, the source of incoming frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and damaged ones do not reach the host (see ``UdpFlow``).
    """

    number: int
    servers: tuple[Address, ...]
    host: Address
    host_mac: bytes
    switch_mac: bytes
    checksums: bool = False


class UdpPort:
    """Carries one host's datagrams as frames, one socket per server behind one descriptor.

    Raises ConfigurationError when an address cannot be bound.
    """

    def __init__(self, config: UdpPortConfig) -> None:
        self.number = config.number
        self.undeliverable = 0  # frames for anybody else, without UDP, damaged, or not taken by the kernel
        self._flows: dict[bytes, tuple[UdpFlow, socket.socket]] = {}  # by source address and port, as in a frame
        self._by_descriptor: dict[int, tuple[UdpFlow, socket.socket]] = {}
        self._claims: list[socket.socket] = []
        self._poll = select.epoll()
        for server in config.servers:
            try:
                self._open(config, server)
            except OSError as error:
                self.close()
                raise ConfigurationError(
                    f"The address {server[0]}:{server[1]} that switch port {config.number} listens at for "
                    f"{config.host[0]} is taken: {error.strerror}.",
                    "Stop the other process that holds it (another run?), or choose another topology address.",
                ) from error

    def _open(self, config: UdpPortConfig, server: Address) -> None:
        self._claims.append(_claim(server, config.host))
        flow = UdpFlow(config.host, server, config.host_mac, config.switch_mac, checksums=config.checksums)
        # All ports listen at the same address; each gets its own host's datagrams only.
        sock = open_udp_socket(server, peer=config.host, shared=True)
        key = ipv4_int(server[0]).to_bytes(4, "big") + server[1].to_bytes(2, "big")
        self._flows[key] = self._by_descriptor[sock.fileno()] = flow, sock
        self._poll.register(sock.fileno(), select.EPOLLIN)

    def fileno(self) -> int:
        return self._poll.fileno()

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, 64 at most from every socket."""
        frames: list[bytes] = []
        for descriptor, _ in self._poll.poll(0):
            flow, sock = self._by_descriptor[descriptor]
            receive, frame = sock.recv, flow.frame
            try:
                for _ in range(_RECEIVE_BATCH):
                    frames.append(frame(receive(MAX_DATAGRAM_BYTES)))
            except (BlockingIOError, ConnectionRefusedError):
                continue  # refused: the host's socket is closed; what it missed is its own loss
        return frames

    def send(self, frame: bytes) -> None:
        """Deliver a frame's UDP payload to the host in the server's name; anything else is counted and dropped."""
        found = self._flows.get(frame[26:30] + frame[34:36])
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
        for sock in (*self._claims, *(sock for _, sock in self._flows.values())):
            sock.close()


def _claim(server: Address, host: Address) -> socket.socket:
    """Holds a name that only one process can have: sharing the address would let a second switch share it too.

    Raises OSError.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # Abstract, so that the kernel forgets it with the process (unix(7)).
        claim.bind(f"\0lanesum-port/{server[0]}:{server[1]}/{host[0]}:{host[1]}")
    except OSError:
        claim.close()
        raise
    return claim


def open_udp_ports(configs: list[UdpPortConfig]) -> list[UdpPort]:
    """All ports, or none. Raises ConfigurationError when a server address is in use by somebody else."""
    ports: list[UdpPort] = []
    try:
        for config in configs:
            ports.append(UdpPort(config))
    except ConfigurationError:
        for port in ports:
            port.close()
        raise
    return ports

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A switch port on a plain UDP socket: a host that only speaks UDP to one address hangs behind it. No root needed.

The program parses Ethernet frames, a UDP socket carries payloads: on the way in the port writes the Ethernet, IPv4 and
UDP headers that the datagram had on a wire, on the way out it takes them off again. The host sends to the *server's*
address, where this socket is bound in its stead: the switch is on the path.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from lanesum.errors import ConfigurationError
from lanesum.udp_socket import MAX_DATAGRAM_BYTES, Address, open_udp_socket

from .flow import Flow

_RECEIVE_BATCH = 64


@dataclass(frozen=True, slots=True)
class UdpPortConfig:
    """One port.

    Attributes:
        number: the port's number in the program.
        server: address that the host writes to; the port listens there.
        host: address that the host writes from; only its datagrams come in here.
        host_mac: six bytes, the source of incoming frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and damaged ones do not reach the host (see ``Flow``).
    """

    number: int
    server: Address
    host: Address
    host_mac: bytes
    switch_mac: bytes
    checksums: bool = False


class UdpPort:
    """Carries one host's datagrams as frames. Raises ConfigurationError when the address cannot be bound."""

    def __init__(self, config: UdpPortConfig) -> None:
        self.number = config.number
        self.undeliverable = 0  # frames for anybody else, without UDP, damaged, or not taken by the kernel
        self._flow = Flow(config.host, config.server, config.host_mac, config.switch_mac, checksums=config.checksums)
        try:
            self._claim = _claim(config)
            try:
                # All ports listen at the same address; each gets its own host's datagrams only.
                self._socket = open_udp_socket(config.server, peer=config.host, shared=True)
            except OSError:
                self._claim.close()
                raise
        except OSError as error:
            raise ConfigurationError(
                f"The address {config.server[0]}:{config.server[1]} that switch port {config.number} listens at for "
                f"{config.host[0]} is taken: {error.strerror}.",
                "Stop the other process that holds it (another run?), or choose another topology address.",
            ) from error

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive_batch(self) -> list[bytes]:
        """Frames that are waiting, 64 at most."""
        frames = []
        receive, frame = self._socket.recv, self._flow.frame
        try:
            for _ in range(_RECEIVE_BATCH):
                frames.append(frame(receive(MAX_DATAGRAM_BYTES)))
        except BlockingIOError:
            pass
        except ConnectionRefusedError:
            pass  # the host's socket is closed; what it missed is its own loss
        return frames

    def send(self, frame: bytes) -> None:
        """Deliver a frame's UDP payload to the host; anything else is counted and dropped."""
        payload = self._flow.payload(frame)
        if payload is None:
            self.undeliverable += 1
            return
        try:
            self._socket.send(payload)
        except (BlockingIOError, ConnectionRefusedError):
            self.undeliverable += 1

    def close(self) -> None:
        """Give the socket back; idempotent."""
        self._socket.close()
        self._claim.close()


def _claim(config: UdpPortConfig) -> socket.socket:
    """Holds a name that only one process can have: sharing the address would let a second switch share it too.

    Raises OSError.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # Abstract, so that the kernel forgets it with the process (unix(7)).
        claim.bind(f"\0lanesum-port/{config.server[0]}:{config.server[1]}/{config.host[0]}:{config.host[1]}")
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

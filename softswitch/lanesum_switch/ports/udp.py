# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A port on UDP sockets, for one host that sends UDP datagrams to servers. It needs no root.

P4 programs parse Ethernet frames, UDP sockets carry payloads: the port adds Ethernet, IPv4 and UDP headers to received
datagrams and removes them from frames that leave. It listens at the servers' addresses, so that the switch is on the
path of the host's datagrams.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum_switch.ports.udp_flow import UdpFlow, UdpSockets


@dataclass(frozen=True, slots=True)
class UdpPortConfig:
    """Configuration of a ``UdpPort``.

    Attributes:
        number: the port's number in the program.
        servers: addresses that the host sends to; the port listens there.
        host: address that the host sends from; the port receives no other datagrams.
        host_mac: six bytes, the source of received frames.
        switch_mac: six bytes, their destination.
        checksums: frames have UDP checksums, and corrupted frames do not reach the host (see ``UdpFlow``).
    """

    number: int
    servers: tuple[Address, ...]
    host: Address
    host_mac: bytes
    switch_mac: bytes
    checksums: bool = False


class UdpPort(UdpSockets):
    """A port for one host, with a socket per server.

    Raises ConfigurationError if an address cannot be bound.
    """

    def __init__(self, config: UdpPortConfig) -> None:
        super().__init__()
        self.number = config.number
        self._claims: list[socket.socket] = []
        for server in config.servers:
            try:
                self._open(config, server)
            except OSError as error:
                self.close()
                raise ConfigurationError(
                    f"Switch port {config.number} cannot listen at {server[0]}:{server[1]} for {config.host[0]}: "
                    f"{error.strerror}.",
                    "Stop the process that uses the address (another run, or a server without --behind-switch?), or "
                    "choose another topology address.",
                ) from error

    def _open(self, config: UdpPortConfig, server: Address) -> None:
        self._claims.append(_claim(server, config.host))
        flow = UdpFlow(config.host, server, config.host_mac, config.switch_mac, checksums=config.checksums)
        # All ports listen at the same address; a connected socket receives the datagrams of its own host only.
        self._add(flow, open_udp_socket(server, peer=config.host, shared=True))

    def close(self) -> None:
        """Close the sockets; idempotent."""
        super().close()
        for claim in self._claims:
            claim.close()


def _claim(server: Address, host: Address) -> socket.socket:
    """Return a socket bound to a name that stands for the port's addresses. Raises OSError.

    Ports share the server's UDP address, so a second switch could bind it too. Only one process can bind the name.
    """
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        # An abstract name (unix(7)), which the kernel removes when the process ends.
        claim.bind(f"\0lanesum-port/{server[0]}:{server[1]}/{host[0]}:{host[1]}")
    except OSError:
        claim.close()
        raise
    return claim


def open_udp_ports(configs: list[UdpPortConfig]) -> list[UdpPort]:
    """Open all ports. Raises ConfigurationError, with no port open, if another process uses a server's address."""
    ports: list[UdpPort] = []
    try:
        for config in configs:
            ports.append(UdpPort(config))
    except ConfigurationError:
        for port in ports:
            port.close()
        raise
    return ports

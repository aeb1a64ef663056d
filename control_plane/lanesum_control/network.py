# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The network as the controller needs it: who hangs where, and what every switch sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lanesum_control.model import HostPort
from lanesum_control.topology import Topology


@dataclass(frozen=True, slots=True)
class Network:
    """A topology with the addresses of one runner.

    Attributes:
        upper: the switch that the server is linked to; racks are the other switches.
        at: switch of every host.
        seen: every host as each switch sees it, by switch and host.
        server_host: the server's name.
        server: IPv4 address and UDP port that workers' packets are addressed to.
        one_port: switches hear a host only from the protocol's own UDP port, as those on loopback do.
    """

    upper: str
    at: Mapping[str, str]
    seen: Mapping[str, Mapping[str, HostPort]]
    server_host: str
    server: tuple[str, int]
    one_port: bool = False

    @classmethod
    def of(cls, topology: Topology, *, loopback: bool) -> Network:
        (server_host,) = topology.names("server")
        return cls(
            upper=topology.switch,
            at={host: topology.switch_of(host) for host in topology.hosts()},
            seen={switch: topology.host_ports(switch, loopback=loopback) for switch in topology.switches()},
            server_host=server_host,
            server=topology.server_address(loopback=loopback),
            one_port=loopback,
        )

    @property
    def switches(self) -> tuple[str, ...]:
        """All switches, in file order."""
        return tuple(self.seen)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, in file order."""
        return tuple(self.at)

    def host(self, name: str) -> HostPort:
        """A host as its own switch sees it."""
        return self.seen[self.at[name]][name]

    def uplink(self, switch: str) -> int:
        """Port of ``switch`` on the way to the server."""
        return self.seen[switch][self.server_host].port

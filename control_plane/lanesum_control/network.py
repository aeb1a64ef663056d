# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The network as the controller needs it: who hangs where, and what every switch sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lanesum._internal.udp_socket import Address
from lanesum_control.model import HostPort
from lanesum_control.topology import Topology


@dataclass(frozen=True, slots=True)
class Network:
    """A topology with the addresses of one runner.

    Attributes:
        upper: the switch that the first server is linked to; racks are the other switches.
        at: switch of every host.
        seen: every host as each switch sees it, by switch and host.
        server_hosts: names of the hosts that run an aggregation server; a worker may run on the same one.
        servers: their IPv4 addresses and UDP ports, which workers' packets are addressed to.
        one_port: switches hear a host only from the protocol's own UDP port, as those on loopback do.
    """

    upper: str
    at: Mapping[str, str]
    seen: Mapping[str, Mapping[str, HostPort]]
    server_hosts: tuple[str, ...]
    servers: tuple[Address, ...]
    one_port: bool = False

    @classmethod
    def of(cls, topology: Topology, *, loopback: bool) -> Network:
        server_hosts = topology.server_hosts()
        return cls(
            upper=topology.switch,
            at={host: topology.switch_of(host) for host in topology.hosts()},
            seen={switch: topology.host_ports(switch, loopback=loopback) for switch in topology.switches()},
            server_hosts=tuple(server_hosts),
            servers=tuple(topology.server_address(host, loopback=loopback) for host in server_hosts),
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

    def uplink(self, switch: str) -> int | None:
        """Port of ``switch`` on the way to the servers; None where not all of them are behind the upper switch."""
        return None if self.beside_upper else self.seen[switch][self.server_hosts[0]].port

    @property
    def beside_upper(self) -> tuple[str, ...]:
        """Servers that racks reach past the upper switch, or need not."""
        return tuple(host for host in self.server_hosts if self.at[host] != self.upper)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Network as the controller uses it: locations of hosts, and their ports at every switch."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lanesum._internal.udp_socket import Address
from lanesum_control.errors import AdmissionError
from lanesum_fabric.program.switch_job import HostPort
from lanesum_fabric.topology import Topology


@dataclass(frozen=True, slots=True)
class Network:
    """A topology with the addresses of one runner.

    Attributes:
        upper: switch of the first server; racks are the other switches. ``NO_SWITCH`` without any.
        at: switch of every host; ``NO_SWITCH`` in a topology without one.
        seen: every host as each switch sees it, by switch and host.
        server_hosts: names of the hosts with an aggregation server; a worker may run on the same one.
        servers: IPv4 addresses and UDP ports of the servers.
        workers: names of the hosts of kind worker.
        one_port: switches accept a host's packets only from the protocol's UDP port, as on loopback.
        links: (switch, port, switch, port) of every link between two switches.
        own: IPv4 addresses of the switches that have one.
        addresses: IPv4 address of every host.
    """

    upper: str
    at: Mapping[str, str]
    seen: Mapping[str, Mapping[str, HostPort]]
    server_hosts: tuple[str, ...]
    servers: tuple[Address, ...]
    workers: tuple[str, ...] = ()
    one_port: bool = False
    links: tuple[tuple[str, int, str, int], ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, topology: Topology, *, loopback: bool) -> Network:
        server_hosts = topology.server_hosts()
        return cls(
            upper=topology.switch,
            at={host: topology.switch_of(host) for host in topology.hosts()},
            addresses={host: topology.address(host, loopback=loopback) for host in topology.hosts()},
            seen={switch: topology.host_ports(switch, loopback=loopback) for switch in topology.switches()},
            server_hosts=tuple(server_hosts),
            servers=tuple(topology.server_address(host, loopback=loopback) for host in server_hosts),
            workers=tuple(topology.names("worker")),
            one_port=loopback,
            links=tuple(topology.links_between_switches()),
            own={
                switch: topology.address(switch, loopback=loopback)
                for switch in topology.switches()
                if topology.nodes[switch].ip is not None
            },
        )

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of all switches, in file order."""
        return tuple(self.seen)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all hosts, in file order."""
        return tuple(self.at)

    def host(self, name: str) -> HostPort | None:
        """Return a host as its own switch sees it; None without a switch."""
        return self.seen.get(self.at[name], {}).get(name)

    def address(self, name: str) -> str:
        """Return the IPv4 address of a host."""
        return self.addresses[name]

    def hosts_of(self, addresses: Sequence[str], busy: Collection[str]) -> tuple[str, ...]:
        """Return the hosts of workers whose processes have these IPv4 addresses, in the same order.

        On loopback all processes have one address. There the workers get the first hosts that are not ``busy``, and
        busy ones only if those do not suffice. Raises AdmissionError.
        """
        if self.one_port:
            hosts = sorted(self.workers, key=lambda name: name in busy)
            if len(hosts) < len(addresses):
                raise AdmissionError(
                    f"The job has {len(addresses)} workers, the controller's topology {len(hosts)}.",
                    "Start the controller with a larger topology, or the script with lanesum launch.",
                )
            return tuple(hosts[: len(addresses)])
        names = {self.address(name): name for name in self.workers}
        unknown = sorted(set(addresses) - names.keys())
        if unknown:
            raise AdmissionError(
                f"No worker of the controller's topology has the address {', '.join(unknown)}.",
                f"Its workers: {', '.join(f'{name} {ip}' for ip, name in names.items())}.",
            )
        twice = [ip for ip, count in collections.Counter(addresses).items() if count > 1]
        if twice:
            raise AdmissionError(
                f"Several workers of the job are at {', '.join(f'{names[ip]} ({ip})' for ip in twice)}.",
                "Start one process on each host.",
            )
        return tuple(names[ip] for ip in addresses)

    def on_path(self, workers: Iterable[str]) -> set[str]:
        """Return the switches between hosts with workers and the servers."""
        links = {(one, port): other for one, port, other, _ in self.links}
        links |= {(other, port): one for one, _, other, port in self.links}
        first = {self.at[worker] for worker in workers}
        passed = set(first)
        for at, server in itertools.product(first, self.server_hosts):
            while at != self.at[server]:
                at = links[at, self.seen[at][server].port]
                passed.add(at)
        return passed

    def uplink(self, switch: str) -> int | None:
        """Return the uplink port of ``switch``; None if some server is not behind the upper switch."""
        return None if self.beside_upper else self.seen[switch][self.server_hosts[0]].port

    @property
    def beside_upper(self) -> tuple[str, ...]:
        """Servers whose packets from racks need not pass the upper switch."""
        return tuple(host for host in self.server_hosts if self.at[host] != self.upper)

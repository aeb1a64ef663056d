# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Network as the controller uses it: locations of hosts, and their ports at every switch."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lanesum._internal.udp_socket import Address
from lanesum_control.errors import AdmissionError
from lanesum_fabric.errors import TableSizeError
from lanesum_fabric.program.capabilities import ARP, HOST_TABLES, last_name
from lanesum_fabric.program.switch_job import HostPort
from lanesum_fabric.topology import Topology
from lanesum_fabric.topology.model import server_name
from lanesum_fabric.topology.spines import link_name


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
        spines: switches between the racks, where there are several; the switch of the first server is a rack then.
        ranks: spines that paths avoid, see ``avoiding``.
        topology: the topology; None for a network that has no other paths.
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
    spines: tuple[str, ...] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    topology: Topology | None = field(default=None, repr=False, compare=False)
    _avoiding: list[Network] = field(default_factory=list, init=False, repr=False, compare=False)  # the last one
    _ends: dict[tuple[str, int], str] = field(default_factory=dict, init=False, repr=False, compare=False)

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
            spines=topology.spines,
            topology=topology if topology.spines else None,
        )

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of all switches, in file order."""
        return tuple(self.seen)

    @property
    def server_names(self) -> tuple[str, ...]:
        """Names of the servers, see ``Topology.server_names``."""
        numbered = enumerate(self.server_hosts)
        return tuple(server_name(number) if host in self.workers else host for number, host in numbered)

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
        """Return the switches between hosts with workers and the servers: all spines where there are several."""
        passed = {self.at[worker] for worker in workers}
        for at, server in itertools.product(tuple(passed), self.server_hosts):
            while at != self.at[server]:
                at = self._next(at, server)
                passed.add(at)
        return passed if passed.isdisjoint(self.spines) else passed.union(self.spines)

    def _next(self, switch: str, host: str) -> str:
        """Return the next switch on the path from ``switch`` to a host at another one."""
        if not self._ends:
            self._ends.update({(one, port): other for one, port, other, _ in self.links})
            self._ends.update({(other, port): one for one, _, other, port in self.links})
        return self._ends[switch, self.seen[switch][host].port]

    def missing(self, hosts: Iterable[str]) -> list[str]:
        """Return the hosts that the network lacks."""
        return [host for host in hosts if host not in self.at]

    def uplinks(self, switch: str) -> tuple[int, ...]:
        """Return the ports of ``switch`` towards the servers.

        Empty in a tree where some server is not behind the upper switch.
        """
        if not self.spines:
            return () if self.beside_upper([switch]) else (self.seen[switch][self.server_hosts[0]].port,)
        ports = [self.seen[switch][host].port for host in self.server_hosts if self.at[host] != switch]
        return tuple(dict.fromkeys(ports))

    def beside_upper(self, switches: Collection[str]) -> tuple[str, ...]:
        """Return servers whose packets from racks at ``switches`` need not pass the switches that sum racks."""
        beside = tuple(host for host in self.server_hosts if self.at[host] != self.upper)
        if self.spines and not any(self.at[host] in switches for host in self.server_hosts):
            return ()
        return beside

    def combining(self, switches: Collection[str]) -> list[list[str]]:
        """Return candidates for the sum of racks at ``switches``, the preferred one first, for each switch of servers.

        All packets from the racks to these servers pass each candidate.
        """
        if not self.spines:
            return [[self.upper]]
        found = []
        for at, server in {self.at[host]: host for host in reversed(self.server_hosts)}.items():
            passed = {at if switch == at else self._next(switch, server) for switch in switches}
            found.append(list(dict.fromkeys([*passed, at])) if len(passed) == 1 else [at])
        return found[::-1]

    @property
    def spine_links(self) -> dict[str, tuple[str, int, str, int]]:
        """Rack, port, spine and port of every link to a spine, by ``link_name``."""
        if not self.spines:
            return {}
        links = [
            (other, at, one, port) if one in self.spines else (one, port, other, at)
            for one, port, other, at in self.links
        ]
        return {link_name(link[0], link[2]): link for link in links}

    def avoiding(self, ranks: Mapping[str, int]) -> Network:
        """Return the network with paths over spines and links of the lowest ``ranks``, see ``Spines.between``."""
        if self.topology is None or ranks == self.ranks:
            return self
        if not self._avoiding or self._avoiding[0].ranks != ranks:
            seen = {one: self.topology.host_ports(one, loopback=self.one_port, ranks=ranks) for one in self.switches}
            self._avoiding[:] = [replace(self, seen=seen, ranks=ranks)]
        return self._avoiding[0]

    def routes(self, switch: str) -> dict[str, int]:
        """Return the entries for hosts at a switch, by last name of the table; ARP also answers for the switch."""
        entries = {last_name(table): len(self.seen.get(switch, ())) for table in HOST_TABLES}
        entries[last_name(ARP)] += bool(self.own.get(switch))
        return entries

    def check_tables(self, sizes: Mapping[str, Mapping[str, int]]) -> None:
        """Check that hosts fit the tables of switches; ``sizes``: by switch and table. Raises TableSizeError."""
        for switch in filter(self.seen.__contains__, sizes):
            for table, needed in self.routes(switch).items():
                if needed > sizes[switch].get(table, needed):
                    raise TableSizeError(switch, table, sizes[switch][table], needed)

    def ports(self, switch: str) -> set[int]:
        """Return the ports of a switch that packets of hosts pass, by any path."""
        ports = {host.port for host in self.seen[switch].values()}
        if not self.spines:
            return ports
        ends = [end for one, port, other, at in self.links for end in ((one, port), (other, at))]
        return ports.union(port for name, port in ends if name == switch)

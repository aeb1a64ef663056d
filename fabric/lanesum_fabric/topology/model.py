# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Model of a topology, and its checks.

One switch, or racks around one switch or around several spines: two levels, and one path at a time between any two
nodes. Or hosts without a switch, which reach each other over a network that lanesum does not control.
"""

from __future__ import annotations

import collections
import functools
import ipaddress
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import yaml
from pydantic import Field, StringConstraints, field_validator, model_validator

from lanesum.protocol.spec import UDP_PORT
from lanesum.transport.ticket import MAX_SERVERS
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from lanesum_fabric.topology.spines import NO_RANKS, Spines, find_problem
from lanesum_fabric.yaml_model import FileModel, wrong

_SWITCH_MAC = SWITCH_MAC.hex(":")
_NAME = r"[a-z](-?[a-z0-9]){0,14}"
_MAX_NAME = 15  # characters of an interface of Linux
Name = Annotated[str, StringConstraints(pattern=rf"^{_NAME}$", max_length=_MAX_NAME)]
Mac = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
Kind = Literal["switch", "worker", "server", "controller"]

_ENDPOINT = re.compile(rf"^(?P<node>{_NAME})(:(?P<port>[0-9]{{1,3}}))?$")
MAX_PORT = 508  # nine-bit ports; 510 and 511 are the CPU and drop ports by convention
_LOOPBACK_FIRST_OCTET = 127
_TRUNKS_SECOND_OCTET = 255  # on loopback, the ends of links between switches have 127.255.LINK.END
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
_BEHIND_SWITCH = 1  # added to the server's port where a switch listens at the server's own address
SERVER = "server"
NO_SWITCH = ""  # in place of the name of a switch, in a topology without one


def server_name(number: int) -> str:
    """Return the name of a server on a worker's host: ``server``, ``server2``, ``server3`` ..."""
    return f"{SERVER}{number + 1}" if number else SERVER


class Node(FileModel):
    """A node. Hosts have an IPv4 address; their MAC is derived from it unless given. A switch may have one."""

    kind: Kind
    ip: ipaddress.IPv4Address | None = Field(
        default=None, description="IPv4 address; a switch that has one answers pings and reports lost packets"
    )
    mac: Mac | None = Field(
        default=None,
        description="MAC address of a host; derived from the IPv4 address unless given. A controller may have that of "
        "switches: it is the operating system of its switch, at the CPU port",
    )

    @model_validator(mode="after")
    def _host_has_address(self) -> Node:
        if self.kind == "switch" and self.mac is not None:
            raise ValueError("a switch has no mac of its own choice")
        if self.kind != "switch" and self.ip is None:
            raise ValueError(f"a {self.kind} needs an ip")
        return self

    @field_validator("ip")
    @classmethod
    def _address_of_one_host(cls, ip: ipaddress.IPv4Address | None) -> ipaddress.IPv4Address | None:
        if ip is None:
            return ip
        for what, is_so in (
            ("no address of a host", ip in _THIS_NETWORK),
            ("a multicast address", ip.is_multicast),
            ("a reserved address", ip.is_reserved),
            ("a loopback address, which the runner derives itself", ip.is_loopback),
            ("on loopback the address of a link between switches", ip.packed[1] == _TRUNKS_SECOND_OCTET),
        ):
            if is_so:
                raise ValueError(f"{ip} is {what}")
        return ip

    @field_validator("mac")
    @classmethod
    def _mac_of_one_host(cls, mac: str | None) -> str | None:
        if mac is not None and (int(mac[:2], 16) & 1 or mac == "00:00:00:00:00:00"):
            raise ValueError(f"{mac} is the MAC address of a group, or of no host")
        return mac

    @property
    def mac_text(self) -> str:
        """MAC address; derived ones are locally administered."""
        if self.mac is not None:
            return self.mac
        assert self.ip is not None
        return "02:00:" + self.ip.packed.hex(":")

    @property
    def is_cpu(self) -> bool:
        """True for the operating system of a switch."""
        return self.kind == "controller" and self.mac == _SWITCH_MAC

    @property
    def loopback_ip(self) -> str:
        """Address of the host on the loopback runner: the same address below 127."""
        assert self.ip is not None
        return ".".join([str(_LOOPBACK_FIRST_OCTET), *str(self.ip).split(".")[1:]])


class TopologyLink(FileModel):
    """A link: ``["s1:3", "w3"]`` is port 3 of s1 to w3, ``["s1:5", "s0:1"]`` joins two switches."""

    endpoints: tuple[str, str] = Field(description="switch:port and host, or switch:port twice; in either order")
    rate_mbit: Annotated[float, Field(gt=0)] | None = Field(default=None, description="rate limit, mininet only")

    @model_validator(mode="after")
    def _well_formed(self) -> TopologyLink:
        for endpoint in self.endpoints:
            found = _ENDPOINT.match(endpoint)
            if not found:
                raise ValueError(f"endpoint {endpoint!r} is neither 'node' nor 'node:port'")
            if found["port"] and not 1 <= int(found["port"]) <= MAX_PORT:
                raise ValueError(f"port {found['port']} is not between 1 and {MAX_PORT}")
        return self

    def parts(self) -> list[tuple[str, int | None]]:
        """Return (node, port) of both ends."""
        return [(name, int(port) if port else None) for name, _, port in (e.partition(":") for e in self.endpoints)]


class Topology(FileModel):
    """A network."""

    name: Name
    nodes: dict[Name, Node]
    links: list[TopologyLink] = Field(default_factory=list, description="none in a topology without a switch")
    servers: Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None, description="hosts that run an aggregation server, workers included; those of kind server if not"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Topology:
        counts = collections.Counter[str](node.kind for node in self.nodes.values())
        for kind in ("controller", "worker", *(() if self.servers else ("server",))):
            if not counts[kind]:
                raise wrong(f"at least one {kind} is needed", "nodes")
        self._check_servers()
        self._check_addresses()
        self._check_links()
        self._check_levels()
        return self

    def _check_servers(self) -> None:
        for index, name in enumerate(self.servers or []):
            if name not in self.nodes or self.nodes[name].kind not in ("worker", "server"):
                raise wrong(f"{name!r} is no worker and no server", "servers", index)
            if name in (self.servers or [])[:index]:
                raise wrong(f"{name} runs one server already", "servers", index)

    def _check_addresses(self) -> None:
        """Check that every address is that of one node, on both runners."""
        seen = {_SWITCH_MAC: "all switches"}
        for name, node in self.nodes.items():
            if node.ip is None:
                continue
            addresses = {str(node.ip): "ip", f"{node.loopback_ip} (on loopback)": "ip"}
            if node.kind != "switch" and not node.is_cpu:
                addresses[node.mac_text] = "ip" if node.mac is None else "mac"
            for address, where in addresses.items():
                if address in seen:
                    raise wrong(f"{address} is the address of {seen[address]} already", "nodes", name, where)
            seen.update(dict.fromkeys(addresses, name))

    def _check_links(self) -> None:
        """Check that every link is well-formed, every port used once, every host linked once."""
        used: set[tuple[str, int]] = set()
        linked: set[str] = set()
        cpus: dict[str, str] = {}  # by switch
        for index, link in enumerate(self.links):
            for name, _ in link.parts():
                if name not in self.nodes:
                    raise wrong(f"node {name!r} does not exist", "links", index)
            is_switch = [self.nodes[name].kind == "switch" for name, _ in link.parts()]
            has_port = [port is not None for _, port in link.parts()]
            if is_switch != has_port or not any(is_switch):
                raise wrong("a link joins one 'switch:port' and one host, or two of 'switch:port'", "links", index)
            for name, port in link.parts():
                if port is None:
                    if name in linked:
                        raise wrong(f"host {name} is linked twice", "links", index)
                    linked.add(name)
                    (switch,) = (other for other, port in link.parts() if port is not None)
                    if self.nodes[name].is_cpu and cpus.setdefault(switch, name) != name:
                        raise wrong(f"the CPU port of {switch} is that of {cpus[switch]} already", "links", index)
                elif (name, port) in used:
                    raise wrong(f"port {name}:{port} is linked twice", "links", index)
                else:
                    used.add((name, port))
        for name, node in self.nodes.items():
            if self.switches() and node.kind != "switch" and name not in linked:
                raise wrong("not linked to a switch", "nodes", name)

    def _check_levels(self) -> None:
        """Check that the switches form a tree with one of them adjacent to all others, or racks around spines."""
        if not self.switches():
            return
        joined: set[frozenset[str]] = set()
        for index, link in enumerate(self.links):
            (one, port), (other, other_port) = link.parts()
            if port is None or other_port is None:
                continue
            if one == other or frozenset((one, other)) in joined:
                raise wrong(
                    f"there is another path between {one} and {other} already: no program aggregates links",
                    "links",
                    index,
                )
            joined.add(frozenset((one, other)))
        reached = self.hops_to_server()
        for name in self.switches():
            if name not in reached:
                raise wrong(f"no path to {self.switch}, where the server is", "nodes", name)
        if len(self.links_between_switches()) >= len(self.switches()):
            if not self.spines:
                raise wrong("switches have several paths, but no spines: every switch has a host", "links")
            if problem := find_problem(self._spines(), self.links_between_switches()):
                raise wrong(problem, "links")
            return
        middle = self.middle
        near = {
            end for one, _, other, _ in self.links_between_switches() if middle in (one, other) for end in (one, other)
        }
        for name in self.switches():
            if name != middle and name not in near:
                raise wrong(
                    f"a third level: {name} is not linked to {middle} itself, and switches sum at two levels. Describe "
                    "one pod, or link each rack to one switch without control, for all switches above: it routes, the "
                    "server sums the racks",
                    "nodes",
                    name,
                )

    @functools.cached_property
    def spines(self) -> tuple[str, ...]:
        """Switches between the racks, where there is more than one path: all switches without hosts; empty in a tree.

        The operating system of a switch is no host here.
        """
        if len(self.links_between_switches()) < max(1, len(self.switches())):
            return ()
        with_hosts = {at for host, (at, _) in self._cables.items() if not self.nodes[host].is_cpu}
        return tuple(name for name in self.switches() if name not in with_hosts)

    def _spines(self) -> Spines:
        ports: dict[str, dict[str, int]] = {name: {} for name in self.switches()}
        for one, port, other, other_port in self.links_between_switches():
            ports[one][other], ports[other][one] = port, other_port
        served = dict.fromkeys(self.switch_of(host) for host in self.server_hosts())
        racks = tuple(name for name in self.switches() if name not in self.spines)
        return Spines(self.spines, racks, tuple(served), ports)

    def to_yaml(self) -> str:
        """Return the topology as a file for ``load``."""
        values = self.model_dump(mode="json", exclude_none=True)
        return yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=120)

    def names(self, kind: Kind) -> list[str]:
        """Return the names of all nodes of a kind, in file order."""
        return [name for name, node in self.nodes.items() if node.kind == kind]

    def switches(self) -> list[str]:
        """Return the names of the switches, in file order."""
        return self.names("switch")

    def hosts(self) -> list[str]:
        """Return the names of workers, servers and controllers, in file order."""
        return [name for name, node in self.nodes.items() if node.kind != "switch"]

    @property
    def controller(self) -> str:
        """Host of the controller: a node of that kind that is no switch's operating system, if there is one."""
        names = self.names("controller")
        return next((name for name in names if not self.nodes[name].is_cpu), names[0])

    def server_hosts(self) -> list[str]:
        """Return the hosts with an aggregation server; the order defines the servers' numbers."""
        return self.names("server") if self.servers is None else list(self.servers)

    def server_names(self) -> list[str]:
        """Return the names of the servers in events, counters and fault plans: that of the host, if it is a server."""
        numbered = enumerate(self.server_hosts())
        return [host if self.nodes[host].kind == "server" else server_name(number) for number, host in numbered]

    def with_servers(self, count: int, *, on_workers: bool = False) -> Topology:
        """Return the same network with ``count`` aggregation servers.

        ``on_workers``: on the first workers' hosts. Otherwise on hosts of their own: existing ones first, then new ones
        with the next free addresses and switch ports. Raises ValueError if there are not enough.
        """
        workers = self.names("worker")
        if not 1 <= count <= (len(workers) if on_workers else MAX_SERVERS):
            raise ValueError(f"{count} aggregation servers are too few, or more than {self.name} has room for")
        if on_workers:
            return self.model_copy(update={"servers": workers[:count]})
        hosts, nodes, links = self.names("server")[:count], dict(self.nodes), list(self.links)
        for number in range(len(hosts) + 1, count + 1):
            name = next(name for n in itertools.count(number) if (name := f"server{n}") not in nodes)
            nodes[name] = Node(kind="server", ip=_next_address(nodes, hosts))
            if self.switches():
                links.append(self._another_link(hosts, name, links))
            hosts.append(name)
        return Topology(name=self.name, nodes=nodes, links=links, servers=hosts)

    def _another_link(self, hosts: list[str], name: str, links: list[TopologyLink]) -> TopologyLink:
        """Return a link to the switch of the first of ``hosts``, at a free port, with the same rate."""
        like = next((link for link in links if hosts and hosts[0] in link.endpoints), None)
        switch = self.switch
        used = {port for link in links for at, port in link.parts() if at == switch}
        port = next(port for port in range(1, MAX_PORT + 1) if port not in used)
        return TopologyLink(endpoints=(f"{switch}:{port}", name), rate_mbit=None if like is None else like.rate_mbit)

    @property
    def switch(self) -> str:
        """Switch of the first server: the only one, or the upper one; ``NO_SWITCH`` without any."""
        return self.switch_of(self.server_hosts()[0])

    @property
    def middle(self) -> str:
        """Switch with most other switches next to it: the only one, or the one that all racks are linked to.

        ``NO_SWITCH`` without any.
        """
        if not self.switches():
            return NO_SWITCH
        ends = [end for one, _, other, _ in self.links_between_switches() for end in (one, other)]
        return max(self.switches(), key=lambda name: (ends.count(name), name == self.switch))

    def switch_of(self, host: str) -> str:
        """Return the switch of a host; ``NO_SWITCH`` without any."""
        return self._cables[host][0] if self.switches() else NO_SWITCH

    def links_between_switches(self) -> list[tuple[str, int, str, int]]:
        """Return (switch, port, switch, port) of every link between two switches, in file order."""
        return list(self._between)

    @functools.cached_property
    def _between(self) -> list[tuple[str, int, str, int]]:
        between = []
        for link in self.links:
            (one, port), (other, other_port) = link.parts()
            if port is not None and other_port is not None:
                between.append((one, port, other, other_port))
        return between

    @functools.cached_property
    def _cables(self) -> dict[str, tuple[str, int]]:
        """Return the (switch, port) of every host."""
        cables = {}
        for link in self.links:
            ends = link.parts()
            for (host, host_port), (switch, port) in (ends, ends[::-1]):
                if host_port is None and port is not None:
                    cables[host] = (switch, port)
        return cables

    def ports(self, switch: str | None = None) -> dict[str, int]:
        """Return the switch port of every host, or of the hosts at ``switch``."""
        return {host: port for host, (at, port) in self._cables.items() if switch in (None, at)}

    def address(self, name: str, *, loopback: bool) -> str:
        """Return a host's IPv4 address on the runner."""
        node = self.nodes[name]
        return node.loopback_ip if loopback else str(node.ip)

    def _ip(self, name: str, *, loopback: bool) -> int:
        return int(ipaddress.IPv4Address(self.address(name, loopback=loopback)))

    def own_ip(self, switch: str, *, loopback: bool) -> int:
        """Return the IPv4 address of a switch, for ICMP; 0 without one."""
        return 0 if self.nodes[switch].ip is None else self._ip(switch, loopback=loopback)

    def server_address(self, host: str | None = None, *, loopback: bool) -> tuple[str, int]:
        """Return the destination of workers' packets to the server at ``host`` (default: the first one)."""
        return self.address(self.server_hosts()[0] if host is None else host, loopback=loopback), UDP_PORT

    def server_backend(self, host: str | None = None, *, loopback: bool) -> tuple[str, int]:
        """Return the address of the server process: on loopback a switch holds the server's own address."""
        ip, port = self.server_address(host, loopback=loopback)
        return ip, port + (_BEHIND_SWITCH if loopback else 0)

    def host_ports(
        self, switch: str | None = None, *, loopback: bool, ranks: Mapping[str, int] = NO_RANKS
    ) -> dict[str, HostPort]:
        """Return every host as ``switch`` (default: the server's) sees it: at its port, or behind another switch.

        ``ranks``: of spines, see ``Spines.between``. A spine does not see hosts of racks without a link to it.
        """
        here = self.switch if switch is None else switch
        cables = self._cables
        towards = self._spines().towards(here, ranks) if self.spines else self._towards(here)
        seen = {}
        for name in self.hosts():
            at, port = cables[name]
            ip = self._ip(name, loopback=loopback)
            if at == here:
                seen[name] = HostPort(port, ip, bytes.fromhex(self.nodes[name].mac_text.replace(":", "")))
            elif at in towards:
                seen[name] = HostPort(towards[at], ip, SWITCH_MAC, attached=False)
        return seen

    def hops_to_server(self, without: str = "") -> dict[str, int]:
        """Return the number of links to the first server's switch, for every switch with a path to it.

        ``without``: a switch that the paths do not pass.
        """
        links = [{one, other} for one, _, other, _ in self.links_between_switches() if without not in (one, other)]
        hops = {} if self.switch == without else {self.switch: 0}
        for distance in range(1, len(self.switches())):
            near = {end for link in links if hops.keys() & link for end in link}
            hops |= dict.fromkeys(near - hops.keys(), distance)
        return hops

    def _towards(self, here: str) -> dict[str, int]:
        """Return the port of ``here`` on the path to every other switch."""
        links = [(one, port, other) for one, port, other, _ in self.links_between_switches()]
        links += [(other, port, one) for one, _, other, port in self.links_between_switches()]
        towards = {other: port for one, port, other in links if one == here}
        frontier = list(towards)
        while frontier:
            via = frontier.pop()
            for one, _, other in links:
                if one == via and other != here and other not in towards:
                    towards[other] = towards[via]
                    frontier.append(other)
        return towards


def _next_address(nodes: Mapping[str, Node], hosts: Sequence[str]) -> ipaddress.IPv4Address:
    """Return the first free address after the last of ``hosts``, or after the largest. Raises ValueError."""
    used = {node.ip for node in nodes.values() if node.ip is not None}
    last = nodes[hosts[-1]].ip if hosts else max(used)
    assert last is not None
    network = ipaddress.IPv4Network((last, 24), strict=False)  # addresses that Mininet's hosts use
    free = [ip for ip in network.hosts() if ip not in used]
    if not free:
        raise ValueError(f"no address of {network} is free")
    return next((ip for ip in free if ip > last), free[0])

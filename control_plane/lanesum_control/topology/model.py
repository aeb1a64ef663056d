# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The topology model, its checks, and its JSON schema.

One switch level for now: every host hangs at the one switch.
"""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from lanesum.protocol.frames import ipv4_int, mac_bytes
from lanesum.protocol.spec import UDP_PORT
from lanesum_control.model import HostPort

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,14}$")]
Mac = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$")]
Kind = Literal["switch", "worker", "server", "controller"]

_ENDPOINT = re.compile(r"^(?P<node>[a-z][a-z0-9]{0,14})(:(?P<port>[0-9]{1,3}))?$")
_MAX_PORT = 508  # nine-bit ports; 510 and 511 are the CPU and drop ports by convention
_LOOPBACK_FIRST_OCTET = 127


def _wrong(message: str, *path: str | int) -> PydanticCustomError:
    """An error about the node at ``path`` that only shows when the whole file is looked at."""
    return PydanticCustomError("topology", "{message}", {"message": message, "path": list(path)})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Node(_Strict):
    """One box. Hosts have an IPv4 address; a MAC is derived from it unless given."""

    kind: Kind
    ip: ipaddress.IPv4Address | None = Field(default=None, description="IPv4 address; hosts only")
    mac: Mac | None = Field(default=None, description="MAC address; derived from the IPv4 address unless given")

    @model_validator(mode="after")
    def _host_has_address(self) -> Node:
        if self.kind == "switch" and self.ip is not None:
            raise ValueError("a switch has no ip")
        if self.kind != "switch" and self.ip is None:
            raise ValueError(f"a {self.kind} needs an ip")
        return self

    @property
    def mac_text(self) -> str:
        """The MAC address; derived ones are locally administered."""
        if self.mac is not None:
            return self.mac
        assert self.ip is not None
        return "02:00:" + self.ip.packed.hex(":")

    @property
    def loopback_ip(self) -> str:
        """The host's address on the loopback runner: the same address below 127."""
        assert self.ip is not None
        return ".".join([str(_LOOPBACK_FIRST_OCTET), *str(self.ip).split(".")[1:]])


class Link(_Strict):
    """One cable: ``["s1:3", "w3"]`` is port 3 of s1 to w3."""

    endpoints: tuple[str, str] = Field(description="switch:port and host, in either order")
    rate_mbit: Annotated[float, Field(gt=0)] | None = Field(default=None, description="rate limit, mininet only")

    @model_validator(mode="after")
    def _well_formed(self) -> Link:
        for endpoint in self.endpoints:
            found = _ENDPOINT.match(endpoint)
            if not found:
                raise ValueError(f"endpoint {endpoint!r} is neither 'node' nor 'node:port'")
            if found["port"] and not 1 <= int(found["port"]) <= _MAX_PORT:
                raise ValueError(f"port {found['port']} is not between 1 and {_MAX_PORT}")
        return self

    def parts(self) -> list[tuple[str, int | None]]:
        """(node, port) of both ends."""
        return [(name, int(port) if port else None) for name, _, port in (e.partition(":") for e in self.endpoints)]


class Topology(_Strict):
    """A whole network."""

    name: Name
    nodes: dict[Name, Node]
    links: list[Link]

    @model_validator(mode="after")
    def _consistent(self) -> Topology:
        for kind in ("switch", "server", "controller"):
            if len(self.names(kind)) != 1:
                raise _wrong(f"one {kind} is needed, not {len(self.names(kind))}", "nodes")
        if not self.names("worker"):
            raise _wrong("at least one worker is needed", "nodes")
        seen: dict[ipaddress.IPv4Address, str] = {}
        for name, node in self.nodes.items():
            if node.ip is not None and seen.setdefault(node.ip, name) != name:
                raise _wrong(f"{node.ip} is the address of {seen[node.ip]} already", "nodes", name, "ip")
        self._check_links()
        return self

    def _check_links(self) -> None:
        ports: set[int] = set()
        linked: set[str] = set()
        for index, link in enumerate(self.links):
            ends = link.parts()
            for name, _ in ends:
                if name not in self.nodes:
                    raise _wrong(f"node {name!r} does not exist", "links", index)
            switch_ends = [port for name, port in ends if name == self.switch]
            hosts = [(name, port) for name, port in ends if name != self.switch]
            if len(switch_ends) != 1 or switch_ends[0] is None or hosts[0][1] is not None:
                raise _wrong(f"a link joins one '{self.switch}:port' and one host", "links", index)
            if switch_ends[0] in ports:
                raise _wrong(f"port {self.switch}:{switch_ends[0]} is linked twice", "links", index)
            if hosts[0][0] in linked:
                raise _wrong(f"host {hosts[0][0]} is linked twice", "links", index)
            ports.add(switch_ends[0])
            linked.add(hosts[0][0])
        for name, node in self.nodes.items():
            if node.kind != "switch" and name not in linked:
                raise _wrong(f"not linked to {self.switch}", "nodes", name)

    def names(self, kind: Kind) -> list[str]:
        """Names of all nodes of a kind, in file order."""
        return [name for name, node in self.nodes.items() if node.kind == kind]

    @property
    def switch(self) -> str:
        return self.names("switch")[0]

    def ports(self) -> dict[str, int]:
        """Switch port of every host."""
        result = {}
        for link in self.links:
            ((_, port),) = [end for end in link.parts() if end[0] == self.switch]
            ((host, _),) = [end for end in link.parts() if end[0] != self.switch]
            assert port is not None
            result[host] = port
        return result

    def address(self, name: str, *, loopback: bool) -> str:
        """A host's IPv4 address on the runner."""
        node = self.nodes[name]
        return node.loopback_ip if loopback else str(node.ip)

    def server_address(self, *, loopback: bool) -> tuple[str, int]:
        """What the workers' packets are addressed to."""
        return self.address(self.names("server")[0], loopback=loopback), UDP_PORT

    def host_ports(self, *, loopback: bool) -> dict[str, HostPort]:
        """Every host as the controller sees it."""
        return {
            name: HostPort(port, ipv4_int(self.address(name, loopback=loopback)), mac_bytes(self.nodes[name].mac_text))
            for name, port in self.ports().items()
        }


def schema() -> dict[str, Any]:
    """JSON schema of a topology file, for editors (``topologies/schema.json``)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Topology.model_json_schema()}


def schema_text() -> str:
    return json.dumps(schema(), indent=2) + "\n"

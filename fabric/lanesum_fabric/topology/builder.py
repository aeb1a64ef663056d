# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Builder of topologies in Python, in place of a file written by hand."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lanesum._internal.output_file import write_file
from lanesum_fabric.topology.files import TopologyError
from lanesum_fabric.topology.model import MAX_PORT, Topology
from lanesum_fabric.yaml_model import problems_of

DEFAULT_ADDRESSES = "10.19.0.0/24"


class TopologyBuilder:
    """Nodes and links that become a topology.

    Switch ports and addresses that a call leaves out are the first ones that no other call has::

        build = TopologyBuilder("lab", addresses="10.19.0.0/24")
        build.switch("spine")
        for rack in ("rack1", "rack2"):
            build.switch(rack, at="spine")
            for gpu in range(4):
                build.worker(f"{rack}-gpu{gpu}", at=rack)
        build.server("server", at="spine")
        build.controller("controller", at="spine:8", ip="10.19.0.200")
        build.write("lab.yaml")

    Args:
        addresses: IPv4 network of the addresses that the builder gives.
    """

    def __init__(self, name: str, addresses: str = DEFAULT_ADDRESSES) -> None:
        try:
            self._addresses = ipaddress.IPv4Network(addresses)
        except ValueError as error:
            raise TopologyError(f"Topology {name}: {error}.", "Give an IPv4 network, as 10.19.0.0/24.") from error
        self._name = name
        self._nodes: dict[str, dict[str, Any]] = {}
        self._links: list[dict[str, Any]] = []

    def switch(self, name: str, *, at: str | None = None, port: int | None = None, ip: str | None = None) -> None:
        """Add a switch; ``at`` another one (``spine`` or ``spine:3``), by its own ``port``."""
        self.node(name, "switch", ip=ip)
        if at is not None:
            self.link(name if port is None else f"{name}:{port}", at)

    def worker(self, name: str, *, at: str | None = None, ip: str | None = None, mac: str | None = None) -> None:
        """Add a worker at a switch (``rack1``) or at a port of it (``rack1:3``); nowhere in a topology without any."""
        self._host(name, "worker", at, ip, mac)

    def server(self, name: str, *, at: str | None = None, ip: str | None = None, mac: str | None = None) -> None:
        """Add a host with an aggregation server."""
        self._host(name, "server", at, ip, mac)

    def controller(self, name: str, *, at: str | None = None, ip: str | None = None, mac: str | None = None) -> None:
        """Add the host of the controller."""
        self._host(name, "controller", at, ip, mac)

    def node(self, name: str, kind: str, *, ip: str | None = None, mac: str | None = None) -> None:
        """Add a node without links. Raises TopologyError for a name that is taken."""
        if name in self._nodes:
            raise TopologyError(f"Topology {self._name}: there is a node {name} already.", "Choose another name.")
        values = {"kind": kind, "ip": ip, "mac": mac}
        self._nodes[name] = {key: value for key, value in values.items() if value is not None}

    def link(self, one: str, other: str, *, rate_mbit: float | None = None) -> None:
        """Link two nodes, each a host, a switch or a switch:port."""
        link: dict[str, Any] = {"endpoints": [one, other]}
        self._links.append(link if rate_mbit is None else {**link, "rate_mbit": rate_mbit})

    def topology(self) -> Topology:
        """Return the topology. Raises TopologyError for everything that a file may not have either."""
        values = {"name": self._name, "nodes": self._nodes_with_addresses(), "links": self._links_with_ports()}
        try:
            return Topology.model_validate(values)
        except ValidationError as error:
            problems = "; ".join(message for _, message in problems_of(error))
            raise TopologyError(f"Topology {self._name}: {problems}.") from error

    def write(self, path: str | Path) -> Topology:
        """Write the topology as a file for ``load``, and return it. Raises ConfigurationError."""
        found = self.topology()
        write_file(Path(path), found.to_yaml())
        return found

    def _host(self, name: str, kind: str, at: str | None, ip: str | None, mac: str | None) -> None:
        self.node(name, kind, ip=ip, mac=mac)
        if at is not None:
            self.link(at, name)

    def _nodes_with_addresses(self) -> dict[str, dict[str, Any]]:
        used = {node.get("ip") for node in self._nodes.values()}
        free = (address for address in map(str, self._addresses.hosts()) if address not in used)
        nodes = {}
        for name, node in self._nodes.items():
            nodes[name] = node
            if node["kind"] != "switch" and "ip" not in node:
                address = next(free, None)
                if address is None:
                    raise TopologyError(
                        f"Topology {self._name}: no address of {self._addresses} is free for {name}.",
                        "Give the builder a larger network.",
                    )
                nodes[name] = {**node, "ip": address}
        return nodes

    def _links_with_ports(self) -> list[dict[str, Any]]:
        used = {end for link in self._links for end in link["endpoints"]}
        return [{**link, "endpoints": [self._end(end, used) for end in link["endpoints"]]} for link in self._links]

    def _end(self, text: str, used: set[str]) -> str:
        """Return an end of a link, with a port that is not in ``used`` if it is a switch without one."""
        if self._nodes.get(text, {}).get("kind") != "switch":
            return text
        for end in (f"{text}:{number}" for number in range(1, MAX_PORT + 1)):
            if end not in used:
                used.add(end)
                return end
        raise TopologyError(f"Topology {self._name}: switch {text} has no free port.", "Add another switch.")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Import of containerlab files (containerlab.dev, topology definition): nodes, links and labels."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from lanesum_fabric import yaml_model
from lanesum_fabric.topology.builder import DEFAULT_ADDRESSES, TopologyBuilder
from lanesum_fabric.topology.files import TopologyError
from lanesum_fabric.topology.model import Topology


class _Labels(BaseModel):
    role: Literal["switch", "worker", "server", "controller", "none"] | None = Field(default=None, alias="lanesum")
    ip: str | None = Field(default=None, alias="lanesum-ip")


class _Node(BaseModel):
    kind: str = "linux"
    labels: _Labels = _Labels()

    @property
    def role(self) -> str:
        return self.labels.role or ("worker" if self.kind == "linux" else "switch")


class _Link(BaseModel):
    endpoints: tuple[str, str]


class _Network(BaseModel):
    nodes: dict[str, _Node]
    links: list[_Link] = []


class _File(BaseModel):
    name: str
    topology: _Network


def load(path: str | Path, addresses: str = DEFAULT_ADDRESSES) -> Topology:
    """Return the topology of a containerlab file.

    Label ``lanesum`` of a node is its role: switch, worker, server, controller, or none to leave it out. Without it,
    nodes of kind ``linux`` are workers, and all others switches. Label ``lanesum-ip`` is the address of a host; hosts
    without it get one of ``addresses``. The port of a switch is the number at the end of an interface: 3 of ``eth3``.
    Raises TopologyError.
    """
    found = yaml_model.load(_File, "containerlab topology", path, {}, TopologyError)
    build, nodes = TopologyBuilder(found.name, addresses), found.topology.nodes
    for name, node in nodes.items():
        if node.role != "none":
            build.node(name, node.role, ip=node.labels.ip)
    for link in found.topology.links:
        ends = [end.partition(":") for end in link.endpoints]
        unknown = [name for name, _, _ in ends if name not in nodes]
        if unknown:
            raise TopologyError(f"{path}: a link has an end at {unknown[0]!r}, which is no node.", "Add the node.")
        if all(nodes[name].role != "none" for name, _, _ in ends):
            build.link(*(_end(name, interface, nodes[name]) for name, _, interface in ends))
    return build.topology()


def _end(name: str, interface: str, node: _Node) -> str:
    """Return an end of a link; hosts have no port numbers."""
    port = interface[len(interface.rstrip(string.digits)) :]
    return f"{name}:{port.lstrip('0') or '0'}" if node.role == "switch" and port else name

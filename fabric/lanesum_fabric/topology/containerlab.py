# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Import of containerlab files (containerlab.dev, topology definition): nodes, links and labels."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from lanesum_fabric import yaml_model
from lanesum_fabric.topology.builder import DEFAULT_ADDRESSES, TopologyBuilder
from lanesum_fabric.topology.files import TopologyError
from lanesum_fabric.topology.model import MAX_PORT, Topology

_HOST_KINDS = ("linux", "ext-container", "k8s-kind", "generic_vm", "host", "rare")
# Bridges of Linux, and links that leave the laboratory.
_BRIDGES = ("bridge", "ovs-bridge")
_OUTSIDE = ("host", "macvlan", "mgmt-net", "vxlan", "vxlan-stitch", "dummy")
# Fields of containerlab that say nothing about the network.
_IGNORED_NAMES = """
    image image-pull-policy restart-policy startup-config enforce-startup-config suppress-startup-config auto-remove
    startup-delay binds devices cap-add shm-size ports env env-files user entrypoint cmd license position network-mode
    runtime cpu cpu-set memory sandbox kernel sysctls extras config stages dns certificate healthcheck aliases mgmt-ipv4
    mgmt-ipv6 components publish type credentials ulimits
"""
_IGNORED = frozenset(_IGNORED_NAMES.split())
_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)(?:(:?[-=])([^}]*))?\})")
_ADDRESS = re.compile(
    r"\bip\s+(?:-4\s+)?a(?:ddr(?:ess)?)?\s+a(?:dd)?\s+([\d.]+)/\d+|\bifconfig\s+\S+\s+(?:inet\s+)?([\d.]+)"
)

_ROLES = ("switch", "worker", "server", "controller", "none")


class _Part(BaseModel):
    """Part of a file; what it does not understand is an error with its line."""

    model_config = ConfigDict(extra="forbid")


class _Settings(BaseModel):
    """Settings of a node, a kind, a group, or of all nodes."""

    model_config = ConfigDict(extra="allow")

    kind: str | None = None
    group: str | None = None
    labels: dict[str, str | int | float | bool | None] = {}
    exec: list[str] = []


class _Endpoint(_Part):
    node: str
    interface: str = ""
    mac: str | None = None
    vars: dict[str, Any] | None = None
    ipv4: str | None = None
    ipv6: str | None = None


class _Link(_Part):
    """A link in the short or in the extended format."""

    kind: str = Field(default="veth", alias="type")
    endpoints: list[str | _Endpoint] | None = None
    endpoint: _Endpoint | None = None
    ipv4: list[str] = []
    ipv6: list[str] = []
    host_interface: str | None = Field(default=None, alias="host-interface")
    mtu: int | None = None
    mode: str | None = None
    vars: dict[str, Any] | None = None
    labels: dict[str, Any] | None = None
    remote: str | None = None
    vni: int | None = None
    dst_port: int | None = Field(default=None, alias="dst-port")
    src_port: int | None = Field(default=None, alias="src-port")
    udp_port: int | None = Field(default=None, alias="udp-port")


class _Network(_Part):
    defaults: _Settings = _Settings()
    kinds: dict[str, _Settings | None] = {}
    groups: dict[str, _Settings | None] = {}
    nodes: dict[str, _Settings | None]
    links: list[_Link] = []


class _File(_Part):
    name: str
    prefix: str | None = None
    mgmt: dict[str, Any] | None = None
    settings: dict[str, Any] | None = None
    debug: Any = None
    topology: _Network


@dataclass(frozen=True, slots=True)
class Imported:
    """Topology of a file, and ``notes`` about what the file has and the topology has not, each with its line."""

    topology: Topology
    notes: tuple[str, ...]


def load(path: str | Path, addresses: str = DEFAULT_ADDRESSES, variables: Mapping[str, str] | None = None) -> Imported:
    """Return the topology of a containerlab file.

    Label ``lanesum`` of a node is its role: switch, worker, server, controller, or none to leave it out. Without it,
    nodes of kind ``linux`` are workers, and all others switches. Settings come from the node, its group, its kind and
    the defaults, in this order. The address of a host is its label ``lanesum-ip``, else the first one that ``exec``
    adds, else the one of its link, else one of ``addresses``. ``variables``: environment; by default the process's.

    Raises TopologyError for everything that is not understood, with its line.
    """
    raw = yaml_model.read("containerlab topology", path, {}, TopologyError)
    text = _substituted(raw, str(path), os.environ if variables is None else variables)
    found = yaml_model.parse(_File, text, str(path), TopologyError)
    return _Import(found, text, str(path)).result(addresses)


def _substituted(text: str, path: str, variables: Mapping[str, str]) -> str:
    """Return the text with the values of ``$NAME``, ``${NAME}``, ``${NAME:-default}`` and ``${NAME:=default}``.

    Comments stay as they are. Raises TopologyError for a variable without a value.
    """
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):

        def value(match: re.Match[str], number: int = number) -> str:
            name = match[1] or match[2]
            if name is None:
                return "$"
            known = variables.get(name)
            if known is None or (not known and (match[3] or "").startswith(":")):
                known = match[4]
            if known is None:
                raise TopologyError(f"{path}:{number}: the variable {name} has no value.", f"Set {name}.")
            return known

        code, mark, comment = line.partition(" #") if not line.lstrip().startswith("#") else ("", "", line)
        lines.append(_REFERENCE.sub(value, code) + mark + comment)
    return "\n".join(lines)


class _Import:
    """One file; ``path`` and ``text`` are for messages."""

    def __init__(self, found: _File, text: str, path: str) -> None:
        self._file, self._path = found, path
        self._network = found.topology
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        assert root is not None, "a parsed file is not empty"
        self._root = root
        self._notes: list[str] = []
        self._roles: dict[str, str] = {}
        self._ports: dict[tuple[str, str], int] = {}  # by switch and interface

    def result(self, addresses: str) -> Imported:
        """Return the topology, with notes. Raises TopologyError."""
        build = TopologyBuilder(self._file.name, addresses)
        for name in self._network.nodes:
            self._add_node(build, name)
        links = [self._ends(index, link) for index, link in enumerate(self._network.links)]
        kept = [ends for ends in links if ends and all(self._roles[node] != "none" for node, _ in ends)]
        for name, role in self._roles.items():
            if role == "switch":
                self._number(name, [interface for ends in kept for node, interface in ends if node == name])
        for ends in kept:
            build.link(*(self._end(node, interface) for node, interface in ends))
        return Imported(build.topology(), tuple(self._notes))

    def _error(self, location: Sequence[str | int], what: str, next_step: str = "") -> TopologyError:
        return TopologyError(f"{self._path}:{self._line(location)}: {what}", next_step)

    def _line(self, location: Sequence[str | int]) -> int:
        return yaml_model.line_of(self._root, ("topology", *location))

    def _settings(self, name: str) -> list[tuple[tuple[str, ...], _Settings]]:
        """Return the settings of a node with their places in the file, its own ones first."""
        network, own = self._network, self._network.nodes[name] or _Settings()
        group = own.group or network.defaults.group
        of_group = (network.groups.get(group) or _Settings()) if group else _Settings()
        if group is not None and group not in network.groups and own.group:
            raise self._error(("nodes", name, "group"), f"group {group!r} of {name} is not in groups.")
        kind = own.kind or of_group.kind or network.defaults.kind
        of_kind = (network.kinds.get(kind) or _Settings()) if kind else _Settings()
        return [
            (("nodes", name), own),
            (("groups", group or ""), of_group),
            (("kinds", kind or ""), of_kind),
            (("defaults",), network.defaults),
        ]

    def _add_node(self, build: TopologyBuilder, name: str) -> None:
        settings = self._settings(name)
        for where, one in settings:
            unknown = [key for key in one.model_extra or {} if key not in _IGNORED]
            if unknown:
                raise self._error((*where, unknown[0]), f"{unknown[0]!r} is no setting of a node that is understood.")
        kind = next((one.kind for _, one in settings if one.kind), "linux")
        role = self._label(settings, "lanesum")
        if role not in (None, *_ROLES):
            where = next(where for where, one in settings if one.labels.get("lanesum") is not None)
            raise self._error((*where, "labels", "lanesum"), f"lanesum: {role!r} is none of {', '.join(_ROLES)}.")
        if role is None and kind in _BRIDGES:
            self._notes.append(
                f"{self._path}:{self._line(('nodes', name))}: {name} is a {kind}; a switch of lanesum takes its place. "
                "Label it lanesum: none to leave it out."
            )
        self._roles[name] = role = role or ("worker" if kind in _HOST_KINDS else "switch")
        if role != "none":
            build.node(name, role, ip=self._address(settings, role, name))

    @staticmethod
    def _label(settings: Sequence[tuple[tuple[str, ...], _Settings]], name: str) -> str | None:
        values = (one.labels.get(name) for _, one in settings)
        return next((str(value) for value in values if value is not None), None)

    def _address(self, settings: Sequence[tuple[tuple[str, ...], _Settings]], role: str, name: str) -> str | None:
        if (label := self._label(settings, "lanesum-ip")) is not None or role == "switch":
            return label
        commands = next((one.exec for _, one in settings if one.exec), [])
        found = [match[1] or match[2] for command in commands if (match := _ADDRESS.search(command))]
        for link in self._network.links:
            for number, part in enumerate(link.endpoints or []):
                own = part.ipv4 if isinstance(part, _Endpoint) else None
                written = own or (link.ipv4[number] if number < len(link.ipv4) else None)
                if written and _end_of(part)[0] == name:
                    found.append(written.partition("/")[0])
        return next(iter(found), None)

    def _ends(self, index: int, link: _Link) -> list[tuple[str, str]]:
        """Return (node, interface) of both ends; empty for a link that leaves the laboratory, with a note."""
        location = ("links", index)
        if link.kind not in ("veth", *_OUTSIDE):
            raise self._error((*location, "type"), f"{link.kind!r} is no type of a link that is understood.")
        parts = [link.endpoint] if link.endpoint is not None else link.endpoints or []
        ends = [_end_of(part) for part in parts]
        special = [node for node, _ in ends if node in _OUTSIDE and node not in self._network.nodes]
        outside = link.kind if link.kind in _OUTSIDE else next(iter(special), "")
        if not outside and len(ends) != 2:
            raise self._error(location, f"a link has {len(ends)} ends, not 2.")
        for node, _ in ends:
            if node not in self._network.nodes and node not in special:
                raise self._error(location, f"a link has an end at {node!r}, which is no node.", "Add the node.")
        if outside:
            names = ", ".join(":".join(end) for end in ends)
            self._notes.append(
                f"{self._path}:{self._line(location)}: the {outside} link of {names} leaves the laboratory, so it is "
                "left out."
            )
            return []
        return ends

    def _number(self, switch: str, interfaces: Sequence[str]) -> None:
        """Choose the port of each interface: its last number where these differ, else its place in their order."""
        ordered = sorted(dict.fromkeys(interfaces), key=_numbers)
        last = [(_numbers(one) or [0])[-1] for one in ordered]
        if len(set(last)) == len(ordered) and all(1 <= number <= MAX_PORT for number in last):
            ports = dict(zip(ordered, last, strict=True))
        elif len(ordered) < len(interfaces):
            ports = {one: (_numbers(one) or [0])[-1] for one in ordered}  # the topology's checks name the port
        else:
            ports = {one: number for number, one in enumerate(ordered, start=1)}
            words = ", ".join(f"{one} is {port}" for one, port in ports.items())
            self._notes.append(
                f"{self._path}:{self._line(('nodes', switch))}: ports of {switch} are numbered in order: {words}."
            )
        self._ports |= {(switch, one): port for one, port in ports.items()}

    def _end(self, node: str, interface: str) -> str:
        """Return an end of a link; hosts have no port numbers."""
        return f"{node}:{self._ports[node, interface]}" if self._roles[node] == "switch" and interface else node


def _end_of(part: str | _Endpoint) -> tuple[str, str]:
    if isinstance(part, _Endpoint):
        return part.node, part.interface
    node, _, interface = part.partition(":")
    return node, interface


def _numbers(interface: str) -> list[int]:
    """Return the numbers of an interface's name: 1 and 32 of ``ethernet-1/32``."""
    return [int(digits[:9]) for digits in re.findall(r"\d+", interface)]

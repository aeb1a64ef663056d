# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A topology as a Mininet network: every node, the switch included, in a network namespace of its own.

Mininet's Python package belongs to the system's Python; only this module imports it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from lanesum.errors import LanesumError, MissingToolError
from lanesum.run.plan import mininet_path
from lanesum_control.topology import Topology


class NetworkError(LanesumError):
    """Mininet could not build the network."""


def _import_mininet() -> tuple[Any, Any, Any]:
    path = mininet_path()
    if path is None:
        raise MissingToolError("The Python package of Mininet is not installed.", "Run: apt install mininet")
    if str(path) not in sys.path:
        sys.path.append(str(path))  # last, so that nothing else of the system's Python comes before ours
    return tuple(importlib.import_module(f"mininet.{name}") for name in ("net", "node", "link"))  # type: ignore[return-value]


class MininetNetwork:
    """The running network. ``command`` turns a command into one that runs at a node."""

    def __init__(self, net: Any, topology: Topology) -> None:
        self._net = net
        self._topology = topology

    def command(self, node: str, command: list[str]) -> list[str]:
        """``command`` in the node's namespace."""
        return ["mnexec", "-a", str(self._net.get(node).pid), *command]

    def switch_interfaces(self) -> dict[int, str]:
        """Interface of every switch port, in the switch's namespace."""
        switch = self._net.get(self._topology.switch)
        return {port: interface.name for port, interface in switch.intfs.items() if interface.name != "lo"}

    def host_interface(self, node: str) -> str:
        """Name of a host's interface."""
        name: str = self._net.get(node).defaultIntf().name
        return name


@contextlib.contextmanager
def mininet_network(topology: Topology) -> Iterator[MininetNetwork]:
    """Build the network and take it down again. Raises MissingToolError, NetworkError."""
    net_module, node_module, link_module = _import_mininet()

    class ProgrammedSwitch(node_module.Switch):  # type: ignore[name-defined]
        """A node whose switch process the runner starts: Mininet only gives it ports."""

        def __init__(self, name: str, **params: Any) -> None:
            super().__init__(name, **{**params, "inNamespace": True})

        def start(self, _controllers: list[Any]) -> None:
            pass

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        net = net_module.Mininet(switch=ProgrammedSwitch, controller=None, autoSetMacs=False)
    try:
        net.addSwitch(topology.switch)
        for name, node in topology.nodes.items():
            if node.kind != "switch":
                net.addHost(name, ip=f"{node.ip}/24", mac=node.mac_text)
        for link in topology.links:
            (host,) = [name for name, _ in link.parts() if name != topology.switch]
            kind = link_module.TCLink if link.rate_mbit else link_module.Link
            options = {"bw": link.rate_mbit} if link.rate_mbit else {}
            net.addLink(topology.switch, host, port1=topology.ports()[host], cls=kind, **options)
        net.start()
    except BaseException as error:
        with contextlib.suppress(Exception):
            net.stop()
        if isinstance(error, Exception):
            raise NetworkError(
                f"Mininet could not build {topology.name}: {error}.", "Clean up with `mn -c` and try again."
            ) from error
        raise
    try:
        yield MininetNetwork(net, topology)
    finally:
        net.stop()

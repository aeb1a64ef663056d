# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A topology as a Mininet network: every node, the switch included, in a network namespace of its own.

Mininet's Python package belongs to the system's Python; only this module imports it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanesum.errors import ConfigurationError, LanesumError, MissingToolError
from lanesum_fabric.topology import Topology
from lanesum_lab.builds.rates import WIRE_OVERHEAD
from lanesum_lab.run.plan import mininet_path
from lanesum_lab.veth import BURST_BYTES, htb_rate, htb_root
from lanesum_switch.faults.topology_names import switch_links

_MAX_INTERFACE = 15  # characters (linux/if.h: IFNAMSIZ)


class NetworkError(LanesumError):
    """Mininet could not build the network."""


def _import_mininet() -> tuple[Any, Any, Any, Any]:
    path = mininet_path()
    if path is None:
        raise MissingToolError("The Python package of Mininet is not installed.", "Run: apt install mininet")
    if str(path) not in sys.path:
        sys.path.append(str(path))  # last: packages of the environment take precedence over those of the system
    return tuple(importlib.import_module(f"mininet.{name}") for name in ("net", "node", "link", "log"))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Relay:
    """A gap in a cable for ``lanesum_switch.cli.relay``: two interfaces in the namespace of ``node``."""

    link: str
    node: str
    lower: str
    upper: str


class MininetNetwork:
    """A running Mininet network."""

    def __init__(self, net: Any, topology: Topology, relays: Sequence[Relay]) -> None:
        self._net = net
        self._topology = topology
        self.relays = tuple(relays)

    def command(self, node: str, command: list[str]) -> list[str]:
        """Return ``command`` with a prefix that runs it in the namespace of ``node``."""
        return ["mnexec", "-a", str(self._net.get(node).pid), *command]

    def switch_interfaces(self, switch: str) -> dict[int, str]:
        """Return the interfaces of a switch in its namespace, by port."""
        return {port: _interface(switch, port) for port in _ports(self._topology, switch)}

    def host_interface(self, node: str) -> str:
        """Return the name of a host's interface."""
        name: str = self._net.get(node).defaultIntf().name
        return name

    def interfaces(self) -> dict[str, list[str]]:
        """Return all interfaces that carry frames, by node."""
        found = {host: [self.host_interface(host)] for host in self._topology.hosts()}
        for switch in self._topology.switches():
            gaps = [end for relay in self.relays if relay.node == switch for end in (relay.lower, relay.upper)]
            found[switch] = [*self.switch_interfaces(switch).values(), *gaps]
        return found

    def switch_offloads_off(self) -> None:
        """Let switches see the frames of a link: no segments of 60 kB, no checksums left for a NIC.

        Raises NetworkError.
        """
        for node, interfaces in self.interfaces().items():
            command = [sys.executable, "-m", "lanesum_lab.run.offloads", *interfaces]
            result = subprocess.run(self.command(node, command), capture_output=True, text=True)
            if result.returncode != 0:
                raise NetworkError(f"Cannot switch off the offloads at {node}: {result.stderr.strip()}.")


def _interface(switch: str, port: int) -> str:
    return f"{switch}-eth{port}"


def _ports(topology: Topology, switch: str) -> list[int]:
    between = topology.links_between_switches()
    ends = [(one, port) for one, port, _, _ in between] + [(other, port) for _, _, other, port in between]
    return sorted([*topology.ports(switch).values(), *(port for name, port in ends if name == switch)])


def _check_names(topology: Topology) -> None:
    """Check that the interfaces of all nodes have names that Linux accepts. Raises ConfigurationError."""
    ends = [end for link in topology.links for end in link.parts()]
    longest = max((_interface(node, port or 0) for node, port in ends), key=len)
    if len(longest) > _MAX_INTERFACE:
        raise ConfigurationError(
            f"Mininet cannot name the interface {longest!r}: it has {len(longest)} characters, and Linux accepts "
            f"{_MAX_INTERFACE}.",
            "Shorten the name of the node in the topology file, or run it on loopback.",
        )


@contextlib.contextmanager
def mininet_network(
    topology: Topology, gaps: Collection[str] = (), *, link_mbit: float | None = None
) -> Iterator[MininetNetwork]:
    """Build the network, and remove it at the end.

    Args:
        gaps: names of links, as in fault plans, that stay open for a relay process.
        link_mbit: rate of links without one of their own, in each direction; None does not limit them.

    Raises:
        ConfigurationError: the names of nodes are too long.
        MissingToolError: Mininet is not installed.
        NetworkError: Mininet failed, or the rate of a link cannot be limited.
    """
    _check_names(topology)
    net_module, node_module, link_module, log_module = _import_mininet()

    class ProgrammedSwitch(node_module.Switch):  # type: ignore[misc, name-defined]
        """Node with ports only: the runner starts its switch process."""

        def __init__(self, name: str, **params: Any) -> None:
            super().__init__(name, **{**params, "inNamespace": True})

        def start(self, _controllers: list[Any]) -> None:
            pass

    log = io.StringIO()  # Mininet's warnings would look like errors of the run
    log_module.lg.ch.setStream(log)
    net = net_module.Mininet(switch=ProgrammedSwitch, controller=None, autoSetMacs=False)
    try:
        for number, switch in enumerate(topology.switches(), start=1):
            net.addSwitch(switch, dpid=f"{number:x}")  # else Mininet needs a number in the name
        for name in topology.hosts():
            node = topology.nodes[name]
            net.addHost(name, ip=f"{node.ip}/24", mac=node.mac_text)
        relays, orders = _add_links(net, link_module, topology, gaps, link_mbit)
        net.start()
        for relay in relays:
            _open_gap(net, topology, relay)
        network = MininetNetwork(net, topology, relays)
        _limit(network, orders)
    except BaseException as error:
        with contextlib.suppress(Exception):
            net.stop()
        if isinstance(error, Exception) and not isinstance(error, LanesumError):
            raise NetworkError(
                f"Mininet could not build {topology.name}: {error}. {log.getvalue().strip()}".strip(),
                "Clean up with `mn -c` and try again.",
            ) from error
        raise
    try:
        yield network
    finally:
        net.stop()


def _add_links(
    net: Any, link_module: Any, topology: Topology, gaps: Collection[str], link_mbit: float | None
) -> tuple[list[Relay], dict[str, list[str]]]:
    """Add all links; return the relays that close the gaps, and by node the orders for ``tc`` that limit rates."""
    upper_ends = {(link.upper, link.upper_port): link.name for link in switch_links(topology)}
    servers = topology.names("server")
    relays: list[Relay] = []
    orders: dict[str, list[str]] = {}
    for link in topology.links:
        options: dict[str, Any] = {}
        for number, (name, port) in enumerate(link.parts(), start=1):
            if port is None:
                continue
            interface = _interface(name, port)
            ((other, other_port),) = [end for end in link.parts() if end != (name, port)]
            # A link between switches has its gap at the upper switch, any other at its only switch.
            named = other if other_port is None else upper_ends.get((name, port), "")
            if named in gaps:
                cable, inner = f"{name}-out{port}", f"{name}-in{port}"
                lower, upper = (inner, cable) if named in servers else (cable, inner)
                relays.append(Relay(named, name, lower, upper))
                interface = cable
            options |= {f"port{number}": port, f"intfName{number}": interface}
        made = net.addLink(*(name for name, _ in link.parts()), cls=link_module.Link, **options)
        for end in (made.intf1, made.intf2):
            if link.rate_mbit is not None:
                rate = htb_rate(end.name, link.rate_mbit, burst=BURST_BYTES)
            elif link_mbit is not None:
                rate = htb_rate(end.name, link_mbit, overhead=WIRE_OVERHEAD)
            else:
                continue
            orders.setdefault(end.node.name, []).extend((htb_root(end.name), rate))
    return relays, orders


def _limit(network: MininetNetwork, orders: Mapping[str, Sequence[str]]) -> None:
    """Carry out the orders of each node. Mininet's own limits print a warning of ``tc`` as an error."""
    for node, lines in sorted(orders.items()):
        done = subprocess.run(
            network.command(node, ["tc", "-batch", "-"]), input="\n".join(lines), capture_output=True, text=True
        )
        if done.returncode != 0:
            raise NetworkError(f"Cannot limit the rate of the links of {node}: {done.stderr.strip()}.")


def _open_gap(net: Any, topology: Topology, relay: Relay) -> None:
    """Connect the switch port that lost its cable with the relay, by a veth pair."""
    node = net.get(relay.node)
    inner = relay.lower if relay.link in topology.names("server") else relay.upper
    port = _interface(relay.node, int(inner.rpartition("-in")[2]))
    output = node.cmd(
        f"ip link add {port} type veth peer name {inner} && ip link set {port} up && ip link set {inner} up"
    )
    if output:
        raise NetworkError(f"Cannot insert a relay into the link {relay.link}: {output.strip()}.")

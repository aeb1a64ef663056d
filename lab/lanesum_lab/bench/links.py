# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers in network namespaces, each behind a link of limited rate, and a hub that forwards between them.

The hub is a namespace that routes; no bridge, Open vSwitch or netem is needed. Both ends of every link send through
HTB, so that each direction has the full rate. Processes in the hub have no link of their own, like a switch.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lanesum.errors import MissingToolError
from lanesum.protocol.spec import ETHERNET_MTU
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.veth import htb_rate, htb_root, inside, obstacle

HUB = "hub"
INTERFACE = "eth0"  # of a worker
_QUEUE_S = 0.05  # duration of a full queue in front of a link


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes that the links have carried, Ethernet headers included, for all workers together."""

    up: int
    down: int

    def __sub__(self, other: Wire) -> Wire:
        return Wire(self.up - other.up, self.down - other.down)


class LimitedLinks:
    """A running network; see ``limited_links``."""

    def __init__(self, prefix: str, workers: int) -> None:
        self.workers = workers
        self._prefix = prefix

    @staticmethod
    def worker(number: int) -> str:
        """Return the name of a worker's node."""
        return f"w{number}"

    def namespace(self, node: str) -> str:
        """Return the name for ``ip netns``."""
        return f"{self._prefix}-{node}"

    def command(self, node: str, command: list[str]) -> list[str]:
        """Return ``command`` with a prefix that runs it at a node."""
        return inside(self.namespace(node), command)

    def address(self, node: str) -> str:
        """Return an IPv4 address that all nodes reach."""
        return "10.20.255.1" if node == HUB else f"10.20.{node[1:]}.2"

    def nodes(self) -> list[str]:
        """Return the names of the hub and of the workers."""
        return [HUB, *map(self.worker, range(self.workers))]

    def build(self) -> None:
        """Make namespaces, links and routes without rate limits."""
        for node in self.nodes():
            _ip("netns", "add", self.namespace(node))
            settings = ["net/ipv6/conf/all/disable_ipv6", "net/ipv6/conf/default/disable_ipv6", "net/ipv4/ip_forward"]
            orders = "; ".join(f"test ! -e /proc/sys/{name} || echo 1 > /proc/sys/{name}" for name in settings)
            _run(self.command(node, ["sh", "-c", orders]))
        _batch(self.namespace(HUB), ["link set lo up", f"address add {self.address(HUB)}/32 dev lo"])
        for node in self.nodes()[1:]:
            link, address = f"10.20.{node[1:]}", self.address(node)
            _batch(
                self.namespace(HUB),
                [
                    f"link add {node} type veth peer name {INTERFACE} netns {self.namespace(node)}",
                    f"address add {link}.1/30 dev {node}",
                    f"link set {node} up",
                ],
            )
            _batch(
                self.namespace(node),
                [
                    "link set lo up",
                    f"address add {address}/30 dev {INTERFACE}",
                    f"link set {INTERFACE} up",
                    f"route add default via {link}.1",
                ],
            )
        for node, interface in self._ends():
            _run(self.command(node, ["tc", *htb_root(interface).split()]))

    def limit(self, rate_mbit: float) -> None:
        """Give every link this rate in each direction. Raises BenchError."""
        queue = max(20 * ETHERNET_MTU, round(rate_mbit * 1e6 / 8 * _QUEUE_S))
        for node, interface in self._ends():
            for order in (
                htb_rate(interface, rate_mbit),
                f"qdisc replace dev {interface} parent 1:1 handle 10: bfifo limit {queue}",
            ):
                _run(self.command(node, ["tc", *order.split()]))

    def _ends(self) -> list[tuple[str, str]]:
        """Return (node, interface) of all ends of links."""
        workers = self.nodes()[1:]
        return [(HUB, node) for node in workers] + [(node, INTERFACE) for node in workers]

    def wire(self) -> Wire:
        """Return the bytes that the links have carried so far.

        The qdiscs count packets as on the wire; interfaces would count segmented TCP packets with one header only.
        """
        sent = {node: self._sent(node) for node in self.nodes()}
        return Wire(sum(sent[node][INTERFACE] for node in self.nodes()[1:]), sum(sent[HUB].values()))

    def _sent(self, node: str) -> Mapping[str, int]:
        output = _run(self.command(node, ["tc", "-s", "-j", "qdisc", "show"]))
        return {queue["dev"]: queue["bytes"] for queue in json.loads(output) if queue.get("kind") == "htb"}

    def remove(self) -> None:
        """Remove all parts that exist."""
        for node in self.nodes():
            subprocess.run(["ip", "netns", "delete", self.namespace(node)], capture_output=True, check=False)


@contextlib.contextmanager
def limited_links(workers: int) -> Iterator[LimitedLinks]:
    """Build the network, and remove it at the end. Raises MissingToolError without root or namespaces, BenchError."""
    problem = obstacle()
    if problem:
        raise MissingToolError(f"Links of limited rate cannot be made: {problem}.", "Measure with --cases loopback.")
    links = LimitedLinks(f"lanesum-{os.getpid()}", workers)
    try:
        links.build()
        yield links
    finally:
        links.remove()


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _batch(namespace: str, orders: list[str]) -> None:
    _run(["ip", "-n", namespace, "-batch", "-"], "\n".join(orders) + "\n")


def _run(command: list[str], given: str = "") -> str:
    try:
        return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError as error:
        raise MissingToolError(f"{command[0]} is not on PATH.", "Run: apt install iproute2") from error
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{' '.join(command)} failed: {error.stderr.strip()}.") from error

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Locations of workers and servers in benchmarks: bare loopback, or namespaces behind limited links.

Each worker is behind a link of limited rate, and a hub forwards between them. The hub is a namespace that routes; no
bridge, Open vSwitch or netem is needed. Both ends of every link send through HTB, so that each direction has the full
rate. Processes in the hub have no link of their own, like a switch. Links with a delay are TAP interfaces with a relay
between them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lanesum._internal.offload import Offload
from lanesum._internal.udp_socket import Address
from lanesum.codecs.base import Codec
from lanesum.errors import MissingToolError
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.lanes import carried_by
from lanesum.protocol.spec import ETHERNET_MTU, UDP_PORT
from lanesum.transport import JobTicket
from lanesum_lab.bench import delay_line
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.run.site import Site
from lanesum_lab.veth import BURST_BYTES, htb_rate, htb_root, inside, losses, obstacle
from lanesum_switch.faults.topology_names import CONTROLLER

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
    """Namespaces behind limited links: a place, see ``limited_links``."""

    interface = INTERFACE
    loopback = False

    def __init__(self, prefix: str, workers: int, delay_ms: float = 0.0) -> None:
        self.workers = workers
        self._prefix = prefix
        self._delay_ms = delay_ms
        self._relay: subprocess.Popen[str] | None = None

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

    @staticmethod
    def address(node: str) -> str:
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
        if self._delay_ms:
            ends = [(self.namespace(HUB), node, self.namespace(node), INTERFACE) for node in self.nodes()[1:]]
            self._relay = delay_line.start(self._delay_ms, [word for one in ends for word in one])
        for node in self.nodes()[1:]:
            link, address, apart = f"10.20.{node[1:]}", self.address(node), self.namespace(node)
            _batch(
                self.namespace(HUB),
                [
                    *(() if self._relay else (f"link add {node} type veth peer name {INTERFACE} netns {apart}",)),
                    f"address add {link}.1/30 dev {node}",
                    f"link set {node} up",
                ],
            )
            _batch(
                apart,
                [
                    "link set lo up",
                    f"address add {address}/30 dev {INTERFACE}",
                    f"link set {INTERFACE} up",
                    f"route add default via {link}.1",
                ],
            )
        for node, interface in self._ends():
            _run(self.command(node, ["tc", *htb_root(interface).split()]))

    def lose(self, fraction: float) -> None:
        """Let every link lose this fraction of frames in each direction, too. Raises BenchError."""
        for node, interface in self._ends():
            for order in losses(interface, fraction):
                _run(self.command(node, shlex.split(order)))

    def limit(self, rate_mbit: float) -> None:
        """Give every link this rate in each direction. Raises BenchError."""
        queue = max(20 * ETHERNET_MTU, round(rate_mbit * 1e6 / 8 * _QUEUE_S))
        for node, interface in self._ends():
            for order in (
                htb_rate(interface, rate_mbit, burst=BURST_BYTES),
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
        if self._relay is not None:
            self._relay.communicate()  # it ends when its standard input closes
        for node in self.nodes():
            subprocess.run(["ip", "netns", "delete", self.namespace(node)], capture_output=True, check=False)


@contextlib.contextmanager
def limited_links(workers: int, delay_ms: float = 0.0) -> Iterator[LimitedLinks]:
    """Build the network, and remove it at the end. ``delay_ms``: of a packet on a link, in each direction.

    Raises MissingToolError without root or namespaces, BenchError.
    """
    problem = obstacle()
    if problem:
        raise MissingToolError(f"Links of limited rate cannot be made: {problem}.", "Measure with --cases loopback.")
    links = LimitedLinks(f"lanesum-{os.getpid()}", workers, delay_ms)
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


FIRST_PORT = 20_000  # first port of workers; one more for every job
_BLOCKS = range(64, 192)  # second byte of loopback addresses


class Place(Protocol):
    """Addresses, and a way to run commands there."""

    interface: str  # network interface of the workers
    loopback: bool

    def command(self, node: str, command: list[str]) -> list[str]:
        """Return ``command`` with a prefix that runs it at a node."""

    def address(self, node: str) -> str:
        """Return the IPv4 address of a node."""

    def wire(self) -> Wire:
        """Return the bytes that the links between workers and hub have carried so far."""


def free_block(server: Callable[[int], Address], first: int = 0) -> int:
    """Return the second byte of unused addresses, at which the address ``server`` can be bound. Raises BenchError.

    Processes, and numbers ``first``, begin to look at different bytes.
    """
    for turn in range(len(_BLOCKS)):
        block = _BLOCKS[(os.getpid() + first + turn) % len(_BLOCKS)]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.bind(server(block))
            return block
    raise BenchError("No block of loopback addresses is free for one more server.", "Stop other benchmarks.")


@dataclass(slots=True)
class Loopback:
    """Every node has a loopback address of its own. Raises BenchError if none is free."""

    interface: str = "lo"
    loopback: bool = True
    _block: int = field(default_factory=lambda: free_block(lambda block: (f"127.{block}.1.1", UDP_PORT)))

    def command(self, node: str, command: list[str]) -> list[str]:
        return command

    def address(self, node: str) -> str:
        return f"127.{self._block}.1.1" if node == HUB else f"127.{self._block}.0.{int(node[1:]) + 1}"

    def wire(self) -> Wire:
        """Return all bytes under ``up``: one interface carries both directions, and other traffic of this host."""
        lines = Path("/proc/net/dev").read_text().splitlines()
        (counts,) = [line.partition(":")[2].split() for line in lines if line.strip().startswith("lo:")]
        return Wire(int(counts[8]), 0)


def make_tickets(
    job: int,
    codec: Codec | None,
    locals_: Sequence[str],
    servers: Sequence[Address],
    *,
    accumulator_words: int,
    slots: int,
) -> list[JobTicket]:
    """Return the tickets of a job's workers, as from a controller, one for each of their addresses.

    Without ``codec`` the job may use all operations that need no code table.
    """
    tag, seed = secrets.randbits(32), secrets.randbits(64)
    table = None if codec is None or codec.code_table is None else codec.code_table.tobytes()
    ops = tuple(op for op in carried_by(accumulator_words) if table is not None or not op.shape.lookup)
    return [
        JobTicket(
            job=job,
            tag=tag,
            worker=worker,
            workers=len(locals_),
            slots=slots,
            accumulator_words=accumulator_words,
            servers=tuple(servers),
            local=(local, FIRST_PORT + job),
            seed=seed,
            ops=ops,
            code_table=table,
        )
        for worker, local in enumerate(locals_)
    ]


def worker_nodes(workers: int) -> list[str]:
    """Return the names of the workers' nodes."""
    return [LimitedLinks.worker(number) for number in range(workers)]


def open_site(
    place: Place,
    name: str,
    servers: Sequence[str],
    workers: Sequence[str],
    supervisor: Supervisor,
    folder: Path,
    *,
    offload: Offload = "auto",
) -> Site:
    """Start aggregation servers at nodes of a place, and their controller; return the site. No switch takes part.

    ``name``: of the site, unique in the folder. ``offload``: of the servers. Raises ProcessFailedError.
    """
    folder = folder / name
    folder.mkdir()
    nodes = dict.fromkeys([*workers, *servers])
    kinds = {node: "worker" if node in workers else "server" for node in nodes}
    hosts = {node: {"kind": kind, "ip": _in_topology(place, node)} for node, kind in kinds.items()}
    hosts[CONTROLLER] = {"kind": "controller", "ip": "10.1.0.1"}  # it listens at a socket file
    topology = {
        "name": name,
        "nodes": hosts,
        "servers": list(servers),
    }
    path = folder / "topology.yaml"
    path.write_text(json.dumps(topology))  # JSON is YAML
    site = Site(
        str(path),
        folder,
        supervisor,
        loopback=place.loopback,
        at=lambda node, command: place.command(node, command) if node in nodes else command,
        prefix=f"{name}-",
    )
    for node in servers:
        site.start_server(f"server-{node}", node, "--offload", offload)
    site.start_controller(CONTROLLER)
    return site


def _in_topology(place: Place, node: str) -> str:
    """Return the address of a node as a topology has it."""
    return place.address(node).replace("127.", "10.", 1)

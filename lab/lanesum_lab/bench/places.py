# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Locations of workers and servers in benchmarks: bare loopback, or namespaces behind limited links."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lanesum._internal.udp_socket import Address
from lanesum.codecs.base import Codec
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.lanes import carried_by
from lanesum.protocol.spec import UDP_PORT
from lanesum.transport import JobTicket
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.links import HUB, INTERFACE, LimitedLinks, Wire
from lanesum_lab.run.site import Site
from lanesum_switch.faults.topology_names import CONTROLLER

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


@dataclass(slots=True)
class Links:
    """Namespaces behind limited links."""

    network: LimitedLinks
    interface: str = INTERFACE
    loopback: bool = False

    def command(self, node: str, command: list[str]) -> list[str]:
        return self.network.command(node, command)

    def address(self, node: str) -> str:
        return self.network.address(node)

    def wire(self) -> Wire:
        return self.network.wire()


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
    place: Place, name: str, servers: Sequence[str], workers: Sequence[str], supervisor: Supervisor, folder: Path
) -> Site:
    """Start aggregation servers at nodes of a place, and their controller; return the site. No switch takes part.

    ``name``: of the site, unique in the folder. Raises ProcessFailedError.
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
        site.start_server(f"server-{node}", node)
    site.start_controller(CONTROLLER)
    return site


def _in_topology(place: Place, node: str) -> str:
    """Return the address of a node as a topology has it."""
    return place.address(node).replace("127.", "10.", 1)

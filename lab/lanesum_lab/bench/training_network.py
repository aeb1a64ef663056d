# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Networks in which the trainings of a benchmark run: limited links around a server, or around an embedded switch."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanesum.errors import ConfigurationError
from lanesum.launch.supervisor import Supervisor
from lanesum_fabric.topology import load
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.fleet import TOPOLOGY, mininet_fleet
from lanesum_lab.bench.links import HUB, Wire, limited_links
from lanesum_lab.bench.places import Links, Loopback, Place, open_site, worker_nodes
from lanesum_lab.bench.process import command
from lanesum_lab.bench.trainer import Trained, TrainerSetup, Training
from lanesum_lab.run.mininet_net import MininetNetwork
from lanesum_lab.run.site import Site

LOOPBACK, SWITCH = "loopback", "switch"
CASES = (LOOPBACK, HUB, SWITCH)


@dataclass(frozen=True, slots=True)
class TrainingNetwork:
    """Workers that train on request, and the aggregation point.

    Attributes:
        workers: name of the agent at each host.
        site: server and controller, and the switch if there is one.
        wire: returns the bytes that all links have carried so far.
        limit: gives every worker's link a rate in each direction; None on loopback alone.
    """

    agents: Agents
    workers: Mapping[str, str]
    site: Site
    wire: Callable[[], Wire]
    limit: Callable[[float | None], None]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def set_up(self, folder: Path, interface: Callable[[str], str], job: str, limit: int | None) -> None:
        """Let the workers join a process group and load the data. ``interface``: of a host."""
        self.agents.connect(list(self.workers.values()))
        store = str(folder / f"gloo-{secrets.token_hex(4)}")
        setups = {
            agent: TrainerSetup(number, len(self.workers), store, interface(host), job, limit)
            for number, (host, agent) in enumerate(self.workers.items())
        }
        self.agents.ask(setups)

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        """Train by a method, in a job of its own if it is a codec; return the results, and bytes on the wire."""
        from lanesum_lab.train.methods import PEERS

        job = None
        if by not in PEERS:
            job = self.site.controller, f"tta-{next(self._numbers)}"
            self.site.admit(job[1], list(self.workers), codec=by)
        before = self.wire()
        answers = self.agents.ask(dict.fromkeys(self.workers.values(), Training(by, settings, job)))
        carried = self.wire() - before
        if job is not None:
            self.site.remove(job[1])
        return [answers[agent] for agent in self.workers.values()], carried


@contextlib.contextmanager
def training_network(
    case: str, *, workers: int, job: str, limit: int | None, rates_mbit: Sequence[float], logs: Path
) -> Iterator[TrainingNetwork]:
    """Build one of ``CASES`` for trainings at these rates; remove it at the end.

    Raises MissingToolError without root, namespaces or Mininet; ConfigurationError.
    """
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        if case == SWITCH:
            built, interface = _around_switch(stack, folder, logs, workers, rates_mbit)
        else:
            built, interface = _around_server(stack, folder, logs, workers, rates_mbit if case == HUB else ())
        built.set_up(folder, interface, job, limit)
        yield built


def _around_server(
    stack: contextlib.ExitStack, folder: Path, logs: Path, workers: int, rates_mbit: Sequence[float]
) -> tuple[TrainingNetwork, Callable[[str], str]]:
    """Start workers at a place, on loopback for no rate, and a server at its hub; return their interface too."""
    place: Place = Loopback()
    links = None
    if rates_mbit:
        links = stack.enter_context(limited_links(workers))
        links.limit(max(rates_mbit))
        place = Links(links)
    supervisor = stack.enter_context(Supervisor(logs))
    agents = Agents(supervisor, folder)
    stack.callback(agents.close)
    nodes = worker_nodes(workers)
    names = {node: f"worker-{node}" for node in nodes}
    for node, name in names.items():
        trainer = place.command(node, command("trainer", agents.path(name)))
        supervisor.start(name, trainer, environment={"OMP_NUM_THREADS": "1"})

    def limit(rate_mbit: float | None) -> None:
        if links is not None:
            assert rate_mbit is not None
            links.limit(rate_mbit)

    site = open_site(place, "site", [HUB], nodes, supervisor, folder)
    return TrainingNetwork(agents, names, site, place.wire, limit), lambda _node: place.interface


def _around_switch(
    stack: contextlib.ExitStack, folder: Path, logs: Path, workers: int, rates_mbit: Sequence[float]
) -> tuple[TrainingNetwork, Callable[[str], str]]:
    """Start workers of a topology with an embedded switch in Mininet. gloo's packets pass the same switch."""
    if len(rates_mbit) != 1:
        raise ConfigurationError("The links of a topology have one rate.", "Measure one rate with the switch.")
    # The server is part of the aggregation point: its link is not limited.
    rates = dict.fromkeys(load(TOPOLOGY).names("worker"), rates_mbit[0])
    fleet, network = stack.enter_context(mininet_fleet(folder, logs, rates_mbit=rates, workers=workers))
    names = {host: f"worker-{host}" for host in fleet.plan.workers}
    for host, name in names.items():
        fleet.start_agent(name, host, "trainer")
    built = TrainingNetwork(fleet.agents, names, fleet.site, lambda: _carried(network, names), lambda _rate: None)
    return built, network.host_interface


def _carried(network: MininetNetwork, hosts: Iterable[str]) -> Wire:
    """Return the bytes at the interfaces of all hosts. No interface joins or splits packets."""
    up = down = 0
    for host in hosts:
        show = ["ip", "-s", "-j", "link", "show", network.host_interface(host)]
        said = subprocess.run(network.command(host, show), check=True, capture_output=True, text=True).stdout
        (link,) = json.loads(said)
        up += link["stats64"]["tx"]["bytes"]
        down += link["stats64"]["rx"]["bytes"]
    return Wire(up, down)

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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from lanesum.errors import ConfigurationError
from lanesum.launch.supervisor import Supervisor
from lanesum_fabric.topology import load
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.fleet import Fleet
from lanesum_lab.bench.fleets import TOPOLOGY, mininet_fleet
from lanesum_lab.bench.links import HUB, Wire, limited_links
from lanesum_lab.bench.places import Links, Loopback, Place, open_site, worker_nodes
from lanesum_lab.bench.process import command
from lanesum_lab.bench.trainer import Setup, Trained, Training
from lanesum_lab.run.mininet_net import MininetNetwork
from lanesum_lab.run.site import Site

LOOPBACK, SWITCH = "loopback", "switch"
CASES = (LOOPBACK, HUB, SWITCH)


class Stage(Protocol):
    """Processes of the workers and of the aggregation point."""

    def limit(self, rate_mbit: float | None) -> None:
        """Give every worker's link this rate in each direction."""

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        """Train on all workers; return their results, and the bytes that all links carried."""


class _Trainers:
    """Agents of the workers, which the kind of stage starts."""

    def __init__(self, agents: Agents, names: Sequence[str]) -> None:
        self._agents = agents
        self.names = list(names)

    def set_up(self, folder: Path, interfaces: Sequence[str], job: str, limit: int | None) -> None:
        store = str(folder / f"gloo-{secrets.token_hex(4)}")
        setups = [
            Setup(worker, len(self.names), store, interface, job, limit) for worker, interface in enumerate(interfaces)
        ]
        self._agents.ask(dict(zip(self.names, setups, strict=True)))

    def measure(
        self,
        by: str,
        settings: dict[str, object],
        site: Site,
        hosts: Sequence[str],
        name: str,
        wire: Callable[[], Wire],
    ) -> tuple[list[Trained], Wire]:
        """Train by a method, in a job of its own if it is a codec; return results, and bytes on the wire."""
        from lanesum_lab.train.methods import PEERS

        admitted = by not in PEERS
        if admitted:
            site.admit(name, hosts, codec=by)
        training = Training(by, settings, (site.controller, name) if admitted else None)
        before = wire()
        answers = self._agents.ask(dict.fromkeys(self.names, training))
        carried = wire() - before
        if admitted:
            site.remove(name)
        return [answers[one] for one in self.names], carried


class ServerStage:
    """Workers at ``place``, and an aggregation server at its hub."""

    def __init__(
        self, place: Place, supervisor: Supervisor, folder: Path, *, workers: int, job: str, limit: int | None
    ) -> None:
        self._place = place
        self._nodes = worker_nodes(workers)
        self._agents = Agents(supervisor, folder)
        self._numbers = itertools.count()
        self._trainers = _Trainers(self._agents, [f"worker-{node}" for node in self._nodes])
        for name, node in zip(self._trainers.names, self._nodes, strict=True):
            trainer = place.command(node, command("trainer", self._agents.path(name)))
            supervisor.start(name, trainer, environment={"OMP_NUM_THREADS": "1"})
        self._site = open_site(place, "site", [HUB], self._nodes, supervisor, folder)
        self._agents.connect(self._trainers.names)
        self._trainers.set_up(folder, [place.interface] * workers, job, limit)

    def limit(self, rate_mbit: float | None) -> None:
        """See :class:`Stage`; without a rate on loopback alone."""
        if isinstance(self._place, Links):
            assert rate_mbit is not None
            self._place.network.limit(rate_mbit)

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        """See :class:`Stage`."""
        return self._trainers.measure(
            by, settings, self._site, self._nodes, f"tta-{next(self._numbers)}", self._place.wire
        )

    def close(self) -> None:
        """End the workers; idempotent."""
        self._agents.close()


class SwitchStage:
    """Workers of a topology with an embedded switch, in Mininet. gloo's packets pass the same switch."""

    def __init__(self, fleet: Fleet, network: MininetNetwork, folder: Path, *, job: str, limit: int | None) -> None:
        self._fleet, self._network = fleet, network
        self._hosts = fleet.plan.workers
        self._numbers = itertools.count()
        self._trainers = _Trainers(fleet.agents, [f"worker-{host}" for host in self._hosts])
        for name, host in zip(self._trainers.names, self._hosts, strict=True):
            fleet.start_agent(name, host, "trainer")
        fleet.agents.connect(self._trainers.names)
        self._trainers.set_up(folder, [network.host_interface(host) for host in self._hosts], job, limit)

    def limit(self, rate_mbit: float | None) -> None:
        """Do nothing: the topology has the rate."""

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        """See :class:`Stage`."""
        return self._trainers.measure(
            by, settings, self._fleet.site, self._hosts, f"tta-{next(self._numbers)}", self._wire
        )

    def _wire(self) -> Wire:
        """Return the bytes at the interfaces of all workers. No interface joins or splits packets."""
        up = down = 0
        for host in self._hosts:
            show = ["ip", "-s", "-j", "link", "show", self._network.host_interface(host)]
            said = subprocess.run(self._network.command(host, show), check=True, capture_output=True, text=True).stdout
            (link,) = json.loads(said)
            up += link["stats64"]["tx"]["bytes"]
            down += link["stats64"]["rx"]["bytes"]
        return Wire(up, down)


@contextlib.contextmanager
def stage(
    case: str, *, workers: int, job: str, limit: int | None, rates_mbit: Sequence[float], logs: Path
) -> Iterator[Stage]:
    """Build one of ``CASES`` for trainings at these rates; remove it at the end.

    Raises MissingToolError without root, namespaces or Mininet; ConfigurationError.
    """
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        made: Stage
        if case == SWITCH:
            made = _switch_stage(stack, folder, logs, workers=workers, job=job, limit=limit, rates_mbit=rates_mbit)
        else:
            place: Place = Loopback()
            if case == HUB:
                network = stack.enter_context(limited_links(workers))
                network.limit(max(rates_mbit))
                place = Links(network)
            supervisor = stack.enter_context(Supervisor(logs))
            made = server = ServerStage(place, supervisor, folder, workers=workers, job=job, limit=limit)
            stack.callback(server.close)
        yield made


def _switch_stage(
    stack: contextlib.ExitStack,
    folder: Path,
    logs: Path,
    *,
    workers: int,
    job: str,
    limit: int | None,
    rates_mbit: Sequence[float],
) -> SwitchStage:
    if len(rates_mbit) != 1:
        raise ConfigurationError("The links of a topology have one rate.", "Measure one rate with the switch.")
    # The server is part of the aggregation point: its link is not limited.
    rates = dict.fromkeys(load(TOPOLOGY).names("worker"), rates_mbit[0])
    fleet, network = stack.enter_context(mininet_fleet(folder, logs, rates_mbit=rates, workers=workers))
    return SwitchStage(fleet, network, folder, job=job, limit=limit)

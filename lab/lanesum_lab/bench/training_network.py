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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.joining import join
from lanesum.launch.supervisor import Supervisor
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum_fabric.topology import load
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.fleet import TOPOLOGY, mininet_fleet
from lanesum_lab.bench.places import HUB, Loopback, Place, Wire, limited_links, open_site, worker_nodes
from lanesum_lab.bench.reducer import join_group
from lanesum_lab.run.mininet_net import MininetNetwork
from lanesum_lab.run.site import Site

LOOPBACK, SWITCH = "loopback", "switch"
CASES = (LOOPBACK, HUB, SWITCH)
# Longer than the transport's deadline, whose error names the missing workers.
_GROUP_TIMEOUT_S = 300.0
_DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Trained:
    """Results of one training on one worker.

    Attributes:
        curve: fields of :class:`lanesum_lab.train.loop.Curve`.
        communication_s: seconds in which a bucket was in flight; 0 for peers.
        packets: accumulator words of a packet and slots of the job; None for peers.
    """

    curve: dict[str, Any]
    cpu_s: float
    communication_s: float = 0.0
    packets: dict[str, int] | None = None


class Trainer:
    """Worker that runs trainings one after another, in a process of its own.

    Args:
        worker, workers: its number, and the number of workers.
        store: file in which gloo's processes find each other.
        interface: network interface for gloo.
        job, limit: job of the registry and part of its data.
    """

    def __init__(self, worker: int, workers: int, store: str, interface: str, job: str, limit: int | None) -> None:
        import torch
        import torch.distributed as dist

        from lanesum_lab.train.jobs import find

        torch.set_num_threads(1)
        join_group(worker, workers, store, interface, timeout_s=_GROUP_TIMEOUT_S)
        self._worker, self._workers = worker, workers
        self._task = find(job).load(limit)
        dist.barrier()

    def train(self, by: str, settings: dict[str, Any], job: tuple[str, str] | None) -> Trained:
        """Run one training.

        Args:
            by: name of a method (:mod:`lanesum_lab.train.methods`).
            settings: fields of :class:`lanesum_lab.train.loop.TrainingSettings`.
            job: controller and name of the job of a codec; None for peers.
        """
        from lanesum_lab.train.loop import TrainingSettings
        from lanesum_lab.train.methods import train_by

        chosen, before = TrainingSettings(**settings), time.process_time()
        ticket = None
        if job is not None:
            ticket = join(controller=job[0], job=job[1], worker=self._worker, wait=True)
        curve, stats = train_by(by, self._task, chosen, lambda: self._state(by, ticket, chosen.steps), title=by)
        cpu_s = time.process_time() - before
        if stats is None or ticket is None:
            return Trained(asdict(curve), cpu_s)
        packets = {"accumulator_words": ticket.accumulator_words, "slots": ticket.slots}
        return Trained(asdict(curve), cpu_s, stats.busy_s, packets)

    def _state(self, by: str, ticket: JobTicket | None, steps: int) -> Any:
        import torch.distributed as dist

        import lanesum.torch
        from lanesum_lab.train.methods import make_codec

        assert ticket is not None
        codec = make_codec(by, workers=self._workers, steps=steps)
        session = Session(ticket, codec=codec, deadline_s=_DEADLINE_S)
        return lanesum.torch.State(session, alternative=dist.group.WORLD if by == "auto" else None)

    def close(self) -> None:
        """End the process: threads of the process group and of PyTorch's hooks outlive it."""
        from lanesum_lab.train.group import end_process

        end_process(0)


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
        store = str(folder / f"gloo-{secrets.token_hex(4)}")
        self.agents.make(
            {
                agent: partial(Trainer, number, len(self.workers), store, interface(host), job, limit)
                for number, (host, agent) in enumerate(self.workers.items())
            }
        )

    def train(self, by: str, settings: dict[str, object]) -> tuple[list[Trained], Wire]:
        """Train by a method, in a job of its own if it is a codec; return the results, and bytes on the wire."""
        from lanesum_lab.train.methods import PEERS

        job = None
        if by not in PEERS:
            job = self.site.controller, f"tta-{next(self._numbers)}"
            self.site.admit(job[1], list(self.workers), codec=by)
        before = self.wire()
        call = partial(Trainer.train, by=by, settings=settings, job=job)
        answers = self.agents.ask(dict.fromkeys(self.workers.values(), call))
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
            built, interface = around_server(stack, folder, logs, workers, rates_mbit if case == HUB else ())
        built.set_up(folder, interface, job, limit)
        yield built


def around_server(
    stack: contextlib.ExitStack,
    folder: Path,
    logs: Path,
    workers: int,
    rates_mbit: Sequence[float],
    delay_ms: float = 0.0,
) -> tuple[TrainingNetwork, Callable[[str], str]]:
    """Start workers at a place, on loopback for no rate, and a server at its hub; return their interface too."""
    place: Place = Loopback()
    links = None
    if rates_mbit:
        links = stack.enter_context(limited_links(workers, delay_ms))
        links.limit(max(rates_mbit))
        place = links
    supervisor = stack.enter_context(Supervisor(logs))
    agents = Agents(supervisor, folder, place.command)
    stack.callback(agents.close)
    nodes = worker_nodes(workers)
    names = {node: f"worker-{node}" for node in nodes}
    for node, name in names.items():
        agents.start(name, node)

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
        fleet.agents.start(name, host)
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

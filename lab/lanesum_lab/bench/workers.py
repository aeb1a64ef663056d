# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers and aggregation servers as agent processes that all-reduce on request."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanesum._internal.offload import Offload
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.spec import UDP_PORT
from lanesum.server.jobs import ServerJob
from lanesum.transport import JobTicket
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.aggregation import USAGE, ServerUsage
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.links import Wire
from lanesum_lab.bench.places import Place, make_tickets, worker_nodes
from lanesum_lab.bench.process import command
from lanesum_lab.bench.reducer import Reduced, Reduction, Setup, labelled_codec


@dataclass(frozen=True, slots=True)
class Job:
    """A job to set up: its codec, and the nodes of the servers."""

    name: str
    codec: str
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """One reduction by all workers.

    Attributes:
        seconds: time of one all-reduce, from the first worker's begin to the last one's end.
        cpu_s: processor time of all workers and servers for one all-reduce.
        wire: wire bytes of one all-reduce.
    """

    reduction: Reduction
    workers: tuple[Reduced, ...]
    seconds: float
    cpu_s: float
    wire: Wire

    @property
    def equal(self) -> bool:
        """True if all workers have the same bits."""
        return len({worker.digest for worker in self.workers}) == 1

    @property
    def digest(self) -> str:
        """Digest of the first worker's sum."""
        return self.workers[0].digest


class Workers:
    """All processes at one location. Close them before the supervisor.

    Raises ProcessFailedError, BenchError.
    """

    def __init__(
        self,
        place: Place,
        jobs: Sequence[Job],
        *,
        workers: int,
        accumulator_words: int,
        window: int,
        offload: Offload,
        supervisor: Supervisor,
        folder: Path,
        environment: Mapping[str, str],
        recorded: Path | None = None,
    ) -> None:
        self._place = place
        self._agents = Agents(supervisor, folder)
        nodes = worker_nodes(workers)
        self._servers = {f"server-{node}": node for node in dict.fromkeys(node for job in jobs for node in job.servers)}
        self._workers = [f"worker-{node}" for node in nodes]
        for agent, node in self._servers.items():
            server = command("aggregation", self._agents.path(agent), place.address(node), str(UDP_PORT), offload)
            supervisor.start(agent, place.command(node, server), environment=environment)
        for agent, node in zip(self._workers, nodes, strict=True):
            reducer = place.command(node, command("reducer", self._agents.path(agent)))
            supervisor.start(agent, reducer, environment={"OMP_NUM_THREADS": "1", **environment})
        self._agents.connect([*self._servers, *self._workers])
        tickets = {
            job.name: make_tickets(
                number,
                labelled_codec(job.codec, workers),
                [place.address(node) for node in nodes],
                [(place.address(node), UDP_PORT) for node in job.servers],
                accumulator_words=accumulator_words,
                slots=window,
            )
            for number, job in enumerate(jobs)
        }
        self._admit(jobs, tickets)
        store = str(folder / f"gloo-{secrets.token_hex(4)}")
        setups = {
            agent: Setup(
                worker,
                workers,
                store,
                place.interface,
                {job.name: (job.codec, tickets[job.name][worker]) for job in jobs},
                window,
                offload,
                recorded,
            )
            for worker, agent in enumerate(self._workers)
        }
        self._agents.ask(setups)

    def _admit(self, jobs: Iterable[Job], tickets: Mapping[str, list[JobTicket]]) -> None:
        for job in jobs:
            message = ServerJob.from_tickets(tickets[job.name]).to_json()
            self._agents.ask({agent: message for agent, node in self._servers.items() if node in job.servers})

    def measure(self, reduction: Reduction) -> Measured:
        """Run a reduction at all workers. Raises ProcessFailedError; BenchError if the workers' sums differ."""
        cpu, wire = self._server_cpu(), self._place.wire()
        answers = self._agents.ask(dict.fromkeys(self._workers, reduction))
        wire, cpu = self._place.wire() - wire, self._server_cpu() - cpu
        done: tuple[Reduced, ...] = tuple(answers[agent] for agent in self._workers)
        times = reduction.iterations
        result = Measured(
            reduction,
            done,
            (max(one.end for one in done) - min(one.begin for one in done)) / times,
            (cpu + sum(one.cpu_s for one in done)) / times,
            Wire(wire.up // times, wire.down // times),
        )
        if not result.equal:
            raise BenchError(f"The workers have different sums of {reduction.values:,} values by {reduction.by}.")
        return result

    def _server_cpu(self) -> float:
        usage: dict[str, ServerUsage] = self._agents.ask(dict.fromkeys(self._servers, USAGE))
        broken = sum(one.broken for one in usage.values())
        if broken:
            raise BenchError(f"{broken} datagrams could not be handled by an aggregation server.", "See its log.")
        return sum(one.cpu_s for one in usage.values())

    def close(self) -> None:
        """End the processes; idempotent."""
        self._agents.close()

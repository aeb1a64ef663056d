# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers as agent processes that all-reduce on request, in jobs that a controller admits as those of users."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lanesum._internal.offload import Offload
from lanesum.launch.supervisor import Supervisor
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.places import FIRST_PORT, Place, Wire, open_site, worker_nodes
from lanesum_lab.bench.reducer import REDUCE_SCATTER, Reduced, Reducer, Reduction
from lanesum_lab.bench.vectors import record


@dataclass(frozen=True, slots=True)
class ReductionJob:
    """A job to set up: its codec, the nodes of the servers, and whether packets have check words."""

    name: str
    codec: str
    servers: tuple[str, ...]
    certified: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One reduction by all workers.

    Attributes:
        seconds: time of one all-reduce, from the first worker's begin to the last one's end.
        cpu_s: processor time of all workers and servers for one all-reduce.
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


class ReducingWorkers:
    """All processes at one location; see ``reducing_workers``."""

    def __init__(
        self,
        place: Place,
        jobs: Sequence[ReductionJob],
        *,
        workers: int,
        device: str,
        supervisor: Supervisor,
        folder: Path,
        recorded: Path | None,
        offload: Offload,
    ) -> None:
        self._place = place
        self._agents = Agents(supervisor, folder, place.command)
        nodes = worker_nodes(workers)
        self._workers = [f"worker-{node}" for node in nodes]
        for agent, node in zip(self._workers, nodes, strict=True):
            self._agents.start(agent, node, {"LOCAL_WORLD_SIZE": str(workers)})
        self._sites = {
            servers: open_site(place, f"site{number}", servers, nodes, supervisor, folder, offload=offload)
            for number, servers in enumerate(dict.fromkeys(job.servers for job in jobs))
        }
        admitted = {}
        for number, job in enumerate(jobs):
            # Sites share the hosts of the workers, and no controller sees the ports of another one.
            site = self._sites[job.servers]
            site.admit(f"job{number}", nodes, codec=job.codec, udp_port=FIRST_PORT + number, certified=job.certified)
            admitted[job.name] = job.codec, site.controller, f"job{number}"
        store = str(folder / f"gloo-{secrets.token_hex(4)}")
        self._agents.make(
            {
                agent: partial(Reducer, worker, workers, store, place.interface, admitted, device, recorded, offload)
                for worker, agent in enumerate(self._workers)
            }
        )
        first = self._workers[0]
        #: Packet size and slots of each job.
        self.sizes: dict[str, dict[str, int]] = self._agents.ask({first: Reducer.sizes})[first]

    def measure(self, reduction: Reduction) -> Measured:
        """Run a reduction at all workers. Raises ProcessFailedError; BenchError if the workers' sums differ."""
        cpu, wire = self._server_cpu(), self._place.wire()
        answers = self._agents.ask(dict.fromkeys(self._workers, partial(Reducer.reduce, task=reduction)))
        wire, cpu = self._place.wire() - wire, self._server_cpu() - cpu
        # Asked after the measurement, because the answer takes processor time.
        if broken := sum(site.broken() for site in self._sites.values()):
            raise BenchError(f"{broken} datagrams could not be handled by an aggregation server.", "See its log.")
        if reduction.collective == REDUCE_SCATTER:
            answers = self._agents.ask(dict.fromkeys(self._workers, Reducer.check_shards))
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
        return sum(site.server_cpu_s() for site in self._sites.values())

    def close(self) -> None:
        """End the processes; idempotent."""
        self._agents.close()


@contextlib.contextmanager
def reducing_workers(
    place: Place,
    jobs: Sequence[ReductionJob],
    *,
    workers: int,
    device: str = "cpu",
    gradients: str = "",
    offload: Offload = "auto",
) -> Iterator[ReducingWorkers]:
    """Run all processes at one location, and end them. ``gradients``: model whose recorded gradients are reduced.

    Raises ProcessFailedError, BenchError.
    """
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary, contextlib.ExitStack() as cleanup:
        folder = Path(temporary)
        recorded = record(gradients, workers, folder) if gradients else None
        supervisor = cleanup.enter_context(Supervisor(folder / "logs"))
        made = ReducingWorkers(
            place,
            jobs,
            workers=workers,
            device=device,
            supervisor=supervisor,
            folder=folder,
            recorded=recorded,
            offload=offload,
        )
        cleanup.callback(made.close)
        yield made

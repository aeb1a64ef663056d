# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The whole path as processes: switch, servers, controller, and jobs whose workers run rounds on request.

Fleets of the topology star4 are on loopback side by side, each with addresses of its own, or in Mininet.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import combine, expand
from lanesum.joining import join
from lanesum.launch.supervisor import Supervisor
from lanesum.protocol.lanes import LaneOp
from lanesum.transport import JobTicket, UdpTransport
from lanesum_fabric.topology import Topology, load
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.places import free_block
from lanesum_lab.run.mininet_net import MininetNetwork, mininet_network
from lanesum_lab.run.options import RunOptions
from lanesum_lab.run.plan import RunPlan, make_plan
from lanesum_lab.run.site import At, Scratch, here, start_plan
from lanesum_switch.faults.links import LinkFaults

TOPOLOGY = "star4"
LOSS = "loss"
JOB = "bench"
# Consecutive rounds differ: a sum of an earlier round would be found.
_VARIANTS = 4


@dataclass(frozen=True, slots=True)
class RoundsDone:
    """Rounds of one worker.

    Attributes:
        times: end of every round, in seconds of the monotonic clock.
        words: accumulator words that were compared.
        wrong: words that differed from the sum.
        stats: counters of the transport meanwhile.
    """

    times: tuple[float, ...]
    words: int
    wrong: int
    stats: dict[str, int]

    @property
    def rate(self) -> float:
        """Rounds per second. The first round is not counted, because it waits for all workers to begin."""
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])


class KnownRounds:
    """Random words of all workers of a job, and their sums; the last group is kept free.

    Args:
        op: an operation that needs no code table.
        chunks: packets of a round.
    """

    def __init__(self, op: LaneOp, ticket: JobTicket, chunks: int) -> None:
        size = chunks * op.shape.uplink_words(ticket.accumulator_words)
        self.words: list[NDArray[np.uint32]] = []
        self.sums: list[NDArray[np.uint32]] = []
        self.free = op.shape.accumulator_words_per_group  # words of the last group in a sum
        for variant in range(_VARIANTS):
            contributions = [self._random(op, size, variant, worker) for worker in range(ticket.workers)]
            self.words.append(contributions[ticket.worker])
            self.sums.append(
                functools.reduce(functools.partial(combine, op), (expand(op, one) for one in contributions))
            )

    @staticmethod
    def _random(op: LaneOp, size: int, *seed: int) -> NDArray[np.uint32]:
        words = np.random.default_rng(seed).integers(0, 1 << 32, size, np.uint32)
        words[-op.shape.uplink_words_per_group :] = 0
        return words


class RoundsWorker:
    """Worker of a job that runs rounds with known sums, in a process of its own."""

    def __init__(self, controller: str, job: str, worker: int) -> None:
        self._transport = UdpTransport(join(controller=controller, job=job, worker=worker, wait=True))
        self._known: dict[tuple[LaneOp, int], KnownRounds] = {}

    def run(self, op: LaneOp, chunks: int, seconds: float) -> RoundsDone:
        """Run rounds of ``chunks`` packets for about ``seconds``, the same for all workers of a job.

        The free word of a sum tells all workers that the time of one of them is over.
        """
        if (op, chunks) not in self._known:
            self._known[op, chunks] = KnownRounds(op, self._transport.ticket, chunks)
        known = self._known[op, chunks]
        before = self._transport.stats
        times: list[float] = []
        wrong, over = 0, False
        while not over:
            variant = len(times) % _VARIANTS
            words = known.words[variant]
            words[-1] = bool(times) and time.monotonic() - times[0] >= seconds
            sums = self._transport.exchange(op, words).result()
            times.append(time.monotonic())
            over = bool(sums[-known.free :].any())
            wrong += int(np.count_nonzero(sums[: -known.free] != known.sums[variant][: -known.free]))
        stats = (self._transport.stats - before).counts()
        return RoundsDone(tuple(times), len(times) * (known.sums[0].size - known.free), wrong, stats)

    def close(self) -> None:
        """Release the transport."""
        self._transport.close()


class Fleet:
    """Processes of one run, and the workers of one job. Close it before the supervisor.

    Args:
        plan: topology, switch and faults.
        at: returns a command with a prefix that runs it at a host or switch.
        interfaces: returns the interfaces of a switch by port; None on loopback.
    """

    def __init__(
        self,
        plan: RunPlan,
        scratch: Scratch,
        supervisor: Supervisor,
        *,
        at: At = here,
        interfaces: Callable[[str], Mapping[int, str]] | None = None,
    ) -> None:
        self.plan = plan
        self.agents = Agents(supervisor, scratch.folder, at)
        self._scratch = scratch
        self._workers: list[str] = []
        scratch.fault_counts.mkdir()
        self.site = start_plan(plan, scratch, supervisor, at=at, interfaces=interfaces)

    def admit(self, hosts: Sequence[str]) -> None:
        """Admit the job and start its workers, which ``connect`` joins. Raises ProcessFailedError, ControllerError."""
        self.site.admit(JOB, hosts, codec=None)
        for host in hosts:
            self._workers.append(f"{JOB}-{host}")
            self.agents.start(self._workers[-1], host)

    def connect(self) -> None:
        """Let all workers join the job. Raises ProcessFailedError, BenchError."""
        join_job = functools.partial(RoundsWorker, self.site.controller, JOB)
        self.agents.make({agent: functools.partial(join_job, number) for number, agent in enumerate(self._workers)})

    def measure(self, op: LaneOp, chunks: int, seconds: float) -> list[RoundsDone]:
        """Run rounds; return the results of the workers. Raises ProcessFailedError, BenchError."""
        call = functools.partial(RoundsWorker.run, op=op, chunks=chunks, seconds=seconds)
        return list(self.agents.ask(dict.fromkeys(self._workers, call)).values())

    def lost(self) -> int:
        """Return the number of packets that the fault plan has dropped so far."""
        if self.plan.faults is None:
            return 0
        rules, _ = LinkFaults(self.plan.faults, self._scratch.fault_counts).totals(self.plan.links)
        return sum(counts.hit for counts in rules.values())

    def close(self) -> None:
        """End the workers; idempotent."""
        self.agents.close()


@contextlib.contextmanager
def loopback_fleet(folder: Path, *, number: int, loss: float) -> Iterator[Fleet]:
    """Run the whole path as processes on 127.0.0.0/8.

    Args:
        folder: folder for its files; made here.
        number: number of the fleet in this process.
        loss: fraction of packets lost on every link in both directions.
    """
    folder.mkdir()
    topology = folder / "topology.yaml"
    topology.write_text(relocated(load(TOPOLOGY), number))
    faults = folder / "faults.yaml"
    faults.write_text(json.dumps({"seed": 1, "rules": [{"name": LOSS, "kind": "drop", "probability": loss}]}))
    plan = make_plan(RunOptions(str(topology), "loopback", codec="fixed", out=folder, faults=str(faults)))
    with (
        Supervisor(folder / "logs") as supervisor,
        contextlib.closing(Fleet(plan, Scratch(folder), supervisor)) as fleet,
    ):
        yield fleet


@contextlib.contextmanager
def mininet_fleet(
    folder: Path, logs: Path, *, rates_mbit: Mapping[str, float], workers: int | None = None
) -> Iterator[tuple[Fleet, MininetNetwork]]:
    """Run the whole path with an embedded switch in Mininet, without segmentation offloads. Needs root.

    Args:
        rates_mbit: rate of the link of each of these nodes; the others have no limit.
        workers: number of workers that take part; None for all.
    """
    fields = load(TOPOLOGY).model_dump(mode="json", exclude_none=True)
    for link in fields["links"]:
        for name in rates_mbit.keys() & link["endpoints"]:
            link["rate_mbit"] = rates_mbit[name]
    topology = folder / "topology.yaml"
    topology.write_text(json.dumps(fields))
    plan = make_plan(RunOptions(str(topology), "mininet", "embedded", workers, "fixed", out=folder))
    with mininet_network(plan.topology) as network, Supervisor(logs) as supervisor:
        network.switch_offloads_off()
        fleet = Fleet(plan, Scratch(folder), supervisor, at=network.command, interfaces=network.switch_interfaces)
        with contextlib.closing(fleet):
            yield fleet, network


def relocated(topology: Topology, number: int) -> str:
    """Return the topology with unused addresses, as JSON, which is YAML too. Raises BenchError."""
    fields = topology.model_dump(mode="json", exclude_none=True)

    def move(block: int) -> Address:
        for node in fields["nodes"].values():
            if "ip" in node:
                first, _, *rest = node["ip"].split(".")
                node["ip"] = ".".join([first, str(block), *rest])
        return Topology.model_validate(fields).server_backend(loopback=True)

    free_block(move, 7 * number)
    return json.dumps(fields)

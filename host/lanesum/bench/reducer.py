# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One worker as a process (argument SOCKET) that all-reduces the same vectors by lanesum and by gloo.

The first task is a ``Setup``; ``Reduction`` is answered with ``Reduced``.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from lanesum.bench.agents import serve
from lanesum.bench.aggregation import cpu_seconds
from lanesum.bench.timed import Phases, TimedCodec
from lanesum.bench.vectors import Vector, digest_of, error_of, fixed_sum, vector
from lanesum.codecs import get
from lanesum.offload import Offload
from lanesum.session import Session
from lanesum.transport import JobTicket

GLOO = "gloo"
_DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Setup:
    """Who this worker is.

    Attributes:
        worker, workers: its number, and how many there are.
        store: file by which gloo's processes find each other.
        interface: that gloo talks through.
        jobs: codec and ticket by name of the job.
        window: packets under way at most.
        offload: see ``Session``.
    """

    worker: int
    workers: int
    store: str
    interface: str
    jobs: dict[str, tuple[str, JobTicket]]
    window: int
    offload: Offload


@dataclass(frozen=True, slots=True)
class Reduction:
    """``iterations`` all-reduces of ``values`` float32, one after another, by ``GLOO`` or a job of the setup.

    ``check``: compute how far the sum is from the right one, and what it must be, where that can be told.
    """

    by: str
    values: int
    iterations: int
    check: bool = False


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came of it. Times are of the system-wide monotonic clock and for all iterations.

    Attributes:
        digest: of the last sum's bits.
        expected: digest that it must have; None where that was not asked for, or cannot be told.
        error: squared error of the sum over the squared sum; None where not asked for.
    """

    begin: float
    end: float
    cpu_s: float
    phases: Phases
    packets: int
    retransmissions: int
    digest: str
    expected: str | None = None
    error: float | None = None


class Reducer:
    """Carries out tasks."""

    def __init__(self) -> None:
        self._setup: Setup | None = None
        self._sessions: dict[str, tuple[Session, TimedCodec]] = {}
        self._vector: Vector = np.zeros(0, np.float32)
        self._expected: dict[int, str] = {}

    def work(self, task: Setup | Reduction) -> Reduced | None:
        """A ``Setup`` first."""
        if isinstance(task, Setup):
            self._start(task)
            return None
        if self._vector.size != task.values:
            assert self._setup is not None
            self._vector = vector(self._setup.worker, task.values)
        done, values = self._gloo(task) if task.by == GLOO else self._lanesum(task)
        return self._checked(done, values, task)

    def _start(self, setup: Setup) -> None:
        os.environ["GLOO_SOCKET_IFNAME"] = setup.interface
        import torch.distributed as dist

        self._setup = setup
        dist.init_process_group(
            "gloo",
            init_method=f"file://{setup.store}",
            rank=setup.worker,
            world_size=setup.workers,
            timeout=timedelta(seconds=_DEADLINE_S),
        )
        for job, (name, ticket) in setup.jobs.items():
            codec = TimedCodec(get(name, workers=setup.workers))
            session = Session(ticket, codec=codec, window=setup.window, offload=setup.offload, deadline_s=_DEADLINE_S)
            self._sessions[job] = session, codec

    def _gloo(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch
        import torch.distributed as dist

        # It sums in place: iterations after the first sum what the one before has left, which takes as long.
        tensor = torch.from_numpy(self._vector.copy())
        dist.barrier()
        cpu, begin = cpu_seconds(), time.monotonic()
        for _ in range(task.iterations):
            dist.all_reduce(tensor)
        end = time.monotonic()
        phases = Phases(network=end - begin)
        return Reduced(begin, end, cpu_seconds() - cpu, phases, 0, 0, ""), tensor.numpy()

    def _lanesum(self, task: Reduction) -> tuple[Reduced, Vector]:
        import torch.distributed as dist

        session, codec = self._sessions[task.by]
        stats = replace(session.stats)
        codec.phases = Phases()
        values = self._vector
        dist.barrier()
        cpu, begin = cpu_seconds(), time.monotonic()
        for _ in range(task.iterations):
            values = session.all_reduce(self._vector)
        end = time.monotonic()
        used = cpu_seconds() - cpu
        packets = session.stats.packets_sent - stats.packets_sent
        again = session.stats.retransmissions - stats.retransmissions
        return Reduced(begin, end, used, codec.phases, packets, again, ""), values

    def _checked(self, done: Reduced, values: Vector, task: Reduction) -> Reduced:
        assert self._setup is not None
        done = replace(done, digest=digest_of(values))
        if not task.check or self._setup.worker != 0:
            return done
        done = replace(done, error=error_of(values, self._setup.workers))
        codec = None if task.by == GLOO else self._sessions[task.by][1]
        if codec is None or codec.name != "fixed":
            return done
        if task.values not in self._expected:
            self._expected[task.values] = fixed_sum(codec, self._setup.workers, task.values)
        return replace(done, expected=self._expected[task.values])

    def close(self) -> None:
        """Give everything back."""
        for session, _ in self._sessions.values():
            session.close()


def main(arguments: list[str]) -> None:
    """Work until the benchmark goes away."""
    reducer = Reducer()
    try:
        serve(arguments[0], reducer.work)
    finally:
        reducer.close()

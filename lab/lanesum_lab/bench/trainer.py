# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of one worker (argument SOCKET) that runs trainings one after another.

The first task is a ``TrainerSetup``; ``Training`` is answered with ``Trained``.
"""

from __future__ import annotations

import datetime
import os
import time
from dataclasses import dataclass
from typing import Any

from lanesum_lab.bench.agents import serve

# Longer than the transport's deadline, whose error names the missing workers.
_GROUP_TIMEOUT_S = 300.0
_DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class TrainerSetup:
    """Task: join the process group and load the data.

    Attributes:
        worker, workers: its number, and the number of workers.
        store: file in which gloo's processes find each other.
        job, limit: job of the registry and part of its data.
    """

    worker: int
    workers: int
    store: str
    interface: str
    job: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class Training:
    """Task: one training.

    Attributes:
        by: name of a method (:mod:`lanesum_lab.train.methods`).
        settings: fields of :class:`lanesum_lab.train.loop.TrainingSettings`.
        job: controller and name of the job of a codec; None for peers.
    """

    by: str
    settings: dict[str, Any]
    job: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a training on one worker.

    Attributes:
        curve: fields of :class:`lanesum_lab.train.curve.Curve`.
        communication_s: seconds in which a bucket was in flight; 0 for peers.
        packets: accumulator words of a packet and slots of the job; None for peers.
    """

    curve: dict[str, Any]
    cpu_s: float
    communication_s: float = 0.0
    retransmissions: int = 0
    packets: dict[str, int] | None = None


class Trainer:
    """Carries out tasks."""

    def __init__(self) -> None:
        self._task: Any = None
        self._setup: TrainerSetup | None = None

    def work(self, task: TrainerSetup | Training) -> Trained | None:
        """Carry out a task; the first one is a ``TrainerSetup``."""
        if isinstance(task, TrainerSetup):
            self._start(task)
            return None
        return self._train(task)

    def _start(self, setup: TrainerSetup) -> None:
        os.environ["GLOO_SOCKET_IFNAME"] = setup.interface
        import torch
        import torch.distributed as dist

        from lanesum_lab.train.jobs import find

        torch.set_num_threads(1)
        dist.init_process_group(
            "gloo",
            init_method=f"file://{setup.store}",
            rank=setup.worker,
            world_size=setup.workers,
            timeout=datetime.timedelta(seconds=_GROUP_TIMEOUT_S),
        )
        self._setup = setup
        self._task = find(setup.job).load(setup.limit)
        dist.barrier()

    def _train(self, task: Training) -> Trained:
        import dataclasses

        from lanesum_lab.train.loop import TrainingSettings, train
        from lanesum_lab.train.methods import PEERS, lanesum_hook

        settings, before = TrainingSettings(**task.settings), time.process_time()
        if task.by in PEERS:
            peer = PEERS[task.by]
            curve = train(self._task, settings, title=task.by, hook=peer.hook(), one_bucket=peer.one_bucket)
            return Trained(dataclasses.asdict(curve), time.process_time() - before)
        with self._state(task, settings.steps) as state:
            curve = train(self._task, settings, title=task.by, hook=lanesum_hook(state))
            state.leave()
            stats, ticket = state.stats, state.session.ticket
        packets = {"accumulator_words": ticket.accumulator_words, "slots": ticket.slots}
        cpu_s, again = time.process_time() - before, stats.transport.retransmissions
        return Trained(dataclasses.asdict(curve), cpu_s, stats.busy_s, again, packets)

    def _state(self, task: Training, steps: int) -> Any:
        import torch.distributed as dist

        import lanesum.torch
        from lanesum.joining import join
        from lanesum.session import Session
        from lanesum_lab.train.methods import make_codec

        assert self._setup is not None and task.job is not None
        controller, job = task.job
        ticket = join(controller=controller, job=job, worker=self._setup.worker, wait=True)
        codec = make_codec(task.by, workers=self._setup.workers, steps=steps)
        session = Session(ticket, codec=codec, deadline_s=_DEADLINE_S)
        return lanesum.torch.State(session, alternative=dist.group.WORLD if task.by == "auto" else None)


def main(arguments: list[str]) -> None:
    """Work until the benchmark closes the connection."""
    serve(arguments[0], Trainer().work)
    # Threads of the process group and of PyTorch's hooks outlive it.
    from lanesum_lab.train.group import end_process

    end_process(0)

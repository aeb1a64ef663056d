# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of one worker of a job at a controller (arguments SOCKET CONTROLLER JOB WORKER CODEC) that all-reduces.

A task is an ``AllReduces``; the answer is the time when its last all-reduce was complete.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from lanesum.joining import join
from lanesum.session import Session
from lanesum_lab.bench.agents import serve
from lanesum_lab.bench.vectors import vector


@dataclass(frozen=True, slots=True)
class AllReduces:
    """Task: all-reduces of ``values`` float32, one after another: ``count`` of them, and one that is not timed."""

    values: int
    count: int


def main(arguments: list[str]) -> None:
    """Join the job, then work until the benchmark closes the connection."""
    path, controller, job, worker, codec = arguments
    with Session(join(controller=controller, job=job, worker=int(worker), wait=True), codec=codec) as session:

        def work(task: AllReduces) -> tuple[float, float]:
            values = vector(int(worker), task.values, None)
            session.all_reduce(values)  # waits for all workers to begin
            begin = time.monotonic()
            for _ in range(task.count):
                session.all_reduce(values)
            return begin, time.monotonic()

        serve(path, work)

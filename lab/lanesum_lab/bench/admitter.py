# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of a tenant that admits jobs (arguments SOCKET CONTROLLER HOST JOB).

Every job has one worker at HOST. An admission takes the place of the job of the same name before it. A ``SpinTask`` is
the control of runs beside admissions.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lanesum.rpc import controller as rpc
from lanesum_lab.bench.agents import serve

_LOWEST_PRIORITY = 19
_ANSWER_S = 250.0  # of a call at the lowest priority


@dataclass(frozen=True, slots=True)
class AdmitTask:
    """Task: ``count`` admissions by ``callers`` threads, with a pause of ``pause_s`` before each.

    ``elsewhere``: the tenant stands for one on another machine, so the others here run before it.
    """

    count: int
    callers: int = 1
    pause_s: float = 0.0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class SpinTask:
    """Task: keep one core busy for ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AdmitDone:
    """Result: begin and end of each admission, seconds of the monotonic clock, and reasons of the refused ones."""

    admitted: tuple[tuple[float, float], ...]
    refused: tuple[str, ...]


class Admitter:
    """Tenant that admits jobs."""

    def __init__(self, controller: str, host: str, job: str) -> None:
        self._controller = controller
        self._message = {"name": job, "workers": [host], "codec": None, "slots": 1, "take_over": True}

    def work(self, task: AdmitTask | SpinTask) -> AdmitDone | float:
        """Carry out a task; return the admissions, or the processor seconds of a ``SpinTask``."""
        if isinstance(task, SpinTask):
            return _spin(task)
        if task.elsewhere:
            os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
        with ThreadPoolExecutor(task.callers) as pool:
            done = list(pool.map(lambda _: self._admit(task.pause_s), range(task.count)))
        admitted = tuple(one for one in done if isinstance(one, tuple))
        return AdmitDone(admitted, tuple(one for one in done if isinstance(one, str)))

    def _admit(self, pause_s: float) -> tuple[float, float] | str:
        time.sleep(pause_s)
        begin = time.monotonic()
        try:
            rpc.call(self._controller, rpc.ADMIT, self._message, _ANSWER_S)
        except rpc.ControllerError as error:
            return error.what
        return begin, time.monotonic()


def _spin(task: SpinTask) -> float:
    """Use processor time and nothing else; return the seconds that it took."""
    start, end = time.process_time(), time.monotonic() + task.seconds
    while time.monotonic() < end:
        pass
    return time.process_time() - start


def main(arguments: list[str]) -> None:
    """Work until the benchmark closes the connection."""
    path, *rest = arguments
    serve(path, Admitter(*rest).work)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process that uses processor time and nothing else (argument SOCKET): the control of runs beside other work."""

from __future__ import annotations

import time
from dataclasses import dataclass

from lanesum_lab.bench.agents import serve


@dataclass(frozen=True, slots=True)
class SpinTask:
    """Task: keep one core busy for ``seconds``."""

    seconds: float


def spin(task: SpinTask) -> float:
    """Carry out a task; return the seconds of processor time that it took."""
    start, end = time.process_time(), time.monotonic() + task.seconds
    while time.monotonic() < end:
        pass
    return time.process_time() - start


def main(arguments: list[str]) -> None:
    """Work until the benchmark closes the connection."""
    (path,) = arguments
    serve(path, spin)

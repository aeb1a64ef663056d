# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of a benchmark that do something when they are told to, wherever they run.

They listen on a socket file, which is reached across network namespaces too, take one task after another, and answer
each with what came of it. Times are of the system-wide monotonic clock, so that those of several processes compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

import numpy as np

from lanesum_lab.bench.errors import BenchError
from lanesum_lab.run.supervisor import Supervisor

_POLL_S = 0.05
_START_S = 120.0
_LAST_WORDS_S = 5.0


class Progress:
    """How far something was at certain times.

    Args:
        times: seconds of the monotonic clock, ascending.
        amounts: done by then; the index of the time when not given.
    """

    def __init__(self, times: Sequence[float], amounts: Sequence[float] | None = None) -> None:
        self.times = tuple(times)
        self.amounts = tuple(range(len(times))) if amounts is None else tuple(amounts)

    def rate(self, start: float, end: float) -> float:
        """Done per second between two times; in between what was noted it is taken to be even."""
        done = np.interp([start, end], self.times, self.amounts)
        return float((done[1] - done[0]) / (end - start))


def common(progresses: Sequence[Progress]) -> tuple[float, float]:
    """The interval in which all of them were under way. Raises BenchError where there is none."""
    start = max(progress.times[0] for progress in progresses)
    end = min(progress.times[-1] for progress in progresses)
    if end <= start:
        raise BenchError("What was to be measured side by side did not run at the same time.", "Measure for longer.")
    return start, end


def serve(path: str, work: Callable[[Any], Any]) -> None:
    """Take tasks from the socket file until None comes or the other end goes away."""
    with connection.Listener(path, "AF_UNIX") as listener, listener.accept() as peer:
        try:
            while (task := peer.recv()) is not None:
                peer.send(work(task))
        except EOFError:
            pass


class Agents:
    """The processes as the benchmark sees them, by name.

    Args:
        supervisor: of all processes; one that fails ends the benchmark.
        folder: for the socket files.
    """

    def __init__(self, supervisor: Supervisor, folder: Path) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._peers: dict[str, connection.Connection] = {}

    def path(self, name: str) -> str:
        """The socket file that the process shall listen at."""
        return str(self._folder / f"{name}.agent")

    def connect(self, names: Sequence[str]) -> None:
        """Wait until these have come up. Raises ProcessFailedError, BenchError."""
        deadline = time.monotonic() + _START_S
        for name in names:
            while name not in self._peers:
                self._supervisor.check()
                try:
                    self._peers[name] = connection.Client(self.path(name), "AF_UNIX")
                except (FileNotFoundError, ConnectionRefusedError) as error:
                    if time.monotonic() > deadline:
                        raise BenchError(f"{name} did not start within {_START_S:g} s.") from error
                    time.sleep(_POLL_S)

    def ask(self, tasks: Mapping[str, Any]) -> dict[str, Any]:
        """Give every process its task, all at once; their answers. Raises ProcessFailedError, BenchError."""
        for name, task in tasks.items():
            self._peers[name].send(task)
        waiting = {self._peers[name]: name for name in tasks}
        answers: dict[str, Any] = {}
        while waiting:
            for peer in connection.wait(list(waiting), _POLL_S):
                assert isinstance(peer, connection.Connection)
                name = waiting.pop(peer)
                try:
                    answers[name] = peer.recv()
                except (EOFError, ConnectionResetError) as error:
                    self._wait_for_failure()
                    raise BenchError(f"{name} ended in the middle of its task.") from error
            self._supervisor.check()
        return answers

    def _wait_for_failure(self) -> None:
        """The end of a connection comes before that of its process, whose log says why. Raises ProcessFailedError."""
        deadline = time.monotonic() + _LAST_WORDS_S
        while time.monotonic() < deadline:
            self._supervisor.check()
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Let the processes end; idempotent."""
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()

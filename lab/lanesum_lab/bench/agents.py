# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent processes of a benchmark, which carry out tasks on any host.

An agent listens on a socket file, which also works across network namespaces. It takes one task after another and
answers each with its result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from lanesum.launch.supervisor import Supervisor
from lanesum_lab.bench.errors import BenchError

_POLL_S = 0.05
_START_S = 120.0
_LAST_WORDS_S = 5.0


def serve(path: str, work: Callable[[Any], Any]) -> None:
    """Take tasks from the socket file until None arrives or the connection closes."""
    with connection.Listener(path, "AF_UNIX") as listener, listener.accept() as peer:
        try:
            while (task := peer.recv()) is not None:
                peer.send(work(task))
        except EOFError:
            pass


class Agents:
    """Agent processes by name, as the benchmark uses them.

    Args:
        supervisor: supervisor of all processes; a failed one ends the benchmark.
    """

    def __init__(self, supervisor: Supervisor, folder: Path) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._peers: dict[str, connection.Connection] = {}

    def path(self, name: str) -> str:
        """Return the socket file of an agent."""
        return str(self._folder / f"{name}.agent")

    def connect(self, names: Sequence[str]) -> None:
        """Wait until these agents have started. Raises ProcessFailedError, BenchError."""
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
        """Give every agent its task at the same time; return their answers. Raises ProcessFailedError, BenchError."""
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
        """Wait for the end of a process whose connection closed; its log has the reason. Raises ProcessFailedError."""
        deadline = time.monotonic() + _LAST_WORDS_S
        while time.monotonic() < deadline:
            self._supervisor.check()
            time.sleep(_POLL_S)

    def close(self) -> None:
        """End the processes; idempotent."""
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()

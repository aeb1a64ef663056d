# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of a benchmark in processes of their own, on any host: ``python -m lanesum_lab.bench.agents SOCKET``.

An agent process listens on a socket file, which also works across network namespaces. Its first call makes an object,
which every later call has as its argument. Calls are pickled functions of importable modules.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from multiprocessing import connection
from pathlib import Path
from typing import Any

from lanesum.errors import LanesumError
from lanesum.launch.supervisor import Child, Supervisor
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.run.site import At, here

_POLL_S = 0.05
_START_S = 120.0
_LAST_WORDS_S = 5.0


def serve(path: str) -> None:
    """Answer calls from the socket file until the connection closes; then close the object, if it can be closed."""
    with connection.Listener(path, "AF_UNIX") as listener, listener.accept() as peer:
        made: Any = None
        try:
            made = peer.recv()()
            peer.send(None)
            while True:
                peer.send(peer.recv()(made))
        except EOFError:
            pass
    if hasattr(made, "close"):
        made.close()


class Agents:
    """Agent processes by name, as the benchmark uses them.

    Args:
        supervisor: supervisor of all processes; a failed one ends the benchmark.
        at: returns a command with a prefix that runs it at a node.
    """

    def __init__(self, supervisor: Supervisor, folder: Path, at: At = here) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._at = at
        self._peers: dict[str, connection.Connection] = {}

    def start(self, name: str, node: str, environment: Mapping[str, str] = {}) -> Child:
        """Start an agent process at a node; the processes share the cores of a machine."""
        command = self._at(node, [sys.executable, "-m", "lanesum_lab.bench.agents", self._path(name)])
        return self._supervisor.start(name, command, environment={"OMP_NUM_THREADS": "1", **environment})

    def _path(self, name: str) -> str:
        return str(self._folder / f"{name}.agent")

    def make(self, objects: Mapping[str, Callable[[], object]]) -> None:
        """Wait until these agents have started, and make an object in each. Raises ProcessFailedError, BenchError."""
        deadline = time.monotonic() + _START_S
        for name in objects:
            while name not in self._peers:
                self._supervisor.check()
                try:
                    self._peers[name] = connection.Client(self._path(name), "AF_UNIX")
                except (FileNotFoundError, ConnectionRefusedError) as error:
                    if time.monotonic() > deadline:
                        raise BenchError(f"{name} did not start within {_START_S:g} s.") from error
                    time.sleep(_POLL_S)
        self.ask(objects)

    def ask(self, calls: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
        """Call a function in each agent at the same time, with its object as the argument; return the results.

        Raises ProcessFailedError, BenchError.
        """
        for name, call in calls.items():
            self._peers[name].send(call)
        waiting = {self._peers[name]: name for name in calls}
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


def main(arguments: list[str]) -> int:
    """Serve; errors end the process with their text on standard error."""
    try:
        serve(arguments[0])
    except LanesumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

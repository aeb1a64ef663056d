# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisor of a run, whose fault plan kills, restarts and pauses processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from lanesum.launch.supervisor import Child, ProcessFailedError, Supervisor, send_signal

_POLL_S = 0.05


class RunSupervisor(Supervisor):
    """Supervisor whose processes may be killed, restarted and paused. Use as a context manager.

    Attributes:
        killed: processes that were killed on purpose; their absence is no failure until they are restarted.
    """

    def __init__(self, log_folder: Path) -> None:
        super().__init__(log_folder)
        self.killed: list[Child] = []

    def child(self, name: str) -> Child:
        """Return the process ``name``. Raises KeyError if it was never started."""
        found = next((child for child in self.children if child.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def kill(self, child: Child) -> None:
        """Kill a process, as in a crash, without failing the run."""
        if child not in self.killed:
            self.killed.append(child)
        send_signal(child, signal.SIGKILL)
        child.process.wait()

    def restart(self, child: Child) -> None:
        """Restart a killed process with the same command; append to its log."""
        super().restart(child)
        self.killed.remove(child)

    @staticmethod
    def pause(child: Child) -> None:
        """Stop a process with SIGSTOP."""
        send_signal(child, signal.SIGSTOP)

    @staticmethod
    def resume(child: Child) -> None:
        """Continue a paused process."""
        send_signal(child, signal.SIGCONT)

    def wait(
        self, awaited: Sequence[Child], timeout_s: float | None = None, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Wait until all of ``awaited`` have ended with status 0, except those killed on purpose.

        Calls ``meanwhile`` repeatedly. Raises ProcessFailedError as soon as one of them fails or any other process
        ends, or after ``timeout_s``.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        waiting = list(awaited)
        while waiting:
            meanwhile()
            self.check(may_end=awaited)
            waiting = [child for child in waiting if child.process.poll() is None]
            if deadline is not None and time.monotonic() > deadline:
                raise ProcessFailedError(f"{', '.join(c.name for c in waiting)} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)

    def check(self, besides: Collection[Child] = (), may_end: Collection[Child] = ()) -> None:
        """See ``Supervisor.check``; processes that were killed on purpose are no failure."""
        try:
            super().check([*besides, *self.killed], may_end)
        except ProcessFailedError as error:
            if not self.killed:
                raise
            killed = ", ".join(child.name for child in self.killed)
            raise ProcessFailedError(f"After {killed} had been killed as planned, {error}") from error

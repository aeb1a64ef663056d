# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes with logs: none survives the run, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lanesum.errors import LanesumError

_POLL_S = 0.05
_GRACE_S = 5.0
_LOG_TAIL_LINES = 15


class ProcessFailedError(LanesumError):
    """A process of the run ended by itself with an error; the message has the end of its log."""


@dataclass(slots=True)
class Child:
    """One process. ``log`` None: it writes to the terminal."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None


class Supervisor:
    """Starts processes, watches them, ends them. Use as a context manager.

    Args:
        log_folder: receives ``NAME.log`` of every process that does not write to the terminal.
    """

    def __init__(self, log_folder: Path) -> None:
        self._log_folder = log_folder
        self._children: list[Child] = []
        log_folder.mkdir(parents=True, exist_ok=True)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        to_terminal: bool = False,
    ) -> Child:
        """Start ``command`` with ``environment`` on top of this process's own."""
        log = None if to_terminal else self._log_folder / f"{name}.log"
        output = None if log is None else log.open("wb")
        try:
            process = subprocess.Popen(
                [*_die_with_parent(), *command],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                # Ctrl-C goes to us alone; we end the children in order.
                start_new_session=True,
            )
        finally:
            if output is not None:
                output.close()
        child = Child(name, process, log)
        self._children.append(child)
        return child

    def wait(self, awaited: Sequence[Child], timeout_s: float | None = None) -> None:
        """Return when all of ``awaited`` have ended well.

        Raises ProcessFailedError as soon as one of them fails, or one of the others ends at all; or after
        ``timeout_s``.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        waiting = list(awaited)
        while waiting:
            for child in self._children:
                status = child.process.poll()
                if status is None or (status == 0 and child in awaited):
                    continue
                raise self._failure(child, status)
            waiting = [child for child in waiting if child.process.poll() is None]
            if deadline is not None and time.monotonic() > deadline:
                raise ProcessFailedError(f"{', '.join(c.name for c in waiting)} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Raises ProcessFailedError when a process has ended."""
        for child in self._children:
            status = child.process.poll()
            if status is not None:
                raise self._failure(child, status)

    @staticmethod
    def _failure(child: Child, status: int) -> ProcessFailedError:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        if child.log is None:
            return ProcessFailedError(f"{child.name} {how}; see its messages above.")
        tail = "\n".join(child.log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ProcessFailedError(f"{child.name} {how}. The end of {child.log}:\n{tail}")

    def close(self) -> None:
        """End everything that still runs, last started first; idempotent."""
        for child in reversed(self._children):
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        for child in reversed(self._children):
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.process.wait()
        self._children.clear()

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process.poll() is None:
        # Its session is its own: the group is the process and what it started.
        os.killpg(child.process.pid, number)


def _die_with_parent() -> list[str]:
    """Prefix for a command: even a supervisor that is killed outright then leaves no processes."""
    setpriv = shutil.which("setpriv")  # util-linux
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []

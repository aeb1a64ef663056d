# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes with logs: none survives the run, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum.errors import LanesumError

_POLL_S = 0.05
_GRACE_S = 5.0
_LOG_TAIL_LINES = 15


class ProcessFailedError(LanesumError):
    """A process of the run ended by itself with an error; the message has the end of its log."""


@dataclass(slots=True)
class Child:
    """One process, and what it takes to start it again.

    Attributes:
        log: None where it writes to the terminal.
        killed: it was killed on purpose, and is not to be missed until it is started again.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]
    log: Path | None
    killed: bool = False


class Supervisor(Closing):
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
        if log is not None:
            log.unlink(missing_ok=True)  # of the run before
        process = _open(command, environment or {}, log)
        child = Child(name, command, environment or {}, process, log)
        self._children.append(child)
        return child

    def child(self, name: str) -> Child:
        """A process that was started; raises KeyError."""
        found = next((child for child in self._children if child.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def kill(self, child: Child) -> None:
        """End a process as if it had crashed, without failing the run."""
        child.killed = True
        _signal(child, signal.SIGKILL)
        child.process.wait()

    def restart(self, child: Child) -> None:
        """Start a killed process again with the same command; its log goes on."""
        child.process = _open(child.command, child.environment, child.log)
        child.killed = False

    @staticmethod
    def pause(child: Child) -> None:
        """Hold a process where it is."""
        _signal(child, signal.SIGSTOP)

    @staticmethod
    def resume(child: Child) -> None:
        """Let a paused process go on."""
        _signal(child, signal.SIGCONT)

    def wait(
        self, awaited: Sequence[Child], timeout_s: float | None = None, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Return when all of ``awaited`` have ended well, those left out that were killed on purpose.

        ``meanwhile`` is called again and again. Raises ProcessFailedError as soon as one of them fails, or one of the
        others ends at all; or after ``timeout_s``.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        waiting = list(awaited)
        while waiting:
            meanwhile()
            for child in self._children:
                status = child.process.poll()
                if status is None or child.killed or (status == 0 and child in awaited):
                    continue
                raise self._failure(child, status)
            waiting = [child for child in waiting if child.process.poll() is None]
            if deadline is not None and time.monotonic() > deadline:
                raise ProcessFailedError(f"{', '.join(c.name for c in waiting)} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Raises ProcessFailedError when a process has ended that was not killed on purpose."""
        for child in self._children:
            status = child.process.poll()
            if status is not None and not child.killed:
                raise self._failure(child, status)

    def _failure(self, child: Child, status: int) -> ProcessFailedError:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        killed = ", ".join(one.name for one in self._children if one.killed)
        before = f"After {killed} had been killed as planned, " if killed else ""
        if child.log is None:
            return ProcessFailedError(f"{before}{child.name} {how}; see its messages above.")
        tail = "\n".join(child.log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
        return ProcessFailedError(f"{before}{child.name} {how}. The end of {child.log}:\n{tail}")

    def close(self) -> None:
        """End everything that still runs, last started first; idempotent."""
        for child in reversed(self._children):
            _signal(child, signal.SIGTERM)
            _signal(child, signal.SIGCONT)  # one that is paused would not hear of it
        deadline = time.monotonic() + _GRACE_S
        for child in reversed(self._children):
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.process.wait()
        self._children.clear()


def _open(command: Sequence[str], environment: Mapping[str, str], log: Path | None) -> subprocess.Popen[bytes]:
    output = None if log is None else log.open("ab")
    try:
        return subprocess.Popen(
            [*_die_with_parent(), *command],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            # Ctrl-C goes to us alone; we end the children in order.
            start_new_session=True,
        )
    finally:
        if output is not None:
            output.close()


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process.poll() is None:
        # Its session is its own: the group is the process and what it started.
        os.killpg(child.process.pid, number)


def _die_with_parent() -> list[str]:
    """Prefix for a command: even a supervisor that is killed outright then leaves no processes."""
    setpriv = shutil.which("setpriv")  # util-linux
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []

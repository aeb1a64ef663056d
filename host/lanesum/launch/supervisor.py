# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes with logs. None of them survives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum.cli.signals import READY
from lanesum.errors import LanesumError
from lanesum.launch import child as guarded

_POLL_S = 0.05
_READY_POLL_S = 0.02
_READY_S = 60.0
_GRACE_S = 5.0
_LOG_TAIL_LINES = 15


class ProcessFailedError(LanesumError):
    """A process of the run ended unexpectedly; the message has the end of its log."""


@dataclass(slots=True)
class Child:
    """A process, and the command that restarts it.

    Attributes:
        log: log file; None if the process writes to the terminal.
        killed: the process was killed on purpose; its absence is no failure until it is restarted.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]
    log: Path | None
    killed: bool = False


class Supervisor(Closing):
    """Start, watch and end processes of a launch or a run. Use as a context manager.

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
        """Start ``command`` with ``environment`` added to the environment of this process."""
        log = None if to_terminal else self._log_folder / f"{name}.log"
        if log is not None:
            log.unlink(missing_ok=True)  # of the run before
        process = _open(command, environment or {}, log)
        child = Child(name, command, environment or {}, process, log)
        self._children.append(child)
        return child

    def child(self, name: str) -> Child:
        """Return the process ``name``. Raises KeyError if it was never started."""
        found = next((child for child in self._children if child.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def kill(self, child: Child) -> None:
        """Kill a process, as in a crash, without failing the run."""
        child.killed = True
        _signal(child, signal.SIGKILL)
        child.process.wait()

    def restart(self, child: Child) -> None:
        """Restart a killed process with the same command; append to its log."""
        child.process = _open(child.command, child.environment, child.log)
        child.killed = False

    @staticmethod
    def pause(child: Child) -> None:
        """Stop a process with SIGSTOP."""
        _signal(child, signal.SIGSTOP)

    @staticmethod
    def resume(child: Child) -> None:
        """Continue a paused process."""
        _signal(child, signal.SIGCONT)

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
            for child in self._children:
                status = child.process.poll()
                if status is None or child.killed or (status == 0 and child in awaited):
                    continue
                raise self._failure(child, status)
            waiting = [child for child in waiting if child.process.poll() is None]
            if deadline is not None and time.monotonic() > deadline:
                raise ProcessFailedError(f"{', '.join(c.name for c in waiting)} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)

    def wait_ready(self, child: Child, timeout_s: float = _READY_S) -> None:
        """Wait for the line with which a command says that it serves.

        Raises ProcessFailedError if a process ends, or after ``timeout_s``.
        """
        assert child.log is not None
        deadline = time.monotonic() + timeout_s
        while READY not in child.log.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                raise ProcessFailedError(f"{child.name} is not ready after {timeout_s:g} s. {_end_of(child.log)}")
            time.sleep(_READY_POLL_S)

    def check(self, besides: Child | None = None) -> None:
        """Raise ProcessFailedError if a process ``besides`` this one has ended that was not killed on purpose."""
        for child in self._children:
            status = child.process.poll()
            if status is not None and not child.killed and child is not besides:
                raise self._failure(child, status)

    def _failure(self, child: Child, status: int) -> ProcessFailedError:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
        killed = ", ".join(one.name for one in self._children if one.killed)
        before = f"After {killed} had been killed as planned, " if killed else ""
        if child.log is None:
            return ProcessFailedError(f"{before}{child.name} {how}; see its messages above.")
        return ProcessFailedError(f"{before}{child.name} {how}. {_end_of(child.log)}")

    def close(self) -> None:
        """End all running processes in reverse order of their start. Idempotent."""
        for child in reversed(self._children):
            _signal(child, signal.SIGTERM)
            _signal(child, signal.SIGCONT)  # a stopped process handles SIGTERM only once it continues
        deadline = time.monotonic() + _GRACE_S
        for child in reversed(self._children):
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.process.wait()
        self._children.clear()


def _open(command: Sequence[str], environment: Mapping[str, str], log: Path | None) -> subprocess.Popen[bytes]:
    # Also if this process is killed.
    prefix = [sys.executable, "-ES", guarded.__file__, str(int(signal.SIGTERM)), str(os.getpid())]
    output = None if log is None else log.open("ab")
    try:
        return subprocess.Popen(
            [*prefix, *command],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            # Ctrl-C reaches this process alone, which ends the children in order.
            start_new_session=True,
        )
    finally:
        if output is not None:
            output.close()


def _end_of(log: Path) -> str:
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
    return f"The end of {log}:\n{tail}"


def _signal(child: Child, number: signal.Signals) -> None:
    if child.process.poll() is None:
        # The process has a session of its own: the group is the process and its children.
        os.killpg(child.process.pid, number)

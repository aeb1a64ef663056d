# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes with logs. None of them survives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum._internal.output_file import make_folder
from lanesum.cli.signals import READY
from lanesum.errors import LanesumError
from lanesum.launch import child as guarded

_READY_POLL_S = 0.02
_READY_S = 60.0
_GRACE_S = 5.0
_LOG_TAIL_LINES = 15
_MAX_RESTARTS = 10


class ProcessFailedError(LanesumError):
    """A process of the run ended unexpectedly; the message has the end of its log."""


@dataclass(slots=True, eq=False)
class Child:
    """A process, and its command.

    Attributes:
        log: its log file, also of its starts before; None if it writes to the terminal.
        restarts: number of starts after the first one.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]
    log: Path | None
    restarts: int = 0

    @property
    def served(self) -> bool:
        """True if the present or last process has said that it serves."""
        return self.log is not None and self.log.read_text(errors="replace").count(READY) > self.restarts


class Supervisor(Closing):
    """Start, watch and end processes. Use as a context manager.

    Args:
        log_folder: receives ``NAME.log`` of every process that does not write to the terminal.

    Attributes:
        children: the processes, in the order of their start.
    """

    def __init__(self, log_folder: Path) -> None:
        self._log_folder = log_folder
        self.children: list[Child] = []
        make_folder(log_folder)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        to_terminal: bool = False,
    ) -> Child:
        """Start ``command`` with ``environment`` added to the environment of this process.

        ``to_terminal``: it has the standard input and outputs of this process, instead of a log.
        """
        log = None if to_terminal else self._log_folder / f"{name}.log"
        if log is not None:
            log.unlink(missing_ok=True)  # of the run before
        process = open_process(command, environment or {}, log, reads_input=to_terminal)
        self.children.append(Child(name, command, environment or {}, process, log))
        return self.children[-1]

    def wait_ready(self, child: Child, timeout_s: float = _READY_S) -> None:
        """Wait for the line with which a command says that it serves.

        Raises ProcessFailedError if a process ends, or after ``timeout_s``.
        """
        assert child.log is not None
        deadline = time.monotonic() + timeout_s
        while not child.served:
            self.check()
            if time.monotonic() > deadline:
                raise ProcessFailedError(f"{child.name} is not ready after {timeout_s:g} s. {_end_of(child.log)}")
            time.sleep(_READY_POLL_S)

    def check(self, besides: Collection[Child] = (), may_end: Collection[Child] = ()) -> None:
        """Raise ProcessFailedError if a process ``besides`` these has ended; ``may_end``: those with status 0."""
        for child in self.children:
            status = child.process.poll()
            if status is not None and child not in besides and (status or child not in may_end):
                end = "; see its messages above." if child.log is None else f". {_end_of(child.log)}"
                raise ProcessFailedError(f"{child.name} {ending(status)}{end}")

    def restart(self, child: Child) -> None:
        """Start an ended process with the same command again; append to its log."""
        child.process = open_process(child.command, child.environment, child.log)
        child.restarts += 1

    def restart_ended(self, besides: Collection[Child] = ()) -> list[str]:
        """Restart the processes ``besides`` these that have served and ended; return a sentence about each.

        Raises ProcessFailedError if one ended before it served, or has ended too often.
        """
        said = []
        for child in self.children:
            status = child.process.poll()
            if status is None or child in besides:
                continue
            if not child.served or child.restarts >= _MAX_RESTARTS:
                self.check(besides)
            said.append(f"{child.name} {ending(status)}, and is started again; its log is {child.log}")
            self.restart(child)
        return said

    def kill_all(self) -> None:
        """End all running processes at once, without a chance to clean up."""
        for child in self.children:
            send_signal(child, signal.SIGKILL)

    def close(self) -> None:
        """End all running processes in reverse order of their start. Idempotent."""
        for child in reversed(self.children):
            send_signal(child, signal.SIGTERM)
            send_signal(child, signal.SIGCONT)  # a stopped process handles SIGTERM only once it continues
        deadline = time.monotonic() + _GRACE_S
        for child in reversed(self.children):
            try:
                child.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                send_signal(child, signal.SIGKILL)
                child.process.wait()
        self.children.clear()


def ending(status: int) -> str:
    """Return the end of a process in words; ``status``: as of ``subprocess.Popen``."""
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"


def open_process(
    command: Sequence[str], environment: Mapping[str, str], log: Path | None, *, reads_input: bool = False
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one, also if this one is killed.

    ``reads_input``: it has the standard input of this process, else none.
    """
    prefix = [sys.executable, "-ES", guarded.__file__, str(int(signal.SIGTERM)), str(os.getpid())]
    output = None if log is None else log.open("ab")
    try:
        return subprocess.Popen(
            [*prefix, *command],
            env={**os.environ, **environment},
            stdin=None if reads_input else subprocess.DEVNULL,
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


def send_signal(child: Child, number: signal.Signals) -> None:
    """Send a signal to a process and its children, unless the process has ended."""
    if child.process.poll() is None:
        # The process has a session of its own: the group is the process and its children.
        os.killpg(child.process.pid, number)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The test harness of the chip's model as a child process.

The harness reads one command a line from standard input, and processes packets in threads of its own. Its command
``wait`` can return while the replication engine still copies a packet. This module waits until the process is at rest
instead: standard input is read to its end, and no thread ran between two looks at all threads. Then every thread waits
for another one or for input, so nothing happens before the next command. The thread that recirculates packets sleeps
between looks at its queue; the process is at rest when it woke several times and no other thread ran meanwhile.
"""

from __future__ import annotations

import array
import fcntl
import re
import subprocess
import termios
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from lanesum_lab.tofino_model.errors import TofinoModelError

_TIMEOUT_S = 120.0
_PAUSE_S = 0.0002
# A polling thread sleeps once between two looks at its queue, and at most twice in a look. After so many sleeps, a
# packet that waited there is certainly taken.
_SLEEPS_OF_LOOKS = 9
_SLEEPS = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.MULTILINE)


class _Rest(NamedTuple):
    """Begin of a time without work: the status of each thread that does not poll, then the sleeps of those that do."""

    others: dict[str, str]
    sleeps: dict[str, int]


class Harness:
    """A running harness with one program.

    Args:
        program: path of the harness.
        build: folder with the binary and ``context.json``.
        scratch: empty folder for the files of this process.

    All methods raise TofinoModelError if the process ended or printed an error.
    """

    def __init__(self, program: str, build: Path, scratch: Path) -> None:
        self._paths = {name: scratch / name for name in ("frames", "printed", "errors")}
        for path in self._paths.values():
            path.touch()
        self._ends = dict.fromkeys(self._paths, 0)
        self._polling: frozenset[str] = frozenset()
        # Without -r, every configuration file that is loaded later would reset the tables.
        command = [program, "--observation-log", str(self._paths["frames"]), "-l", str(build), "-r", "-"]
        with self._paths["printed"].open("wb") as printed, self._paths["errors"].open("wb") as errors:
            # In a session of its own, so that Ctrl-C ends the tests first.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=printed, stderr=errors, cwd=scratch, start_new_session=True
            )
        try:
            self._settle()
            self._new("errors")  # the program's own warnings about its build
        except BaseException:
            self.close()
            raise

    def run(self, commands: Iterable[str], *, harmless: str = "") -> str:
        """Run commands to their end; return the text that they printed.

        ``harmless``: part of the errors that mean nothing.
        """
        self._write(commands)
        self._settle()
        errors = [line for line in self._new("errors").splitlines() if not harmless or harmless not in line]
        if errors:
            raise TofinoModelError(f"The model's harness refused a command: {' '.join(errors)[:600]}.")
        return self._new("printed")

    def start_polling(self, commands: Iterable[str]) -> None:
        """Run commands that start a thread which wakes from time to time and looks at a queue."""
        before = self._tasks()
        self._write(commands)
        deadline = time.monotonic() + _TIMEOUT_S
        while not (started := self._tasks() - before):
            self._check_alive()
            if time.monotonic() > deadline:
                raise self._error("started no thread")
            time.sleep(_PAUSE_S)
        self._polling |= started
        self.run(())

    def exchange(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Send a frame into a port; return port and bytes of all frames that leave."""
        self.run([f"packet {port} {frame.hex()}"])
        found = (line.split() for line in self._new("frames").splitlines())
        return [(int(out[0]), bytes.fromhex(out[1])) for out in found]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _write(self, commands: Iterable[str]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{command}\n" for command in commands).encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._error("ended") from None

    def _new(self, name: str) -> str:
        """Return the text that a file got since the last call."""
        with self._paths[name].open("rb") as file:
            file.seek(self._ends[name])
            text = file.read()
        self._ends[name] += len(text)
        return text.decode(errors="replace")

    def _settle(self) -> None:
        """Wait until the process is at rest."""
        deadline = time.monotonic() + _TIMEOUT_S
        begin: _Rest | None = None
        while True:
            self._check_alive()
            if time.monotonic() > deadline:
                raise self._error(f"was not at rest within {_TIMEOUT_S:.0f} s, with {self._unread()} bytes unread")
            # The sleeps that count lie between two looks at the other threads, however long a look takes.
            sleeps = self._sleeps()
            others = None if self._unread() else self._others()
            if others is None:
                begin = None
            elif begin is None or others != begin.others:
                begin = _Rest(others, self._sleeps())
                continue
            elif all(sleeps[task] - before >= _SLEEPS_OF_LOOKS for task, before in begin.sleeps.items()):
                return
            time.sleep(_PAUSE_S)

    def _check_alive(self) -> None:
        if self._process.poll() is not None:
            raise self._error(f"ended with status {self._process.returncode}")

    def _unread(self) -> int:
        """Return the number of bytes in standard input that the process has not read."""
        assert self._process.stdin is not None
        size = array.array("i", [0])
        fcntl.ioctl(self._process.stdin, termios.FIONREAD, size)
        return size[0]

    def _tasks(self) -> frozenset[str]:
        """Return the numbers of all threads."""
        return frozenset(task.name for task in Path(f"/proc/{self._process.pid}/task").iterdir())

    def _others(self) -> dict[str, str] | None:
        """Return the status of all threads that do not poll, with their context switches; None if one runs."""
        found = {}
        for task in self._tasks() - self._polling:
            status = self._status(task)
            if "State:\tS" not in status:
                return None
            found[task] = status
        return found

    def _sleeps(self) -> dict[str, int]:
        """Return how often each polling thread slept."""
        found = {}
        for task in self._polling:
            sleeps = _SLEEPS.search(self._status(task))
            found[task] = int(sleeps[1]) if sleeps else 0
        return found

    def _status(self, task: str) -> str:
        """Return a thread's status; empty if it ended."""
        try:
            return Path(f"/proc/{self._process.pid}/task/{task}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def _error(self, what: str) -> TofinoModelError:
        return TofinoModelError(f"The model's harness {what}. Last errors: {self._new('errors').strip()[-600:]!r}.")

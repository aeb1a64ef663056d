# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The test harness of the chip's model as a child process.

The harness reads one command a line from standard input, and processes packets in threads of its own. Its command
``wait`` can return while the replication engine still copies a packet. This module waits until the process is at rest
instead: standard input is read to its end, and no thread ran between two looks at all threads. Then every thread waits
for another one or for input, so nothing happens before the next command.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import subprocess
import termios
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lanesum._internal.closing import Closing
from lanesum.errors import LanesumError
from lanesum_lab.processor_time import processor_s


class TofinoModelError(LanesumError):
    """The model's test harness ended, refused a command, or lacks room for an entry."""


# Longest processor time of one wait, and longest time of the clock without any; time between two looks at them.
_MAX_PROCESSOR_S = 600.0
_MAX_IDLE_S = 600.0
_LOOK_S = 1.0
_PAUSE_S = 0.0005
_PIECE_BYTES = 16384  # of commands: two of them have room in a pipe, so that no write waits
# A trace of packets that are never sent turns the log of all packets off, which is on by default and written nowhere.
_NO_LOG = ("-p", "-P", "1000000000")


class Progress:
    """Progress of a process that is not at rest yet, by its processor time: it gets some, and ends before a limit.

    Args:
        now: seconds of a clock.
        processor_s: seconds of processor time since the start of the process.
    """

    def __init__(self, now: float, processor_s: float) -> None:
        self._first = self._last = processor_s
        self._idle_since = now

    def stall(self, now: float, processor_s: float) -> str:
        """Return how the process has stalled since then, in words; empty while it makes progress."""
        if processor_s != self._last:
            self._last, self._idle_since = processor_s, now
        if processor_s - self._first > _MAX_PROCESSOR_S:
            return f"was not at rest after {processor_s - self._first:.1f} s of processor time"
        if now - self._idle_since > _MAX_IDLE_S:
            return f"was not at rest, and had no processor time for {now - self._idle_since:.1f} s"
        return ""


class Harness(Closing):
    """A running harness with one program.

    Args:
        build: folder with the binary and ``context.json``.
        scratch: empty folder for the files of this process.

    All methods raise TofinoModelError if the process ended, stalled or printed an error. Then close it: frames and
    output that it still had would be those of the next call.
    """

    def __init__(self, program: str, build: Path, scratch: Path) -> None:
        self._paths = {name: scratch / name for name in ("frames", "printed", "errors")}
        for path in self._paths.values():
            path.touch()
        self._ends = dict.fromkeys(self._paths, 0)
        self._last_running = ""
        # Without -r, every configuration file that is loaded later would reset the tables.
        command = [program, *_NO_LOG, "--observation-log", str(self._paths["frames"]), "-l", str(build), "-r", "-"]
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

    def exchange(self, frames: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Send frames into ports, one behind the other; return port and bytes of all frames that leave."""
        self.run(f"packet {port} {frame.hex()}" for port, frame in frames)
        found = (line.split() for line in self._new("frames").splitlines())
        return [(int(out[0]), bytes.fromhex(out[1])) for out in found]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it ended before it read all commands
                self._process.stdin.close()
        self._process.wait()

    def _write(self, commands: Iterable[str]) -> None:
        assert self._process.stdin is not None
        data = "".join(f"{command}\n" for command in commands).encode()
        try:
            for start in range(0, len(data), _PIECE_BYTES):
                self._wait(lambda: self._unread() <= _PIECE_BYTES)
                self._process.stdin.write(data[start : start + _PIECE_BYTES])
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
        before: dict[str, str] | None = None

        def is_at_rest() -> bool:
            nonlocal before
            last, before = before, None if self._unread() else self._threads()
            return before is not None and before == last

        self._wait(is_at_rest)

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until ``is_over()``. Raises TofinoModelError if the process ends or stalls."""
        next_look = time.monotonic() + _LOOK_S
        progress = Progress(time.monotonic(), self._processor_s())
        while True:
            self._check_alive()
            if is_over():
                return
            if (now := time.monotonic()) >= next_look:
                next_look = now + _LOOK_S
                if stall := progress.stall(now, self._processor_s()):
                    raise self._error(f"{stall}, with {self._unread()} bytes of commands unread")
            time.sleep(_PAUSE_S)

    def _processor_s(self) -> float:
        """Return the processor time of all threads since the start; 0 if the process ended."""
        try:
            return processor_s(self._process.pid)
        except OSError:
            return 0.0

    def _check_alive(self) -> None:
        if self._process.poll() is not None:
            raise self._error(f"ended with status {self._process.returncode}")

    def _unread(self) -> int:
        """Return the number of bytes in standard input that the process has not read."""
        assert self._process.stdin is not None
        size = array.array("i", [0])
        fcntl.ioctl(self._process.stdin, termios.FIONREAD, size)
        return size[0]

    def _threads(self) -> dict[str, str] | None:
        """Return the status of all threads, with their context switches; None if one runs."""
        if self._runs(self._status(self._last_running)):
            return None
        found = {}
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            status = found[task.name] = self._status(task.name)
            if self._runs(status):
                self._last_running = task.name
                return None
        return found

    @staticmethod
    def _runs(status: str) -> bool:
        return bool(status) and "State:\tS" not in status

    def _status(self, task: str) -> str:
        """Return a thread's status; empty if it ended."""
        try:
            return Path(f"/proc/{self._process.pid}/task/{task}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def _error(self, what: str) -> TofinoModelError:
        return TofinoModelError(f"The model's harness {what}. Last errors: {self._new('errors').strip()[-600:]!r}.")

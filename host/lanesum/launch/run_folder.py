# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of a launch: one in the temporary folder, and one of the ranks with their counts and first failure."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from lanesum import environment
from lanesum.launch.supervisor import ProcessFailedError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one launch."""

    path: Path

    @classmethod
    def of_environment(cls) -> RunFolder | None:
        """Return the folder of the launch of this process; None without one."""
        path = os.environ.get(environment.RUN_FOLDER)
        return None if not path else cls(Path(path))

    def write_stats(self, worker: int, stats: Mapping[str, float], job: int = 0) -> None:
        """Replace the counts of a worker of a job; a worker without counts has joined it."""
        file = self.path / f"worker-{worker}-{job}.json"
        # A run is not ended because its launcher has gone.
        with contextlib.suppress(OSError):
            file.with_suffix(".new").write_text(json.dumps(stats))
            file.with_suffix(".new").replace(file)

    def stats(self) -> dict[str, dict[str, float]]:
        """Return the counts of all workers that have joined a job, by file, without values that are no counts."""
        return {
            file.stem: {
                name: value for name, value in _read(file).items() if type(value) in (int, float) and 0 <= value < 1e300
            }
            for file in sorted(self.path.glob("worker-*.json"))
        }

    def begin_attempt(self, number: int) -> None:
        """Keep the failures of a restart of all ranks apart from earlier ones."""
        (self.path / f"attempt-{number:06}").mkdir(exist_ok=True)

    def record_failure(self, rank: int, what: str, *, replace: bool = False) -> None:
        """Record the failure of a rank; without ``replace``, unless a rank of the same attempt failed earlier."""
        with contextlib.suppress(OSError), (self._attempt() / "failure.json").open("w" if replace else "x") as file:
            json.dump({"rank": rank, "what": what}, file)

    def first_failure(self) -> dict[str, Any] | None:
        """Return ``rank`` and ``what`` of the first failure of the last attempt."""
        failure = _read(self._attempt() / "failure.json")
        return failure if failure.keys() >= {"rank", "what"} else None

    def _attempt(self) -> Path:
        return max(self.path.glob("attempt-*"), default=self.path)


def _read(file: Path) -> dict[str, Any]:
    """Return the object of a file; empty if the file is missing, or a rank was killed while it wrote."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


LOGS = "logs"
_PREFIX, _LOCK = "lanesum-launch-", "lock"


class ScratchFolder:
    """Temporary folder, removed at the end; its logs stay after a ProcessFailedError, which names one of them.

    A lock of the kernel shows later launches that this process lives. Use as a context manager.

    Attributes:
        keeps_logs: a message has named a log, so they stay in any case.
    """

    def __init__(self) -> None:
        self.keeps_logs = False
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        new = self.path / f"{_LOCK}.new"
        self._lock = new.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        new.rename(self.path / _LOCK)  # now others may see it

    def __enter__(self) -> ScratchFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.keeps_logs or isinstance(error, ProcessFailedError):
            for one in self.path.iterdir():
                if one.name != LOGS:
                    _remove(one)
        else:
            _remove(self.path)
        self._lock.close()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remove_abandoned() -> None:
    """Remove the folders of this user's launches that run no more."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):
            if lock.stat().st_uid == os.getuid() and lock.parent.stat().st_uid == os.getuid():
                with lock.open("r+") as opened:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError if its launch still runs
                    _remove(lock.parent)

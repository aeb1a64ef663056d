# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Folder of a launch in the temporary folder. A later launch removes those of launches that were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from lanesum.launch.supervisor import ProcessFailedError

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

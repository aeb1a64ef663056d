# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Status of torchrun, names that a script sees, and the end of child processes."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum import environment
from lanesum.launch import torchrun, worker
from lanesum.launch.run_folder import RunFolder
from lanesum.launch.supervisor import ProcessFailedError, Supervisor


class _ChildFailed(Exception):
    def __init__(self, status: int) -> None:
        self._status = status

    def get_first_failure(self) -> tuple[int, Any]:
        return 3, SimpleNamespace(exitcode=self._status)


@pytest.mark.parametrize(
    ("status", "expected", "what"), [(5, 5, "ended with exit code 5"), (-9, 137, "was ended by SIGKILL")]
)
def test_torchrun_status_is_that_of_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: int, what: str
) -> None:
    def run_module(*_: Any, **__: Any) -> None:
        raise _ChildFailed(status)

    monkeypatch.setattr(runpy, "run_module", run_module)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv(environment.RUN_FOLDER, str(tmp_path))
    monkeypatch.setenv(environment.TORCHRUN, "")
    assert torchrun.main([]) == expected
    assert RunFolder(tmp_path).first_failure() == {"rank": 3, "what": f"It {what}."}


@pytest.mark.parametrize("arguments", [["-m", "module", "--fast"], ["script.py", "--fast"]])
def test_script_sees_its_own_name_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    seen: list[str] = []
    monkeypatch.setattr(runpy, "run_module", lambda *_, **__: seen.extend(sys.argv))
    monkeypatch.setattr(runpy, "run_path", lambda *_, **__: seen.extend(sys.argv))
    monkeypatch.setattr(worker, "end_with_parent", lambda *_: None)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(environment.RUN_FOLDER, str(tmp_path))
    monkeypatch.setenv(environment.TORCHRUN, "1")
    worker.main(arguments)
    assert seen == arguments[-2:]


def test_stopped_child_is_terminated_not_killed(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as parts:
        child = parts.start("sleeper", ["sleep", "60"])
        os.kill(child.process.pid, signal.SIGSTOP)
    assert child.process.returncode == -signal.SIGTERM


def test_child_that_may_end_must_not_fail(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as parts:
        good, bad = (parts.start(name, [name]) for name in ("true", "false"))
        good.process.wait()
        bad.process.wait()
        parts.check(besides=[bad], may_end=[good])
        with pytest.raises(ProcessFailedError, match="true ended with exit code 0"):
            parts.check(besides=[bad])
        with pytest.raises(ProcessFailedError, match="false ended with exit code 1"):
            parts.check(may_end=[good, bad])

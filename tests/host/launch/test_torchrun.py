# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Exit status of torchrun."""

from __future__ import annotations

import runpy
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum import environment
from lanesum.launch import torchrun
from lanesum.launch.run_folder import RunFolder


class _ChildFailed(Exception):
    def __init__(self, status: int) -> None:
        self._status = status

    def get_first_failure(self) -> tuple[int, Any]:
        return 3, SimpleNamespace(exitcode=self._status)


@pytest.mark.parametrize(
    ("status", "expected", "what"), [(5, 5, "ended with exit code 5"), (-9, 137, "was ended by SIGKILL")]
)
@pytest.mark.parametrize("earlier", [False, True])
def test_torchrun_status_is_that_of_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: int, what: str, earlier: bool
) -> None:
    """gloo raises in the other ranks before torchrun sees that one has died."""
    if earlier:
        RunFolder(tmp_path).record_failure(0, "RuntimeError: Connection closed by peer")

    def run_module(*_: Any, **__: Any) -> None:
        raise _ChildFailed(status)

    monkeypatch.setattr(runpy, "run_module", run_module)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv(environment.RUN_FOLDER, str(tmp_path))
    monkeypatch.setenv(environment.TORCHRUN, "")
    assert torchrun.main([]) == expected
    assert RunFolder(tmp_path).first_failure() == {"rank": 3, "what": f"It {what}."}


@pytest.mark.parametrize("status", [1, -signal.SIGABRT])
def test_torchrun_keeps_exception_before_another_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    def run_module(*_: Any, **__: Any) -> None:
        raise _ChildFailed(status)

    monkeypatch.setattr(runpy, "run_module", run_module)
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setenv(environment.RUN_FOLDER, str(tmp_path))
    monkeypatch.setenv(environment.TORCHRUN, "")
    RunFolder(tmp_path).record_failure(0, "ValueError: a bug of the script")
    torchrun.main([])
    assert RunFolder(tmp_path).first_failure() == {"rank": 0, "what": "ValueError: a bug of the script"}

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names that a training script sees."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from lanesum import environment
from lanesum.launch import worker


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

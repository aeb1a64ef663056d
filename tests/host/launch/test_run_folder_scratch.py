# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Folder of a launch: what is left of it, at once and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lanesum.launch.run_folder import LOGS, ScratchFolder
from lanesum.launch.supervisor import ProcessFailedError


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folder_of_killed_launch_is_removed_later(temporary: Path) -> None:
    script = (
        "import os; from lanesum.launch.run_folder import ScratchFolder; "
        "folder = ScratchFolder(); (folder.path / 'run').mkdir(); os.kill(os.getpid(), 9)"
    )
    variables = {**os.environ, "TMPDIR": str(temporary)}
    assert subprocess.run([sys.executable, "-c", script], env=variables, check=False).returncode == -signal.SIGKILL
    (temporary / "lanesum-other").mkdir()  # of a user
    (temporary / "lanesum-other" / "lock").touch()
    assert len(list(temporary.iterdir())) == 2
    with ScratchFolder() as folder:
        assert sorted(temporary.iterdir()) == sorted([folder.path, temporary / "lanesum-other"])
        with ScratchFolder() as second:
            assert folder.path.is_dir() and second.path.is_dir()
        assert folder.path.is_dir() and not second.path.exists()
    assert list(temporary.iterdir()) == [temporary / "lanesum-other"]


def test_folder_after_failure_keeps_named_logs() -> None:
    with pytest.raises(ProcessFailedError), ScratchFolder() as folder:
        (folder.path / "run").mkdir()
        (folder.path / LOGS).mkdir()
        (folder.path / LOGS / "server.log").write_text("why")
        raise ProcessFailedError("server ended")
    assert [one.name for one in folder.path.iterdir()] == [LOGS]
    assert (folder.path / LOGS / "server.log").read_text() == "why"

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tests side by side: when one of the processes dies, its test fails by name and says where, all others run, and the
run ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


CONFTEST = Path(__file__).parent.parent / "conftest.py"

# All of ours but what is about our own tests and their addresses.
CONFTEST_THERE = f"""
import importlib.util

spec = importlib.util.spec_from_file_location("ours", {str(CONFTEST)!r})
ours = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ours)
pytest_xdist_make_scheduler = ours.pytest_xdist_make_scheduler
pytest_sessionstart = ours.pytest_sessionstart
pytest_sessionfinish = ours.pytest_sessionfinish
pytest_handlecrashitem = ours.pytest_handlecrashitem
"""

HARMLESS = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_harmless(n):
    pass
"""

# It dies the first time only, so that the process that takes its place can go through with the rest.
DEADLY = """
import os, pathlib, signal, time
import pytest

@pytest.mark.parametrize("n", range(9))
def test_deadly(n):
    time.sleep(0.05)
    died = pathlib.Path(__file__).with_name("died")
    if n == 3 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGABRT)
"""


@pytest.mark.parametrize("place", [1, 5])
def test_a_process_that_dies_fails_its_test_and_no_other(place: int, tmp_path: Path) -> None:
    """In its first file, and after others that it has done: these are not given out again."""
    (tmp_path / "conftest.py").write_text(CONFTEST_THERE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for number in range(1, 9):
        (tmp_path / f"test_{number}.py").write_text(DEADLY if number == place else HARMLESS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["TMPDIR"] = str(tmp_path / "left")
    (tmp_path / "left").mkdir()
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"crashed while running 'test_{place}.py::test_deadly[3]'" in run.stdout
    assert "Threads of the process that died" in run.stdout
    assert f'test_{place}.py", line 11 in test_deadly' in run.stdout
    assert not list((tmp_path / "left").glob("lanesum-*"))
    assert f"1 failed, {7 * 4 + 9} passed" in run.stdout

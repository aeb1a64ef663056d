# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel test processes: a crashed one fails its test, by name and with stack traces, and all other tests run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

CONFTEST = Path(__file__).parent.parent / "conftest.py"

# The hooks of the root conftest.py that do not depend on the tests of this repository.
COPIED_CONFTEST = f"""
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

# It crashes once, so that the process that replaces it completes the other tests.
CRASHING = """
import os, pathlib, signal, time
import pytest

@pytest.mark.parametrize("n", range(9))
def test_crashing(n):
    time.sleep(0.05)
    crashed = pathlib.Path(__file__).with_name("crashed")
    if n == 3 and not crashed.exists():
        crashed.touch()
        os.kill(os.getpid(), signal.SIGABRT)
"""


@pytest.mark.parametrize("number", [1, 5])
def test_scheduler_crashed_process_fails_only_its_test(number: int, tmp_path: Path) -> None:
    """The process crashes in its first file, or after files that it has completed, which are not run twice."""
    (tmp_path / "conftest.py").write_text(COPIED_CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for other in range(1, 9):
        (tmp_path / f"test_{other}.py").write_text(CRASHING if other == number else HARMLESS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["TMPDIR"] = str(tmp_path / "left")
    (tmp_path / "left").mkdir()
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"crashed while running 'test_{number}.py::test_crashing[3]'" in run.stdout
    assert "Threads of the crashed process" in run.stdout
    assert f'test_{number}.py", line 11 in test_crashing' in run.stdout
    assert not list((tmp_path / "left").glob("lanesum-*"))
    assert f"1 failed, {7 * 4 + 9} passed" in run.stdout

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``scripts/setup`` where something is missing: it says what to do, and a later call continues."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.paths import ROOT


def setup(environment: Path, programs: Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run the script without apt, compilers and a package index."""
    programs.mkdir()
    for name in ("basename", "bash", "dirname", "id", "rm"):
        (programs / name).symlink_to(str(shutil.which(name)))
    variables = {"PATH": str(programs), "PYTHON": python, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    command = [ROOT / "scripts" / "setup", environment]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def test_setup_without_python_names_the_oldest_that_suits(tmp_path: Path) -> None:
    answer = setup(tmp_path / "environment", tmp_path / "programs", "python3.99")
    assert answer.returncode == 3
    assert "python3.99 is not installed. Install Python 3.11 or newer, or set PYTHON." in answer.stderr


@pytest.mark.long
def test_setup_completes_an_environment_that_was_interrupted(tmp_path: Path) -> None:
    """The interrupted installation of pip left its modules without their metadata, or without the command."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip-99.dist-info").mkdir()
    (packages / "pip-99.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: pip\nVersion: 99\n")
    answer = setup(environment, tmp_path / "programs")
    assert answer.returncode == 3
    assert "not installed: mininet iproute2" in answer.stderr
    assert "pip could not install the packages, for the reason above" in answer.stderr
    assert "run the same command again" in answer.stderr
    subprocess.run([environment / "bin" / "pip", "--version"], check=True, capture_output=True)

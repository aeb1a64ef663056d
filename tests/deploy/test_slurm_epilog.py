# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The epilog of Slurm returns the slots of a batch job, with the variables that Slurm sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.controller.service import ControllerService
from tests.control_plane.control_fakes import Site, request
from tests.paths import ROOT

EPILOG = ROOT / "deploy" / "slurm" / "epilog"


def end(folder: Path, address: str, number: int, context: str = "epilog_slurmctld") -> tuple[int, str]:
    """Run the epilog of a batch job; return its exit status, and what it says."""
    command, settings = folder / "lanesum", folder / "slurm.conf"
    command.write_text(f'#!/bin/bash\nexec {sys.executable} -m lanesum.cli "$@"\n')
    command.chmod(0o755)
    settings.write_text(f"LANESUM_CONTROLLER={address}\n")
    variables = {"SLURM_JOB_ID": str(number), "LANESUM_COMMAND": str(command), "LANESUM_SLURM_SETTINGS": str(settings)}
    variables["SLURM_SCRIPT_CONTEXT"] = context
    found = subprocess.run([EPILOG], env={**os.environ, **variables}, timeout=120, capture_output=True, text=True)
    return found.returncode, found.stdout + found.stderr


@pytest.fixture
def controller() -> Controller:
    return Site().start()


def test_epilog_returns_slots_of_its_job(controller: Controller, tmp_path: Path) -> None:
    with ControllerService(controller, "127.0.0.1:0") as service:
        for number in (7, 8):
            controller.admit(request(f"slurm-{number}"))
        controller.join("slurm-7", 0)  # a worker that was killed said nothing
        assert end(tmp_path, f"127.0.0.1:{service.port}", 7) == (0, "")
        assert [job.request.name for job in controller.jobs()] == ["slurm-8"]
        assert end(tmp_path, f"127.0.0.1:{service.port}", 9) == (0, "")  # it had no job of lanesum
    controller.close()


@pytest.mark.parametrize(
    ("context", "address", "why", "status"),
    [
        ("epilog_slurmctld", "127.0.0.1:9", "No controller answers at 127.0.0.1:9", 1),
        ("epilog_slurmd", "nowhere", "'nowhere' is no address", 0),
        ("", "nowhere", "'nowhere' is no address", 0),
    ],
)
def test_epilog_without_controller_drains_no_node(
    tmp_path: Path, context: str, address: str, why: str, status: int
) -> None:
    """Slurm drains the node of an Epilog that fails, and logs that an EpilogSlurmctld has failed."""
    found, said = end(tmp_path, address, 7, context)
    assert found == status
    assert said.startswith(f"lanesum: job slurm-7 was not removed; its slots return with its lease\nlanesum: {why}")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings by ``lanesum run`` as a user starts it. Starting a worker takes longer than an epoch."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lanesum_lab.run.plan import mininet_obstacle
from lanesum_lab.targets.bmv2 import PROGRAM as BMV2

REPORT_KEYS = {
    "target", "topology", "workers", "codec", "steps", "loss_first", "loss_last", "accuracy", "accuracy_uncompressed",
    "sums_checked", "sums_wrong", "packets", "bytes_up", "bytes_down", "bytes_fp32", "retransmissions", "wall_s",
}  # fmt: skip
needs_mininet = pytest.mark.skipif(bool(mininet_obstacle()), reason=f"Mininet runner: {mininet_obstacle()}")
needs_bmv2 = pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"BMv2: {BMV2} is not on PATH")


def command(out: Path, *options: str) -> list[str]:
    """One epoch, where the options do not say otherwise."""
    return [sys.executable, "-m", "lanesum.cli", "run", "--out", str(out), "--epochs", "1", *options]


def path_without_bmv2() -> str:
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / BMV2).exists())


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def start(out: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(out, *options), capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def train(out: Path, *options: str, **environment: str) -> dict[str, Any]:
    """The report of a training that went well: every sum was right, and no interface is left."""
    before = interfaces()
    result = start(out, *options, **environment)
    assert result.returncode == 0, result.stdout + result.stderr
    assert interfaces() == before
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    assert report.keys() >= REPORT_KEYS
    assert report["sums_wrong"] == 0
    assert report["sums_checked"] > 100_000
    return report

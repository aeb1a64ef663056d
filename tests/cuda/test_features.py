# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Trainings of several ranks on one GPU with streams, graphs, compiled models and scaled losses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

_SCRIPT = Path(__file__).with_name("features.py")
#: Relative difference of the losses by NCCL and by ``fixed``. Kernels may add in another order each time.
_TOLERANCE = 0.01


def losses(device: str, ranks: int, *features: str) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "lanesum.cli", "launch", f"--nproc={ranks}", str(_SCRIPT), device, *features]
    own = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[float]] = json.loads(next(line for line in done.stdout.splitlines() if line[:1] == "{"))
    return found


@pytest.mark.long
def test_scaled_loss_trains_alike_on_processor() -> None:
    ((by_group, by_fixed),) = losses("cpu", 2, "GradScaler").values()
    assert by_fixed == pytest.approx(by_group, rel=_TOLERANCE) and by_group < 5.5


@pytest.mark.parametrize("feature", ["side stream", "graphed layer", "torch.compile", "GradScaler"])
def test_feature_of_gpu_trains_alike(feature: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device, and PyTorch finds none")
    ((by_group, by_fixed),) = losses("cuda", 4, feature).values()
    assert by_fixed == pytest.approx(by_group, rel=_TOLERANCE)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The trainings of several ranks on one GPU: the script on the processor, and its refusal without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

torch = pytest.importorskip("torch")

SCRIPT = [sys.executable, str(ROOT / "benchmarks" / "gpu_training.py")]


def test_script_without_gpu_says_so() -> None:
    if torch.cuda.is_available():
        pytest.skip("This machine has a GPU.")
    done = subprocess.run(SCRIPT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 2 and not done.stdout
    assert "MissingToolError: PyTorch finds no CUDA device on this machine" in done.stderr


def test_impossible_size_is_refused() -> None:
    done = subprocess.run([*SCRIPT, "--width=65"], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 2
    assert "--width is a multiple of 64" in done.stderr


@pytest.mark.long
def test_ranks_on_processor_train_alike() -> None:
    size = ["--device=cpu", "--ranks=2", "--steps=8", "--width=64", "--layers=1", "--batch=4", "--json"]
    own = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run([*SCRIPT, *size], capture_output=True, text=True, timeout=250, check=False, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["device"]["kind"] == "cpu" and figures["peer"] == "gloo"
    assert set(figures["trainings"]) == {"process group", "fixed", "thc", "thc error=0.01"}
    for way, one in figures["trainings"].items():
        assert one["replicas_agree"] and (one["buckets"] >= 8) == (way != "process group")
        assert one["loss"] == pytest.approx(figures["trainings"]["process group"]["loss"], rel=0.02)
    assert list(figures["features"]) == ["GradScaler"]

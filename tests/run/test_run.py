# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum run`` as a user starts it, on every runner that this machine has."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from lanesum.run.plan import mininet_obstacle
from lanesum_switch.bmv2 import PROGRAM as BMV2

REPORT_KEYS = {
    "target", "topology", "workers", "codec", "steps", "loss_first", "loss_last", "accuracy", "accuracy_uncompressed",
    "sums_checked", "sums_wrong", "packets", "bytes_up", "bytes_down", "bytes_fp32", "retransmissions", "wall_s",
}  # fmt: skip
needs_mininet = pytest.mark.skipif(bool(mininet_obstacle()), reason=f"Mininet runner: {mininet_obstacle()}")
needs_bmv2 = pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"BMv2: {BMV2} is not on PATH")


def command(out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "lanesum.cli", "run", "--out", str(out), "--epochs", "1", *options]


def path_without_bmv2() -> str:
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not (Path(folder) / BMV2).exists())


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def run(out: Path, *options: str, **environment: str) -> dict[str, object]:
    before = interfaces()
    result = subprocess.run(
        command(out, *options),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert interfaces() == before
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    report: dict[str, object] = json.loads((out / "report.json").read_text())
    assert report.keys() >= REPORT_KEYS
    assert report["sums_wrong"] == 0
    assert isinstance(report["sums_checked"], int)
    assert report["sums_checked"] > 100_000
    return report


def test_loopback_with_two_workers_and_fixed_point(tmp_path: Path) -> None:
    report = run(tmp_path, "--topology", "loopback", "--workers", "2", "--codec", "fixed")
    assert (report["target"], report["workers"], report["codec"]) == ("embedded switch on loopback", 2, "fixed")
    counts = report["detail"]["switch_packets"]  # type: ignore[index]
    # Every chunk is claimed once and completed once, whatever was sent again.
    assert counts["claim"] == counts["contribute_and_complete"] > 0
    assert counts["contribute"] == 0


def test_without_a_switch_the_server_sums(tmp_path: Path) -> None:
    report = run(tmp_path, "--switch", "none", "--workers", "3")
    assert (report["target"], report["workers"]) == ("aggregation server, no switch, on loopback", 3)
    counts = report["detail"]["switch_packets"]  # type: ignore[index]
    assert counts["claim"] == counts["contribute"] == counts["contribute_and_complete"] > 0


def test_four_workers_reach_the_uncompressed_accuracy(tmp_path: Path) -> None:
    """The main job as ``make run`` does it: 4-bit THC, ten epochs."""
    report = run(tmp_path, "--topology", "loopback", "--epochs", "10")
    assert (report["workers"], report["codec"], report["steps"]) == (4, "thc", 110)
    accuracy, uncompressed = report["accuracy"], report["accuracy_uncompressed"]
    assert isinstance(accuracy, float) and isinstance(uncompressed, float)
    assert uncompressed > 0.95
    assert accuracy >= uncompressed - 0.01
    assert report["loss_last"] < 0.1 * report["loss_first"]  # type: ignore[operator]
    assert report["detail"]["replicas_identical"]  # type: ignore[index]
    assert report["bytes_up"] < report["bytes_fp32"] / 5  # type: ignore[operator]


@needs_mininet
def test_mininet_with_the_embedded_switch(tmp_path: Path) -> None:
    report = run(tmp_path, "--topology", "mininet", PATH=path_without_bmv2())
    assert (report["target"], report["workers"], report["codec"]) == ("embedded switch on mininet", 4, "thc")


@needs_mininet
@needs_bmv2
def test_mininet_with_bmv2(tmp_path: Path) -> None:
    report = run(tmp_path, "--topology", "mininet")
    assert report["target"] == "simple_switch_grpc (BMv2) on mininet"


def start_training(out: Path, runner: str) -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """A run that has reached its first epoch, and all processes that it has started by then."""
    process = subprocess.Popen(
        command(out, "--topology", runner, "--epochs", "200"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path_without_bmv2()},
    )
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if "epoch 1/" in line:
            descendants = psutil.Process(process.pid).children(recursive=True)
            assert len(descendants) >= 7  # switch, server, controller and four workers
            return process, descendants
    raise AssertionError(f"no training: {''.join(seen)}")


@pytest.mark.parametrize(
    "runner", ["loopback", pytest.param("mininet", marks=needs_mininet)], ids=["loopback", "mininet"]
)
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, runner: str) -> None:
    before = interfaces()
    process, descendants = start_training(tmp_path, runner)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "interrupted" in output
    assert "Traceback" not in output
    _, alive = psutil.wait_procs(descendants, timeout=10)
    assert not alive
    assert interfaces() == before
    assert not (tmp_path / "report.json").exists()


def test_a_supervisor_killed_outright_leaves_no_process(tmp_path: Path) -> None:
    process, descendants = start_training(tmp_path, "loopback")
    process.kill()
    _, alive = psutil.wait_procs(descendants, timeout=30)
    process.communicate(timeout=30)
    assert not alive


def test_a_dead_switch_ends_the_run_with_its_log(tmp_path: Path) -> None:
    process, descendants = start_training(tmp_path, "loopback")
    (switch,) = [child for child in descendants if "lanesum.cli switch" in " ".join(child.cmdline())]
    switch.kill()
    started = time.monotonic()
    output = process.communicate(timeout=60)[0]
    assert process.returncode not in (0, None)
    assert "s1 was ended by SIGKILL" in output
    assert str(tmp_path / "logs" / "s1.log") in output.replace("\n", "")
    assert time.monotonic() - started < 25, "the workers' own deadline of 30 s must not be waited for"

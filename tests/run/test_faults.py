# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training through faults: the same weights bit for bit, or an error that says who is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lanesum.run.plan import mininet_obstacle
from lanesum_switch.bmv2 import PROGRAM as BMV2

needs_mininet = pytest.mark.skipif(bool(mininet_obstacle()), reason=f"Mininet runner: {mininet_obstacle()}")
needs_bmv2 = pytest.mark.skipif(shutil.which(BMV2) is None, reason=f"BMv2: {BMV2} is not on PATH")


def start(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lanesum.cli", "run", "--out", str(out), "--epochs", "1", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def train(out: Path, *options: str) -> dict[str, Any]:
    result = start(out, *options)
    assert result.returncode == 0, result.stdout + result.stderr
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    assert report["sums_wrong"] == 0
    assert report["sums_checked"] > 100_000
    detail: dict[str, Any] = report["detail"]
    return detail


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of a training without faults."""
    detail = train(tmp_path_factory.mktemp("undisturbed"), "--topology", "loopback")
    assert detail["completed"]["s1"] > 0
    weights: str = detail["weights_sha256"]
    return weights


def assert_all_died_and_came_back(detail: dict[str, Any]) -> None:
    happened = [(one["process"], one["what"]) for one in detail["faults"]["processes"]]
    for process in ("s1", "controller", "server"):
        assert happened.index((process, "killed")) < happened.index((process, "started again"))
    assert detail["faults"]["rules"]["loss"]["hit"] > 0
    pushed = [event for event in detail["events"] if event["what"].startswith("connected: program pushed")]
    assert sum(event["whom"] == "s1" for event in pushed) == 2, detail["events"]


def test_everything_dies_once_and_the_weights_are_the_same(tmp_path: Path, undisturbed: str) -> None:
    detail = train(tmp_path, "--topology", "loopback", "--faults", "everything-dies")
    assert_all_died_and_came_back(detail)
    assert detail["weights_sha256"] == undisturbed


def test_racks_on_lossy_links(tmp_path: Path, undisturbed: str) -> None:
    detail = train(tmp_path, "--topology", "tree2x2", "--runner", "loopback", "--faults", "lossy")
    assert all(detail["completed"][switch] > 0 for switch in ("s0", "s1", "s2"))
    for label, counts in detail["faults"]["rules"].items():
        assert counts["matched"] > counts["hit"] > 0, label
        assert counts["lost"] == 0, label
    assert detail["switch_packets"]["drop_corrupt"] > 0, "a switch notices what is damaged"
    assert detail["weights_sha256"] == undisturbed


def test_without_a_switch_a_relay_has_the_faults(tmp_path: Path, undisturbed: str) -> None:
    detail = train(tmp_path, "--switch", "none", "--faults", "lossy")
    assert detail["completed"]["server"] > 0
    assert all(counts["hit"] > 0 for counts in detail["faults"]["rules"].values())
    assert detail["weights_sha256"] == undisturbed


@needs_mininet
@needs_bmv2
def test_bmv2_dies_in_a_tree(tmp_path: Path, undisturbed: str) -> None:
    options = ("--topology", "tree2x2", "--runner", "mininet", "--switch", "bmv2", "--faults", "everything-dies")
    detail = train(tmp_path, *options)
    assert_all_died_and_came_back(detail)
    assert detail["weights_sha256"] == undisturbed


def test_a_worker_that_dies_is_named_by_the_others(tmp_path: Path) -> None:
    """In a round that cannot end without it; its process is worker 1 of the job."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "rules: [{kind: drop, where: w2, direction: up, epoch: 5}]\n"
        "processes: [{kind: kill, process: w2, after: {where: w2, direction: up, epoch: 5}}]\n"
    )
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan), "--deadline", "8")
    assert result.returncode == 1
    output = " ".join((result.stdout + result.stderr).split())
    assert "After w2 had been killed as planned" in output
    assert "still missing: worker 1" in output
    assert not (tmp_path / "report.json").exists()


def test_a_worker_cannot_come_back(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("processes: [{kind: kill, process: w2, step: 1, restart_after_s: 1}]\n")
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan))
    assert result.returncode == 2
    assert "starts worker w2 again" in " ".join(result.stderr.split())


def test_a_plan_for_another_network_is_refused_with_its_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules:\n  - {kind: drop, where: s1-s0}\n")
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan))
    assert result.returncode == 2
    assert f"{plan}:2: rules.0: there is no link 's1-s0'" in " ".join(result.stderr.split())

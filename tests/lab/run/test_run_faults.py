# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training through faults: the same weights bit for bit, or an error that says who is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lanesum_lab.run.plan import mininet_obstacle
from tests.lab.run.trainings import needs_bmv2, needs_mininet, path_without_bmv2, start, train

pytestmark = pytest.mark.long


Report = dict[str, Any]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A training without faults, through the embedded switch on Mininet where Mininet is there."""
    runner = "loopback" if mininet_obstacle() else "mininet"
    return train(tmp_path_factory.mktemp("undisturbed"), "--topology", runner, PATH=path_without_bmv2())


def weights(report: Report) -> str:
    """Digest of all parameters at the end."""
    digest: str = report["detail"]["weights_sha256"]
    return digest


@needs_mininet
def test_mininet_with_the_embedded_switch(undisturbed: Report) -> None:
    assert undisturbed["target"] == "embedded switch on mininet"


def test_without_faults_the_switch_sums(undisturbed: Report) -> None:
    assert (undisturbed["workers"], undisturbed["codec"]) == (4, "thc")
    assert undisturbed["detail"]["completed"]["s1"] > 0


def assert_all_died_and_came_back(detail: Report) -> None:
    happened = [(one["process"], one["what"]) for one in detail["faults"]["processes"]]
    for process in ("s1", "controller", "server"):
        assert happened.index((process, "killed")) < happened.index((process, "restarted"))
    assert detail["faults"]["rules"]["loss"]["hit"] > 0
    pushed = [event for event in detail["events"] if event["what"].startswith("connected: program pushed")]
    assert sum(event["whom"] == "s1" for event in pushed) == 2, detail["events"]


def test_training_where_everything_dies_has_same_weights(tmp_path: Path, undisturbed: Report) -> None:
    report = train(tmp_path, "--topology", "loopback", "--faults", "everything-dies")
    detail = report["detail"]
    assert_all_died_and_came_back(detail)
    assert weights(report) == weights(undisturbed)


def test_racks_on_lossy_links(tmp_path: Path, undisturbed: Report) -> None:
    report = train(tmp_path, "--topology", "tree2x2", "--runner", "loopback", "--faults", "lossy")
    detail = report["detail"]
    assert all(detail["completed"][switch] > 0 for switch in ("s0", "s1", "s2"))
    for label, counts in detail["faults"]["rules"].items():
        assert counts["matched"] > counts["hit"] > 0, label
        assert counts["lost"] == 0, label
    assert detail["switch_packets"]["drop_corrupt"] > 0, "a switch notices what is damaged"
    assert weights(report) == weights(undisturbed)


def test_without_a_switch_a_relay_has_the_faults(tmp_path: Path, undisturbed: Report) -> None:
    report = train(tmp_path, "--switch", "none", "--faults", "lossy")
    detail = report["detail"]
    assert detail["completed"]["server"] > 0
    assert all(counts["hit"] > 0 for counts in detail["faults"]["rules"].values())
    assert weights(report) == weights(undisturbed)


def test_one_of_three_servers_dies(tmp_path: Path, undisturbed: Report) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "rules: [{kind: drop, probability: 0.05}]\n"
        "processes: [{kind: kill, process: server2, step: 3, restart_after_s: 1}]\n"
    )
    report = train(tmp_path, "--switch", "none", "--servers", "3", "--faults", str(plan))
    detail = report["detail"]
    assert [(one["process"], one["what"]) for one in detail["faults"]["processes"]] == [
        ("server2", "killed"),
        ("server2", "restarted"),
    ]
    assert any(event["whom"] == "server2" and "restarted" in event["what"] for event in detail["events"])
    assert all(detail["completed"][server] > 0 for server in ("server", "server2", "server3"))
    assert weights(report) == weights(undisturbed)


def test_certified_training_with_flips_has_same_weights(tmp_path: Path) -> None:
    """The codec's codes depend on the words of a packet, so the training without faults is certified, too."""
    undisturbed = train(tmp_path / "undisturbed", "--topology", "loopback", "--certified")
    report = train(tmp_path, "--topology", "loopback", "--faults", "flips", "--certified")
    assert all(counts["hit"] > 0 for counts in report["detail"]["faults"]["rules"].values())
    assert report["detail"]["completed"]["server"] > 0, "failed sums are taken again past the switch"
    assert weights(report) == weights(undisturbed)


def test_training_with_flips_reports_its_wrong_sums(tmp_path: Path) -> None:
    plan = tmp_path / "words.yaml"
    plan.write_text("seed: 1\nrules: [{name: words, kind: flip, direction: down, packet: result, probability: 0.01}]\n")
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan))
    report = json.loads((tmp_path / "report.json").read_text())
    assert result.returncode == 1 and report["sums_wrong"] > 0


def test_flips_without_embedded_switch_are_refused(tmp_path: Path) -> None:
    result = start(tmp_path, "--switch", "none", "--faults", "flips")
    assert result.returncode == 2
    assert "there is no embedded switch 's1'" in " ".join(result.stderr.split())


@needs_mininet
def test_servers_beside_the_first_workers(tmp_path: Path, undisturbed: Report) -> None:
    """The switch only routes: it would wait in vain for what a worker sends to the server on its own host."""
    options = ("--topology", "mininet", "--switch", "embedded", "--servers", "2", "--servers-on-workers")
    report = train(tmp_path, *options)
    completed = report["detail"]["completed"]
    assert (completed["s1"], completed["server"] > 0, completed["server2"] > 0) == (0, True, True)
    assert weights(report) == weights(undisturbed)


@needs_mininet
@needs_bmv2
def test_bmv2_dies_in_a_tree(tmp_path: Path, undisturbed: Report) -> None:
    options = ("--topology", "tree2x2", "--runner", "mininet", "--switch", "bmv2", "--faults", "everything-dies")
    report = train(tmp_path, *options)
    detail = report["detail"]
    assert_all_died_and_came_back(detail)
    assert weights(report) == weights(undisturbed)


def test_killed_worker_is_named_by_the_other_worker(tmp_path: Path) -> None:
    """Kill worker 1 in a round that cannot complete without it."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "rules: [{kind: drop, where: w2, direction: up, epoch: 5}]\n"
        "processes: [{kind: kill, process: w2, after: {where: w2, direction: up, epoch: 5}}]\n"
    )
    result = start(tmp_path, "--topology", "loopback", "--workers", "2", "--faults", str(plan), "--deadline", "200")
    assert result.returncode == 1
    output = " ".join((result.stdout + result.stderr).split())
    assert "After w2 had been killed as planned" in output
    assert "Worker 1 (w2) of job 'main' is lost" in output
    assert not (tmp_path / "report.json").exists()


def test_plan_that_restarts_a_worker_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("processes: [{kind: kill, process: w2, step: 1, restart_after_s: 1}]\n")
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan))
    assert result.returncode == 2
    assert "starts worker w2 again" in " ".join(result.stderr.split())


def test_plan_for_other_network_is_refused_with_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules:\n  - {kind: drop, where: s1-s0}\n")
    result = start(tmp_path, "--topology", "loopback", "--faults", str(plan))
    assert result.returncode == 2
    assert f"{plan}:2: rules.0: there is no link 's1-s0'" in " ".join(result.stderr.split())


@pytest.mark.parametrize("runner", ["loopback", pytest.param("mininet", marks=needs_mininet)])
def test_spine_dies_and_the_other_sums(runner: str, tmp_path: Path, undisturbed: Report) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("processes: [{kind: kill, process: spine1, step: 3}]\n")
    options = ("--topology", "tree2x2x2", "--runner", runner, "--switch", "embedded", "--faults", str(plan))
    report = train(tmp_path, *options)
    detail = report["detail"]
    assert [(one["process"], one["what"]) for one in detail["faults"]["processes"]] == [("spine1", "killed")]
    assert any(event["what"] == "sums of spine1 moved to spine2" for event in detail["events"])
    completed = detail["completed"]
    assert completed["spine2"] > completed["spine1"] > 0
    assert (report["sums_wrong"], weights(report)) == (0, weights(undisturbed))


@pytest.mark.long
@pytest.mark.parametrize("runner", ["loopback", pytest.param("mininet", marks=needs_mininet)])
def test_cut_link_moves_its_rack_to_other_spine(runner: str, tmp_path: Path, undisturbed: Report) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("rules: [{kind: drop, where: s1-spine1, packet: any, after: 40}]\n")
    options = ("--topology", "tree2x2x2", "--runner", runner, "--switch", "embedded", "--faults", str(plan))
    report = train(tmp_path, *options)
    events = {event["whom"]: event["what"] for event in report["detail"]["events"] if "it is cut" in event["what"]}
    assert list(events) == ["s1-spine1"] and events["s1-spine1"].startswith("drained: it is cut: s")
    assert (report["sums_wrong"], weights(report)) == (0, weights(undisturbed))

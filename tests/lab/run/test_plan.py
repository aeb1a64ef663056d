# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rate of the links of a run: the line rate of its switch, one that was asked for, or none with a reason."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from lanesum.errors import ConfigurationError, MissingToolError
from lanesum_lab import targets, veth
from lanesum_lab.run import plan as plan_module
from lanesum_lab.run.options import RunOptions
from lanesum_lab.run.plan import RunPlan, line_rate_mbit
from lanesum_lab.run.site import Scratch, training_arguments, training_environment


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with root, Mininet and traffic control."""
    monkeypatch.setattr(plan_module, "mininet_obstacle", lambda: "")
    monkeypatch.setattr(veth, "rate_obstacle", lambda: "")
    return monkeypatch


def make(**options: Any) -> RunPlan:
    return plan_module.make_plan(RunOptions(**{"switch": "embedded", "out": Path("x"), **options}))


def test_line_rate_is_what_the_switch_sums() -> None:
    """32 uplink words make a contribution of 202 bytes, and 226 bytes on the wire."""
    target = dataclasses.replace(targets.get("embedded"), packets_per_s=40_000)
    assert line_rate_mbit(target, 4) == pytest.approx(18)  # 40,000 / 4 * 226 * 8 = 18.1 Mbit/s
    assert line_rate_mbit(target, 40) == pytest.approx(1.8)


def test_plan_with_mininet_has_line_rate_of_switch(as_root: pytest.MonkeyPatch) -> None:
    plan = make()
    assert plan.link_mbit == line_rate_mbit(targets.get("embedded"), 4)
    assert "embedded switch sums all that 4 such links bring" in plan.link_why
    arguments = training_arguments(plan)
    assert arguments[arguments.index("--link-mbit") + 1] == f"{plan.link_mbit:g}"
    assert make(topology="tree2x2").link_mbit == line_rate_mbit(targets.get("embedded"), 4 + 2)


def test_plan_with_unknown_switch_speed_has_no_limit(as_root: pytest.MonkeyPatch) -> None:
    plan = make(switch="tofino1-w32")
    assert (plan.link_mbit, plan.link_why) == (None, "embedded switch with tofino1-w32 has no known packet rate")
    assert make(switch="tofino1-w32", rate_mbit=2).link_mbit == 2


def test_plan_with_a_rate_takes_it(as_root: pytest.MonkeyPatch) -> None:
    assert make(rate_mbit=2.5).link_mbit == 2.5
    assert (make(rate_mbit=0).link_mbit, make(rate_mbit=0).link_why) == (None, "as requested")
    assert "--link-mbit" not in training_arguments(make(rate_mbit=0))


def test_plan_with_faults_has_no_limit(as_root: pytest.MonkeyPatch) -> None:
    assert (make(faults="lossy").link_mbit, make(faults="lossy").link_why) == (None, "a run with faults is not timed")
    assert make(faults="lossy", rate_mbit=4).link_mbit == 4


def test_plan_without_traffic_control_says_why(as_root: pytest.MonkeyPatch) -> None:
    as_root.setattr(veth, "rate_obstacle", lambda: "tc cannot limit rates here (no htb)")
    assert (make().link_mbit, make().link_why) == (None, "tc cannot limit rates here (no htb)")
    with pytest.raises(MissingToolError, match="cannot have 4 Mbit/s: tc cannot limit rates here"):
        make(rate_mbit=4)


def test_plan_on_loopback_has_no_links(as_root: pytest.MonkeyPatch) -> None:
    for options in ({"topology": "loopback"}, {"switch": "none"}):
        assert (make(**options).link_mbit, make(**options).link_why) == (None, "loopback has no links")
        with pytest.raises(MissingToolError, match="loopback has no links"):
            make(**options, rate_mbit=10)


@pytest.mark.parametrize("rate", [-1.0, float("inf"), float("nan")])
def test_plan_with_impossible_rate_is_refused(as_root: pytest.MonkeyPatch, rate: float) -> None:
    with pytest.raises(ConfigurationError, match="must be positive, or 0"):
        make(rate_mbit=rate)


def test_scratch_folder_is_the_workers_temporary_folder(tmp_path: Path) -> None:
    assert training_environment("10.0.0.1:1", "eth0", Scratch(tmp_path))["TMPDIR"] == str(tmp_path)

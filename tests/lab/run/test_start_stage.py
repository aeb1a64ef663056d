# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a run that must survive a slow machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanesum.cli.signals import READY
from lanesum.launch.supervisor import ProcessFailedError
from lanesum.rpc import controller as rpc
from lanesum_lab.run import start
from lanesum_lab.run.options import RunOptions
from lanesum_lab.run.plan import RunPlan, make_plan
from lanesum_lab.run.site import Scratch, Site, here
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_switch.faults.topology_names import CONTROLLER
from tests.waiting import wait_until


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    return make_plan(RunOptions("loopback", workers=2, out=tmp_path))


def test_admit_waits_for_the_line_of_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that times out may still be carried out, so the job is admitted by one call."""
    calls: list[tuple[str, str, str]] = []

    def call(address: str, method: str, message: dict[str, Any], timeout_s: float) -> None:
        assert (tmp_path / "started").exists() and timeout_s > 10
        calls.append((address, method, message["name"]))

    monkeypatch.setattr(rpc, "call", call)
    with RunSupervisor(tmp_path / "logs") as supervisor:
        started = f"sleep 0.2; touch {tmp_path}/started; echo '{READY} controller'; exec sleep 60"
        site = Site("star4", tmp_path, supervisor)
        site.parts[CONTROLLER] = supervisor.start(CONTROLLER, ["sh", "-c", started])
        site.admit("main", ("w1", "w2"))
    assert calls == [(site.controller, rpc.ADMIT, "main")]


def test_admit_with_ended_process_fails_at_once(tmp_path: Path) -> None:
    with RunSupervisor(tmp_path / "logs") as supervisor:
        site = Site("star4", tmp_path, supervisor)
        site.parts[CONTROLLER] = supervisor.start(CONTROLLER, ["sh", "-c", "echo broken; exit 7"])
        with pytest.raises(ProcessFailedError, match="controller ended with exit code 7"):
            site.admit("main", ("w1", "w2"))


def test_wait_ready_without_the_line_shows_the_log(tmp_path: Path) -> None:
    with RunSupervisor(tmp_path / "logs") as supervisor:
        child = supervisor.start("controller", ["sh", "-c", "echo still connecting; exec sleep 60"])
        wait_until(lambda: "still connecting" in (tmp_path / "logs" / "controller.log").read_text())
        with pytest.raises(ProcessFailedError, match=r"not ready after 0\.5 s.*\n.*still connecting"):
            supervisor.wait_ready(child, 0.5)


def test_killed_controller_is_not_asked(tmp_path: Path, plan: RunPlan) -> None:
    with RunSupervisor(tmp_path / "logs") as supervisor:
        supervisor.kill(supervisor.start(CONTROLLER, ["sleep", "60"]))
        scratch, at = Scratch(tmp_path), ("127.0.0.1", 1)
        site = Site("star4", tmp_path, supervisor)
        stage = start.Stage(plan, supervisor, scratch, site, at, str, here)
        with pytest.raises(rpc.UnreachableError, match="The controller was killed as planned"):
            stage._ask(rpc.COUNTERS, 1.0)

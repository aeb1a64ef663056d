# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a run that must survive a slow machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanesum.launch.supervisor import ProcessFailedError, Supervisor
from lanesum.rpc import controller as rpc
from lanesum_lab.run import steps
from lanesum_lab.run.plan import make_plan


class SlowController:
    """Controller that starts late and takes two seconds to admit a job, also if the caller gives up earlier."""

    def __init__(self) -> None:
        self.silent = 3
        self.jobs: list[str] = []

    def call(self, address: str, method: str, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        if self.silent:
            self.silent -= 1
            raise rpc.UnreachableError(f"no controller at {address}")
        if method == rpc.ADMIT:
            if message["name"] in self.jobs:
                raise rpc.ControllerError("admitted already")
            self.jobs.append(message["name"])
            if timeout_s < 2:
                raise rpc.UnreachableError("no answer in time")
        return {"name": message.get("name")}


def test_admit_with_slow_controller_admits_once(tmp_path: Path) -> None:
    plan = make_plan(topology="loopback", runner=None, workers=2, codec="thc", epochs=1, out=tmp_path)
    controller = SlowController()
    with Supervisor(tmp_path / "logs") as supervisor:
        assert steps.admit(supervisor, plan, "127.0.0.1:1", controller.call)["name"] == controller.jobs[0]
    assert len(controller.jobs) == 1


def test_admit_with_ended_process_fails_at_once(tmp_path: Path) -> None:
    plan = make_plan(topology="loopback", runner=None, workers=2, codec="thc", epochs=1, out=tmp_path)
    controller = SlowController()
    controller.silent = 10**9
    with Supervisor(tmp_path / "logs") as supervisor:
        supervisor.start("controller", ["sh", "-c", "echo broken; exit 7"])
        with pytest.raises(ProcessFailedError, match="controller ended with exit code 7"):
            steps.admit(supervisor, plan, "127.0.0.1:1", controller.call)

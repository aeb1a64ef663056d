# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that die, pause and come back as planned; and those that die otherwise."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lanesum.launch.supervisor import ProcessFailedError
from lanesum_lab.run.supervisor import ProcessFaults, RunSupervisor
from lanesum_switch.faults.plan import FaultPlan
from tests.waiting import wait_until

SLEEP = ["sh", "-c", "echo up; exec sleep 600"]


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[RunSupervisor]:
    with RunSupervisor(tmp_path / "logs") as one:
        yield one


class World:
    """Observations of a run: time, training steps, packets."""

    def __init__(self, supervisor: RunSupervisor, plan: str) -> None:
        self.now, self.step, self.seen = 100.0, None, [0]
        self.step: int | None
        self.faults = ProcessFaults(
            FaultPlan.parse(f"processes: [{plan}]\n", "test"),
            supervisor,
            step=lambda: self.step,
            seen=lambda: self.seen,
            clock=lambda: self.now,
        )

    def tick(self, after_s: float = 0.0) -> list[str]:
        self.now += after_s
        self.faults.tick()
        return [f"{one.process} {one.what}" for one in self.faults.events]


def test_kill_at_a_step_and_restart(supervisor: RunSupervisor, tmp_path: Path) -> None:
    child = supervisor.start("s1", SLEEP)
    wait_until(lambda: (tmp_path / "logs" / "s1.log").read_text() == "up\n")
    first = child.process.pid
    world = World(supervisor, "{kind: kill, process: s1, step: 3, restart_after_s: 2}")
    assert world.tick(50) == []
    world.step = 2
    assert world.tick() == []
    world.step = 3
    assert world.tick(1.5) == ["s1 killed"]
    assert not psutil.pid_exists(first)
    supervisor.check()  # its absence is no failure
    assert world.tick(1.9) == ["s1 killed"]
    assert world.tick(0.2) == ["s1 killed", "s1 restarted"]
    supervisor.check()
    assert child.process.pid != first
    assert world.tick(50) == ["s1 killed", "s1 restarted"]
    wait_until(lambda: (tmp_path / "logs" / "s1.log").read_text() == "up\nup\n")
    assert world.faults.report() == [
        {"at_s": 1.5, "step": 3, "process": "s1", "what": "killed"},
        {"at_s": 3.6, "step": 3, "process": "s1", "what": "restarted"},
    ]
    child.process.kill()  # not by the plan
    child.process.wait()
    with pytest.raises(ProcessFailedError, match="s1 was ended by SIGKILL"):
        supervisor.check()


def test_pause_after_packets(supervisor: RunSupervisor) -> None:
    child = supervisor.start("server", SLEEP)
    world = World(supervisor, "{kind: pause, process: server, after: {packet: result, nth: 5}, for_s: 1}")
    world.seen = [4]
    assert world.tick() == []
    world.seen = [6]
    assert world.tick() == ["server paused"]
    process = psutil.Process(child.process.pid)
    wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
    assert world.tick(1.0) == ["server paused", "server resumed"]
    wait_until(lambda: process.status() != psutil.STATUS_STOPPED)


def test_seconds_count_from_the_beginning_of_the_training(supervisor: RunSupervisor) -> None:
    supervisor.start("s1", SLEEP)
    world = World(supervisor, "{kind: kill, process: s1, at_s: 2}")
    assert world.tick(100) == []
    world.step = 0
    assert world.tick() == []
    assert world.tick(1.9) == []
    assert world.tick(0.2) == ["s1 killed"]


def test_finish_restarts_and_resumes_all_processes(supervisor: RunSupervisor) -> None:
    child = supervisor.start("controller", SLEEP)
    world = World(
        supervisor,
        "{kind: kill, process: controller, step: 0, restart_after_s: 60}, {kind: kill, process: controller, step: 9}",
    )
    world.step = 0
    assert world.tick() == ["controller killed"]
    world.faults.finish()
    assert child.process.poll() is None
    assert [one["what"] for one in world.faults.report()] == [
        "killed", "restarted", "kill: never due",
    ]  # fmt: skip


def test_kill_of_an_ended_process_is_noted(supervisor: RunSupervisor) -> None:
    supervisor.start("s1", SLEEP)
    world = World(supervisor, "{kind: kill, process: s1, step: 0}, {kind: pause, process: s1, step: 1, for_s: 1}")
    world.step = 1
    assert world.tick() == ["s1 killed", "s1 pause: it was not running"]


def test_others_fail_after_a_planned_death(supervisor: RunSupervisor) -> None:
    worker = supervisor.start("w1", SLEEP)
    other = supervisor.start("w2", ["sh", "-c", "echo worker 0 is missing; sleep 0.2; exit 4"])
    supervisor.kill(worker)
    with pytest.raises(
        ProcessFailedError, match="After w1 had been killed as planned, w2 ended with exit code 4"
    ) as error:
        supervisor.wait([worker, other])
    assert "worker 0 is missing" in str(error.value)


def test_waiting_goes_on_without_those_that_were_killed(supervisor: RunSupervisor) -> None:
    worker = supervisor.start("w1", SLEEP)
    other = supervisor.start("w2", ["true"])
    calls: list[int] = []

    def meanwhile() -> None:
        calls.append(1)
        if len(calls) == 3:
            supervisor.kill(worker)

    supervisor.wait([worker, other], meanwhile=meanwhile)
    assert len(calls) >= 3


def test_process_that_does_not_end_in_time_raises(supervisor: RunSupervisor) -> None:
    child = supervisor.start("s1", SLEEP)
    with pytest.raises(ProcessFailedError, match=r"s1 did not end within 0 s\."):
        supervisor.wait([child], 0.0)


def test_paused_process_ends_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanesum.launch.supervisor._GRACE_S", 120.0)
    with RunSupervisor(tmp_path / "logs") as supervisor:
        child = supervisor.start("s1", SLEEP)
        supervisor.pause(child)
    assert child.process.poll() == -signal.SIGTERM, "SIGTERM was enough"


def test_child_of_unknown_name_raises_key_error(supervisor: RunSupervisor) -> None:
    with pytest.raises(KeyError):
        supervisor.child("s9")

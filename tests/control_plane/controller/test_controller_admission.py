# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admissions that fail at any step leave nothing behind, and slow ones hold up no other call."""

from __future__ import annotations

import functools
import statistics
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lanesum.rpc.caller import Caller
from lanesum.server import ServerJob
from lanesum_control.controller.controller import Controller
from lanesum_control.errors import QuotaError
from lanesum_control.jobs.records import Taken
from lanesum_control.state.store import Store
from lanesum_fabric.program.switch_job import SwitchJob
from tests.control_plane.control_fakes import Site, request, what


class CrashError(BaseException):
    """End of the controller's process."""


def everything(site: Site, controller: Controller) -> object:
    """Return the state of all parts."""
    return (
        {name: dict(switch.jobs) for name, switch in site.switches.items()},
        [dict(server.jobs) for server in site.servers],
        controller.jobs(),
        controller._store.jobs(),
        controller._store.ranges(),
        controller.reconciler.refused,
    )


def fail_in_store(site: Site, controller: Controller, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(*_: object) -> None:
        raise error

    monkeypatch.setattr(controller._store, "save", save)


def fail_at_switch(site: Site, controller: Controller, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def admit(job: SwitchJob) -> None:
        raise error

    monkeypatch.setattr(site.switches["s0"], "admit", admit)  # after both racks


def fail_at_server(site: Site, controller: Controller, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def admit(job: ServerJob) -> None:
        raise error

    monkeypatch.setattr(site.servers[-1], "admit", admit)


Failure = Callable[[Site, Controller, BaseException, pytest.MonkeyPatch], None]
STEPS = pytest.mark.parametrize("fail", [fail_in_store, fail_at_switch, fail_at_server])


def busy_site(store: Store | None = None) -> tuple[Site, Controller]:
    """Return a site whose jobs have to move for the next admission."""
    site = Site("tree2x2", slots=64, servers=2)
    controller = site.start(store=store)
    controller.admit(request("large", slots=64, quota=20))
    controller.admit(request("spare", slots=8, best_effort=True))
    return site, controller


@STEPS
def test_admission_that_fails_leaves_nothing_behind(fail: Failure, monkeypatch: pytest.MonkeyPatch) -> None:
    site, controller = busy_site()
    before = everything(site, controller)
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="disk"):
        fail(site, controller, RuntimeError("The disk is full."), patch)
        controller.admit(request("new", slots=30))
    assert everything(site, controller) == before
    assert controller.admit(request("new", slots=30)).left_out == {}


@STEPS
def test_admission_cut_by_a_crash_leaves_nothing_behind(
    fail: Failure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Store(tmp_path / "state.db") as store:
        site, controller = busy_site(store)
        before = everything(site, controller)
        with monkeypatch.context() as patch:
            fail(site, controller, CrashError(), patch)
            patch.setattr(controller, "_withdraw", lambda _job: None)
            patch.setattr(type(controller.reconciler.links["server"]), "forget", lambda *_: None)
            with pytest.raises(CrashError):
                controller.admit(request("new", slots=30))
        assert everything(site, controller) != before, "the crash was in the middle"
    with Store(tmp_path / "state.db") as store:
        again = site.start(store=store)
        assert everything(site, again) == before


def test_switch_that_refuses_a_guarantee_refuses_the_job() -> None:
    site, controller = busy_site()
    before = everything(site, controller)
    site.switches["s0"].full = True
    with pytest.raises(
        QuotaError, match="quota of 30 slots cannot be met at s0: it refused the job: The table is full"
    ):
        controller.admit(request("new", slots=30))
    assert everything(site, controller) == before


def test_admission_of_same_name_waits_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    controller = site.start()
    with blocked_server(site, monkeypatch) as gate:
        first = in_thread(lambda: controller.admit(request("a", slots=1)))
        gate.wait_for_call()
        second = in_thread(lambda: controller.admit(request("a", slots=1)))
        gate.open()
        first.join(60)
        second.join(60)
    assert [job.number for job in controller.jobs()] == [1]
    assert set(site.server.jobs) == set(site.switches["s1"].jobs) == {1}


class Gate:
    """A server that answers an admission only after ``open``."""

    def __init__(self) -> None:
        self._called, self._open = threading.Event(), threading.Event()

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def wait_for_call(self) -> None:
        assert self._called.wait(60)

    def open(self) -> None:
        self._open.set()

    def pass_through(self) -> None:
        self._called.set()
        assert self._open.wait(60)


def blocked_server(site: Site, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate, admit = Gate(), site.server.admit

    def slow(job: ServerJob) -> None:
        gate.pass_through()
        admit(job)

    monkeypatch.setattr(site.server, "admit", slow)
    return gate


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        except Exception:
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_keep_alives_and_joins_bypass_slow_admission(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site()
    controller = site.start()
    controller.admit(request("running", slots=8))
    answers: list[object] = []

    def calls() -> None:
        ticket = controller.join("running", 0, Taken("p", "x"))
        watch = controller.workers.watch(ticket.job, ticket.tag, 0, "p")
        answers.append(controller.workers.state(ticket.job, ticket.tag, 0, "p", "thc"))
        watch.close()
        controller.expire()
        answers.append([job.request.name for job in controller.jobs()])
        answers.append(controller.counters()["packets"])

    with blocked_server(site, monkeypatch) as gate:
        admission = in_thread(lambda: controller.admit(request("slow", slots=8)))
        gate.wait_for_call()
        thread = in_thread(calls)
        thread.join(60)
        assert not thread.is_alive(), "a call waits for the admission"
        assert admission.is_alive()
        assert answers == [{"state": "waiting", "for": ["w2", "w3", "w4"]}, ["running"], {"claim": 3}]
    admission.join(60)
    assert what(controller, "slow") == ["admitted as job 2"]


def test_admissions_of_one_tenant_delay_others_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(controlled=())
    controller = site.start()
    admitted: list[str] = []
    add = controller.events.add

    def note(whom: str, text: str, by: Caller) -> None:
        add(whom, text, by)
        if text.startswith("admitted"):
            admitted.append(whom)

    monkeypatch.setattr(controller.events, "add", note)

    def flood(name: str) -> None:
        for _ in range(10):
            controller.admit(request(name, slots=1), take_over=True, caller=Caller("blue"))

    flooding = [in_thread(functools.partial(flood, f"blue{number}")) for number in range(20)]
    waits = []
    for _ in range(10):
        before = len(admitted)
        controller.admit(request("red", slots=1), take_over=True, caller=Caller("red"))
        waits.append(len(admitted) - before - 1)
    for thread in flooding:
        thread.join(120)
    assert len(admitted) == 20 * 10 + 10
    # Of the admissions in the queue, one may have begun, and one has its turn. All 20 would come first without turns.
    assert statistics.median(waits) <= 2, waits

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervision by events, deadlines and audits."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lanesum_control.controller.controller import Controller
from lanesum_control.controller.monitor import _STORE_S, Monitor, _Part, _ProgramAudit
from lanesum_control.errors import StoreError
from lanesum_control.threads import run
from tests.control_plane.control_fakes import FakeClock, FakeSwitch, Site, request, what
from tests.waiting import wait_until

NEVER_S = 3600.0


class CountingSwitch(FakeSwitch):
    """Counts its checks, each of which takes until ``free`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.checks = self.audits = self.looks = 0
        self.free = threading.Event()
        self.free.set()

    def check(self) -> None:
        self.checks += 1
        self.free.wait()
        super().check()

    async def unchanged(self) -> bool:
        self.looks += 1
        return await super().unchanged()

    def agrees(self, hosts: object, jobs: object) -> bool:
        self.audits += 1
        return True


def counting_site() -> tuple[Controller, dict[str, CountingSwitch]]:
    site = Site("tree4x4")
    switches = {name: CountingSwitch() for name in site.switches}
    return Controller(site.network, site.servers, switches, clock=site.clock), switches


def test_switch_without_events_is_checked_once() -> None:
    controller, switches = counting_site()
    with Monitor(controller, interval_s=NEVER_S):
        wait_until(lambda: all(switch.checks and switch.audits for switch in switches.values()))
        time.sleep(0.3)
        assert {switch.checks for switch in switches.values()} == {1}


def test_event_lets_only_its_switch_be_checked() -> None:
    controller, switches = counting_site()
    with Monitor(controller, interval_s=NEVER_S):
        wait_until(lambda: all(switch.checks for switch in switches.values()))
        switches["s1"].changed()
        wait_until(lambda: switches["s1"].checks == 2)
        assert {switch.checks for name, switch in switches.items() if name != "s1"} == {1}


def test_event_during_check_causes_one_more_check() -> None:
    controller, switches = counting_site()
    slow = switches["s2"]
    with Monitor(controller, interval_s=NEVER_S):
        wait_until(lambda: slow.checks == 1)
        slow.free.clear()
        slow.changed()
        wait_until(lambda: slow.checks == 2)
        for _ in range(5):
            slow.changed()
        switches["s1"].changed()
        wait_until(lambda: switches["s1"].checks == 2)  # the slow one delays no other
        slow.free.set()
        wait_until(lambda: slow.checks == 3)
        time.sleep(0.1)
        assert slow.checks == 3


def test_audits_find_what_causes_no_event() -> None:
    site = Site()
    controller = site.start()
    with Monitor(controller, interval_s=0.01):
        site.switches["s1"].restart()
        wait_until(lambda: "connected: no differences" in what(controller, "s1")[1:])


def test_audit_without_a_difference_needs_no_check() -> None:
    controller, switches = counting_site()
    with Monitor(controller, interval_s=0.01):
        wait_until(lambda: all(switch.looks for switch in switches.values()))
        assert {switch.checks for switch in switches.values()} == {1}


class Audited:
    """Controller, reconciler and parts of an audit of programs; ``held`` holds the answer of a switch."""

    def __init__(self, names: Sequence[str]) -> None:
        self.asked: list[str] = []
        self.woken: list[str] = []
        self.in_use: set[str] = set()
        self.changed: set[str] = set()
        self.held: dict[str, asyncio.Event] = {}
        parts = {name: SimpleNamespace(wake=functools.partial(self.woken.append, name)) for name in names}
        self.audit = _ProgramAudit(cast("Any", self), cast("Any", self), cast("Any", parts), NEVER_S)

    def switches_in_use(self) -> set[str]:
        return self.in_use

    async def switch_unchanged(self, name: str) -> bool:
        self.asked.append(name)
        if name in self.held:
            await self.held[name].wait()
        return name not in self.changed

    def turn(self) -> list[str]:
        """Return the switches that one audit asks."""

        async def once() -> None:
            self.audit._run()
            self.audit.stop()
            await asyncio.gather(*(task for name, task in self.audit._asked.items() if name not in self.held))

        before = len(self.asked)
        run(once())
        return self.asked[before:]


def test_audit_alternates_used_switches_and_others() -> None:
    site = Audited([f"s{number}" for number in range(10)])
    site.in_use = {"s7"}
    assert [site.turn() for _ in range(3)] == [
        ["s7", "s0", "s1", "s2", "s3"], ["s7", "s4", "s5", "s6", "s8"], ["s7", "s9", "s0", "s1", "s2"],
    ]  # fmt: skip
    site.in_use = set()
    site.changed = {"s5"}
    assert {name for _ in range(3) for name in site.turn()} == {f"s{number}" for number in range(10)}
    assert set(site.woken) == {"s5"}


def test_audit_covers_at_most_sixteen_used_switches() -> None:
    site = Audited([f"s{number}" for number in range(40)])
    site.in_use = {f"s{number}" for number in range(40)}
    turns = [site.turn() for _ in range(3)]
    assert [len(turn) for turn in turns] == [16, 16, 16]
    assert {name for turn in turns for name in turn} == site.in_use


def test_audit_of_silent_switch_delays_no_other() -> None:
    site = Audited(["s0", "s1"])
    site.held = {"s0": asyncio.Event()}
    assert [site.turn() for _ in range(3)] == [["s0", "s1"], ["s1"], ["s1"]]
    (pending,) = site.audit._asked.values()

    async def answer() -> None:
        site.held.pop("s0").set()
        await pending

    site.changed = {"s0"}
    run(answer())
    assert site.woken == ["s0"]
    assert site.turn() == ["s0", "s1"]


def test_switches_are_in_use_while_a_worker_lives() -> None:
    controller = Site("tree4x4").start()
    controller.admit(request(workers=2))
    assert controller.switches_in_use() == set()
    ticket = controller.join("a", 0)
    watch = controller.workers.watch(ticket.job, ticket.tag, 0, "")
    assert controller.switches_in_use() == set(controller.job("a").switch_jobs) != set()
    watch.close()
    assert controller.switches_in_use() == set()


def test_audit_repairs_entries_that_another_client_deleted() -> None:
    site = Site()
    controller = site.start()
    controller.admit(request())
    controller.reconciler.audit_switch("s1")
    assert site.told()[-1].startswith("s1: admit"), "nothing is written without a difference"
    held = dict(site.switches["s1"].jobs)
    site.switches["s1"].jobs.clear()
    controller.reconciler.audit_switch("s1")
    assert site.switches["s1"].jobs == held
    assert what(controller, "s1")[-1] == "repaired: 0 jobs became 1"


def test_audit_of_switch_that_is_away_changes_nothing() -> None:
    site = Site()
    controller = site.start()
    site.switches["s1"].away = True
    controller.reconciler.audit_switch("s1")
    assert what(controller, "s1") == ["connected: no differences"]


def test_lost_worker_is_reported_without_an_interval() -> None:
    site = Site()
    site.clock = RealClock()
    controller = site.start()
    controller.admit(request(workers=2, lease_s=0))
    ticket = controller.join("a", 0)
    with Monitor(controller, interval_s=NEVER_S):
        controller.workers.watch(ticket.job, ticket.tag, 0, "").close()
        wait_until(lambda: "worker 0 (w1) lost" in what(controller, "a"))


class RealClock(FakeClock):
    def __call__(self) -> float:
        return time.monotonic()


def test_expire_returns_the_time_to_the_next_lease(site: Site) -> None:
    controller = site.start()
    assert controller.expire() is None
    controller.admit(request("forever", workers=1, lease_s=0))
    assert controller.expire() is None
    controller.admit(request("a", workers=2, lease_s=120))
    site.clock.now += 20
    assert controller.expire() == 100
    site.clock.now += 101
    assert controller.expire() is None
    assert [job.request.name for job in controller.jobs()] == ["forever"]


def test_expire_returns_time_until_worker_loss(site: Site) -> None:
    controller = site.start()
    controller.admit(request(workers=2))
    ticket = controller.join("a", 0)
    watch = controller.workers.watch(ticket.job, ticket.tag, 0, "")
    assert controller.expire() == 120
    site.clock.now += 119
    watch.close()
    assert controller.expire() == pytest.approx(0.3)
    site.clock.now += 0.3
    assert controller.expire() == pytest.approx(119.7), "the lease counts from the end of the stream"
    assert what(controller, "a")[-1] == "worker 0 (w1) lost"


def test_leases_have_an_event_for_each_earlier_deadline(site: Site) -> None:
    controller = site.start()
    events: list[str] = []
    controller.watch_leases(lambda: events.append("lease"))
    controller.admit(request(workers=2))
    assert events == ["lease"]
    ticket = controller.join("a", 0)
    watch = controller.workers.watch(ticket.job, ticket.tag, 0, "")
    assert events == ["lease"]
    watch.close()
    watch.close()
    assert events == ["lease", "lease"]


def test_check_without_the_state_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    def check() -> float:
        raise StoreError("The database is away.")

    with ThreadPoolExecutor(1) as pool:
        assert _Part(check, lambda _changed: None, None, pool)._checked() == _STORE_S
    assert "it is tried again: The database is away." in caplog.text and "Traceback" not in caplog.text

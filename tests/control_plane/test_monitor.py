# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Supervision by events, deadlines and audits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from lanesum_control.controller import Controller
from lanesum_control.monitor import Monitor
from tests.control_plane.control_fakes import FakeClock, FakeSwitch, Site, request, what

NEVER_S = 3600.0


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():  # the test's time limit ends it
        time.sleep(0.01)


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


def test_event_during_a_check_leads_to_one_more_check() -> None:
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


def test_audit_repairs_entries_that_another_client_deleted() -> None:
    site = Site()
    controller = site.start()
    controller.admit(request())
    controller.deployment.audit_switch("s1")
    assert site.told()[-1].startswith("s1: admit"), "nothing is written without a difference"
    held = dict(site.switches["s1"].jobs)
    site.switches["s1"].jobs.clear()
    controller.deployment.audit_switch("s1")
    assert site.switches["s1"].jobs == held
    assert what(controller, "s1")[-1] == "repaired: 0 jobs became 1"


def test_audit_of_switch_that_is_away_changes_nothing() -> None:
    site = Site()
    controller = site.start()
    site.switches["s1"].away = True
    controller.deployment.audit_switch("s1")
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


@pytest.fixture
def site() -> Site:
    return Site()


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


def test_expire_returns_the_time_to_the_loss_of_a_worker(site: Site) -> None:
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

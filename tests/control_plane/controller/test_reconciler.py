# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Events of sums that move to the server and back, and the order of writes to the switches of a tree."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Collection
from concurrent.futures import ALL_COMPLETED, Future
from types import SimpleNamespace
from typing import Any

import pytest

from lanesum_control.controller import examination, reconciler
from lanesum_control.controller.monitor import Monitor
from lanesum_control.errors import SwitchUnreachableError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.servers import controlled_server
from lanesum_fabric.program.switch_job import NO_ROLE
from tests.control_plane.control_fakes import FakeSwitch, Site, request, what
from tests.waiting import wait_until

LIVE, SILENT = ("s1", "s2", "s3"), ("s0", "s4")


class MeetingSwitch(FakeSwitch):
    """Ends a call only while the other live switches are called too, or never if it is silent until ``close``."""

    def __init__(self, meeting: threading.Barrier | None) -> None:
        super().__init__()
        self._meeting, self.closed = meeting, threading.Event()
        self.has_answered = meeting is not None

    def _meet(self) -> None:
        if self._meeting is not None:
            self._meeting.wait()
            return
        self.closed.wait()
        raise SwitchUnreachableError("The session was closed.")

    def connect(self, timeout_s: float) -> list[str]:
        self._meet()
        return super().connect(timeout_s)

    def decisions(self) -> dict[str, int]:
        self._meet()
        return super().decisions()

    def check(self) -> None:
        self._meet()
        super().check()

    def close(self) -> None:
        if self._meeting is not None:
            self._meeting.wait()
        self.closed.set()


def meeting_site() -> tuple[Site, dict[str, MeetingSwitch]]:
    site, meeting = Site("tree4x4"), threading.Barrier(len(LIVE))
    switches = {name: MeetingSwitch(meeting if name in LIVE else None) for name in site.switches}
    site.switches = switches  # type: ignore[assignment]
    return site, switches


def test_start_waits_for_no_silent_switch() -> None:
    """The live ones are connected beside each other, else their calls would not meet."""
    site, switches = meeting_site()
    controller = site.start(start_s=0.2)
    counters = controller.counters()["slots"]
    assert {name for name, one in counters.items() if one["lost"] is None} == set(LIVE)
    for name in SILENT:
        assert what(controller, name)[-1].startswith("not there yet: it has not answered within 0.")
        controller.reconciler.check_switch(name)  # while its first call has not ended
    for switch in switches.values():
        switch._meeting = threading.Barrier(1)
    with Monitor(controller):
        for name in SILENT:
            switches[name].closed.set()
        wait_until(lambda: all(what(controller, name)[-1].startswith("connected") for name in SILENT))


def test_start_waits_less_once_majority_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    site, _ = meeting_site()
    now_s = 0.0

    def wait(futures: Collection[Future[object]], timeout: float, until: str = ALL_COMPLETED) -> object:
        nonlocal now_s
        if len(futures) > len(SILENT):  # no time passes for the live ones
            return concurrent.futures.wait(futures, 60.0, until)
        now_s += timeout
        return concurrent.futures.wait(futures, 0.0)

    monkeypatch.setattr(reconciler, "wait", wait)
    monkeypatch.setattr(reconciler, "time", SimpleNamespace(monotonic=lambda: now_s))
    controller = site.start(start_s=3.0)
    for name in SILENT:
        assert what(controller, name)[-1] == "not there yet: it has not answered within 1.0 s"


def test_views_omit_silent_switches_and_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    site, switches = meeting_site()
    for name in SILENT:
        switches[name]._meeting = threading.Barrier(1)
    controller = site.start()
    for name in SILENT:
        switches[name]._meeting = None
    monkeypatch.setattr(examination, "_COUNTERS_S", 0.2)
    monkeypatch.setattr(examination, "_EXAMINE_S", 0.2)
    monkeypatch.setattr(controlled_server, "_LOOK_S", 0.2)
    released = threading.Event()
    monkeypatch.setattr(site.server, "_answer", released.wait)
    counters, found = controller.counters(), controller.examine()
    assert set(counters["switches"]) == set(LIVE) and counters["server"] is None
    lost = {name for name, one in found["switches"].items() if one["lost"] == "it has not answered within 0.2 s"}
    assert lost == set(SILENT) and found["servers"]["server"]["lost"] == "it has not answered within 0.2 s"
    released.set()


def test_close_ends_change_at_silent_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    site, switches = meeting_site()
    for name in SILENT:
        switches[name]._meeting = threading.Barrier(1)
    controller = site.start()
    monkeypatch.setattr("lanesum_control.controller.controller._CLOSE_S", 0.2)
    begun = threading.Event()

    def change() -> None:
        with controller.reconciler.changing.held_for("a tenant"):
            begun.set()
            switches["s0"].closed.wait()

    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    controller.close()
    thread.join()
    assert all(switch.closed.is_set() for switch in switches.values())


def test_sums_are_back_only_at_summing_switch() -> None:
    controller = Site("tree2x2").start()
    reconciler = controller.reconciler
    jobs: Any = {"a": SimpleNamespace(number=1)}

    def moved(summing: list[str], **left_out: str) -> list[str]:
        placement = SimpleNamespace(
            assignments=[SimpleNamespace(switch=one, role=NO_ROLE) for one in summing],
            left_out={at: Reason(Cause.FULL, why) for at, why in left_out.items()},
        )
        plan: Any = SimpleNamespace(placements={1: placement})
        reconciler.publish(jobs, plan)
        reconciler.note_moves()
        return [event.what for event in controller.events.latest() if event.whom == "a"]

    assert moved([], s0="it is full", s1="it is full") == []
    assert moved(["s1"]) == ["sums of s1 are back from the server"]


def test_jobs_join_upper_switch_last_leave_it_first() -> None:
    """Also where others grow: every range is cut at all switches before one grows."""
    site = Site("tree2x2", slots=64)
    controller = site.start()
    controller.admit(request("large", slots=64, quota=20))
    writes = writes_in_order(site)
    controller.admit(request("new", slots=30, quota=30))
    assert writes == [
        *(("modify", name) for name in ("s0", "s2", "s1")),
        *(("admit", name) for name in ("s1", "s2", "s0")),
    ]
    writes.clear()
    controller.remove("new")
    assert writes == [
        *(("remove", name) for name in ("s0", "s2", "s1")),
        *(("modify", name) for name in ("s1", "s2", "s0")),
    ]


def writes_in_order(site: Site) -> list[tuple[str, str]]:
    """Return a list of (operation, switch) that grows with every write."""
    writes: list[tuple[str, str]] = []

    class Log(list[str]):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def append(self, what: str) -> None:
            writes.append((what.split()[0], self.name))

    for name, switch in site.switches.items():
        switch.log = Log(name)
    return writes

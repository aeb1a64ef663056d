# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Events on disk: callers, times, bounds and restarts."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import Caller, CallerRole
from lanesum_control.cli.job import _since
from lanesum_control.controller import service
from lanesum_control.controller.controller import Controller
from lanesum_control.controller.process import _print_event
from lanesum_control.errors import AdmissionError, StoreError
from lanesum_control.state import store
from lanesum_control.state.events import Event, EventLog
from lanesum_control.state.store import Store
from tests.command_line import invoke
from tests.control_plane.control_fakes import FakeClock, Site, request

BLUE = Caller("blue", CallerRole.TENANT, "ipv4:10.0.0.9:4242")


def of(controller: Controller, whom: str) -> list[tuple[str, str, str]]:
    return [(event.what, event.actor, event.source) for event in controller.events.since() if event.whom == whom]


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC])
def test_event_that_cannot_be_printed_is_stored(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(number, os.strerror(number))

    log = EventLog(Store(), listener=_print_event)
    monkeypatch.setattr(sys, "stdout", Ended())
    log.add("s1", "lost")
    assert [event.what for event in log.since()] == ["lost"]


def test_events_continue_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as state:
        EventLog(state, clock=lambda: 5.0).add("s1", "lost", BLUE)
        EventLog(state, clock=lambda: 6.0).add("s1", "connected")
    with Store(path) as state:
        log = EventLog(state, clock=lambda: 7.0)
        log.add("a", "removed")
        assert log.since() == [
            Event(1, 5.0, "s1", "lost", "blue", "ipv4:10.0.0.9:4242"),
            Event(2, 6.0, "s1", "connected"),
            Event(3, 7.0, "a", "removed"),
        ]
        assert [event.number for event in log.since(1)] == [2, 3]
        assert [event.number for event in log.since(since_s=6.0)] == [2, 3]
        assert [event.number for event in log.since(0, limit=2)] == [1, 2]
        assert [event.number for event in log.latest(2)] == [2, 3]


def test_every_change_of_a_job_names_its_caller(controller: Controller) -> None:
    red = Caller("red", CallerRole.OPERATOR, "unix:")
    controller.admit(request("a", workers=2), caller=BLUE)
    controller.join("a", 0, caller=BLUE)
    controller.resize("a", 20, red)
    controller.extend("a", "w3", red)
    controller.leave("a", "w3", BLUE)
    controller.admit(request("a", workers=2), take_over=True, caller=red)
    controller.remove("a", caller=BLUE)
    blue, red_ = ("blue", BLUE.source), ("red", "unix:")
    assert of(controller, "a") == [
        ("admitted as job 1", *blue),
        ("ticket of worker 0 taken: this process", *blue),
        ("resized to 20 slots", *red_),
        ("new incarnation: w3 joined", *red_),
        ("new incarnation: w3 left", *blue),
        ("removed: another run took over", *red_),
        ("admitted as job 2", *red_),
        ("removed", *blue),
    ]


def test_service_stores_the_source_of_calls_and_refusals(controller: Controller, address: str) -> None:
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 8})
    rpc.call(address, rpc.JOIN, {"job": "a", "worker": 0, "origin": "process 7"})
    with pytest.raises(rpc.ControllerError):
        rpc.call(address, rpc.JOIN, {"job": "b", "worker": 0})
    with pytest.raises(rpc.ControllerError):
        rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"]})
    with pytest.raises(rpc.ControllerError):
        rpc.call(address, rpc.REMOVE, {"job": ["a"]})
    found = {what: source for whom in ("a", "b", "controller") for what, _, source in of(controller, whom)}
    assert list(found)[:2] == ["admitted as job 1", "ticket of worker 0 taken: process 7"]
    refused = [what for what in found if what.startswith("refused: ")]
    assert [what.split(":")[1].strip() for what in refused] == [rpc.ADMIT, rpc.JOIN, rpc.REMOVE]
    assert all(source.startswith("ipv4:127.0.0.1:") for source in found.values())
    with pytest.raises(rpc.ControllerError, match=r"No job 'b' is admitted; there is a\. Admit it first"):
        rpc.call(address, rpc.REMOVE, {"job": "b"})  # a refusal is not the reason of a removal


def test_events_of_one_caller_do_not_displace_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_EVENTS", 50)
    monkeypatch.setattr(store, "_EVICT_EVERY", 5)
    with Store() as state:
        log = EventLog(state)
        log.add("a", "admitted", BLUE)
        log.add("s1", "lost")
        for port in range(500):  # a caller without a name has a new port for every call
            log.add("b", "refused", Caller(source=f"ipv4:10.0.0.7:{port}"))
            assert len(log.since()) <= 50
        assert [event.number for event in log.since()][:2] == [1, 2]
        assert log.latest(1)[0].number == 502


def test_events_of_namesake_worker_displace_no_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a tenant could call a job as another tenant, and its workers acted as that one in the audit log."""
    monkeypatch.setattr(store, "MAX_EVENTS", 50)
    monkeypatch.setattr(store, "_EVICT_EVERY", 5)
    with Store() as state:
        log = EventLog(state)
        for _ in range(10):
            log.add("a", "admitted", BLUE)
        for role in (CallerRole.WORKER, CallerRole.OPERATOR):
            for _ in range(200):
                log.add("blue", "refused", Caller(BLUE.name, role, BLUE.source))
        kept = log.since()
        assert [event.number for event in kept][:10] == list(range(1, 11))
        assert {event.actor for event in kept} == {"blue", "worker of blue"}


def test_event_with_text_of_peer_is_printable_line() -> None:
    with Store() as state:
        log = EventLog(state)
        log.add("a\n12:00 s1", f"worker\x1b[2J left\n{'x' * 10_000}", Caller("b\nc"))
        (event,) = log.since()
    assert event.line().isprintable() and len(event.line()) < 2 * rpc.MAX_TEXT
    assert event.line().endswith("x (by b c)")


def test_event_without_a_working_store_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []
    state = Store()
    log = EventLog(state, listener=seen.append)
    state.close()
    with caplog.at_level(logging.ERROR):
        log.add("s1", "lost")
    assert "is not stored" in caplog.text
    assert [(event.number, event.what) for event in seen] == [(0, "lost")]


def test_event_of_failed_change_is_not_stored(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    controller.admit(request("a", workers=2))

    def full(*_args: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(Store, "_insert_tickets", full)
    before = controller.events.since()
    with pytest.raises(StoreError):
        controller.join("a", 0)
    monkeypatch.undo()
    assert controller.events.since() == before
    assert controller.job("a").joined == frozenset()


def test_job_events_reads_beyond_limit_of_one_answer(
    address: str, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_ANSWERED", 7)
    for number in range(30):
        controller.events.add("s1", f"event {number}", BLUE)
    result = invoke(["job", "events", "--controller", address, "--since", "0"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert [int(line.split()[0]) for line in lines] == [event.number for event in controller.events.since()]
    assert lines[-1].endswith(" s1: event 29 (by blue at ipv4:10.0.0.9:4242)")
    assert invoke(["job", "events", "--controller", address, "--since", "1h"]).output == result.output
    assert invoke(["job", "events", "--controller", address, "--since", "2999-01-01"]).output == ""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("17", {"since": 17}),
        ("90s", {"ago_s": 90, "since_s": 1_000_000 - 90}),
        ("15m", {"ago_s": 900, "since_s": 1_000_000 - 900}),
        ("2h", {"ago_s": 7200, "since_s": 1_000_000 - 7200}),
        ("7d", {"ago_s": 604_800, "since_s": 1_000_000 - 604_800}),
        ("2026-01-31T14:30+00:00", {"since_s": 1_769_869_800.0}),
    ],
)
def test_since_reads_numbers_times_and_durations(text: str, asked: dict[str, Any]) -> None:
    assert _since(text, now=1_000_000) == asked


def test_duration_counts_by_the_clock_of_the_controller(address: str, controller: Controller) -> None:
    controller.events.add("s1", "an event", BLUE)
    by_fast_clock = time.time() + 86_400
    assert rpc.call(address, rpc.EVENTS, {"since_s": by_fast_clock})["events"] == []
    found = rpc.call(address, rpc.EVENTS, {"ago_s": 900, "since_s": by_fast_clock})["events"]
    assert found[-1]["what"] == "an event"


@pytest.mark.parametrize("text", ["yesterday", "-1", "1.5", "\u00b2", "9" * 30, "5w", ""])
def test_since_of_another_text_is_refused(text: str) -> None:
    result = invoke(["job", "events", f"--since={text}"])
    assert result.exit_code != 0 and "is no number and no time" in result.output


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "1"},
        {"since": 1 << 63},
        {"since_s": "now"},
        {"since_s": True},
        {"since": None},
        {"since_s": 1 << 63},
        {"ago_s": "1"},
    ],
)
def test_events_with_an_invalid_field_are_refused(address: str, asked: dict[str, Any]) -> None:
    with pytest.raises(rpc.ControllerError, match="is no"):
        rpc.call(address, rpc.EVENTS, asked)


def test_join_of_another_protocol_version_is_refused(address: str) -> None:
    rpc.call(address, rpc.ADMIT, {"name": "a", "workers": ["w1"], "slots": 8})
    with pytest.raises(rpc.ControllerError, match=r"uses protocol version 3, and the controller version 2\. Install"):
        rpc.call(address, rpc.JOIN, {"job": "a", "worker": 0, "protocol": 3})
    assert rpc.call(address, rpc.JOIN, {"job": "a", "worker": 0, "protocol": 2})["host"] == "w1"


def test_lease_removal_has_no_caller() -> None:
    site = Site()
    controller = site.start()
    controller.admit(request("a", lease_s=5), caller=BLUE)
    assert isinstance(site.clock, FakeClock)
    site.clock.now += 100
    controller.expire()
    what, actor, source = of(controller, "a")[-1]
    assert what.startswith("removed: ") and (actor, source) == ("", "")
    with pytest.raises(AdmissionError):
        controller.admit(request("b", workers=4, slots=0))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State machine test: after any sequence of events, switches and server hold the desired state, and no job is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.controller import JobRequest
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.left_out import Cause
from lanesum_control.jobs.records import AdmittedJob, Taken
from lanesum_control.servers.remote_server import ServerError
from lanesum_control.state.store import Store
from lanesum_fabric.program.switch_job import Role
from tests.control_plane.control_fakes import Site

pytestmark = pytest.mark.long


HOSTS = ("w1", "w2", "w3", "w4")
SWITCHES = ("s0", "s1", "s2")
SLOTS = 40
hosts = st.lists(st.sampled_from(HOSTS), min_size=1, unique=True).map(tuple)
switches = st.sampled_from(SWITCHES)


class ControllerMachine(RuleBasedStateMachine):
    """A controller with fakes. ``FakeSwitch`` checks in every write that no two jobs own a slot."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "state.db")
        self.site = Site("tree2x2", slots=SLOTS)
        self.controller = self.site.start(store=self.store)
        self.names = (f"job{n}" for n in itertools.count())
        self.taken: set[tuple[int, int]] = set()  # (tag, worker) of issued tickets

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def check_unchanged(self, before: Sequence[AdmittedJob], after: Sequence[AdmittedJob]) -> None:
        """Check that a refused change left the jobs as they were; it may have noticed that a switch is lost.

        A change with a quota displaces jobs without one. A switch whose table is full refuses both the change and the
        return of those jobs, whose sums the server computes then.
        """
        pairs = list(zip(before, after, strict=True))
        new_moves = [
            (switch, new.moved[switch].why.cause) for old, new in pairs for switch in new.moved.keys() - old.moved
        ]
        refusing = {switch for switch, cause in new_moves if cause is Cause.REFUSED}
        assert all(self.site.switches[switch].full for switch in refusing)
        for old, new in pairs:
            if refusing:
                new = dataclasses.replace(new, switch_jobs=old.switch_jobs, left_out=old.left_out)
            assert dataclasses.replace(new, moved=old.moved) == old
            assert refusing or {switch: new.moved.get(switch) for switch in old.moved} == old.moved
        for switch, cause in new_moves:
            fake = self.site.switches[switch]
            assert refusing or (cause is Cause.LOST and (fake.away or not fake.connected))

    def pick(self, number: int) -> str | None:
        jobs = self.controller.jobs()
        return jobs[number % len(jobs)].request.name if jobs else None

    @rule(workers=hosts, slots=st.integers(1, SLOTS), share=st.floats(0, 1), priority=st.integers(0, 2), data=st.data())
    def admit(self, workers: tuple[str, ...], slots: int, share: float, priority: int, data: st.DataObject) -> None:
        quorum = data.draw(st.integers(0, len(workers)))
        wanted = JobRequest(
            next(self.names), workers, slots=slots, quota=int(slots * share), priority=priority, quorum=quorum
        )
        before = self.controller.jobs()
        try:
            self.controller.admit(wanted)
        except (AdmissionError, ServerError):
            self.check_unchanged(before, self.controller.jobs())

    @rule(number=st.integers(0, 9))
    def remove(self, number: int) -> None:
        name = self.pick(number)
        if name is not None:
            self.controller.remove(name)

    @rule(number=st.integers(0, 9), slots=st.integers(1, SLOTS))
    def resize(self, number: int, slots: int) -> None:
        name = self.pick(number)
        if name is not None:
            tag = self.controller.job(name).tickets[0].tag
            with contextlib.suppress(AdmissionError):
                self.controller.resize(name, slots)
            assert self.controller.job(name).tickets[0].tag == tag

    @rule(number=st.integers(0, 9), worker=st.integers(0, 3))
    def join(self, number: int, worker: int) -> None:
        name = self.pick(number)
        if name is not None and worker < len(self.controller.job(name).request.workers):
            ticket = self.controller.join(name, worker, Taken(f"p{worker}", "x"))
            assert isinstance(ticket, JobTicket)
            key = (ticket.tag, ticket.worker)
            assert key not in self.taken, "a ticket was given twice"
            self.taken.add(key)

    @rule(number=st.integers(0, 9), host=st.sampled_from(HOSTS))
    def change_workers(self, number: int, host: str) -> None:
        name = self.pick(number)
        if name is None:
            return
        tag = self.controller.job(name).tickets[0].tag
        before = self.controller.job(name)
        change = self.controller.leave if host in before.request.workers else self.controller.extend
        try:
            assert change(name, host).tickets[0].tag != tag
        except AdmissionError:
            self.check_unchanged([before], [self.controller.job(name)])

    @rule(switch=switches)
    def switch_dies(self, switch: str) -> None:
        self.site.switches[switch].restart()
        self.site.switches[switch].away = True

    @rule(switch=switches)
    def switch_restarts(self, switch: str) -> None:
        self.site.switches[switch].restart()
        self.site.switches[switch].away = False

    @rule(switch=switches, full=st.booleans())
    def table_fills_up(self, switch: str, full: bool) -> None:
        self.site.switches[switch].full = full

    @rule(away=st.booleans())
    def server_goes_and_comes(self, away: bool) -> None:
        if self.site.server.away and not away:
            self.site.server.restart()
        self.site.server.away = away

    @rule()
    def look(self) -> None:
        """Run one round of the monitor."""
        self.controller.reconciler.check_server()
        for switch in SWITCHES:
            self.controller.reconciler.check_switch(switch)

    @rule()
    def controller_restarts(self) -> None:
        before = self.controller.jobs()
        self.controller.close()
        self.store.close()
        self.store = Store(Path(self.folder.name) / "state.db")
        self.controller = self.site.start(store=self.store)
        after = self.controller.jobs()
        assert [(job.number, job.request, job.tickets, job.joined) for job in before] == [
            (job.number, job.request, job.tickets, job.joined) for job in after
        ]

    @precondition(lambda self: not any(switch.away for switch in self.site.switches.values()))
    @rule()
    def all_is_well(self) -> None:
        """Check the state once all parts have returned and were checked."""
        self.site.server.away = False
        for switch in self.site.switches.values():
            switch.full = False
        self.look()
        self.look()
        jobs = {job.number: job for job in self.controller.jobs()}
        for name, switch in self.site.switches.items():
            assert switch.jobs == {n: job.switch_jobs[name] for n, job in jobs.items() if name in job.switch_jobs}
        assert {n: job.tag for n, job in self.site.server.jobs.items()} == {
            n: job.tickets[0].tag for n, job in jobs.items()
        }
        assert all(len(self.site.server.jobs[n].members) == len(job.tickets) for n, job in jobs.items())

    @invariant()
    def promises(self) -> None:
        for job in self.controller.jobs():
            counts = {one.slot_count for one in job.switch_jobs.values()}
            assert len(counts) <= 1, "one switch takes a slot that another one does not"
            if counts and job.request.guaranteed:
                (count,) = counts
                assert count >= min(job.request.guaranteed, job.tickets[0].slots)
            roles = {name: one.role & ~Role.SHARED for name, one in job.switch_jobs.items()}
            if roles.get("s0") == Role.UPPER:
                racks = {"s1" if host in ("w1", "w2") else "s2" for host in job.request.workers}
                assert racks <= roles.keys(), "the upper switch would wait for a rack that is not summed"


ControllerMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestController = ControllerMachine.TestCase


def test_refused_admission_detects_lost_switch_and_changes_nothing() -> None:
    machine = ControllerMachine()
    try:
        zero: Any = SimpleNamespace(draw=lambda _strategy: 0)
        machine.table_fills_up(full=True, switch="s0")
        machine.admit(workers=("w3",), slots=1, share=0.0, priority=0, data=zero)
        machine.switch_dies(switch="s2")
        machine.admit(workers=("w1", "w2", "w3"), slots=2, share=1.0, priority=0, data=zero)
        (job,) = machine.controller.jobs()
        assert job.moved.keys() == {"s2"}
    finally:
        machine.teardown()


def test_refused_admission_displaces_jobs_at_full_switch_alone() -> None:
    machine = ControllerMachine()
    try:
        zero: Any = SimpleNamespace(draw=lambda _strategy: 0)
        machine.admit(workers=("w1", "w2"), slots=SLOTS, share=0.0, priority=0, data=zero)
        machine.table_fills_up(full=True, switch="s1")
        machine.admit(workers=("w1", "w2"), slots=SLOTS, share=1.0, priority=0, data=zero)
        (job,) = machine.controller.jobs()
        assert {switch: one.why.cause for switch, one in job.moved.items()} == {"s1": Cause.REFUSED}
        machine.promises()
    finally:
        machine.teardown()

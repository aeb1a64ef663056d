# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Randomized packet schedules over several epochs: every result is exact, every frame that of the reference.

::

    worker 0 ~~ loss ~~ +--------+
       ...   ~~ dup  ~~ | switch |        each ~~ is a pool of packets that arrive in any order
    worker n ~~ late ~~ +--------+
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lanesum.protocol import LaneOp

from .schedule import EPOCHS, Plan, Schedule
from .star import Star

pytestmark = pytest.mark.long


first_epochs = st.sampled_from([0, 1, EPOCHS - 2, EPOCHS - 1, EPOCHS // 2 - 1])


def plans(ops: Sequence[LaneOp]) -> st.SearchStrategy[Plan]:
    """Generate jobs whose rounds have any of ``ops``."""
    rounds = st.lists(st.tuples(st.sampled_from(ops), st.integers(1, 5)), min_size=3, max_size=6).map(tuple)
    return st.builds(
        Plan,
        workers=st.integers(1, 5),
        slots=st.integers(1, 4),
        rounds=rounds,
        first_epoch=first_epochs,
        seed=st.integers(0, 1 << 32),
    )


def run_randomly(schedule: Schedule, rng: random.Random, *, loss: float, duplication: float) -> None:
    """Run until every worker has every result, over an unreliable network."""
    steps = 0
    while not schedule.finished:
        steps += 1
        assert steps < 2000 * len(schedule.places), "no progress"
        worker = rng.randrange(schedule.plan.workers)
        step = rng.random()
        if step < 0.3 and schedule.may_send(worker):
            schedule.send(worker)
        elif step < 0.4 and (outstanding := schedule.outstanding(worker)):
            schedule.retransmit(worker, rng.choice(outstanding))
        elif step < 0.7 and schedule.uplink:
            index = rng.randrange(len(schedule.uplink))
            if rng.random() < loss:
                schedule.uplink.pop(index)
            else:
                schedule.deliver(index, keep=rng.random() < duplication)
        elif schedule.downlink:
            index = rng.randrange(len(schedule.downlink))
            if rng.random() < loss:
                schedule.downlink.pop(index)
            else:
                schedule.receive(index)
    schedule.finish()


def test_random_schedules_finish_with_exact_sums(star: Star) -> None:
    """0 to 10 % loss and duplication in both directions, any order, several epochs."""
    finished: list[Schedule] = []

    @settings(max_examples=star.target.num_schedules, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        plan=plans(star.target.ops),
        loss=st.sampled_from([0.0, 0.01, 0.05, 0.1]),
        duplication=st.sampled_from([0.0, 0.01, 0.05, 0.1]),
        seed=st.integers(0, 1 << 32),
    )
    def check(plan: Plan, loss: float, duplication: float, seed: int) -> None:
        star.clean_up()
        schedule = Schedule(star, plan)
        run_randomly(schedule, random.Random(seed), loss=loss, duplication=duplication)
        assert schedule.results >= plan.workers * len(schedule.places)
        finished.append(schedule)

    check()
    assert len(finished) >= star.target.num_schedules
    decisions = star.slot_decisions()
    assert decisions["claim"] and decisions["contribute_and_complete"] and decisions["replay"]


def test_long_lossy_job_finishes(star: Star) -> None:
    """Two epochs of every operation through three slots at 10 % loss and duplication, over the wrap of the epoch."""
    ops = star.target.ops * 2
    plan = Plan(4, 3, tuple((op, 4) for op in ops), first_epoch=EPOCHS - 6, seed=7)
    schedule = Schedule(star, plan)
    run_randomly(schedule, random.Random(7), loss=0.1, duplication=0.1)
    assert schedule.finished
    assert schedule.pendings
    decisions = star.slot_decisions()
    assert decisions["claim"] == decisions["contribute_and_complete"] == len(schedule.places) == 4 * len(ops)
    assert decisions["replay"] and decisions["report_pending"] and decisions["drop_late"]


class Machine(RuleBasedStateMachine):
    """State machine whose steps Hypothesis chooses, so that a failure shrinks to few packets."""

    star: Star

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        plan = data.draw(plans(self.star.target.ops))
        self.star.clean_up()
        self.schedule = Schedule(self.star, plan)

    def _may_send(self) -> bool:
        return any(map(self.schedule.may_send, range(self.schedule.plan.workers)))

    @precondition(_may_send)
    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        workers = filter(self.schedule.may_send, range(self.schedule.plan.workers))
        self.schedule.send(data.draw(st.sampled_from(list(workers))))

    def _sent(self) -> list[tuple[int, int]]:
        return [(worker, at) for worker, sent in enumerate(self.schedule.next) for at in range(sent)]

    @precondition(lambda self: bool(self._sent()))
    @rule(data=st.data())
    def retransmit(self, data: st.DataObject) -> None:
        """Also positions whose result the worker has: a packet delayed over any number of epochs."""
        self.schedule.retransmit(*data.draw(st.sampled_from(self._sent())))

    @precondition(lambda self: self.schedule.uplink)
    @rule(data=st.data(), keep=st.booleans())
    def deliver(self, data: st.DataObject, keep: bool) -> None:
        self.schedule.deliver(data.draw(st.integers(0, len(self.schedule.uplink) - 1)), keep=keep)

    @precondition(lambda self: self.schedule.uplink)
    @rule(data=st.data())
    def lose_contribution(self, data: st.DataObject) -> None:
        self.schedule.uplink.pop(data.draw(st.integers(0, len(self.schedule.uplink) - 1)))

    @precondition(lambda self: self.schedule.downlink)
    @rule(data=st.data())
    def receive(self, data: st.DataObject) -> None:
        self.schedule.receive(data.draw(st.integers(0, len(self.schedule.downlink) - 1)))

    @precondition(lambda self: self.schedule.downlink)
    @rule(data=st.data())
    def lose_answer(self, data: st.DataObject) -> None:
        self.schedule.downlink.pop(data.draw(st.integers(0, len(self.schedule.downlink) - 1)))

    def teardown(self) -> None:
        """A reliable network finishes the job."""
        if hasattr(self, "schedule"):
            self.schedule.finish()


def test_schedules_step_by_step_are_exact(star: Star) -> None:
    machine = type("MachineOnTarget", (Machine,), {"star": star})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=star.target.num_schedules,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    decisions = star.slot_decisions()
    assert decisions["claim"] >= star.target.num_schedules

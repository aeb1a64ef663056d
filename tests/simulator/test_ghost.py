# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ghosts and the checks of answers by themselves, without any of the code that they judge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanesum.protocol.lanes import LaneOp
from lanesum_fabric.program.switch_job import SwitchJob
from tests.simulator import Invariant, Violation
from tests.simulator.ghost import SwitchGhost
from tests.simulator.job import JobRun
from tests.simulator.layout import Layout
from tests.simulator.placement import Bases, SimulatedPlacement
from tests.simulator.scenario import ONE_SWITCH, SERVER, JobPlan, Line, RoundPlan, Scenario, WorkerPlan
from tests.simulator.server_ghost import GhostEntry, ServerGhost
from tests.simulator.wire import (
    BYPASS,
    CONTRIBUTION,
    GONE,
    PARTIAL,
    PENDING,
    RESULT,
    Seen,
    shadow_slot,
    version_kind,
)

SLOTS, CHUNKS, SWITCH = 2, 9, "rack0"
PLAN = JobPlan(
    job=1, tag=2, slots=SLOTS, window=SLOTS, rounds=(RoundPlan(LaneOp.ADD32, 2 * CHUNKS),),
    workers=(WorkerPlan(0), WorkerPlan(1), WorkerPlan(2)), kept_results=1,
)  # fmt: skip


def run_of(plan: JobPlan, lease: int | None = None) -> JobRun:
    scenario = Scenario(network=ONE_SWITCH, lines=(Line((plan,), lease=lease),))
    placement = SimulatedPlacement(scenario, Layout(scenario), Bases(scenario), 0, plan)
    return JobRun(0, 0, plan, placement, 0.0, 5, scenario.accumulator_words)


def contribution(worker: int, position: int, *, flags: int = 0, tag: int = 2) -> Seen:
    return Seen(
        version_kind(CONTRIBUTION), flags, 1, tag, 0, position, shadow_slot(position, SLOTS), 0, 0, 1 << worker,
        2 * CHUNKS, worker, 0, 2,
    )  # fmt: skip


def answer(kind: int, position: int, workers: int, flags: int, words: int) -> Seen:
    return Seen(
        version_kind(kind), flags, 1, 2, 0, position, shadow_slot(position, SLOTS), 0, 0, workers, 0, 3, 0, words
    )


def job_of(run: JobRun) -> SwitchJob:
    return run.placement.switches[SWITCH]


def test_switch_ghost_follows_chunk_from_first_to_late() -> None:
    run, ghost = run_of(PLAN), SwitchGhost(SWITCH)
    steps = [
        (0, 0, "claim", 0),
        (0, 0, "report_pending", 3),
        (1, 0, "contribute", 0),
        (2, 0, "contribute_and_complete", 3),
        (0, 0, "replay", 1),
        (0, 2 * SLOTS, "claim", 0),
        (1, 0, "drop_late", 0),
    ]
    for worker, position, decision, copies in steps:
        flags = 1 if decision == "replay" else 0
        made = [answer(RESULT, position, 7, flags, 2)] * copies
        ghost.check(run, job_of(run), worker, contribution(worker, position), 0, [decision], made)
    ghost.check(run, job_of(run), 0, contribution(0, 1, flags=BYPASS), 0, [], [])


def test_switch_ghost_other_decision_or_packet_count_raises() -> None:
    for decided, copies in ((["claim_and_complete"], 0), (["claim"], 1), ([], 0)):
        run, ghost = run_of(PLAN), SwitchGhost(SWITCH)
        made = [answer(RESULT, 0, 7, 0, 2)] * copies
        with pytest.raises(Violation) as raised:
            ghost.check(run, job_of(run), 0, contribution(0, 0), 0, decided, made)
        assert raised.value.invariant is Invariant.ANSWERS


def test_switch_ghost_knows_when_a_lease_ends() -> None:
    run, other = run_of(PLAN, lease=10), run_of(replace(PLAN, tag=3), lease=10)
    ghost = SwitchGhost(SWITCH)
    ghost.check(run, job_of(run), 0, contribution(0, 0), 100, ["claim"], [])
    ghost.check(other, job_of(other), 0, contribution(0, 0, tag=3), 110, ["collide"], [])
    ghost.check(other, job_of(other), 0, contribution(0, 0, tag=3), 111, ["claim"], [])


def test_server_ghost_keeps_pieces_apart() -> None:
    entry = GhostEntry((0, 0), (0, 0))
    assert [entry.add(0b0001), entry.add(0b0110), entry.add(0b0010)] == ["contribute", "contribute", "report_pending"]
    assert entry.add(0b1011) == "report_overlap"
    assert entry.add(0b1111) == "contribute"
    assert entry.pieces == [0b1111]


def test_server_ghost_knows_what_a_quorum_has_forgotten() -> None:
    run, ghost = run_of(replace(PLAN, quorum=1, rounds=(RoundPlan(LaneOp.ADD32, 40),))), ServerGhost()
    header = contribution(0, 0)._replace(racks=40)
    for position in range(2 * SLOTS + 1):
        seen = header._replace(chunk=position, shadow_slot=shadow_slot(position, SLOTS))
        result = answer(RESULT, position, 1, PARTIAL, 2)
        full = result.pack() + bytes(8)
        ghost.check(run, 0, seen, ["claim_and_complete"], [(worker, result, full) for worker in range(3)])
    gone = answer(PENDING, 0, 0, GONE, 0)
    ghost.check(run, 1, header, ["report_gone"], [(1, gone, gone.pack())])
    kept = answer(RESULT, 1, 1, PARTIAL, 2)
    ghost.forget()
    ghost.check(run, 1, header._replace(chunk=1, shadow_slot=1), ["replay"], [(1, kept, kept.pack() + bytes(8))])


def test_check_wrong_result_is_a_violation() -> None:
    run = run_of(PLAN)
    right = answer(RESULT, 0, 7, 0, 2)
    run.check(SWITCH, right, right.pack() + run.truth.combined(0, 7))
    for wrong, workers in ((right, 3), (answer(RESULT, 0, 3, PARTIAL, 2), 3)):
        with pytest.raises(Violation) as raised:
            run.check(SERVER, wrong, wrong.pack() + run.truth.combined(0, workers))
        assert raised.value.invariant is Invariant.EXACTNESS


def test_pending_answers_name_only_who_has_sent_something() -> None:
    run = run_of(PLAN)
    run.note_sent(0, 0)
    pending = answer(PENDING, 0, 1, BYPASS, 0)
    run.check(SERVER, pending, pending.pack())
    for wrong in (answer(PENDING, 0, 3, BYPASS, 0), answer(PENDING, 0, 7, BYPASS, 0)):
        with pytest.raises(Violation) as raised:
            run.check(SERVER, wrong, wrong.pack())
        assert raised.value.invariant is Invariant.ANSWERS


def test_workers_that_take_different_results_break_a_promise() -> None:
    run = run_of(replace(PLAN, quorum=2))
    run.accept(0, 0, 3, run.truth.combined(0, 3))
    with pytest.raises(Violation) as raised:
        run.accept(1, 0, 7, run.truth.combined(0, 7))
    assert raised.value.invariant is Invariant.AGREEMENT


def test_check_early_use_of_entry_raises() -> None:
    run = run_of(PLAN)
    for worker in range(2):
        run.accept(worker, 0, 7, run.truth.combined(0, 7))
    with pytest.raises(Violation, match="worker 2 does not have") as raised:
        run.note_sent(0, 2 * SLOTS)
    assert raised.value.invariant is Invariant.ALIASING


def test_giving_up_too_early_breaks_a_promise() -> None:
    run = run_of(replace(PLAN, quorum=2))
    run.decided[SERVER] = {position: position for position in range(2 * SLOTS + 1)}
    run.check_gone(0, "a worker")
    with pytest.raises(Violation) as raised:
        run.check_gone(1, "a worker")
    assert raised.value.invariant is Invariant.BOUNDED

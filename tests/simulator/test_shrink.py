# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A failing schedule becomes a minimal one that fails alike."""

from __future__ import annotations

import pytest

from tests.simulator import Schedule, run
from tests.simulator.mutants import MUTANTS
from tests.simulator.network import DUPLICATE, LOSE
from tests.simulator.shrink import Shrinker
from tests.simulator.soak import run_seeds


def plant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    next(mutant for mutant in MUTANTS if mutant.name == name).plant(monkeypatch)


def minimal_schedule() -> Schedule:
    failed = run_seeds(range(600)).failed
    assert failed is not None
    return Shrinker(Schedule.draw(failed)).shrink()


def test_one_lost_packet_of_one_worker_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("no retransmissions", monkeypatch)
    schedule = minimal_schedule()
    (line,) = schedule.scenario.lines
    (job,) = line.jobs
    assert (len(job.workers), len(job.rounds), job.slots) == (1, 1, 1)
    assert schedule.faults is not None
    assert [fault.kind for fault in schedule.faults] == [LOSE]


def test_two_incarnations_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("the owner's tag is not looked at", monkeypatch)
    schedule = minimal_schedule()
    (line,) = schedule.scenario.lines
    first, second = line.jobs
    assert first.job == second.job and first.tag != second.tag
    assert schedule.faults == ()


def test_hardly_a_fault_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("results of another epoch are taken", monkeypatch)
    schedule = minimal_schedule()
    assert schedule.faults is not None
    # A duplicate that comes late, or a loss after which others go on.
    assert len(schedule.faults) <= 2 and {DUPLICATE, LOSE} & {fault.kind for fault in schedule.faults}


def test_epochs_begin_at_zero_unless_wrap_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("chunks of one epoch are not ordered", monkeypatch)
    (line,) = minimal_schedule().scenario.lines
    assert line.jobs[0].first_epoch == 0
    monkeypatch.undo()
    plant("epochs do not wrap", monkeypatch)
    (line,) = minimal_schedule().scenario.lines
    assert line.jobs[0].first_epoch + len(line.jobs[0].rounds) > 1 << 32


def test_minimal_schedule_fails_alike_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    plant("chunks of one epoch are not ordered", monkeypatch)
    schedule = minimal_schedule()
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    first, second = run(schedule).violation, run(again).violation
    assert first is not None and second is not None
    assert (first.invariant, first.detail, first.at_s) == (second.invariant, second.detail, second.at_s)
    monkeypatch.undo()
    assert run(again).violation is None


def test_shrink_passing_schedule_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fail"):
        Shrinker(Schedule.draw(0))

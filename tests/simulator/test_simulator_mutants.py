# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator can fail: it finds every planted bug, and nothing without one."""

from __future__ import annotations

import pytest

from tests.simulator import Invariant, Schedule, run
from tests.simulator.mutants import MUTANTS, Mutant
from tests.simulator.soak import run_seeds

pytestmark = pytest.mark.long


SCHEDULES = 1200
_SHARE = 200  # of a test, which a busy machine may slow down


@pytest.mark.parametrize("first", range(0, SCHEDULES, _SHARE))
def test_without_a_bug_all_schedules_pass(first: int) -> None:
    done = run_seeds(range(first, first + _SHARE))
    assert done.failed is None
    assert done.schedules == _SHARE


def test_there_are_enough_bugs() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 150


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_bug_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)
    assert run_seeds(range(mutant.seed, mutant.seed + SCHEDULES)).failed is not None


# Agreement (INV-2) has a test of its own in test_ghost.py: the ghost of the server detects every such bug earlier.
PROMISES = {
    Invariant.EXACTNESS: "the last contribution is not combined",  # INV-1
    Invariant.ALIASING: "results of another epoch are taken",  # INV-3
    Invariant.ISOLATION: "a removed job is still served",  # INV-5
    Invariant.BOUNDED: "no retransmissions",
    Invariant.ONCE: "a duplicate passes for a new result",
    Invariant.ANSWERS: "a worker counts twice",  # INV-1, INV-4
    Invariant.SENDING: "chunks do not wait for the other shadow set",
    Invariant.COUNTERS: "retransmissions are not counted",
    Invariant.CRASH: "what came from below is widened again",
}


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.value)
def test_every_promise_can_be_broken(promise: Invariant, monkeypatch: pytest.MonkeyPatch) -> None:
    next(mutant for mutant in MUTANTS if mutant.name == PROMISES[promise]).plant(monkeypatch)
    violations = (run(Schedule.draw(seed)).violation for seed in range(SCHEDULES))
    assert any(violation is not None and violation.invariant is promise for violation in violations)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The ghost by itself: workers that keep the rules never let it see what it guards against."""

from __future__ import annotations

import pytest

from lanesum.protocol.lanes import LaneOp
from lanesum.simulator import Invariant, Violation
from lanesum.simulator.ghost import Ghost
from lanesum.simulator.scenario import JobPlan, RoundPlan, WorkerPlan
from lanesum.simulator.truth import JobTruth
from lanesum.simulator.wire import CONTRIBUTION, PENDING, RESULT, Seen, read, shadow_slot, version_kind

SLOTS, CHUNKS = 2, 9
PLAN = JobPlan(
    job=1, tag=2, slots=SLOTS, window=SLOTS, rounds=(RoundPlan(LaneOp.ADD32, 2 * CHUNKS),), workers=(WorkerPlan(),) * 2
)  # fmt: skip


def contribution(worker: int, position: int) -> Seen:
    return Seen(
        version_kind(CONTRIBUTION), 0, 1, 2, 0, position, shadow_slot(position, SLOTS), 0, 0, 1 << worker, 0, 2, 0, 2
    )


def contribute(ghost: Ghost, worker: int, position: int) -> list[tuple[int, int]]:
    """The answers as (worker, kind)."""
    answers = ghost.contribute(worker, contribution(worker, position), position)
    return [(to, read(answer).kind) for to, answer in answers]


def test_a_chunk_from_first_to_late() -> None:
    ghost = Ghost(JobTruth(PLAN, 0, bytes(16), 2))
    assert contribute(ghost, 0, 0) == []
    assert contribute(ghost, 0, 0) == [(0, PENDING)]
    assert contribute(ghost, 1, 0) == [(0, RESULT), (1, RESULT)]
    assert contribute(ghost, 0, 0) == [(0, RESULT)]
    for accepted in ghost.accepted:
        accepted.add(0)
    assert contribute(ghost, 1, 2 * SLOTS) == []
    assert contribute(ghost, 0, 0) == []
    assert ghost.decisions["drop_late"] == 1


def test_overwriting_what_a_worker_still_needs_breaks_a_promise() -> None:
    ghost = Ghost(JobTruth(PLAN, 0, bytes(16), 2))
    contribute(ghost, 0, 0)
    contribute(ghost, 1, 0)
    ghost.accepted[0].add(0)
    with pytest.raises(Violation, match="worker 1 does not have yet") as raised:
        contribute(ghost, 0, 2 * SLOTS)
    assert raised.value.invariant is Invariant.ALIASING


def test_leaving_out_a_turn_of_an_entry_breaks_a_promise() -> None:
    ghost = Ghost(JobTruth(PLAN, 0, bytes(16), 2))
    contribute(ghost, 0, 0)
    with pytest.raises(Violation, match="takes the entry of position 0"):
        contribute(ghost, 0, 4 * SLOTS)

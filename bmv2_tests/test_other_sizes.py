# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Builds for 32 and 128 words per packet: the part of the suite that depends on the size."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lanesum.protocol import LaneOp
from lanesum.protocol.spec import FRAME_OVERHEAD_BYTES
from lanesum_fabric.program.switch_job import Role

from .oracle import aggregate, uplink_words
from .schedule import Plan, Schedule
from .star import ALL_OPS, SERVER, Place, Star, rack, routed
from .test_schedules import run_randomly


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_sum_pending_and_replay_of_other_sizes(other_size: Star, op: LaneOp) -> None:
    star = other_size
    job = star.admit(3)
    words = job.words(1, op)
    total = aggregate(op, words)
    place = Place(op=op)
    assert len(words[0]) == uplink_words(op, star.accumulator_words)
    assert star.contribute(job, 0, words[0], place) == []
    assert star.contribute(job, 0, words[0], place) == job.pending([0], place)
    assert star.contribute(job, 1, words[1], place) == []
    copies = star.contribute(job, 2, words[2], place)
    assert copies == job.result(total, place)
    assert {len(frame) for _, frame in copies} == {FRAME_OVERHEAD_BYTES + 4 * star.accumulator_words}
    assert star.contribute(job, 1, words[1], place) == job.replay(1, total, place)


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_two_levels_of_other_sizes(other_size: Star, op: LaneOp) -> None:
    """The same build above adds the words of a rack without widening; with checksums."""
    star = other_size
    below = star.admit(2, role=Role.ASCEND)
    words = below.words(5, op)
    place = Place(op=op)
    total = aggregate(op, words)
    star.contribute(below, 0, words[0], place)
    port, frame = below.contribution(1, words[1], place, checksum=True)
    assert star.exchange(port, frame) == below.ascended(1, total, place)
    above = star.admit([rack(0), rack(1)], role=Role.UPPER, slot_base=8)
    zeros = np.zeros_like(total)
    for member, wide in ((0, total), (1, zeros)):
        port, frame = above.contribution(member, wide, place, checksum=True)
        out = star.exchange(port, frame)
    assert out == above.result(total, place)


def test_default_size_is_routed_by_other_sizes(other_size: Star) -> None:
    star = other_size
    job = star.admit(1)
    frames = [job.contribution(0, job.words(2)[0].repeat(4)[:64])]
    if star.accumulator_words == 32:
        frames.append(job.contribution(0, job.words(3)[0], Place(op=LaneOp.EXPAND8)))
    for port, frame in frames:
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"route_other_size": len(frames)}


def test_truncated_contribution_of_other_sizes_is_dropped(other_size: Star) -> None:
    star = other_size
    job = star.admit(2)
    words = job.words(4)
    star.contribute(job, 0, words[0])
    port, frame = job.contribution(1, words[1])
    lengths = range(star.target.min_frame_bytes, len(frame))
    for length in lengths:
        assert star.exchange(port, frame[:length]) == []
    assert star.decisions()["drop_malformed"] == len(lengths)
    assert star.exchange(port, frame) == job.result(aggregate(LaneOp.ADD32, words))


def test_lossy_job_of_other_sizes_finishes(other_size: Star) -> None:
    plan = Plan(3, 2, tuple((op, 3) for op in LaneOp), first_epoch=(1 << 32) - 3, seed=9)
    schedule = Schedule(other_size, plan)
    run_randomly(schedule, random.Random(9), loss=0.1, duplication=0.1)
    assert schedule.finished
    assert other_size.slot_decisions()["contribute_and_complete"] == len(schedule.places)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A program that is pushed again leaves no state of the time before."""

from __future__ import annotations

import pytest

from lanesum.protocol import LaneOp

from .oracle import aggregate
from .star import Star
from .targets import open_target


@pytest.mark.parametrize("complete", [False, True], ids=["collecting", "complete"])
def test_push_again_makes_workers_retransmit_lost_contributions(star: Star, complete: bool) -> None:
    """Pending answers go to all workers: the switch cannot tell which of them have the result. The sum is the same."""
    job = star.admit(3)
    words = job.words(3)
    total = aggregate(LaneOp.ADD32, words)
    for worker in range(3 if complete else 2):
        star.contribute(job, worker, words[worker])
    star.restart()
    assert star.contribute(job, 2, words[2]) == []
    assert star.contribute(job, 2, words[2]) == job.pending([2])
    assert star.contribute(job, 0, words[0]) == []
    assert star.contribute(job, 1, words[1]) == job.result(total)


@pytest.mark.parametrize("name", ["embedded", "bmv2"])
def test_push_again_removes_multicast_groups(name: str) -> None:
    """BMv2 keeps replicas across a push, and adds them to the next group of that number: workers get two results."""
    with open_target(name) as target:
        before = Star(target)
        job = before.admit(3)
        for worker, words in enumerate(job.words(1)):
            before.contribute(job, worker, words)

        after = Star(target.push_again())
        job = after.admit([2, 4])
        contributions = job.words(2)
        assert after.contribute(job, 0, contributions[0]) == []
        assert after.contribute(job, 1, contributions[1]) == job.result(aggregate(LaneOp.ADD32, contributions))

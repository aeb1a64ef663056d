# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A controller that starts anew pushes the program again: nothing of the life before may show."""

from __future__ import annotations

import pytest

from lanesum.protocol import LaneOp

from .bmv2 import Bmv2Target
from .conftest import open_target
from .oracle import aggregate
from .star import Star
from .targets import EmbeddedTarget


@pytest.mark.parametrize("complete", [False, True], ids=["collecting", "complete"])
def test_a_switch_with_empty_registers_asks_for_what_it_lost(star: Star, complete: bool) -> None:
    """All are asked, those who have the result as well, because it cannot know who lacks it; the sum is the same."""
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
def test_groups_of_the_life_before_are_gone(name: str) -> None:
    """BMv2 keeps replicas across a push and adds them to the next group of the same number: two results for one."""
    with open_target(name, 64) as target:
        assert isinstance(target, EmbeddedTarget | Bmv2Target)
        before = Star(target)
        job = before.admit(3)
        for worker, words in enumerate(job.words(1)):
            before.contribute(job, worker, words)

        after = Star(target.pushed_again())
        job = after.admit([2, 4])
        contributions = job.words(2)
        assert after.contribute(job, 0, contributions[0]) == []
        assert after.contribute(job, 1, contributions[1]) == job.result(aggregate(LaneOp.ADD32, contributions))

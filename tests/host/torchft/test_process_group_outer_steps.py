# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Four of sixteen replicas end by SIGKILL in the sum of an outer step of DiLoCo; the others go on."""

from __future__ import annotations

import pytest

from tests.host.torchft.replicas import replicas, step_outwards

REPLICAS, VICTIMS = 16, 4


@pytest.mark.long
def test_outer_steps_after_four_kills_sum_over_twelve() -> None:
    survivors = range(VICTIMS, REPLICAS)
    expected = sum(2**number for number in survivors)
    with replicas(min_replicas=len(survivors)) as started:
        for number in range(REPLICAS):
            started.start(number, step_outwards, REPLICAS if number < VICTIMS else 0)
        assert [event[0] for event in started.next(*range(VICTIMS))] == ["dies"] * VICTIMS
        before = set()
        for number in survivors:
            while True:
                ((participants, summed),) = started.next(number)
                assert int(summed).bit_count() == participants, f"replica {number} has a wrong sum: {summed}"
                if participants == len(survivors) and summed == expected:
                    break
                before.add(summed)
        assert 2.0**REPLICAS - 1 in before, "no outer step had all replicas before the kills"

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of observing a job: every block is observed as it says, and ratios have their intervals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lanesum_lab.bench import observation


def test_interval_has_the_ratio_of_noisy_pairs() -> None:
    noise = np.random.default_rng(3).normal(0.0, 0.02, 60)
    found = observation.interval([1.02 + one for one in noise])
    assert found["low"] < 1.02 < found["high"] and found["low"] < found["median"] < found["high"]
    assert found["high"] - found["low"] < 0.03
    assert observation.interval([1.5] * 7) == {"median": 1.5, "low": 1.5, "high": 1.5}


@pytest.mark.long
def test_run_observes_a_job_in_each_mode() -> None:
    result = observation.run(dataclasses.replace(observation.QUICK, sizes=(2000,), repeats=1, block_s=0.2))
    assert [(one["values"], one["by"], one["blocks"]) for one in result["figures"]] == [
        (2000, observation.READ, 1),
        (2000, observation.TRACED, 1),
    ]
    for one in result["figures"]:
        assert min(one["time"]["low"], one["cpu"]["low"]) > 0
    assert all(len(row) == len(observation.COLUMNS) for row in observation.rows(result))

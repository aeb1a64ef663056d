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


def test_cost_at_usual_rates_follows_from_that_of_frequent_reads() -> None:
    times = {"PLAIN": (1.0, 2.0), "READ": (1.04, 2.0), "SCRAPED": (1.1, 2.0), "TRACED": (1.4, 2.6)}
    turns = [{getattr(observation, mode): observation.Block(0.5, *both) for mode, both in times.items()}] * 3
    found = {one["by"]: one for one in observation.figures_of(observation.Settings(block_s=0.5), 1000, turns)}
    assert found[observation.READ]["time"]["median"] == pytest.approx(1.04)
    assert found[observation.TRACED]["cpu"]["median"] == pytest.approx(1.3)
    # In place of each half second: a read every 2 s, a scrape every 15 s, 2 s of a trace every minute.
    usual = found[observation.USUAL]
    assert usual["time"]["median"] == pytest.approx(1 + 0.04 / 4 + 0.06 / 30 + 0.3 / 120 * 2 / 0.375)
    assert usual["cpu"]["median"] == pytest.approx(1 + 0.3 / 120 * 2 / 0.375)


@pytest.mark.long
def test_run_observes_a_job_in_each_mode() -> None:
    result = observation.run(dataclasses.replace(observation.QUICK, sizes=(2000,), repeats=1))
    modes = (*observation.MODES[1:], observation.USUAL)
    assert [(one["values"], one["by"], one["blocks"]) for one in result["figures"]] == [(2000, by, 1) for by in modes]
    for one in result["figures"]:
        assert min(one["time"]["low"], one["cpu"]["low"]) > 0
    assert all(len(row) == len(observation.COLUMNS) for row in observation.rows(result))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of observing a job: every block is observed as it says, and ratios have their intervals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lanesum_lab.bench import observation
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.observation import COUNTED, READ, SCRAPED, TRACED, USUAL
from lanesum_lab.bench.observed_site import Block

COSTS = {"read of top": [0.004] * 3, "scrape of all endpoints": [0.015] * 3, "trace": [0.06] * 2}


def test_interval_has_the_ratio_of_noisy_pairs() -> None:
    noise = np.random.default_rng(3).normal(0.0, 0.02, 60)
    found = observation._interval(observation._resampled([1.02 + one for one in noise], np.median))
    assert found["low"] < 1.02 < found["high"] and found["low"] < found["value"] < found["high"]
    assert found["high"] - found["low"] < 0.03
    same = observation._interval(observation._resampled([1.5] * 7, np.mean))
    assert same == pytest.approx({"value": 1.5, "low": 1.5, "high": 1.5})


def test_cost_at_usual_rates_is_per_minute() -> None:
    def pairs(time: float, cpu: float) -> list[tuple[Block, Block]]:
        return [(Block(2.0, 1.0), Block(2.0 * time, 1.0 * cpu))] * 3

    observed = {READ: pairs(1.01, 1.0), SCRAPED: pairs(1.1, 1.2), TRACED: pairs(1.3, 1.0)}
    settings = observation.Settings(block_s=2.0)
    found = {one["by"]: one for one in observation.figures_of(settings, 1000, observed, COSTS)}
    assert (found[READ]["time"]["value"], found[SCRAPED]["cpu"]["value"]) == pytest.approx((1.01, 1.2))
    # In a minute, four blocks of 2 s have a scrape, and one of 3 s a trace.
    assert found[USUAL]["time"]["value"] == pytest.approx((49 * 1.01 + 8 * 1.1 + 3 * 1.3) / 60)
    assert found[USUAL]["cpu"]["value"] == pytest.approx((52 + 8 * 1.2) / 60)
    assert (found[USUAL]["pairs"], found[TRACED]["pairs"]) == (9, 3)
    # A job without observers uses half a core.
    assert found[COUNTED]["time"]["value"] == pytest.approx(1 + 0.004 / 2 + 0.015 / 15 + 0.06 / 60)
    assert found[COUNTED]["cpu"]["value"] == pytest.approx(1 + 0.008)


def test_share_of_a_core_is_time_by_interval() -> None:
    costs = [*observation.shares_of("of the job", COSTS)]
    assert [one["share"]["value"] for one in costs] == pytest.approx([0.002, 0.001, 0.001])
    first, *_ = observation.cost_rows({"costs": costs})
    assert first == ("read of top", "2 s", "of the job", "0.200% (0.200% to 0.200%)")


def test_run_observes_a_job_in_each_way() -> None:
    for is_last in (False, False, True):
        try:
            result = observation.run(dataclasses.replace(observation.QUICK, sizes=(2000,), block_s=0.4))
            break
        except (BenchError, OSError):  # on a busy machine an endpoint or a trace may take longer than its limit
            if is_last:
                raise
    ways = (READ, SCRAPED, TRACED, USUAL, COUNTED)
    assert [(one["values"], one["by"], one["pairs"]) for one in result["figures"]] == [
        (2000, way, pairs) for way, pairs in zip(ways, (1, 1, 1, 3, 3), strict=True)
    ]
    for one in result["figures"][:-1]:
        assert min(one["time"]["low"], one["cpu"]["low"]) > 0
    assert all(len(row) == len(observation.COLUMNS) for row in observation.rows(result))
    assert [row[:3] for row in observation.cost_rows(result)] == [
        ("read of top", "2 s", "of the job"),
        ("scrape of all endpoints", "15 s", "of the job"),
        ("read of top", "2 s", "of an embedded switch"),
        ("scrape of all endpoints", "15 s", "of an embedded switch"),
        ("trace", "60 s", "of the job"),
    ]

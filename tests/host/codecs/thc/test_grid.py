# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The grid of thc: its error as simulated, its optimum as found by trying everything, its lanes."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from lanesum.codecs.thc.grid import RATIOS, Grid, agreement_weight, best_grid, detours_squared, gain, outer_levels
from lanesum.errors import ConfigurationError


def simulated_error(grid: Grid, agreeing: int, count: int = 400_000) -> float:
    """Round numbers, weighted as normal ones, with the dithers of ``agreeing`` equal workers, in floating point."""
    rng = np.random.default_rng(5)
    y, u, coin = np.linspace(-8, 8, count), rng.random(count), rng.integers(0, 2, count)
    weights = np.exp(-(y**2) / 2)
    g = grid.granularity
    position = np.clip(gain(grid.limit) * y / grid.step + g / 2, 0, g)
    total = np.zeros(count)
    for worker in range(agreeing):
        dither = (u + worker / agreeing) % 1
        level = np.floor(position + dither)
        left_out = ~np.isin(level, grid.levels)
        level += left_out * (2.0 * ((coin + worker) % 2) - 1)
        assert np.isin(level, grid.levels).all()
        total += level - dither + 0.5 - g / 2
    return float(np.average((total / agreeing * grid.step - y) ** 2, weights=weights))


@pytest.mark.parametrize("agreeing", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("levels", [outer_levels(4, 17), outer_levels(4, 22), outer_levels(3, 13), tuple(range(16))])
def test_error_is_that_of_dithered_rounding(levels: tuple[int, ...], agreeing: int) -> None:
    grid = Grid(levels, 2.75)
    assert grid.error(agreeing) == pytest.approx(simulated_error(grid, agreeing), rel=0.02)


@pytest.mark.parametrize(("workers", "lane_max"), [(1, 255), (2, 27), (3, 40), (5, 50)])
def test_best_grid_beats_all_other_levels_and_limits(workers: int, lane_max: int) -> None:
    found = best_grid(3, workers, lane_max, True)

    def cost(grid: Grid) -> float:
        return grid.error() + agreement_weight(workers) * grid.error(workers)

    least = min(
        cost(Grid((0, *inner, g), limit))
        for g in range(7, min(14, lane_max // workers) + 1)
        for inner in combinations(range(1, g), 6)
        if all(high - low <= 2 for low, high in pairwise((0, *inner, g)))
        for limit in np.arange(1.5, 3.5, 0.125)
    )
    assert cost(found) <= least + 1e-9
    assert found.granularity * workers <= lane_max


def test_errors_of_4_bits_are_within_their_bounds() -> None:
    one, eight = best_grid(4, 1, 255, True), best_grid(4, 8, 255, True)
    assert one.levels == eight.levels == (0, *range(2, 16), 17)
    assert one.error() < 0.0120 and eight.error() < 0.0120 and eight.error(8) < 0.0010
    assert {best_grid(4, workers, 255, True).levels for workers in range(1, 16)} == {one.levels}
    # Without a table, as where the lane has no room for one.
    assert best_grid(4, 17, 255, True).uniform and best_grid(4, 17, 255, True).granularity == 15


def test_agreement_asks_for_a_wider_grid() -> None:
    limits = [best_grid(4, n, 65535, False).limit for n in (1, 2, 4, 8, 64)]
    assert limits == sorted(limits) and limits[0] < limits[-1]


def test_error_of_many_agreeing_workers_beats_qsgd() -> None:
    # QSGD with 4 bits has 0.0364 / n for normal vectors. Workers that differ pay at most a seventh for that.
    for workers in (17, 32, 64, 256, 1024):
        assert best_grid(4, workers, 65535, False).error(workers) < 0.0364 / workers
    found = best_grid(4, 64, 65535, False)
    assert found.error(64) < 0.0003 and found.error() < 1.15 * best_grid(4, 17, 65535, False).error()


@pytest.mark.parametrize("ratio", [0.25, 0.7, 1.0])
@pytest.mark.parametrize("limit", [1.5, 2.1, 2.75])
def test_gain_makes_up_for_clamping(limit: float, ratio: float) -> None:
    y = np.linspace(-8, 8, 100_001) * ratio
    density = np.exp(-((y / ratio) ** 2) / 2)
    clamped = np.clip(gain(limit, ratio) * y, -limit, limit)
    assert np.sum(density * y * clamped) == pytest.approx(np.sum(density * y * y), rel=1e-6)
    tabulated = np.interp(ratio, RATIOS, Grid((0, 1), limit).gains)
    assert tabulated == pytest.approx(gain(limit, ratio), rel=1e-4)


@pytest.mark.parametrize(
    ("agreeing", "share", "expected"),
    [(1, 1.0, 1), (1, 0.25, 0.25), (2, 1.0, 0), (2, 0.5, 1), (8, 0.5, 0), (8, 0.375, 1), (3, 2 / 3, 4 / 3)],
)
def test_detours_of_neighbours_cancel(agreeing: int, share: float, expected: float) -> None:
    # Of three workers the last and the first follow each other, and both are even.
    assert detours_squared(agreeing, np.array([share])) == pytest.approx(expected)


def test_outer_levels_leave_no_two_neighbours_out() -> None:
    for bits in (2, 3, 4):
        for g in range(2**bits - 1, 2 * (2**bits - 1) + 1):
            levels = outer_levels(bits, g)
            assert len(levels) == 2**bits and levels[0] == 0 and levels[-1] == g
            assert {high - low for low, high in pairwise(levels)} <= {1, 2}


def test_levels_beyond_a_lane_are_refused() -> None:
    assert best_grid(4, 17, 255, False).granularity * 17 == 255
    with pytest.raises(ConfigurationError, match=r"18 workers x 15 exceed a lane of 255\. Use fewer bits"):
        best_grid(4, 18, 255, False)

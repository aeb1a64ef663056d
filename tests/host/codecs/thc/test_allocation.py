# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of widths: no other plan of the same bits has a smaller error, and all of the norms' extremes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum.codecs.thc.allocation import Ladder, Width

WIDTHS = (Width(3, 11, 0.04), Width(4, 12, 0.011), Width(5, 13, 0.0035), Width(8, 24, 0.0001))
LADDER = Ladder.of(WIDTHS)


def test_ladder_leaves_out_widths_that_never_pay() -> None:
    assert LADDER.widths == (Width(-1, 0, 1.0), *WIDTHS)
    assert Ladder.of((*WIDTHS, Width(6, 20, 0.003))).widths == LADDER.widths
    # Of equal costs the least error counts.
    assert Ladder.of((Width(3, 8, 0.04), Width(5, 8, 0.003), Width(4, 8, 0.01))).widths[1:] == (Width(5, 8, 0.003),)
    slopes = [slope for _, slope in LADDER.steps]
    assert slopes == sorted(slopes, reverse=True) and [cost for cost, _ in LADDER.steps] == [11, 1, 1, 11]


@pytest.mark.parametrize("budget", [0, 11, 30, 47, 60, 96])
def test_plan_has_the_least_error_of_its_cost(budget: int) -> None:
    norms = np.float32([4.0, 0.5, 1.0, 0.0])
    plan = LADDER.plan(norms, 2, budget, 0)
    cost, error = LADDER.cost(plan), LADDER.expected(norms, plan)
    assert cost <= budget and plan[3] == 0
    for other in itertools.product(range(len(LADDER.widths)), repeat=norms.size):
        if LADDER.cost(np.array(other)) <= cost:
            assert LADDER.expected(norms, np.array(other)) >= error * (1 - 1e-12)


def test_exponent_of_one_gives_small_blocks_more_bits() -> None:
    norms = np.float32([100.0, 1.0, 1.0, 1.0])
    one, two = (LADDER.plan(norms, exponent, 36, 0) for exponent in (1, 2))
    assert one[0] <= two[0] and one[1:].sum() > two[1:].sum()


@pytest.mark.parametrize("error", [0.5, 0.04, 0.01, 0.001])
def test_plan_for_error_reaches_it_with_fewest_steps(error: float) -> None:
    norms = np.random.default_rng(1).lognormal(sigma=2, size=200).astype(np.float32)
    plan = LADDER.plan(norms, 2, None, error)
    energy = float(np.sum(norms.astype(np.float64) ** 2))
    assert LADDER.expected(norms, plan) <= error * energy
    fewer = LADDER.plan(norms, 2, LADDER.cost(plan) - 11, 0)
    assert LADDER.expected(norms, fewer) > error * energy


def relative_error(norms: np.ndarray, plan: np.ndarray) -> float:
    """Return the error of the blocks in units of their own energy, weighted by their norms."""
    errors = np.array([one.error for one in LADDER.widths])[plan]
    return float(np.average(errors, weights=norms.astype(np.float64)))


@pytest.mark.parametrize("error", [0.04, 0.01, 0.001])
def test_exponent_of_one_bounds_relative_error(error: float) -> None:
    """Blocks of little energy have a bound of their own, which the error of the whole vector does not give."""
    norms = np.random.default_rng(1).lognormal(sigma=2, size=200).astype(np.float32)
    plans = [LADDER.plan(norms, exponent, None, error) for exponent in (1, 2)]
    assert relative_error(norms, plans[0]) <= 2 * error < relative_error(norms, plans[1])
    assert LADDER.expected(norms, plans[0]) <= error * float(np.sum(norms.astype(np.float64) ** 2))
    fewer = LADDER.plan(norms, 1, LADDER.cost(plans[0]) - 11, 0)
    assert relative_error(norms, fewer) > 2 * error


@pytest.mark.parametrize("largest", [1e-45, 1.0, 3.4e38])
def test_norms_at_ends_of_float32_have_plan(largest: float) -> None:
    one = np.zeros(50, np.float32)
    one[7] = largest
    for exponent in (1, 2):
        assert np.flatnonzero(LADDER.plan(one, exponent, 600, 0)).tolist() == [7]
        assert LADDER.plan(one, exponent, 600, 0)[7] == len(WIDTHS)
        assert not LADDER.plan(np.zeros(50, np.float32), exponent, 600, 0).any()
    assert not LADDER.plan(np.zeros(50, np.float32), 1, None, 0.01).any()


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(np.float32, st.integers(1, 40), elements=st.floats(0, 3.4028234663852886e38, width=32)),
    st.sampled_from([1, 2]),
    st.integers(0, 1200),
    st.sampled_from([0.0, 0.01, 0.5]),
)
def test_any_norms_have_a_plan_within_the_budget(norms: np.ndarray, exponent: int, budget: int, error: float) -> None:
    plan = LADDER.plan(norms, exponent, budget, error)
    assert plan.shape == norms.shape and LADDER.cost(plan) <= budget and not plan[norms == 0].any()
    assert (np.diff(plan[np.argsort(-norms, kind="stable")]) <= 0).all()
    unlimited, energy = LADDER.plan(norms, 2, None, error), float(np.sum(norms.astype(np.float64) ** 2))
    assert LADDER.expected(norms, unlimited) <= (max(error, WIDTHS[-1].error) + 1e-5) * energy

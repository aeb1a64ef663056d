# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the bits of gradients, beside closed forms for normal values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lanesum_lab.baselines.eden import level_error
from lanesum_lab.bench.bounds import bounds, rounding_error


@pytest.mark.parametrize(
    ("levels", "uniform", "any_levels"),
    [(2, 0.3634, 0.3634), (3, 0.1902, 0.1902), (4, 0.1188, 0.1175), (8, 0.03744, 0.03454), (16, 0.01154, 0.009497)],
)
def test_errors_of_normal_values_are_the_published_ones(levels: int, uniform: float, any_levels: float) -> None:
    assert rounding_error(levels) == pytest.approx(uniform, rel=1e-3)
    assert level_error(levels) == pytest.approx(any_levels, rel=1e-3)


def normal_vectors(deviations: np.ndarray) -> list[np.ndarray]:
    """Return independent normal vectors of four workers."""
    return [
        (np.random.default_rng(worker).normal(size=deviations.size) * deviations).astype(np.float32)
        for worker in range(4)
    ]


def test_bounds_of_normal_vectors_match_normal_values() -> None:
    """The mean of four vectors has a quarter of their energy, and its error a quarter of theirs."""
    vectors, error = normal_vectors(np.ones(1 << 16)), rounding_error(16)
    found = bounds(vectors, error)
    assert found.rate_up == pytest.approx(math.log2(1 / error) / 2, rel=0.01)
    assert found.rate_down == pytest.approx(found.rate_up, rel=0.01)
    assert found.grid_up == pytest.approx(4, abs=0.05) and found.grid_down == pytest.approx(math.log2(61), abs=0.05)
    assert bounds(vectors, level_error(16)).scalar_up == pytest.approx(4, abs=0.05)


def test_grids_of_two_energies_match_hand_computed_division() -> None:
    """A quarter of the vector has 16 times the energy of the rest, and gets 16 levels where the rest gets 3.

    By the published errors, the next level saves 0.18 per bit there, and the last one saved 0.25; elsewhere 0.17 and
    0.30. So any other plan that saves bits at one place pays more at the other.
    """
    large = np.arange(1 << 17) < 1 << 15
    energy = np.where(large, 16.0, 1.0)
    error = energy * np.where(large, rounding_error(16), rounding_error(3))
    found = bounds(normal_vectors(np.sqrt(energy)), float(error.sum() / energy.sum()))
    assert found.grid_up == pytest.approx((4 + 3 * math.log2(3)) / 4, abs=0.05)
    assert found.grid_down == pytest.approx((math.log2(61) + 3 * math.log2(9)) / 4, abs=0.05)


def test_bounds_leave_out_blocks_without_energy() -> None:
    vectors = [np.zeros(4096, np.float32) for _ in range(2)]
    for worker, vector in enumerate(vectors):
        vector[:512] = np.random.default_rng(worker).normal(size=512)
    assert bounds(vectors, 0.01).grid_up < bounds([vector[:512] for vector in vectors], 0.01).grid_up / 7

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on the bits of gradients, beside closed forms for normal values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lanesum.codecs.thc.grid import best_of
from lanesum_lab.bench.bounds import bounds


def test_bounds_of_independent_normal_vectors_are_those_of_normal_values() -> None:
    """The mean of four vectors has a quarter of their energy, and its error a quarter of theirs."""
    vectors = [np.random.default_rng(worker).normal(size=1 << 16).astype(np.float32) for worker in range(4)]
    error = best_of([tuple(range(16))], 4).error()
    found = bounds(vectors, error)
    assert found.rate_up == pytest.approx(math.log2(1 / error) / 2, rel=0.01)
    assert found.rate_down == pytest.approx(found.rate_up, rel=0.01)
    assert found.grid_up == pytest.approx(4, abs=0.1) and found.grid_down == pytest.approx(math.log2(61), abs=0.1)


def test_bounds_leave_out_blocks_without_energy() -> None:
    vectors = [np.zeros(4096, np.float32) for _ in range(2)]
    for worker, vector in enumerate(vectors):
        vector[:512] = np.random.default_rng(worker).normal(size=512)
    assert bounds(vectors, 0.01).grid_up < bounds([vector[:512] for vector in vectors], 0.01).grid_up / 7

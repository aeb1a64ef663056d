# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fixed point with NaN and infinities in their own elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum.codecs import FixedPoint
from lanesum.codecs.fixed import ElementwiseFixed
from lanesum_lab.codec_simulation import simulate

# Integers and their sums are exact, so an infinity or a NaN is the only difference between elements.
elements = st.one_of(st.integers(-100, 100).map(float), st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))


def codec(workers: int, gathered: int) -> ElementwiseFixed:
    return ElementwiseFixed(workers=workers, block=4, gathered=gathered, power_of_two=True)


@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(1, 6), st.sampled_from([0, 2048]), st.booleans())
def test_sum_is_that_of_float_addition(data: st.DataObject, workers: int, gathered: int, average: bool) -> None:
    size = data.draw(st.integers(1, 12))
    vectors = [data.draw(hnp.arrays(np.float32, size, elements=elements)) for _ in range(workers)]
    run = simulate(codec(workers, gathered), vectors, average=average, complete=True)
    with np.errstate(invalid="ignore"):
        expected = (np.sum(np.array(vectors, np.float64), axis=0) / (workers if average else 1)).astype(np.float32)
    np.testing.assert_array_equal(run.values, expected)
    for result in run.results:
        assert result.values.tobytes() == run.values.tobytes() and not result.not_finite
    all_finite = FixedPoint(workers=workers, block=4, gathered=gathered).shapes(size)
    assert tuple(run.rounds) == (all_finite if np.isfinite(vectors).all() else codec(workers, gathered).shapes(size))


@pytest.mark.parametrize("workers", [2, 1024])
def test_counts_of_all_workers_are_kept_apart(workers: int) -> None:
    vectors = [np.array([np.inf, -np.inf, np.nan, 1, 2], np.float32)] * (workers - 1)
    vectors.append(np.array([np.inf, -np.inf, 3, np.nan, -np.inf], np.float32))
    run = simulate(codec(workers, 0), vectors, average=False, complete=True, alone=True)
    np.testing.assert_array_equal(run.values, [np.inf, -np.inf, np.nan, np.nan, -np.inf])


def test_finite_vectors_have_rounds_and_bits_of_fixed() -> None:
    vectors = list(np.random.default_rng(3).normal(size=(3, 5000)).astype(np.float32))
    own = simulate(ElementwiseFixed(workers=3), vectors, complete=True)
    fixed = simulate(FixedPoint(workers=3), vectors, complete=True)
    assert own.values.tobytes() == fixed.values.tobytes()
    assert own.rounds == fixed.rounds

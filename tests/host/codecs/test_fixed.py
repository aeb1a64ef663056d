# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The fixed-point codec: exact sums, its stated error bound, no overflow, extreme magnitudes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lanesum import codecs
from lanesum.codecs import Aggregate, CodecContext, CodecError, FixedPoint, UnencodableError
from lanesum.codecs.checks import summed, uniform_contributors
from lanesum.codecs.gathered import gathered_shape
from lanesum.codecs.kernels import reference
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.codecs.kernels.interface import BlockUnits
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import simulate

FLOAT32_MAX = np.float32(np.finfo(np.float32).max)
DENORMAL = np.float32(1e-45)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[np.ndarray], int]:
    workers = draw(st.integers(1, 9))
    size = draw(st.integers(0, 40))
    vectors = [draw(hnp.arrays(np.float32, size, elements=finite)) for _ in range(workers)]
    return vectors, draw(st.integers(1, 17))


def bound(vectors: list[np.ndarray], values: np.ndarray, block: int) -> np.ndarray:
    """The bound that the docstring of FixedPoint states, per coordinate, for the mean."""
    n = len(vectors)
    largest = np.max(np.abs(np.array(vectors, dtype=np.float64)), axis=0)
    per_block = [largest[i : i + block].max() for i in range(0, largest.size, block)]
    limit = np.repeat(per_block, block)[: largest.size] / (2 * ((2**31 - 1) // n)) * (1 + 2**-20)
    return limit + np.abs(values.astype(np.float64)) * 2**-24 + 2**-150


@settings(deadline=None, max_examples=150)
@given(jobs())
def test_mean_is_within_bound_and_equal_everywhere(
    job: tuple[list[np.ndarray], int],
) -> None:
    vectors, block = job
    run = simulate(FixedPoint(workers=len(vectors), block=block), vectors)
    mean = np.mean(np.array(vectors, dtype=np.float64), axis=0)
    if vectors[0].size:
        assert (np.abs(run.values - mean) <= bound(vectors, run.values, block)).all()
    for result in run.results:
        assert result.values.tobytes() == run.values.tobytes()
        assert result.values.dtype == np.float32


@settings(deadline=None, max_examples=100)
@given(jobs(), st.booleans())
def test_few_values_are_gathered_and_added_in_order(job: tuple[list[np.ndarray], int], average: bool) -> None:
    vectors, _ = job
    workers, size = len(vectors), vectors[0].size
    codec = FixedPoint(workers=workers)
    run = simulate(codec, vectors, average=average, complete=True, keep_residual=True)
    assert [words.size for words in run.aggregates] == [shape.words for shape in codec.shapes(size)]
    assert len(run.aggregates) == bool(size)
    total = np.zeros(size)
    for vector in vectors:
        total += vector
    with np.errstate(over="ignore"):
        expected = (total / workers if average else total).astype(np.float32)
    for result in run.results:
        assert np.array_equal(result.values, expected) and result.values.dtype == np.float32
        assert result.values.tobytes() == run.values.tobytes()
        assert result.residual is not None and not result.residual.any()


def test_gather_is_bounded_and_absent_with_quorum() -> None:
    codec = FixedPoint(workers=3, gathered=30)
    rng = np.random.default_rng(2)

    def rounds(codec: FixedPoint, size: int, **options: bool) -> list[int]:
        vectors = [rng.normal(size=size).astype(np.float32) for _ in range(3)]
        run = simulate(codec, vectors, **options)
        np.testing.assert_allclose(run.values, np.mean(vectors, axis=0), rtol=1e-5, atol=1e-7)
        return [words.size for words in run.aggregates]

    assert rounds(codec, 10, complete=True) == [30]
    assert rounds(codec, 11, complete=True) == [1, 11]
    assert rounds(codec, 10) == [1, 10]
    assert rounds(FixedPoint(workers=3, gathered=0), 1, complete=True) == [1, 1]
    # Workers with different limits would have different rounds.
    assert codec.describe() != FixedPoint(workers=3).describe()


def test_gather_where_another_worker_is_not_finite_raises() -> None:
    contexts = [CodecContext(workers=2, worker=own, complete=True, not_finite=own == 1, tensor="t") for own in range(2)]
    steps = [FixedPoint(workers=2, gathered=20).all_reduce(np.zeros(10, np.float32), one) for one in contexts]
    total = sum(next(one).words for one in steps)
    for one in steps:
        with pytest.raises(UnencodableError, match="'t' is not finite at some worker"):
            one.send(Aggregate(total, 2))


def test_scale_where_another_worker_is_not_finite_raises() -> None:
    contexts = [CodecContext(workers=2, worker=own, complete=True, not_finite=own == 1, tensor="t") for own in range(2)]
    steps = [FixedPoint(workers=2, gathered=0).all_reduce(np.zeros(10, np.float32), one) for one in contexts]
    largest = np.maximum(*(next(one).words for one in steps))
    for one in steps:
        with pytest.raises(UnencodableError, match="'t' is not finite at some worker"):
            one.send(Aggregate(largest, 2))


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 8, 17, 1000])
def test_largest_values_of_all_workers_never_overflow(workers: int) -> None:
    codec = FixedPoint(workers=workers)
    assert workers * codec.peak <= 2**31 - 1 < workers * (codec.peak + 1)
    for sign in (1, -1):
        run = simulate(codec, [np.full(3, sign * FLOAT32_MAX)] * workers)
        assert (run.aggregates[1].view(np.int32) == sign * workers * codec.peak).all()
        assert (run.values == sign * FLOAT32_MAX).all()


def test_rounds_half_to_even() -> None:
    peak = 2**14
    x = np.array([1.0, 0.5 / peak, 1.5 / peak, 2.5 / peak, -0.5 / peak], dtype=np.float32)
    integers = np.empty(5, dtype=np.int32)
    kernels().to_integers(x, BlockUnits(np.ones(1, dtype=np.float32), peak, 5), integers)
    assert integers.tolist() == [peak, 0, 2, 2, 0]


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_power_of_two_units_sum_whole_numbers_exactly(workers: int) -> None:
    generator = np.random.default_rng(workers)
    vectors = [generator.integers(-10_000, 10_000, 3000).astype(np.float32) for _ in range(workers)]
    run = simulate(FixedPoint(workers=workers, power_of_two=True), vectors, average=False, keep_residual=True)
    assert (run.values == sum(vectors)).all()
    assert all(not np.any(result.residual) for result in run.results)


def test_power_of_two_is_its_own_unit() -> None:
    codec = FixedPoint(workers=2, block=1, power_of_two=True)
    run = simulate(codec, [np.ones(1, np.float32)] * 2)
    assert run.aggregates[-1].tolist() == [2 * codec.peak]


def test_powers_of_two_end_where_float32_does() -> None:
    x = np.array([0, DENORMAL, 1, 1.5, 2.0**126, FLOAT32_MAX], np.float32)
    run = simulate(FixedPoint(workers=2, block=1, power_of_two=True), [x, x])
    assert (run.values == x).all()


def test_magnitudes_from_zero_to_the_largest() -> None:
    x = np.zeros(40, dtype=np.float32)
    x[10:20] = DENORMAL
    x[20:30] = FLOAT32_MAX
    x[30:] = np.linspace(-1, 1, 10)
    run = simulate(FixedPoint(workers=3, block=10), [x, x, x])
    assert (run.values[:30] == x[:30]).all()
    np.testing.assert_allclose(run.values[30:], x[30:], atol=2e-9)


def test_small_block_beside_large_one_keeps_precision() -> None:
    x = np.concatenate([np.full(8, 1e30), np.linspace(-1e-30, 1e-30, 8)]).astype(np.float32)
    run = simulate(FixedPoint(workers=2, block=8), [x, x])
    np.testing.assert_allclose(run.values, x, rtol=1e-6, atol=1e-38)


@pytest.mark.parametrize("loops", [kernels(), reference])
def test_long_block_takes_no_memory_of_its_length(loops: Any) -> None:
    x, units = np.array([4, -1], np.float32), BlockUnits(np.array([4], np.float32), 8, 1 << 40)
    integers, values = np.empty(2, np.int32), np.empty(2, np.float32)
    loops.to_integers(x, units, integers)
    loops.from_integers(integers, units, 1, None, values)
    assert integers.tolist() == [8, -2] and (values == x).all()


def test_shapes_are_those_of_the_rounds() -> None:
    codec = FixedPoint(workers=1, block=16)
    steps = codec.all_reduce(np.ones(33, dtype=np.float32), CodecContext(workers=1, worker=0))
    first = next(steps)
    assert [(s.op, s.words) for s in codec.shapes(33)] == [(LaneOp.ADD32, 33)]
    assert [(s.op, s.words) for s in codec.shapes(2049)] == [(LaneOp.MAX, 129), (LaneOp.ADD32, 2049)]
    assert (first.op, first.words.size, first.result_words) == (LaneOp.MAX, 3, 3)


def test_sum_and_quorum_count_the_contributors_only() -> None:
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=50).astype(np.float32) for _ in range(4)]
    codec = FixedPoint(workers=4)
    total = simulate(codec, vectors, average=False, contributors=[0, 2, 3], keep_residual=True)
    np.testing.assert_allclose(total.values, vectors[0] + vectors[2] + vectors[3], rtol=1e-5, atol=1e-7)
    assert (total.results[1].residual == vectors[1]).all()
    assert total.results[0].residual is not None and np.abs(total.results[0].residual).max() < 1e-8


def test_gathered_values_of_some_workers_are_refused() -> None:
    context, words = CodecContext(workers=3, worker=0), np.zeros(6, np.uint32)
    with pytest.raises(CodecError, match="Some of the 3 workers are not in a sum"):
        summed(Aggregate(words, np.full(6, 2)), gathered_shape(2, 3), context)


def test_uniform_contributors_of_different_counts_is_none() -> None:
    words = np.zeros(3, np.uint32)
    assert uniform_contributors(Aggregate(words, np.array([2, 2, 2]))) == 2
    assert uniform_contributors(Aggregate(words, np.array([2, 2, 3]))) is None


def test_worker_missing_from_the_scale_round_saturates() -> None:
    vectors = [np.full(4, 1.0, dtype=np.float32), np.full(4, -50.0, dtype=np.float32)]
    codec = FixedPoint(workers=2)
    steps = codec.all_reduce(vectors[1], CodecContext(workers=2, worker=1, keep_residual=True))
    next(steps)
    values = steps.send(codecs.Aggregate(np.full(1, 1.0, dtype=np.float32).view(np.uint32), 1, False))
    assert (values.words.view(np.int32) == -codec.peak).all()


def test_wrong_types_lengths_and_settings_are_refused() -> None:
    codec = FixedPoint(workers=1)
    one = CodecContext(workers=1, worker=0)
    with pytest.raises(CodecError, match="float64"):
        next(codec.all_reduce(np.ones(3), one))  # type: ignore[arg-type]
    with pytest.raises(CodecError, match="sized for 1"):
        next(codec.all_reduce(np.ones(3, dtype=np.float32), CodecContext(workers=2, worker=0)))
    steps = codec.all_reduce(np.ones(3, dtype=np.float32), one)
    next(steps)
    with pytest.raises(
        CodecError, match=r"The aggregate of a MAX round has uint32 words of shape \(2,\), not 1 uint32"
    ):
        steps.send(codecs.Aggregate(np.zeros(2, dtype=np.uint32), 1))
    many: list[tuple[Any, Any, str]] = [
        (np.ones(2, dtype=np.int64), True, r"contributors of a MAX aggregate has shape \(2,\), not one per word"),
        (1, np.ones(2, dtype=np.bool_), r"included of a MAX aggregate has shape \(2,\), not one per word"),
        (0, True, "The aggregate of a MAX round has no contributor"),
    ]
    for contributors, included, message in many:
        steps = codec.all_reduce(np.ones(3, dtype=np.float32), one)
        words = next(steps).words
        with pytest.raises(CodecError, match=message):
            steps.send(codecs.Aggregate(words, contributors, included))
    with pytest.raises(ConfigurationError, match="Invalid workers=0 for codec fixed: expected an integer from 1"):
        FixedPoint(workers=0)
    with pytest.raises(ConfigurationError, match="Invalid block=0 for codec fixed: expected an integer from 1"):
        FixedPoint(workers=1, block=0)
    with pytest.raises(ConfigurationError, match="Invalid gathered=-1 for codec fixed: expected an integer from 0"):
        FixedPoint(workers=1, gathered=-1)
    with pytest.raises(ConfigurationError, match="Worker 2 of 2 does not exist"):
        CodecContext(workers=2, worker=2)
    with pytest.raises(ConfigurationError, match="Seed -1, round 0: a seed has 64 bits and a round is not negative"):
        CodecContext(workers=2, worker=1, seed=-1)

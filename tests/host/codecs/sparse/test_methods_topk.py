# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``topk``: what it keeps, what it remembers, and that its cost is that of the union alone."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs import CodecContext, CodecError, ErrorFeedback, TopK
from lanesum.errors import ConfigurationError
from lanesum_lab.codec_simulation import simulate
from tests.host.codecs.samples import gaussian


@pytest.mark.parametrize("density", [1e-9, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("size", [1, 10, 3001])
def test_largest_values_are_kept(density: float, size: int) -> None:
    x = gaussian(size, size)
    mask = TopK(workers=1, density=density).kept(x)
    assert np.count_nonzero(mask) == int(np.ceil(size * density))
    assert np.abs(x[mask]).min() >= np.abs(x[~mask]).max(initial=0)


def test_equal_magnitudes_keep_first_and_never_zeros() -> None:
    x = np.array([0, 2, -2, 1, 2, 0, -3, 2], np.float32)
    assert np.flatnonzero(TopK(workers=1, density=3 / 8).kept(x)).tolist() == [1, 2, 6]
    assert np.flatnonzero(TopK(workers=1, density=1.0).kept(x)).tolist() == [1, 2, 3, 4, 6, 7]


def test_threshold_keeps_values_at_least_as_large() -> None:
    x = np.array([0.5, -0.5, 0.49, 0, 7, -0.0], np.float32)
    assert TopK(workers=1, threshold=0.5).kept(x).tolist() == [True, True, False, False, True, False]
    assert TopK(workers=1, threshold=1e-60).kept(x).tolist() == [True, True, True, False, True, False]


@pytest.mark.parametrize("codec", ["auto", "sketch", "union"])
def test_sum_has_kept_values_and_residual_the_rest(codec: str) -> None:
    vectors = [np.round(gaussian(worker, 20_000) * 1000) for worker in range(4)]
    job = [TopK(workers=4, codec=codec) for _ in vectors]
    for number in range(3):
        run = simulate(job, vectors, tensor="t", round=number, average=False, keep_residual=True)
        kept = [np.where(one.kept(x), x, 0) for one, x in zip(job, vectors, strict=True)]
        assert (run.values == sum(kept)).all()
        for result, x, said in zip(run.results, vectors, kept, strict=True):
            assert result.residual is not None and (result.residual == x - said).all()


def test_error_feedback_says_everything_in_the_end() -> None:
    vectors = [gaussian(worker, 5000) for worker in range(2)]
    job = [ErrorFeedback(TopK(workers=2, density=0.05)) for _ in vectors]
    total = np.zeros(5000)
    rounds = 100
    for number in range(rounds):
        total += simulate(job, vectors, tensor="t", round=number).values
    mean = np.mean(np.array(vectors, np.float64), axis=0)
    assert np.linalg.norm(total / rounds - mean) < 0.25 * np.linalg.norm(mean)
    left = np.mean([one.memory("t") for one in job], axis=0, dtype=np.float64)
    np.testing.assert_allclose(total + left, rounds * mean, atol=1e-3)


def test_cost_depends_on_union_and_not_on_workers() -> None:
    """The same places on all workers: as many words for 2 as for 16. An all-gather grows with the workers."""
    size, words = 100_000, {}
    places = np.random.default_rng(0).choice(size, 1000, replace=False)
    for workers in (2, 4, 16):
        vectors = []
        for worker in range(workers):
            x = np.zeros(size, np.float32)
            x[places] = gaussian(worker, 1000) + 10
            vectors.append(x)
        job = [TopK(workers=workers, density=0.01, codec="sketch") for _ in vectors]
        for number in range(2):
            run = simulate(job, vectors, tensor="t", round=number)
        words[workers] = sum(one.size for one in run.aggregates)
    assert len(set(words.values())) == 1
    # Down an all-gather brings every worker a value and a place of each worker.
    assert words[2] < 2 * 1000 * 2 * 1.0 and words[16] < 16 * 1000 * 2 / 8


def test_checkpoint_restores_error_feedback_and_inner_codec() -> None:
    vectors = [gaussian(worker, 20_000) for worker in range(2)]
    job = [ErrorFeedback(TopK(workers=2)) for _ in vectors]
    for number in range(2):
        simulate(job, vectors, tensor="t", round=number)
    later = [ErrorFeedback(TopK(workers=2)) for _ in vectors]
    for one, before in zip(later, job, strict=True):
        one.load_state_dict(before.state_dict())
    here, there = (simulate(some, vectors, tensor="t", round=2) for some in (job, later))
    assert [words.tobytes() for words in here.aggregates] == [words.tobytes() for words in there.aggregates]
    with pytest.raises(CodecError, match="state"):
        later[0].load_state_dict({"codec": "topk", "memory": {}})


def test_mismatched_state_is_refused() -> None:
    for wrong, message in (
        ({"density": 0.0}, r"Invalid density=0\.0 for codec topk: expected 0 < density <= 1"),
        ({"density": 1.1}, r"Invalid density=1\.1 for codec topk: expected 0 < density <= 1"),
        ({"threshold": 0.0}, r"Invalid threshold=0\.0 for codec topk: expected a number above 0"),
        ({"threshold": np.inf}, "Invalid threshold=inf for codec topk: expected a number above 0"),
        ({"codec": "thc"}, "Invalid codec='thc' for codec topk: expected one of "),
    ):
        with pytest.raises(ConfigurationError, match=message):
            TopK(**{"workers": 2, **wrong})  # type: ignore[arg-type]
    bad = gaussian(1, 50)
    bad[7] = np.nan
    with pytest.raises(CodecError, match="'t': element 7 is nan"):
        next(TopK(workers=1).all_reduce(bad, CodecContext(workers=1, worker=0, tensor="t")))
    empty = np.zeros(0, np.float32)
    assert simulate(TopK(workers=1), [empty], keep_residual=True).values.size == 0

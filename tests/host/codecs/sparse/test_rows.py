# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Row-sparse tensors: exact sums of the rows that any worker has."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.codecs import Aggregate, CodecContext, CodecError
from lanesum.codecs.sparse.rows import RowUnion
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import simulate

NUM_ROWS, WIDTH = 10_000, 24


def whole_rows(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of ``count`` rows, and their values: whole numbers, which any order adds up exactly."""
    rows = np.sort(rng.choice(NUM_ROWS, count, replace=False))
    return rows, rng.integers(-1000, 1000, (count, WIDTH)).astype(np.float32)


def codec_of(rows: np.ndarray, workers: int) -> RowUnion:
    return RowUnion(rows.astype(np.int64), num_rows=NUM_ROWS, width=WIDTH, workers=workers)


@pytest.mark.parametrize("counts", [(100, 100, 100), (0, 50, 1), (0, 0, 0), (NUM_ROWS, 3, 0)], ids=str)
def test_row_sums_are_exact_on_all_workers(counts: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    owned = [whole_rows(rng, count) for count in counts]
    codecs = [codec_of(rows, len(counts)) for rows, _ in owned]
    done = simulate(codecs, [values.reshape(-1) for _, values in owned], average=False, complete=True)
    dense = np.zeros((NUM_ROWS, WIDTH), np.float32)
    for rows, values in owned:
        dense[rows] += values
    union = np.unique(np.concatenate([rows for rows, _ in owned]))
    for codec, result in zip(codecs, done.results, strict=True):
        np.testing.assert_array_equal(codec.union, union)
        np.testing.assert_array_equal(result.values.reshape(-1, WIDTH), dense[union])
        assert result.values.tobytes() == done.values.tobytes()


def test_words_follow_union_not_the_tensor() -> None:
    rng = np.random.default_rng(2)
    owned = [whole_rows(rng, 200) for _ in range(4)]
    done = simulate([codec_of(rows, 4) for rows, _ in owned], [values.reshape(-1) for _, values in owned])
    union = np.unique(np.concatenate([rows for rows, _ in owned])).size
    index, *values = done.rounds
    assert index.op is LaneOp.OR and index.words == -(-NUM_ROWS // 32)
    assert union * WIDTH <= sum(shape.words for shape in values) <= union * WIDTH * 1.01


@pytest.mark.parametrize("rows", [[3, 3], [4, 2], [-1], [NUM_ROWS]], ids=str)
def test_row_numbers_unordered_or_out_of_range_raise(rows: list[int]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"The numbers of \d rows do not increase from 0 to at most \d+\. Coalesce the tensor"
    ):
        codec_of(np.array(rows), 2)


def test_aggregate_without_rows_of_this_worker_is_refused() -> None:
    steps = codec_of(np.array([1, 2]), 1).all_reduce(np.zeros(2 * WIDTH, np.float32), CodecContext(workers=1, worker=0))
    with pytest.raises(CodecError, match="The aggregate of the index round lacks rows of this worker"):
        steps.send(Aggregate(np.zeros_like(next(steps).words), 1))


def test_values_that_do_not_fit_rows_are_refused() -> None:
    with pytest.raises(CodecError, match=r"\d values are not 2 rows of 24 values"):
        simulate([codec_of(np.array([1, 2]), 1)], [np.zeros(WIDTH, np.float32)])

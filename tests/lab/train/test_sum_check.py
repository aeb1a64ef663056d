# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Check of recorded sums: it counts the wrong words after the training, and leaves no files."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch.distributed as dist

from lanesum.codecs import FixedPoint
from lanesum.codecs.base import Aggregate, Round
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.protocol import LaneOp
from lanesum.session import ObservedRound
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.train.sum_check import RecordedSumCheck, SumCheckError
from tests.host.torch.ranks import Ranks

WORDS = 990  # whole groups of any operation


def own_words(op: LaneOp, worker: int) -> np.ndarray:
    words = np.random.default_rng(worker).integers(0, 2**32, WORDS, np.uint32)
    # MAX takes non-negative int32.
    return words >> np.uint32(1) if op is LaneOp.MAX else words


def observed(rank: int, op: LaneOp, wrong_words: int) -> ObservedRound:
    """A round of two workers; ``wrong_words`` words are wrong on rank 1 only."""
    codec = PaperTHC(workers=2) if op.shape.lookup else FixedPoint(workers=2)
    first, second = (lane_contribution(op, own_words(op, worker), codec.code_table) for worker in range(2))
    result = {LaneOp.OR: np.bitwise_or, LaneOp.MAX: np.maximum}.get(op, np.add)(first, second)
    if rank == 1:
        result[10 : 10 + wrong_words] ^= np.uint32(1 << 31)
    return ObservedRound(codec, Round(op, own_words(op, rank)), Aggregate(result, 2), np.full((1, 1), 3, np.uint32))


def corrupted(rank: int, op: LaneOp, wrong_words: int, limit_bytes: int) -> tuple[int, int]:
    with RecordedSumCheck(limit_bytes) as check:
        for _ in range(3):
            check(observed(rank, op, 0))
        check(observed(rank, op, wrong_words))
        check.compare()
        return check.checked, check.wrong


@pytest.mark.parametrize("op", list(LaneOp), ids=lambda op: op.name)
@pytest.mark.parametrize("wrong_words", [0, 3])
def test_recorded_check_counts_wrong_words_of_own_rank(ranks: Ranks, op: LaneOp, wrong_words: int) -> None:
    checked = 4 * op.shape.accumulator_words(WORDS)
    assert ranks.run(corrupted, [0, 1], op, wrong_words, 1 << 20) == [(checked, 0), (checked, wrong_words)]


def test_recorded_check_at_its_limit_compares_early(ranks: Ranks) -> None:
    """The record never holds more than one round."""
    for checked, wrong in ranks.run(corrupted, [0, 1], LaneOp.ADD32, 5, 1):
        assert (checked, wrong) in ((4 * WORDS, 0), (4 * WORDS, 5))


def quorum(rank: int) -> tuple[int, int]:
    """The second half of the round has worker 0 alone, but the result holds both in its last word."""
    first, second = (own_words(LaneOp.ADD32, worker) for worker in range(2))
    half = np.arange(WORDS) < WORDS // 2
    result = first + np.where(half, second, np.uint32(0)).astype(np.uint32)
    result[-1] += second[-1]
    aggregate = Aggregate(result, 1 + half.astype(np.int64), np.ones(WORDS, np.bool_) if rank == 0 else half)
    named = np.array([[3], [1]], np.uint32)
    with RecordedSumCheck() as check:
        check(ObservedRound(FixedPoint(workers=2), Round(LaneOp.ADD32, (first, second)[rank]), aggregate, named))
        check.compare()
        return check.checked, check.wrong


def test_recorded_check_of_quorum_compares_named_contributors(ranks: Ranks) -> None:
    assert ranks.run(quorum, [0, 1]) == [(WORDS, 1)] * 2


def other_rounds(rank: int) -> str:
    with RecordedSumCheck() as check:
        for _ in range(1 + rank):
            check(observed(rank, LaneOp.ADD32, 0))
        try:
            check.compare()
        except SumCheckError as error:
            return str(error)
        finally:
            dist.barrier()  # a rank removes the folder that the other one reads
    return ""


def test_recorded_check_of_different_rounds_raises(ranks: Ranks) -> None:
    for message in ranks.run(other_rounds, [0, 1]):
        assert "recorded different rounds" in message


def in_folder(rank: int, folder: str, hidden: bool) -> str:
    """Return the error; the folder of the record is gone on rank 1 if it is ``hidden``."""
    before, tempfile.tempdir = tempfile.tempdir, folder
    is_dir = Path.is_dir
    try:
        if hidden and rank == 1:
            Path.is_dir = lambda self: False  # type: ignore[method-assign]
        with RecordedSumCheck() as check:
            check(observed(rank, LaneOp.ADD32, 0))
            check.compare()
    except SumCheckError as error:
        return str(error)
    finally:
        tempfile.tempdir = before
        Path.is_dir = is_dir  # type: ignore[method-assign]
        dist.barrier()
    return ""


@pytest.mark.parametrize("hidden", [False, True])
def test_recorded_check_leaves_no_files(ranks: Ranks, tmp_path: Path, hidden: bool) -> None:
    for message in ranks.run(in_folder, [0, 1], str(tmp_path), hidden):
        assert ("Ranks [1] do not see the folder" in message) == hidden
    assert os.listdir(tmp_path) == []
    shutil.rmtree(tmp_path)

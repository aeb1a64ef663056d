# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Independent check of sums: it counts the wrong words."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
import torch.distributed as dist

from lanesum.codecs import FixedPoint
from lanesum.codecs.base import Aggregate, Round
from lanesum.codecs.kernels.packing import lane_contribution
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.session import ObservedRound
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.train.sum_check import SumCheck, SumCheckError
from tests.host.torch.ranks import Ranks

WORDS = 990  # whole groups of any operation


def own_words(op: LaneOp, worker: int) -> np.ndarray:
    words = np.random.default_rng(worker).integers(0, 2**32, WORDS, np.uint32)
    # MAX takes non-negative int32.
    return words >> np.uint32(1) if op is LaneOp.MAX else words


def corrupted(rank: int, op: LaneOp, wrong_words: int) -> tuple[int, int]:
    """Check a round of two workers whose result has ``wrong_words`` wrong words on rank 1 only."""
    workers = dist.get_world_size()
    codec = PaperTHC(workers=workers) if op.shape.lookup else FixedPoint(workers=workers)
    first, second = (lane_contribution(op, own_words(op, worker), codec.code_table) for worker in range(workers))
    combine = {LaneOp.OR: np.bitwise_or, LaneOp.MAX: np.maximum}.get(op, np.add)
    result = combine(first, second)
    if rank == 1:
        result[10 : 10 + wrong_words] ^= np.uint32(1 << 31)
    check = SumCheck(workers=workers)
    complete = np.full((1, 1), 3, np.uint32)
    check(ObservedRound(codec, Round(op, own_words(op, rank)), Aggregate(result, workers), complete))
    return check.checked, check.wrong


@pytest.mark.parametrize("op", list(LaneOp), ids=lambda op: op.name)
@pytest.mark.parametrize("wrong_words", [0, 3])
def test_sum_check_counts_wrong_words_of_own_rank(ranks: Ranks, op: LaneOp, wrong_words: int) -> None:
    checked = op.shape.accumulator_words(WORDS)
    assert ranks.run(corrupted, [0, 1], op, wrong_words) == [(checked, 0), (checked, wrong_words)]


def quorum(rank: int, wrong_words: int) -> tuple[int, int]:
    """Check a round whose first half contains both workers, and whose second half contains worker 0 alone."""
    first, second = (own_words(LaneOp.ADD32, worker) for worker in range(2))
    half = np.arange(WORDS) < WORDS // 2
    result = first + np.where(half, second, np.uint32(0)).astype(np.uint32)
    result[WORDS - wrong_words :] += second[WORDS - wrong_words :]  # of both, although the result names one
    aggregate = Aggregate(result, 1 + half.astype(np.int64), np.ones(WORDS, np.bool_) if rank == 0 else half)
    named = np.array([[3], [1]], np.uint32)
    check = SumCheck(workers=2)
    check(ObservedRound(FixedPoint(workers=2), Round(LaneOp.ADD32, own_words(LaneOp.ADD32, rank)), aggregate, named))
    return check.checked, check.wrong


@pytest.mark.parametrize("wrong_words", [0, 5])
def test_sum_check_of_quorum_compares_named_contributors(ranks: Ranks, wrong_words: int) -> None:
    assert ranks.run(quorum, [0, 1], wrong_words) == [(WORDS, wrong_words)] * 2


def other_size(rank: int) -> str:
    try:
        SumCheck(workers=3)
    except ConfigurationError as error:
        return str(error)
    return ""


def test_sum_check_with_other_rank_count_is_refused(ranks: Ranks) -> None:
    for message in ranks.run(other_size, [0, 1]):
        assert "The job has 3 workers, the process group 2 ranks" in message


def lonely(rank: int) -> str:
    check = SumCheck(workers=2)
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=1.0), check._group)
    if rank == 1:
        return ""
    words = np.zeros(8, np.uint32)
    try:
        complete = np.full((1, 1), 3, np.uint32)
        check(ObservedRound(FixedPoint(workers=2), Round(LaneOp.ADD32, words), Aggregate(words, 2), complete))
    except SumCheckError as error:
        return str(error)
    return "no error"


def test_sum_check_without_other_rank_raises(ranks: Ranks) -> None:
    message, _ = ranks.run(lonely, [0, 1])
    assert message.startswith("The check of a sum failed")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Groups of rounds: each round has an aggregate of its own, in order, for every caller of the codec."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanesum.codecs import (
    Aggregate,
    CodecContext,
    CodecError,
    CodecTraits,
    Result,
    Round,
    RoundGroup,
    RoundShape,
    Steps,
)
from lanesum.codecs.base import Vector
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.codec_simulation import simulate


class Grouped:
    """Largest and sum of whole numbers, asked for together; then the sum of the largest ones."""

    name = "grouped"
    code_table = None
    traits = CodecTraits()

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.overlapped = 0

    def describe(self) -> str:
        return self.name

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        return RoundShape(LaneOp.MAX, 1), RoundShape(LaneOp.ADD32, size), RoundShape(LaneOp.ADD32, 1)

    def all_reduce(self, x: Vector, context: CodecContext) -> Steps:
        words = x.astype(np.uint32)
        group = RoundGroup((Round(LaneOp.MAX, words.max(keepdims=True), self._count), Round(LaneOp.ADD32, words)))
        reply: Any = yield group
        largest, sums = reply
        assert isinstance(reply, tuple) and isinstance(largest, Aggregate)
        reply = yield Round(LaneOp.ADD32, largest.words)
        assert isinstance(reply, Aggregate)
        return Result(np.append(sums.words, reply.words).astype(np.float32))

    def _count(self) -> None:
        self.overlapped += 1


VECTORS = [np.array([1, 2, 3], np.float32), np.array([5, 0, 4], np.float32)]


def test_every_round_of_group_has_own_aggregate() -> None:
    codec = Grouped(2)
    run = simulate(codec, VECTORS)
    assert run.values.tolist() == [6, 2, 7, 10]
    assert [words.tolist() for words in run.aggregates] == [[5], [6, 2, 7], [10]]
    assert codec.overlapped == 2


def test_workers_whose_groups_differ_are_told() -> None:
    with pytest.raises(CodecError, match="do not match"):
        simulate(Grouped(2), [VECTORS[0], VECTORS[1][:2]])


def test_empty_group_is_refused() -> None:
    with pytest.raises(CodecError, match="A group of rounds is empty"):
        RoundGroup(())

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of a chunk: whatever arrives in whatever order, the sum is over exactly the workers named, each once."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.aggregation.combine import combine
from lanesum.protocol.lanes import LaneOp
from lanesum.server.pieces import Fate, Pieces
from lanesum.server.roster import members_of

WORKERS = 7
OPS = (LaneOp.ADD32, LaneOp.OR, LaneOp.MAX)
sets = st.integers(1, (1 << WORKERS) - 1)
VALUES = np.random.default_rng(3).integers(0, 1 << 32, (WORKERS, 3), np.uint32)


def exact(op: LaneOp, workers: int) -> np.ndarray:
    return functools.reduce(functools.partial(combine, op), (VALUES[worker] for worker in members_of(workers)))


def added(*workers: int, op: LaneOp = LaneOp.ADD32) -> tuple[Pieces, list[Fate]]:
    pieces = Pieces(op)
    return pieces, [pieces.add(one, exact(op, one)) for one in workers]


@given(op=st.sampled_from(OPS), arriving=st.lists(sets, max_size=30), single=st.booleans())
def test_every_order_and_nesting_is_exact(op: LaneOp, arriving: list[int], single: bool) -> None:
    pieces = Pieces(op, single=single)
    for workers in arriving:
        before = pieces.workers
        fate = pieces.add(workers, exact(op, workers))
        assert (fate is Fate.DUPLICATE) == (workers & ~before == 0)
        if fate is Fate.KEPT:
            assert pieces.workers & workers == workers
            assert pieces.workers.bit_count() > before.bit_count()
        else:
            assert pieces.workers == before
        assert pieces.total().tolist() == exact(op, pieces.workers).tolist()
        assert len(pieces) <= (1 if single and not any(map(_several, arriving)) else WORKERS)
    # Whoever is still missing completes it, one by one.
    for worker in range(WORKERS):
        pieces.add(1 << worker, exact(op, 1 << worker))
    assert pieces.workers == (1 << WORKERS) - 1
    assert pieces.total().tolist() == exact(op, pieces.workers).tolist()


def _several(workers: int) -> bool:
    return workers & (workers - 1) != 0


@pytest.mark.parametrize(
    ("arriving", "fate", "union"),
    [
        ((0b0011, 0b0001), Fate.DUPLICATE, 0b0011),  # subset of a piece
        ((0b0011, 0b1100), Fate.KEPT, 0b1111),  # disjoint
        ((0b0001, 0b0100, 0b0111), Fate.KEPT, 0b0111),  # superset of two pieces
        ((0b0001, 0b0010, 0b0011), Fate.DUPLICATE, 0b0011),  # exactly two pieces: they stay apart
        ((0b0011, 0b0110), Fate.OVERLAP, 0b0011),  # no larger than what it would cost
        ((0b0011, 0b1110), Fate.KEPT, 0b1110),  # larger: the other one goes, and its worker is missing again
        ((0b0011, 0b1100, 0b10110), Fate.OVERLAP, 0b1111),  # larger than either, not than both
    ],
)
def test_rules(arriving: tuple[int, ...], fate: Fate, union: int) -> None:
    pieces, fates = added(*arriving)
    assert fates[-1] is fate
    assert pieces.workers == union
    assert pieces.total().tolist() == exact(LaneOp.ADD32, union).tolist()


def test_finer_pieces_are_not_given_up_for_their_union() -> None:
    pieces, _ = added(0b001, 0b010, 0b011)
    assert pieces.add(0b110, exact(LaneOp.ADD32, 0b110)) is Fate.KEPT
    assert pieces.workers == 0b111

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Partial sums: in every order of arrival, the total is over exactly the named workers, each counted once (INV-1)."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum.aggregation.combine import Words, combine
from lanesum.protocol.lanes import LaneOp
from lanesum.server.member_table import set_bits
from lanesum.server.partial_sums import Acceptance, PartialSums

WORKERS = 7
OPS = (LaneOp.ADD32, LaneOp.OR, LaneOp.MAX)
sets = st.integers(1, (1 << WORKERS) - 1)
VALUES = np.random.default_rng(3).integers(0, 1 << 32, (WORKERS, 3), np.uint32)


def exact(op: LaneOp, workers: int) -> Words:
    return functools.reduce(functools.partial(combine, op), (VALUES[worker] for worker in set_bits(workers)))


def added(*sets: int, op: LaneOp = LaneOp.ADD32) -> tuple[PartialSums, list[Acceptance]]:
    sums = PartialSums(op)
    return sums, [sums.add(workers, exact(op, workers)) for workers in sets]


@given(op=st.sampled_from(OPS), arriving=st.lists(sets, max_size=30), single_workers=st.booleans())
def test_add_in_any_order_and_nesting_is_exact(op: LaneOp, arriving: list[int], single_workers: bool) -> None:
    sums = PartialSums(op, single_workers=single_workers)
    for workers in arriving:
        before = sums.workers
        acceptance = sums.add(workers, exact(op, workers))
        assert (acceptance is Acceptance.DUPLICATE) == (workers & ~before == 0)
        if acceptance is Acceptance.ACCEPTED:
            assert sums.workers & workers == workers
            assert sums.workers.bit_count() > before.bit_count()
        else:
            assert sums.workers == before
        assert sums.total().tolist() == exact(op, sums.workers).tolist()
        assert len(sums) <= (1 if single_workers and not any(map(_several, arriving)) else WORKERS)
    # The missing workers complete it, one by one.
    for worker in range(WORKERS):
        sums.add(1 << worker, exact(op, 1 << worker))
    assert sums.workers == (1 << WORKERS) - 1
    assert sums.total().tolist() == exact(op, sums.workers).tolist()


def _several(workers: int) -> bool:
    return workers & (workers - 1) != 0


@pytest.mark.parametrize(
    ("arriving", "acceptance", "union"),
    [
        ((0b0011, 0b0001), Acceptance.DUPLICATE, 0b0011),  # a subset of a held set
        ((0b0011, 0b1100), Acceptance.ACCEPTED, 0b1111),  # disjoint
        ((0b0001, 0b0100, 0b0111), Acceptance.ACCEPTED, 0b0111),  # a superset of two held sets
        ((0b0001, 0b0010, 0b0011), Acceptance.DUPLICATE, 0b0011),  # the union of two held sets, which stay apart
        ((0b0011, 0b0110), Acceptance.OVERLAP, 0b0011),  # no larger than the set that it would replace
        ((0b0011, 0b1110), Acceptance.ACCEPTED, 0b1110),  # larger: it replaces the other set, and bit 0 is missing
        ((0b0011, 0b1100, 0b10110), Acceptance.OVERLAP, 0b1111),  # larger than either, but not than both
    ],
)
def test_add_overlapping_sets_keeps_the_larger_union(
    arriving: tuple[int, ...], acceptance: Acceptance, union: int
) -> None:
    sums, acceptances = added(*arriving)
    assert acceptances[-1] is acceptance
    assert sums.workers == union
    assert sums.total().tolist() == exact(LaneOp.ADD32, union).tolist()


def test_add_union_of_held_sets_keeps_them_apart() -> None:
    sums, _ = added(0b001, 0b010, 0b011)
    assert sums.add(0b110, exact(LaneOp.ADD32, 0b110)) is Acceptance.ACCEPTED
    assert sums.workers == 0b111

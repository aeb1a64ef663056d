# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Turns of the shards of a round, and the owners that follow from them."""

from __future__ import annotations

import itertools

import pytest

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns, owner_mark, owner_of
from lanesum.protocol.spec import CERTIFIED, FIRST_OWNER, GATHERED, MAX_NAMED_OWNERS, SCATTERED, TURN_CHUNKS
from tests.simulator.truth import places

SIZES = list(itertools.product((1, 2, 3, 7), (1, TURN_CHUNKS - 1, TURN_CHUNKS, TURN_CHUNKS + 1, 3 * TURN_CHUNKS + 5)))


@pytest.mark.parametrize(("shards", "chunks"), SIZES)
def test_shards_take_turns_and_keep_their_order(shards: int, chunks: int) -> None:
    turns = Turns(shards, chunks)
    found = [turns.place(chunk) for chunk in range(shards * chunks)]
    assert found == places(shards, chunks)
    numbers = turns.numbers()
    assert [[found[number] for number in row] for row in numbers] == [
        [(shard, index) for index in range(chunks)] for shard in range(shards)
    ]


@pytest.mark.parametrize(("shards", "chunks"), SIZES)
def test_leading_chunks_are_those_of_all_shards(shards: int, chunks: int) -> None:
    turns, numbers = Turns(shards, chunks), Turns(shards, chunks).numbers()
    for first in range(chunks + 1):
        released = set(numbers[:, :first].reshape(-1).tolist())
        assert set(range(turns.whole(first))) <= released <= set(range(turns.needed(first)))
        assert first < chunks or turns.whole(first) == turns.needed(first) == shards * chunks


def test_chunk_behind_its_round_has_an_owner() -> None:
    assert {Turns(3, 2).place(chunk)[0] for chunk in range(6, 100)} == {0, 1, 2}


def test_turns_follow_from_the_packet() -> None:
    assert Turns.of_round(LaneOp.ADD32, SCATTERED | 4 * 33, 16, 4) == Turns(4, 3)
    assert Turns.of_round(LaneOp.ADD32, GATHERED | CERTIFIED | 4 * 33, 16, 4) == Turns(4, 3)
    assert Turns.of_round(LaneOp.ADD32, GATHERED | CERTIFIED | 4 * 31, 16, 4) == Turns(4, 3)
    assert Turns.of_round(LaneOp.ADD32, GATHERED | 4 * 31, 16, 4) == Turns(4, 2)
    assert Turns.of_round(LaneOp.ADD32, SCATTERED, 16, 4) == Turns(4, 1)
    assert Turns.of_round(LaneOp.TABLE8, SCATTERED | CERTIFIED | 40, 16, 4).chunks == 10  # a forged packet


def test_mark_names_owners_of_scattered_chunks() -> None:
    turns = Turns(300, 1)
    assert owner_of(5, 40, turns) is None and owner_of(5, GATHERED | 40, turns) == 5
    assert owner_mark(5, SCATTERED | 40) == FIRST_OWNER + 5
    assert owner_mark(5, GATHERED | 40) == owner_mark(None, 40) == owner_mark(MAX_NAMED_OWNERS, SCATTERED) == 0

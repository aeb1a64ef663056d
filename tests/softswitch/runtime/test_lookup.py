# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Order of entries in tuple space search."""

from __future__ import annotations

from lanesum_switch.api import Match
from lanesum_switch.runtime.lookup import TupleSpaceSearch


def _search(kind: str, *entries: tuple[int, int, int]) -> TupleSpaceSearch:
    search = TupleSpaceSearch((kind,), (8,))
    search.rebuild([((Match(value, aux),), rank, (rank, number)) for number, (value, aux, rank) in enumerate(entries)])
    return search


def test_best_tuple_wins_over_earlier_ones() -> None:
    assert _search("ternary", (0x10, 0xF0, 20), (0x01, 0x0F, 5), (0x11, 0xFF, 30))[0x11] == (30, 2)


def test_best_range_wins_over_earlier_ones() -> None:
    assert _search("range", (1, 50, 20), (2, 60, 5), (3, 70, 30))[10] == (30, 2)


def test_first_of_equal_entries_wins() -> None:
    assert _search("ternary", (0x10, 0xF0, 7), (0x10, 0xF0, 7))[0x11] == (7, 0)

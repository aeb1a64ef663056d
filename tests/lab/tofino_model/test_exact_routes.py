# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Longest-prefix entries in ternary memory: a longer prefix has a higher address."""

from __future__ import annotations

import pytest

from lanesum_lab.tofino_model.exact import LpmTable
from lanesum_lab.tofino_model.harness import TofinoModelError


def _table(size: int = 4) -> LpmTable:
    return LpmTable(
        {
            "name": "t",
            "match_key_fields": [{"name": "to", "bit_width": 32}],
            "match_attributes": {"stage_tables": [{"size": size}]},
            "default_action_handle": 7,
            "actions": [{"name": "route", "handle": 6}, {"name": "unknown", "handle": 7}],
        }
    )


def test_hosts_fill_the_table_from_the_top() -> None:
    table = _table()
    assert table.add((1, 32), "route(port:1)") == ["add t 3 to:1..1 route(port:1)"]
    assert table.add((2, 32), "route(port:2)") == ["add t 2 to:2..2 route(port:2)"]
    assert table.add((1, 32), "route(port:3)") == ["add t 3 to:1..1 route(port:3)"]


def test_shorter_prefixes_are_kept_in_length_order() -> None:
    table = _table()
    table.add((0x0A000000, 16), "route(port:1)")
    assert table.add((0x0A000000, 8), "route(port:2)") == [
        "add t 0 to:167772160..184549375 route(port:2)",
        "add t 1 to:167772160..167837695 route(port:1)",
    ]


def test_removed_entry_gets_version_without_packets() -> None:
    table = _table()
    table.add((1, 32), "route(port:1)")
    assert table.remove((1, 32)) == ["add t 3 to:0 --version--:3 unknown()"]


def test_full_table_raises() -> None:
    table = _table(1)
    table.add((1, 32), "route(port:1)")
    with pytest.raises(TofinoModelError, match="Table t is full: it holds 1 entries"):
        table.add((2, 32), "route(port:1)")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Places of exact-match entries, on a table of two ways with four rows each."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_lab.tofino_model.exact import ExactTable
from lanesum_lab.tofino_model.harness import TofinoModelError


def _way(unit: int, lowest_hash_bit: int) -> dict[str, Any]:
    version = {"source": "version", "lsb_mem_word_idx": 0, "lsb_mem_word_offset": 112, "field_width": 4}
    return {
        "pack_format": [{"entries": [{"entry_number": 0, "fields": [version]}]}],
        "memory_resource_allocation": {
            "hash_function_id": 0,
            "hash_entry_bit_lo": lowest_hash_bit,
            "number_entry_bits": 2,
            "hash_select_bit_lo": 40,
            "number_select_bits": 0,
            "memory_units_and_vpns": [{"memory_units": [unit], "vpns": [0]}],
        },
    }


def _table() -> ExactTable:
    """Row of the first way: bits 0 and 1 of the key; of the second: bits 2 and 3, the first of them inverted."""
    terms = [[{"field_name": "key", "field_bit": bit}] for bit in range(4)]
    bits = [{"hash_bit": n, "seed": int(n == 2), "bits_to_xor": term} for n, term in enumerate(terms)]
    # The harness counts ways by the column of their RAM, the innermost of the right side first.
    stage = {"stage_number": 3, "ways": [_way(87, 0), _way(74, 2)], "hash_functions": [{"hash_bits": bits}]}
    fields = [{"name": "key", "bit_width": 4}]
    return ExactTable({"name": "t", "match_key_fields": fields, "match_attributes": {"stage_tables": [stage]}})


def test_entry_takes_the_first_free_way() -> None:
    table = _table()
    assert table.add((0b0001,), "a(x:1)") == ["add t 0 key:1 a(x:1)"]
    assert table.add((0b0101,), "a(x:2)") == ["add t 1 key:5 a(x:2)"]


def test_changed_entry_keeps_its_place() -> None:
    table = _table()
    table.add((1,), "a(x:1)")
    assert table.add((1,), "a(x:2)") == ["add t 0 key:1 a(x:2)"]


def test_removed_entry_is_cleared_in_ram_and_row() -> None:
    table = _table()
    table.add((0b0001,), "a()")
    table.add((0b0101,), "a()")
    assert table.remove((0b0001,)) == ["write_raw_sram 3:87:1 0 & f << 112"]
    assert table.remove((0b0101,)) == ["write_raw_sram 3:74:0 0 & f << 112"]


def test_entry_without_a_free_way_moves_another() -> None:
    table = _table()
    table.add((0b0001,), "a()")  # first way, row 1
    table.add((0b0101,), "b()")  # second way, row 0
    table.add((0b0010,), "c()")  # first way, row 2
    assert table.add((0b0110,), "d()") == ["add t 0 key:6 d()", "add t 1 key:2 c()"]
    assert table.remove((0b0010,)) == ["write_raw_sram 3:74:1 0 & f << 112"]


def test_more_entries_than_places_raise() -> None:
    table = _table()
    with pytest.raises(TofinoModelError, match="Table t has no place"):
        for key in range(16):
            table.add((key,), "a()")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Key fields and constant entries of ``context.json`` that the harness would misread."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_lab.tofino_model.switch import for_harness, take_ternary_entries


def _context(key: dict[str, Any], parameter: str = "port") -> dict[str, Any]:
    values = [{"field_name": key["name"], "value": "0x0", "mask": "0x8"}]
    entry = {
        "priority": 1, "action_handle": 7, "match_key_fields_values": values,
        "action_parameters_values": [{"parameter_name": parameter, "value": "0x5"}],
    }  # fmt: skip
    fields = [{"field_name": key["name"], "start_bit": key["start_bit"]}, {"field_name": "version", "start_bit": 0}]
    bits = [{"field_name": key["name"], "field_bit": key["start_bit"] + 1}]
    stage = {"size": 512, "pack_format": fields, "hash_functions": bits}
    table = {
        "name": "t", "match_key_fields": [key], "static_entries": [entry],
        "match_attributes": {"match_type": "ternary", "stage_tables": [stage]},
        "actions": [{"name": "a", "handle": 7, "p4_parameters": [{"name": parameter}]}],
    }  # fmt: skip
    return {"tables": [table]}


def test_bits_of_field_part_count_from_lowest() -> None:
    context = for_harness(_context({"name": "flags", "start_bit": 5, "bit_width": 4}))
    (table,) = context["tables"]
    (stage,) = table["match_attributes"]["stage_tables"]
    assert table["match_key_fields"][0]["start_bit"] == 0
    assert stage["pack_format"] == [{"field_name": "flags", "start_bit": 0}, {"field_name": "version", "start_bit": 0}]
    assert stage["hash_functions"] == [{"field_name": "flags", "field_bit": 1}]


@pytest.mark.parametrize(("name", "renamed"), [("port", "key_port"), ("meta.port", "key_meta_port")])
def test_key_named_like_a_parameter_is_renamed(name: str, renamed: str) -> None:
    context = for_harness(_context({"name": name, "start_bit": 0, "bit_width": 4}))
    (table,) = context["tables"]
    assert table["match_key_fields"][0]["name"] == renamed
    assert table["actions"][0]["p4_parameters"] == [{"name": "port"}]


def test_ternary_entries_keep_zeros_before_wildcards() -> None:
    context = _context({"name": "left", "start_bit": 0, "bit_width": 4})
    assert take_ternary_entries(context) == ["add t 510 left:0b0*** a(port:0x5)"]
    assert context["tables"][0]["static_entries"] == []

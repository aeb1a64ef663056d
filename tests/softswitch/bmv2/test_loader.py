# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that the loader refuses."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.bmv2.mutants import with_item

CONSTANT = {"type": "hexstr", "value": "0x1"}
START = ["parsers", 0, "parse_states", 0]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["extern_instances"], [{"name": "my_extern"}], r"extern instances \(my_extern\)"),
        (
            ["__meta__", "version"],
            [3, 0],
            "BMv2 JSON has version 3.0; this switch reads version 2. Compile the program",
        ),
        (
            ["actions", 0, "primitives", 0],
            {"op": "frobnicate", "parameters": [], "source_info": {"filename": "a.p4", "line": 12}},
            r"primitive 'frobnicate' at a.p4\(12\)",
        ),
        (
            ["actions", 0, "primitives", 0, "parameters", 1],
            {"type": "expression", "value": {"op": "dereference_header_stack", "left": CONSTANT, "right": CONSTANT}},
            "dereference_header_stack of an expression that is not a stack",
        ),
        (["parsers"], [{}, {}], "a program with several parsers"),
        ([*START, "parser_ops", 0, "op"], "guess", "parser operation 'guess'"),
        ([*START, "parser_ops", 0, "parameters", 0, "type"], "either", "extract to 'either'"),
        ([*START, "transition_key"], [CONSTANT], "parser transition key of type Const"),
        ([*START, "transitions", 0, "type"], "random", "parser transition of type 'random'"),
        ([*START, "transitions", 4, "mask"], "0x1", "masked parser value set"),
        (["pipelines", 0, "name"], "sideways", r"pipeline 'sideways' \(v1model has ingress and egress\)"),
        (
            ["pipelines", 0, "tables", 0, "key"],
            [{"match_type": "fuzzy", "target": ["status", "note"]}],
            "match kind 'fuzzy' in table 'tbl_parsing59'",
        ),
        (["header_types", 3, "length_exp"], [1], r"length expression of header type 'start_t' \(P4_14\)"),
        (["header_types", 3, "fields", 0], ["magic", 8, False, True], "saturating field start_t.magic"),
        (["header_types", 3, "fields", 0, 1], 7, "header 'start' of 15 bits, not whole bytes"),
        (["header_stacks", 0, "header_ids"], [0], "header stack 'labels' of metadata"),
        (
            ["calculations"],
            [{"name": "sum", "input": [{"type": "frame"}]}],
            "input of type 'frame' of calculation 'sum'",
        ),
        (
            ["field_lists"],
            [{"id": 1, "name": "kept", "elements": [{"type": "header", "value": "start"}]}],
            "element of field list 'kept' that is neither a field nor a constant",
        ),
    ],
)
def test_unknown_constructs_are_refused_by_name(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=message):
        load_program(with_item("parsing", path, value))


def test_count_of_a_direct_counter_is_refused() -> None:
    count = {"op": "count", "parameters": [{"type": "counter_array", "value": "I.exact_counter"}, CONSTANT]}
    with pytest.raises(UnsupportedProgramError, match=r"count of the direct array 'I\.exact_counter'"):
        load_program(with_item("tables", ["actions", 0, "primitives", 0], count))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "The pipeline is not BMv2 JSON: Expecting property name"),
        (b'{"pipelines": []}', "The pipeline is not BMv2 JSON: it has no pipelines or no header_types"),
    ],
)
def test_text_that_is_no_bmv2_json_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{message}.* Push the .json file that p4c-bm2-ss wrote"):
        load_program(text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["headers"], []),
        (["pipelines", 0, "init_table"], "nowhere"),
        (["parsers", 0, "parse_states", 0, "transitions", 0, "next_state"], "nowhere"),
        (["actions"], "none"),
    ],
)
def test_malformed_json_raises_invalid_argument(path: list[Any], value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="The BMv2 JSON is malformed at"):
        EmbeddedSwitch().load(with_item("copies", path, value))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that the loader refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2.loader import load_program
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


NOTE, VALID = ({"type": "field", "value": ["status", name]} for name in ("note", "$valid$"))
METADATA, VARIABLE = {"type": "header", "value": "scalars"}, {"type": "field", "value": ["options", "data"]}
PRIMITIVE, OPERATION = ["actions", 0, "primitives", 0], [*START, "parser_ops", 1]
VALUE = [*PRIMITIVE, "parameters", 1]


def operation(op: str, left: Any, right: Any) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": op, "left": left, "right": right}}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["__meta__", "version"], [2], "two numbers"),
        (["headers", 0, "header_type"], "nowhere", "the name of a header type that the program defines"),
        (["headers", 0, "metadata"], 2, "a boolean, found 2"),
        (["actions"], "none", "an array"),
        (["header_types", 3, "fields", 1, 0], "magic", "a field name that occurs once"),
        (["header_types", 4, "fields", 2, 1], "*", "at most one variable-length field in a header type"),
        (["header_stacks", 0, "header_ids"], [], "an array of 1 to 1024 numbers"),
        (["header_stacks", 0, "header_ids"], [7, 4], "headers of one type"),
        (["header_stacks", 0, "header_ids"], [7, 7], "the number of an element that the program defines, once"),
        (["header_unions", 0, "header_ids"], [5], "2 headers"),
        (["deparsers", 0, "order", 0], "scalars", "a header that is not metadata"),
        (["field_aliases"], [["alias", ["nowhere", "$valid$"]]], "the name of a header that the program defines"),
        (["checksums"], [{"name": "sum", "type": "ipv4", "target": VALID["value"]}], "a field of fixed width"),
        ([*PRIMITIVE, "parameters", 0], CONSTANT, "a field as parameter 0 of assign"),
        ([*VALUE, "value"], "0xyz", "a hexadecimal string of at most 4096 digits"),
        (VALUE, operation("two_comp_mod", NOTE, {"type": "hexstr", "value": "0x801"}), "a width from 1 to 2048 bits"),
        (VALUE, operation("access_field", CONSTANT, 0), "a header, found"),
        (PRIMITIVE, {"op": "add", "parameters": [NOTE]}, "2 or 3 parameters"),
        (PRIMITIVE, {"op": "add_header", "parameters": [METADATA]}, "a header that is not metadata"),
        (PRIMITIVE, {"op": "assign_VL", "parameters": [VARIABLE, NOTE]}, "an object of the type of parameter 0"),
        ([*START, "transitions", 0, "next_state"], "nowhere", "the name of a parser state that the program defines"),
        ([*START, "parser_ops", 0, "parameters", 0, "value"], "scalars", "a header that is not metadata"),
        (OPERATION, {"op": "set", "parameters": [VALID, CONSTANT]}, "a field"),
        (OPERATION, {"op": "set", "parameters": [VARIABLE, CONSTANT]}, "a variable-length field, as the target is"),
        (
            OPERATION,
            {"op": "advance", "parameters": [{"type": "hexstr", "value": "-0x1"}]},
            "a number of bits from 0 to 524280",
        ),
        (["pipelines", 0, "init_table"], "nowhere", "the name of a node that the program defines"),
        (["pipelines", 0, "tables", 0, "action_ids"], [99], "the number of an action that the program defines"),
        (["pipelines", 0, "tables", 0, "action_ids"], [0], "the number of an action of the table"),
        (
            ["pipelines", 0, "tables", 0, "key"],
            [{"match_type": "exact", "target": VARIABLE["value"]}],
            "a field of fixed width",
        ),
        (
            ["pipelines", 0, "tables", 0, "key"],
            [{"match_type": "exact", "target": NOTE["value"], "mask": "-0x1"}],
            "a mask that is not negative",
        ),
    ],
)
def test_malformed_json_raises_invalid_argument(path: list[Any], value: Any, expected: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match=rf"The BMv2 JSON is malformed at .*: expected {re.escape(expected)}"
    ):
        load_program(with_item("parsing", path, value))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["pipelines", 0, "tables", 10, "entries", 0, "action_entry", "action_id"], 0, "an action of the table"),
        (
            ["pipelines", 0, "action_calls"],
            [{"name": "call", "action_id": 0}],
            "the number of an action without parameters",
        ),
    ],
)
def test_malformed_table_raises_invalid_argument(path: list[Any], value: Any, expected: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"malformed at .*: expected .*{expected}"):
        load_program(with_item("tables", path, value))

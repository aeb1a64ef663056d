# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that the loader accepts and that cannot be compiled."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.bmv2.mutants import with_item

NUMBER = {"type": "hexstr", "value": "0x1"}
NOTE = {"type": "field", "value": ["status", "note"]}
CONDITION = ["pipelines", 0, "conditionals", 0, "expression"]
# An action that is executed, and an operation of the state "start" and of the state "options".
PRIMITIVE, FIRST_OP, EXTRACT = (
    ["actions", 0, "primitives", 0],
    ["parsers", 0, "parse_states", 0, "parser_ops", 0],
    ["parsers", 0, "parse_states", 2, "parser_ops", 2],
)
VARIABLE = {"type": "field", "value": ["options", "data"]}


def operation(op: str, operand: dict[str, Any]) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": op, "left": None, "right": operand}}


def comparison(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {"type": "expression", "value": {"op": "==", "left": left, "right": right}}


def assign(target: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return {"op": "assign", "parameters": [target, value]}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (CONDITION, operation("not", {"type": "string", "value": "x"}), "Unsupported: expression Text"),
        (CONDITION, operation("valid", NUMBER), "Const where a header is needed"),
        (CONDITION, operation("valid_union", NUMBER), "Const where a header union is needed"),
        (CONDITION, operation("size_stack", NUMBER), "size_stack of an expression that is not a stack"),
        (CONDITION, operation("not", {"type": "lookahead", "value": [0, 8]}), "lookahead outside of a parser"),
        (CONDITION, operation("not", VARIABLE), "variable-length field options.data where a number is needed"),
        (CONDITION, comparison(VARIABLE, NUMBER), "== of a variable-length field and a number"),
        (PRIMITIVE, assign(VARIABLE, NUMBER), "variable-length field options.data where a number is needed"),
        (
            FIRST_OP,
            {"op": "primitive", "parameters": [{"op": "_jump", "parameters": [NUMBER]}]},
            r"Unsupported: primitive '_jump'\.",
        ),
        (
            EXTRACT,
            {"op": "extract", "parameters": [{"type": "regular", "value": "options"}]},
            "extract of variable-length header options without a length",
        ),
    ],
)
def test_load_construct_in_a_wrong_place_is_refused(path: list[Any], value: Any, message: str) -> None:
    with pytest.raises(UnsupportedProgramError, match=message):
        EmbeddedSwitch().load(with_item("parsing", path, value))


def test_load_register_in_a_condition_is_refused() -> None:
    cell = {"type": "register", "value": ["I.counts", NUMBER]}
    with pytest.raises(UnsupportedProgramError, match=r"register I\.counts in this expression"):
        EmbeddedSwitch().load(with_item("lanes", CONDITION, operation("d2b", cell)))


def test_load_unknown_hash_algorithm_is_refused() -> None:
    with pytest.raises(UnsupportedProgramError, match="hash algorithm 'md5' of calculation 'calc'"):
        EmbeddedSwitch().load(with_item("checksums", ["calculations", 0, "algo"], "md5"))


def test_load_expression_nested_beyond_python_limit_is_refused() -> None:
    value = NUMBER
    for _ in range(205):
        value = operation("~", value)
    with pytest.raises(
        UnsupportedProgramError, match=r"generated for program .*parsing.* is too large for Python: too"
    ):
        EmbeddedSwitch().load(with_item("parsing", CONDITION, value))

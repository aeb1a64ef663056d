# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code and bounds of arithmetic, against Python's own on all values of small operands; headers in expressions."""

from __future__ import annotations

import itertools

import pytest

from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.compiler.expressions import Expressions, Scope
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.layout import Value, VariableLayout
from lanesum_switch.compiler.python_source import BoundNames
from tests.softswitch.conftest import PROGRAMS


def expected(op: str, x: int, y: int) -> int:
    """Return the value that BMv2 has; 0 for a shift or a divisor that it does not take."""
    match op:
        case "<<":
            return x << y if y >= 0 else 0
        case ">>":
            return x >> y if y >= 0 else 0
        case "/":
            return x // y if y > 0 else 0
        case "%":
            return x % y if y > 0 else 0
        case _:
            return int(eval(f"x {op} y", {}, {"x": x, "y": y}))


@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"])
@pytest.mark.parametrize("left", [(0, 5), (-3, 4)])
@pytest.mark.parametrize("right", [(0, 3), (-1, 3), (-2, -1), (1, 3)])
def test_arithmetic_of_all_values_is_within_its_bounds(op: str, left: tuple[int, int], right: tuple[int, int]) -> None:
    value = Expressions._arithmetic(op, Value("a", *left, True), Value("b", *right, True))
    code = compile(value.code, op, "eval")
    for a, b in itertools.product(range(left[0], left[1] + 1), range(right[0], right[1] + 1)):
        found = eval(code, {}, {"a": a, "b": b})
        assert found == expected(op, a, b)
        assert value.low <= found <= value.high


@pytest.mark.parametrize(
    ("op", "results"),
    [("sat_cast", [-4, -4, 0, 3, 3]), ("usat_cast", [0, 0, 0, 3, 7]), ("two_comp_mod", [3, -4, 0, 3, 0])],
)
def test_cast_of_values_around_its_limits(op: str, results: list[int]) -> None:
    value = Expressions._cast(op, Value("a", -100, 100, True), ir.Const(3))
    assert [eval(value.code, {}, {"a": a}) for a in (-5, -4, 0, 3, 8)] == results
    assert value.low <= min(results) and max(results) <= value.high


@pytest.fixture
def expressions() -> Expressions:
    """Return the expressions of a program with the stack ``labels`` of three headers."""
    program = load_program((PROGRAMS / "parsing.json").read_bytes())
    return Expressions(VariableLayout(program, FieldUsage(program), BoundNames()))


@pytest.mark.parametrize("valid", [(True, True), (True, False), (False, True)])
def test_headers_of_equal_fields_differ_by_validity(expressions: Expressions, valid: tuple[bool, bool]) -> None:
    layout, names = expressions.layout, expressions.program.stacks["labels"].elements[:2]
    found = expressions.value(ir.Op("==", tuple(map(ir.HeaderRef, names))), Scope())
    fields = {local: 0 for name in names for local in layout.locals_of(name)}
    validity = {layout.valid(name): one for name, one in zip(names, valid, strict=True)}
    assert eval(found.code, {}, {**fields, **validity}) is all(valid)


def test_last_of_stack_precedes_its_next_index(expressions: Expressions) -> None:
    elements = expressions.program.stacks["labels"].elements
    cases = expressions.header_cases(ir.LastField("labels", "last"), Scope())
    local = expressions.layout.next_index("labels")
    chosen = [[name for condition, name in cases if eval(condition, {}, {local: index})] for index in range(4)]
    assert chosen == [[], *([name] for name in elements)]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code and bounds of arithmetic, against Python's own on all values of small operands."""

from __future__ import annotations

import itertools

import pytest

from lanesum_switch.compiler.expressions import Expressions
from lanesum_switch.compiler.layout import Value


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

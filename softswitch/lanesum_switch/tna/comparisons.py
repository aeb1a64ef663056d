# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of a stateful ALU, which differ from those of P4 at the ends of the value range.

A comparator adds a number of the register, a packet field and a constant, and compares the sum with zero. The sum has
35 bits: no addition of P4 in the comparison wraps. Register and field are extended by zeros; for ``<``, ``<=``, ``>``
and ``>=`` of signed numbers by their sign. The constant is always extended by its sign, so that 16 set bits in a
register are not equal to -1. The exception is an ordered comparison of a signed sum or difference: it reads the sign
in the width of the register, as P4 does.

Source: the chips' register-accurate model, and the instructions that p4c selects.
"""

from __future__ import annotations

from collections.abc import Callable

from lanesum_fabric.tofino.chips import Chip
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.values import Typed

COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
_IMMEDIATE = range(-8, 8)  # constants within the instruction; all others take a constant register


class _Terms:
    """Operands of a comparator: those of the left side, those of the right side, and a constant on the left."""

    def __init__(self, left: ir.Expr, right: ir.Expr, width: int) -> None:
        self.left: list[ir.Expr] = []
        self.right: list[ir.Expr] = []
        self.constant = 0
        self.has_addition = False
        self._width = width
        self._add(left, negative=False)
        self._add(right, negative=True)

    def _add(self, expr: ir.Expr, *, negative: bool) -> None:
        match self._uncut(expr):
            case ir.Const(value):
                self.constant += -value if negative else value
            case ir.Op("+" | "-" as op, (first, second)):
                self.has_addition = True
                self._add(first, negative=negative)
                self._add(second, negative=negative != (op == "-"))
            case other:
                (self.right if negative else self.left).append(other)

    def _uncut(self, expr: ir.Expr) -> ir.Expr:
        """Return the expression before it was cut to the width of the register."""
        match expr:
            case ir.Op("two_comp_mod", (inner, ir.Const(width))) if width == self._width:
                return self._uncut(inner)
            case ir.Op("&", (ir.Op("+" | "-") as inner, ir.Const(mask))) if mask == (1 << self._width) - 1:
                return inner
        return expr


def compare(op: str, left: Typed, right: Typed, width: int, chip: Chip) -> ir.Op:
    """Return the result of a comparison by an ALU of a register of ``width`` bits."""
    terms = _Terms(left.expr, right.expr, width)
    signed = (left.signed or right.signed) and op not in ("==", "!=")

    def extended(expr: ir.Expr) -> ir.Expr:
        return values.cut(expr, p4.Bits(width, signed and not terms.has_addition))

    constant = terms.constant
    if constant not in _IMMEDIATE:
        held = values.cut(ir.Const(constant), p4.Bits(width + chip.extra_constant_bits, signed=True))
        assert isinstance(held, ir.Const)
        constant = held.value
    plus = _sum(terms.left, max(constant, 0), extended)
    minus = _sum(terms.right, max(-constant, 0), extended)
    if signed and terms.has_addition:
        return ir.Op(op, (values.cut(ir.Op("-", (plus, minus)), p4.Bits(width, signed=True)), ir.Const(0)))
    return ir.Op(op, (plus, minus))


def _sum(terms: list[ir.Expr], constant: int, extended: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    total: ir.Expr | None = None
    for term in map(extended, terms):
        total = term if total is None else ir.Op("+", (total, term))
    if total is None:
        return ir.Const(constant)
    return ir.Op("+", (total, ir.Const(constant))) if constant else total

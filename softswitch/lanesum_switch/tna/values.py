# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typed P4 values as ``ir`` expressions.

``ir`` expressions compute with integers of any size, P4 within the width of a type. Every operation that may exceed its
type's range is cut here; the code generator drops cuts without effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4

_COMPARE = {"==", "!=", "<", ">", "<=", ">="}
_WRAPPING = {"+", "-", "*", "<<"}
_LOGIC = {"&&": "and", "||": "or"}


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed value; ``type`` is None for a number without width."""

    expr: ir.Expr
    type: p4.Bits | p4.Boolean | None

    @property
    def bits(self) -> int:
        """Return the width. Raises UnsupportedProgramError for a number without one."""
        if self.type is None:
            raise UnsupportedProgramError("Unsupported: a number without width where its width matters.")
        return self.type.width if isinstance(self.type, p4.Bits) else 1

    @property
    def signed(self) -> bool:
        return isinstance(self.type, p4.Bits) and self.type.signed


def mask_of(bits: int) -> ir.Const:
    return ir.Const((1 << bits) - 1)


def cut(expr: ir.Expr, kind: p4.Bits) -> ir.Expr:
    """Return the value modulo 2**width, as a value of the type."""
    if isinstance(expr, ir.Const):
        value = expr.value & ((1 << kind.width) - 1)
        return ir.Const(value - (1 << kind.width) if kind.signed and value >> kind.width - 1 else value)
    if kind.signed:
        return ir.Op("two_comp_mod", (expr, ir.Const(kind.width)))
    return ir.Op("&", (expr, mask_of(kind.width)))


def bit_string(value: Typed) -> ir.Expr:
    """Return the bits of the value as a non-negative number."""
    return ir.Op("&", (value.expr, mask_of(value.bits))) if value.signed else value.expr


def concatenate(values: Sequence[Typed]) -> Typed:
    """Concatenate all values, the first one in the highest bits."""
    total = sum(value.bits for value in values)
    result: ir.Expr = ir.Const(0)
    shift = total
    for value in values:
        shift -= value.bits
        part = bit_string(value)
        part = ir.Op("<<", (part, ir.Const(shift))) if shift else part
        result = part if result == ir.Const(0) else ir.Op("|", (result, part))
    return Typed(result, p4.Bits(total))


def cast(value: Typed, kind: p4.Bits | p4.Boolean) -> Typed:
    """Apply an explicit cast."""
    if isinstance(kind, p4.Boolean):
        return Typed(value.expr, kind)
    if isinstance(value.type, p4.Bits) and value.type.width <= kind.width and not value.signed and not kind.signed:
        return Typed(value.expr, kind)
    return Typed(cut(value.expr, kind), kind)


def slice_of(value: Typed, high: int, low: int) -> Typed:
    shifted = ir.Op(">>", (bit_string(value), ir.Const(low))) if low else bit_string(value)
    return Typed(ir.Op("&", (shifted, mask_of(high - low + 1))), p4.Bits(high - low + 1))


def unary(op: str, value: Typed) -> Typed:
    if op == "!":
        return Typed(ir.Op("not", (value.expr,)), p4.Boolean())
    if not isinstance(value.type, p4.Bits):
        raise UnsupportedProgramError(f"Unsupported: {op!r} of something without width.")
    if op == "-":
        return Typed(cut(ir.Op("-", (ir.Const(0), value.expr)), value.type), value.type)
    if value.signed:
        return Typed(ir.Op("~", (value.expr,)), value.type)
    return Typed(ir.Op("^", (value.expr, mask_of(value.bits))), value.type)


def binary(op: str, left: Typed, right: Typed) -> Typed:
    """Apply an operator of P4 to two values; a number without width gets the other's type."""
    if op in _LOGIC:
        return Typed(ir.Op(_LOGIC[op], (left.expr, right.expr)), p4.Boolean())
    if op in _COMPARE:
        return Typed(ir.Op(op, (left.expr, right.expr)), p4.Boolean())
    if op == "++":
        return concatenate([left, right])
    if op in ("<<", ">>"):
        kind = left.type
    else:
        kind = left.type if left.type is not None else right.type
    plain = ir.Op(op, (left.expr, right.expr))
    if kind is None:
        return Typed(_folded(plain), None)
    if not isinstance(kind, p4.Bits):
        raise UnsupportedProgramError(f"Unsupported: {op!r} of truth values.")
    if op in ("|+|", "|-|"):
        saturated = ir.Op("sat_cast" if kind.signed else "usat_cast", (ir.Op(op[1], plain.args), ir.Const(kind.width)))
        return Typed(saturated, kind)
    if op in _WRAPPING:
        return Typed(cut(plain, kind), kind)
    return Typed(plain, kind)


def _folded(plain: ir.Op) -> ir.Expr:
    left, right = plain.args
    if isinstance(left, ir.Const) and isinstance(right, ir.Const) and plain.op in ("+", "-", "*"):
        values = {"+": left.value + right.value, "-": left.value - right.value, "*": left.value * right.value}
        return ir.Const(values[plain.op])
    return plain


def choose(condition: Typed, left: Typed, right: Typed) -> Typed:
    if left.expr == right.expr:
        return left
    kind = left.type if left.type is not None else right.type
    return Typed(ir.Op("?", (condition.expr, left.expr, right.expr)), kind)

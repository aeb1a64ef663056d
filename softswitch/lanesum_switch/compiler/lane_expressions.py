# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions over all lanes of a pack of statements at once.

BMv2 computes with unbounded ints, a lane has the width of its field. Each value is therefore *exact*, that is equal
to the unbounded result, or correct modulo 2**width only. Sums, bitwise operators and left shifts take either. A right
shift or a comparison takes exact operands; where an operand is not exact, the statements stay scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.packed_arithmetic import VectorShape


class NotVectorizable(Exception):
    """Statements have no form over whole vectors of lanes."""


@dataclass(frozen=True, slots=True)
class FieldRun:
    """Neighbouring fields of equal width of one header instance, kept as one int."""

    header: str
    names: tuple[str, ...]
    bits: int


@dataclass(frozen=True, slots=True)
class LaneSlice:
    """The lanes of a run from number ``offset`` on, one every ``stride`` lanes."""

    run: FieldRun
    offset: int
    stride: int

    @property
    def trailing(self) -> int:
        """Number of lanes of the run that follow the last lane of the slice."""
        return self.stride - 1 - self.offset


class LaneResolver(Protocol):
    """Resolves fields and registers to lanes, for ``build``."""

    def lanes(self, refs: list[ir.FieldRef]) -> LaneSlice: ...

    def bank(self, arrays: list[str]) -> tuple[str, ...]: ...

    def bound(self, ref: ir.Expr) -> int | None: ...


@dataclass(frozen=True, slots=True)
class LaneExpr:
    """A value per lane.

    Attributes:
        kind: ``lanes`` (a slice of a run), ``bank`` (registers), ``scalar``, ``constant``, ``lookup`` (a table lookup
            whose mask is missing yet), ``looked up``, or the operator.
        exact: every lane has the unbounded result.
        high: the largest value of a lane, where the value is exact.
        is_mask: a truth value per lane: all ones or 0.
        slice: of kind ``lanes``.
        bank: names of the registers, of kind ``bank``.
        expr: the scalar, or the index of the registers.
        number: the packed constant, the shift count, or the mask of a lookup.
    """

    kind: str
    args: tuple[LaneExpr, ...] = ()
    exact: bool = True
    high: int = 0
    is_mask: bool = False
    slice: LaneSlice | None = None
    bank: tuple[str, ...] = ()
    expr: ir.Expr | None = None
    number: int = 0

    def nodes(self) -> list[LaneExpr]:
        """Return this node and all nodes below it."""
        found = [self]
        for node in found:
            found.extend(node.args)
        return found


def build(values: list[ir.Expr], shape: VectorShape, resolver: LaneResolver) -> LaneExpr:
    """Return the lane expression of one scalar expression per lane. Raises NotVectorizable."""
    first = values[0]
    limit = (1 << shape.bits) - 1
    if all(value == first for value in values) and not any(isinstance(n, ir.RegisterCell) for n in ir.walk(first)):
        bound = resolver.bound(first)
        if isinstance(first, ir.Const):
            number = first.value
            return LaneExpr("constant", exact=0 <= number <= limit, high=number, expr=first, number=shape.splat(number))
        return LaneExpr("scalar", exact=bound is not None and bound <= limit, high=bound or 0, expr=first)
    if all(isinstance(value, ir.Const) for value in values):
        numbers = [value.value for value in values if isinstance(value, ir.Const)]
        exact = all(0 <= number <= limit for number in numbers)
        return LaneExpr("constant", exact=exact, high=max(numbers), number=shape.pack(numbers))
    if all(isinstance(value, ir.FieldRef) for value in values):
        lanes = resolver.lanes([value for value in values if isinstance(value, ir.FieldRef)])
        if lanes.run.bits != shape.bits:
            raise NotVectorizable
        return LaneExpr("lanes", high=limit, slice=lanes)
    if all(isinstance(value, ir.RegisterCell) for value in values):
        cells = [value for value in values if isinstance(value, ir.RegisterCell)]
        if any(cell.index != cells[0].index for cell in cells):
            raise NotVectorizable
        return LaneExpr("bank", high=limit, bank=resolver.bank([cell.array for cell in cells]), expr=cells[0].index)
    if not isinstance(first, ir.Op):
        raise NotVectorizable
    operands: list[list[ir.Expr]] = [[] for _ in first.args]
    for value in values:
        if not isinstance(value, ir.Op) or value.op != first.op or len(value.args) != len(first.args):
            raise NotVectorizable
        for operand, arg in zip(operands, value.args, strict=True):
            operand.append(arg)
    return _operation(first.op, [build(operand, shape, resolver) for operand in operands], shape)


def _operation(op: str, args: list[LaneExpr], shape: VectorShape) -> LaneExpr:
    limit = (1 << shape.bits) - 1
    exact = all(arg.exact for arg in args)
    if op == "&":
        return _bit_and(args[0], args[1])
    if op == "?":
        condition, left, right = args
        if not condition.is_mask and condition.kind != "scalar":
            raise NotVectorizable
        _require_numbers(left, right)
        return LaneExpr("?", tuple(args), left.exact and right.exact, max(left.high, right.high))
    if op == "d2b":
        arg = args[0]
        if arg.is_mask:
            return arg
        if not arg.exact:
            raise NotVectorizable
        return LaneExpr("!=", (arg, LaneExpr("constant", number=0)), is_mask=True)
    if op == "b2d" and args[0].is_mask:
        return LaneExpr("&", (args[0], LaneExpr("constant", high=1, number=shape.splat(1))), high=1)
    if op in ("and", "or", "not"):
        if not all(arg.is_mask for arg in args):
            raise NotVectorizable
        return LaneExpr(op, tuple(args), is_mask=True)
    _require_numbers(*args)
    if op in ("|", "^"):
        high = (1 << max(arg.high.bit_length() for arg in args)) - 1
        return LaneExpr(op, tuple(args), exact, high)
    if op == "+":
        high = args[0].high + args[1].high
        return LaneExpr(op, tuple(args), exact and high <= limit, high)
    if op in ("-", "~"):
        return LaneExpr(op, tuple(args), False)
    if op in ("<<", ">>"):
        return _shift(op, args[0], args[1], limit)
    if op in ("==", "!=", "<", ">", "<=", ">=") and exact:
        return LaneExpr(op, tuple(args), is_mask=True)
    raise NotVectorizable


def _require_numbers(*args: LaneExpr) -> None:
    if any(arg.is_mask or arg.kind == "lookup" for arg in args):
        raise NotVectorizable


def _shift(op: str, value: LaneExpr, count: LaneExpr, limit: int) -> LaneExpr:
    if op == ">>" and value.kind == "scalar" and count.kind not in ("constant", "scalar"):
        # A shift that indexes a table in a wide scalar, (table >> amount) & 0xff; a mask must follow.
        if not count.exact or count.high > 255:
            raise NotVectorizable
        return LaneExpr("lookup", (count,), expr=value.expr, number=-1)
    if not isinstance(count.expr, ir.Const) or count.expr.value < 0:
        raise NotVectorizable
    number = count.expr.value
    if op == "<<":
        fits = value.exact and value.high << min(number, 4096) <= limit
        return LaneExpr("<<", (value,), fits, value.high << number if fits else 0, number=number)
    if not value.exact:
        raise NotVectorizable
    return LaneExpr(">>", (value,), True, value.high >> number, number=number)


def _bit_and(left: LaneExpr, right: LaneExpr) -> LaneExpr:
    if left.kind == "constant":
        left, right = right, left
    if left.kind == "lookup":
        if not isinstance(right.expr, ir.Const) or right.expr.value < 0:
            raise NotVectorizable
        mask = left.number & right.expr.value
        if mask > 255:
            return LaneExpr("lookup", left.args, expr=left.expr, number=mask)
        return LaneExpr("looked up", left.args, True, mask, expr=left.expr, number=mask)
    _require_numbers(left, right)
    if isinstance(right.expr, ir.Const) and left.exact:
        mask = right.expr.value
        if mask >= left.high and mask & (mask + 1) == 0:
            return left
    bounds = [arg.high for arg in (left, right) if arg.exact]
    return LaneExpr("&", (left, right), bool(bounds), min(bounds, default=0))


# Locals with the lanes of a slice in a certain shape.
RestridedLanes = dict[tuple[LaneSlice, VectorShape], str]


@dataclass(slots=True, eq=False)
class VectorStatement:
    """``target = value`` or ``bank[index] = value`` for all lanes.

    Attributes:
        target: the slice of a run that is written; None for a register write.
        bank, index: names of the registers that are written, and their index; None otherwise.
        restrided: lanes that were brought into another stride; neighbouring statements may share them.
        leads: the statement is the first of those that share ``restrided``.
    """

    shape: VectorShape
    value: LaneExpr
    target: LaneSlice | None
    bank: tuple[str, ...] | None
    index: ir.Expr | None
    targets: set[ir.FieldRef]
    restrided: RestridedLanes = field(default_factory=dict)
    leads: bool = True

    @property
    def runs(self) -> list[FieldRun]:
        """The runs that the statement reads or writes."""
        found = [node.slice.run for node in self.value.nodes() if node.slice is not None]
        return found + ([self.target.run] if self.target is not None else [])

    @property
    def banks(self) -> set[tuple[str, ...]]:
        """The register banks that the statement reads or writes."""
        found = {node.bank for node in self.value.nodes() if node.bank}
        return found | ({self.bank} if self.bank else set())

    @property
    def cells(self) -> list[tuple[str, ir.Expr]]:
        """(array, index) of one register of every bank that the statement reads or writes."""
        found = [(n.bank[0], n.expr) for n in self.value.nodes() if n.bank and n.expr is not None]
        if self.bank and self.index is not None:
            found.append((self.bank[0], self.index))
        return found


def share_restrided(statements: Sequence[object]) -> None:
    """Let neighbouring vector statements share restrided lanes.

    A statement that accesses registers shares none: a register index out of range may skip it.
    """
    before: VectorStatement | None = None
    for statement in statements:
        one = statement if isinstance(statement, VectorStatement) and not statement.cells else None
        if one is not None and before is not None:
            one.restrided, one.leads = before.restrided, False
        before = one

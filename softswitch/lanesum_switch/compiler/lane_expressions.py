# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions over all lanes of a column at once, and the code for them.

BMv2 computes with unbounded integers. A lane only has its field's width, so each value is tracked as *exact* (it is the
unbounded result) or only right modulo 2**width. Sums, bitwise operators and left shifts need no more than that; a right
shift or a comparison needs exact operands, and a column that has not got them stays scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.basic_blocks import Special
from lanesum_switch.compiler.packed_arithmetic import PackedArithmetic, Shape

if TYPE_CHECKING:
    from lanesum_switch.compiler.actions import Actions
    from lanesum_switch.compiler.expressions import Scope


class NotVectorizable(Exception):
    """These statements have no form over whole rows of lanes."""


@dataclass(frozen=True, slots=True)
class Run:
    """Equal-width neighbouring fields of one header instance."""

    header: str
    names: tuple[str, ...]
    bits: int


@dataclass(frozen=True, slots=True)
class LaneSlice:
    """Every so many lanes of a run, ``apart``, from ``offset`` on; all of them where that is 1."""

    run: Run
    offset: int
    apart: int

    @property
    def below(self) -> int:
        """Lanes of the run that follow the last one."""
        return self.apart - 1 - self.offset


class Environment(Protocol):
    """What ``build`` asks of the vectorizer."""

    def lanes(self, refs: list[ir.FieldRef]) -> LaneSlice: ...

    def bank(self, arrays: list[str]) -> tuple[str, ...]: ...

    def bound(self, ref: ir.Expr) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Vector:
    """A value per lane. ``high``: the largest value of a lane, where the value is exact.

    ``kind``: lanes, bank, scalar, constant, lookup, mask (a truth value per lane: all ones or 0) or the operator.
    """

    kind: str
    args: tuple[Vector, ...] = ()
    exact: bool = True
    high: int = 0
    truth: bool = False
    place: LaneSlice | None = None
    bank: tuple[str, ...] = ()
    expr: ir.Expr | None = None
    number: int = 0

    def leaves(self) -> list[Vector]:
        """This node and all nodes below it."""
        found = [self]
        for node in found:
            found.extend(node.args)
        return found


def build(values: list[ir.Expr], shape: Shape, env: Environment) -> Vector:
    """The vector of one expression per lane. Raises NotVectorizable."""
    first = values[0]
    limit = (1 << shape.bits) - 1
    if all(value == first for value in values) and not any(isinstance(n, ir.RegisterCell) for n in ir.walk(first)):
        bound = env.bound(first)
        if isinstance(first, ir.Const):
            number = first.value
            return Vector("constant", exact=0 <= number <= limit, high=number, expr=first, number=shape.splat(number))
        return Vector("scalar", exact=bound is not None and bound <= limit, high=bound or 0, expr=first)
    if all(isinstance(value, ir.Const) for value in values):
        numbers = [value.value for value in values if isinstance(value, ir.Const)]
        exact = all(0 <= number <= limit for number in numbers)
        return Vector("constant", exact=exact, high=max(numbers), number=shape.pack(numbers))
    if all(isinstance(value, ir.FieldRef) for value in values):
        place = env.lanes([value for value in values if isinstance(value, ir.FieldRef)])
        if place.run.bits != shape.bits:
            raise NotVectorizable
        return Vector("lanes", high=limit, place=place)
    if all(isinstance(value, ir.RegisterCell) for value in values):
        cells = [value for value in values if isinstance(value, ir.RegisterCell)]
        if any(cell.index != cells[0].index for cell in cells):
            raise NotVectorizable
        return Vector("bank", high=limit, bank=env.bank([cell.array for cell in cells]), expr=cells[0].index)
    if not isinstance(first, ir.Op):
        raise NotVectorizable
    operands: list[list[ir.Expr]] = [[] for _ in first.args]
    for value in values:
        if not isinstance(value, ir.Op) or value.op != first.op or len(value.args) != len(first.args):
            raise NotVectorizable
        for operand, arg in zip(operands, value.args, strict=True):
            operand.append(arg)
    return _operation(first.op, [build(operand, shape, env) for operand in operands], shape)


def _operation(op: str, args: list[Vector], shape: Shape) -> Vector:
    limit = (1 << shape.bits) - 1
    exact = all(arg.exact for arg in args)
    if op == "&":
        return _bit_and(args[0], args[1])
    if op == "?":
        condition, left, right = args
        if not condition.truth and condition.kind != "scalar":
            raise NotVectorizable
        _need_numbers(left, right)
        return Vector("?", tuple(args), left.exact and right.exact, max(left.high, right.high))
    if op == "d2b":
        arg = args[0]
        if arg.truth:
            return arg
        if not arg.exact:
            raise NotVectorizable
        return Vector("!=", (arg, Vector("constant", number=0)), truth=True)
    if op == "b2d" and args[0].truth:
        return Vector("&", (args[0], Vector("constant", high=1, number=shape.splat(1))), high=1)
    if op in ("and", "or", "not"):
        if not all(arg.truth for arg in args):
            raise NotVectorizable
        return Vector(op, tuple(args), truth=True)
    _need_numbers(*args)
    if op in ("|", "^"):
        high = (1 << max(arg.high.bit_length() for arg in args)) - 1
        return Vector(op, tuple(args), exact, high)
    if op == "+":
        high = args[0].high + args[1].high
        return Vector(op, tuple(args), exact and high <= limit, high)
    if op in ("-", "~"):
        return Vector(op, tuple(args), False)
    if op in ("<<", ">>"):
        return _shift(op, args[0], args[1], limit)
    if op in ("==", "!=", "<", ">", "<=", ">=") and exact:
        return Vector(op, tuple(args), truth=True)
    raise NotVectorizable


def _need_numbers(*args: Vector) -> None:
    if any(arg.truth or arg.kind == "lookup" for arg in args):
        raise NotVectorizable


def _shift(op: str, value: Vector, count: Vector, limit: int) -> Vector:
    if op == ">>" and value.kind == "scalar" and count.kind not in ("constant", "scalar"):
        # A table in a wide scalar, indexed by shifting: (table >> amount) & 0xff. A mask must follow.
        if not count.exact or count.high > 255:
            raise NotVectorizable
        return Vector("lookup", (count,), expr=value.expr, number=-1)
    if not isinstance(count.expr, ir.Const) or count.expr.value < 0:
        raise NotVectorizable
    number = count.expr.value
    if op == "<<":
        fits = value.exact and value.high << min(number, 4096) <= limit
        return Vector("<<", (value,), fits, value.high << number if fits else 0, number=number)
    if not value.exact:
        raise NotVectorizable
    return Vector(">>", (value,), True, value.high >> number, number=number)


def _bit_and(left: Vector, right: Vector) -> Vector:
    if left.kind == "constant":
        left, right = right, left
    if left.kind == "lookup":
        if not isinstance(right.expr, ir.Const) or right.expr.value < 0:
            raise NotVectorizable
        mask = left.number & right.expr.value
        if mask > 255:
            return Vector("lookup", left.args, expr=left.expr, number=mask)
        return Vector("found", left.args, True, mask, expr=left.expr, number=mask)
    _need_numbers(left, right)
    if isinstance(right.expr, ir.Const) and left.exact:
        mask = right.expr.value
        if mask >= left.high and mask & (mask + 1) == 0:
            return left
    bounds = [arg.high for arg in (left, right) if arg.exact]
    return Vector("&", (left, right), bool(bounds), min(bounds, default=0))


@lru_cache(maxsize=256)
def shift_table(number: int, mask: int) -> bytes:
    """``number >> i & mask`` for every byte value i; ``mask`` has 8 bits."""
    return bytes(number >> i & mask for i in range(256))


# Names of lanes that were moved to where they are needed.
Moved = dict[tuple[LaneSlice, Shape], str]


def share_moves(statements: Sequence[object]) -> None:
    """Lets neighbours use the lanes that one of them has moved: those that cannot be left out by a bad index."""
    before: VectorStatement | None = None
    for statement in statements:
        one = statement if isinstance(statement, VectorStatement) and not statement.cells else None
        if one is not None and before is not None:
            one.moved, one.leads = before.moved, False
        before = one


@dataclass(slots=True, eq=False)
class VectorStatement(Special):
    """``place = value`` or ``bank[index] = value`` for all lanes."""

    shape: Shape
    value: Vector
    place: LaneSlice | None
    bank: tuple[str, ...] | None
    index: ir.Expr | None
    targets: set[ir.FieldRef]
    moved: Moved = field(default_factory=dict)
    leads: bool = True  # first of those that share ``moved``

    @property
    def runs(self) -> list[Run]:
        """The runs that the statement touches."""
        found = [node.place.run for node in self.value.leaves() if node.place is not None]
        return found + ([self.place.run] if self.place is not None else [])

    @property
    def banks(self) -> set[tuple[str, ...]]:
        """The banks that the statement touches."""
        found = {node.bank for node in self.value.leaves() if node.bank}
        return found | ({self.bank} if self.bank else set())

    @property
    def cells(self) -> list[tuple[str, ir.Expr]]:  # type: ignore[override]
        found = [(n.bank[0], n.expr) for n in self.value.leaves() if n.bank and n.expr is not None]
        if self.bank and self.index is not None:
            found.append((self.bank[0], self.index))
        return found

    def emit(self, actions: Actions, scope: Scope, indices: dict[ir.Expr, str]) -> None:
        if self.leads:
            self.moved.clear()  # code is written anew at every place that an action is used at
        code = _Code(actions, self.shape, scope, indices, self.moved)
        result = code.number(self.value)
        if self.bank is not None and self.index is not None:
            cells = actions.context.registers.cells(self.bank[0])
            code.line(f"{cells}[{indices[self.index]}] = {result}")
        elif self.place is not None:
            code.store(self.place, result)
            for key in [key for key in self.moved if key[0].run == self.place.run]:
                del self.moved[key]

    def emit_out_of_range(self, actions: Actions, scope: Scope) -> None:
        # As for single registers: a plain read leaves its target alone, elsewhere the register counts as 0.
        if self.place is not None and self.value.kind != "bank":
            code = _Code(actions, self.shape, scope, None, {})
            code.store(self.place, code.number(self.value))


class _Code:
    """Writes vectors as Python."""

    def __init__(
        self, actions: Actions, shape: Shape, scope: Scope, indices: dict[ir.Expr, str] | None, moved: Moved
    ) -> None:
        self.actions = actions
        self.moved = moved
        self.shape = shape
        self.scope = scope
        self.indices = indices
        self.swar = PackedArithmetic(actions.context.names, actions.context.writer)

    def line(self, text: str) -> None:
        self.actions.context.writer.line(text)

    def _local(self, run: Run) -> str:
        layout = self.actions.layout
        segment = layout.layout_of(run.header).lanes[run.names[0]][0]
        return layout.segment_local(run.header, segment)

    def store(self, place: LaneSlice, code: str) -> None:
        local = self._local(place.run)
        if place.apart == 1:
            self.line(f"{local} = {code}")
            return
        whole, mine = Shape(len(place.run.names), self.shape.bits), replace(self.shape, apart=place.apart)
        if mine != self.shape:
            code = self.swar.move(mine, code, self.shape.apart, 0)
        shift = place.below * self.shape.bits
        keep = self.swar.constant(whole.full ^ mine.full << shift)
        self.line(f"{local} = {local} & {keep} | {code}{f' << {shift}' if shift else ''}")

    def number(self, vector: Vector) -> str:
        """Code for a value per lane; parenthesized where it is no name."""
        shape, swar, kind = self.shape, self.swar, vector.kind
        if kind == "lanes":
            assert vector.place is not None
            return self._moved(vector.place)
        if kind == "bank":
            if self.indices is None:
                return "0"
            assert vector.expr is not None
            return f"{self.actions.context.registers.cells(vector.bank[0])}[{self.indices[vector.expr]}]"
        if kind == "constant":
            return swar.constant(vector.number)
        if kind == "scalar":
            assert vector.expr is not None
            value = self.actions.expressions.value(vector.expr, self.scope)
            code = value.code if value.fits(shape.bits) else f"{value} & {(1 << shape.bits) - 1:#x}"
            return f"({swar.broadcast(shape, code)})"
        if kind == "found":
            return self._look_up(vector)
        if vector.truth:
            return self._truth(vector)
        if kind == "?":
            return self._choose(vector)
        if kind in ("<<", ">>"):
            value_code = self.number(vector.args[0])
            if kind == "<<" and vector.exact:
                return f"({value_code} << {vector.number})"  # nothing leaves a lane
            shift = swar.shift_left if kind == "<<" else swar.shift_right
            return shift(shape, value_code, vector.number)
        if kind == "&" and vector.args[0].kind == ">>" and vector.args[1].kind == "constant":
            shifted, mask = vector.args[0], vector.args[1].number
            if not mask & ~shape.splat(((1 << shape.bits) - 1) >> shifted.number):  # cuts off the neighbours' bits, too
                return f"({self.number(shifted.args[0])} >> {shifted.number} & {swar.constant(mask)})"
        codes = [self.number(arg) for arg in vector.args]
        if kind == "+":
            return swar.add(shape, *codes)
        if kind == "-":
            return swar.sub(shape, *codes)
        if kind == "~":
            return swar.invert(shape, codes[0])
        if kind == "&" and vector.args[1].kind == "constant" and vector.args[1].number == shape.full:
            return codes[0]
        return f"({codes[0]} {kind} {codes[1]})"

    def _moved(self, place: LaneSlice) -> str:
        key = (place, self.shape)
        if key not in self.moved:
            self.moved[key] = self.swar.move(self.shape, self._local(place.run), place.apart, place.below)
        return self.moved[key]

    def _choose(self, vector: Vector) -> str:
        condition, left, right = vector.args
        if condition.kind == "scalar":
            assert condition.expr is not None
            test = self.actions.expressions.condition(condition.expr, self.scope)
            return f"({self.number(left)} if {test} else {self.number(right)})"
        codes = self.swar.let(self.number(left)), self.swar.let(self.number(right))
        return self.swar.select(self._truth(condition), *codes)

    def _truth(self, vector: Vector) -> str:
        shape, swar = self.shape, self.swar
        if vector.kind in ("and", "or"):
            operator = "&" if vector.kind == "and" else "|"
            return f"({self._truth(vector.args[0])} {operator} {self._truth(vector.args[1])})"
        if vector.kind == "not":
            return swar.invert(shape, self._truth(vector.args[0]))
        x, y = (swar.let(self.number(arg)) for arg in vector.args)
        match vector.kind:
            case ">=":
                return swar.at_least(shape, x, y)
            case "<=":
                return swar.at_least(shape, y, x)
            case "<":
                return swar.invert(shape, swar.at_least(shape, x, y))
            case ">":
                return swar.invert(shape, swar.at_least(shape, y, x))
            case "!=":
                return swar.differs(shape, x, y)
        return swar.invert(shape, swar.differs(shape, x, y))

    def _look_up(self, vector: Vector) -> str:
        """Every lane holds one byte value: bytes.translate looks them all up; the other bytes are masked off."""
        names = self.actions.context.names
        table = names.constant("shift_table", "shift_table", shift_table)
        assert vector.expr is not None
        scalar = self.actions.expressions.value(vector.expr, self.scope)
        size = self.shape.lanes * self.shape.bits * self.shape.apart // 8
        amount = self.number(vector.args[0])
        keep = self.swar.constant(self.shape.splat(vector.number))
        found = f"{amount}.to_bytes({size}, 'big').translate({table}({scalar.code}, {vector.number}))"
        return f"(int_from({found}, 'big') & {keep})"

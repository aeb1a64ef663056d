# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Python code for vector statements."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.lane_expressions import FieldRun, LaneExpr, LaneSlice, RestridedLanes, VectorStatement
from lanesum_switch.compiler.packed_arithmetic import PackedArithmetic, VectorShape


@lru_cache(maxsize=256)
def shift_table(number: int, mask: int) -> bytes:
    """Return ``number >> i & mask`` for every byte value i; ``mask`` has at most 8 bits."""
    return bytes(number >> i & mask for i in range(256))


def write_vector(context: Context, statement: VectorStatement, scope: Scope, indices: dict[ir.Expr, str]) -> None:
    """Write the code of a statement whose register indices are in range; ``indices`` has their locals."""
    if statement.leads:
        statement.restrided.clear()  # an action's code is written at each place that uses the action
    code = _VectorWriter(context, statement.shape, scope, indices, statement.restrided)
    result = code.number(statement.value)
    if statement.bank is not None and statement.index is not None:
        cells = context.registers.cells(statement.bank[0])
        context.writer.line(f"{cells}[{indices[statement.index]}] = {result}")
    elif statement.target is not None:
        code.store(statement.target, result)
        for key in [key for key in statement.restrided if key[0].run == statement.target.run]:
            del statement.restrided[key]


def write_vector_out_of_range(context: Context, statement: VectorStatement, scope: Scope) -> None:
    """Write the code of a statement with a register index out of range.

    As for scalar statements: a plain register read leaves its target unchanged, elsewhere the register counts as 0.
    """
    if statement.target is not None and statement.value.kind != "bank":
        code = _VectorWriter(context, statement.shape, scope, None, {})
        code.store(statement.target, code.number(statement.value))


class _VectorWriter:
    """Writes lane expressions. ``indices`` is None where register reads count as 0."""

    def __init__(
        self,
        context: Context,
        shape: VectorShape,
        scope: Scope,
        indices: dict[ir.Expr, str] | None,
        restrided: RestridedLanes,
    ) -> None:
        self.context = context
        self.restrided = restrided
        self.shape = shape
        self.scope = scope
        self.indices = indices
        self.packed = PackedArithmetic(context.names, context.writer)

    def _local(self, run: FieldRun) -> str:
        layout = self.context.layout
        segment = layout.layout_of(run.header).lanes[run.names[0]][0]
        return layout.segment_local(run.header, segment)

    def store(self, target: LaneSlice, code: str) -> None:
        """Write an assignment to a slice of a run."""
        local = self._local(target.run)
        if target.stride == 1:
            self.context.writer.line(f"{local} = {code}")
            return
        whole, own = VectorShape(len(target.run.names), self.shape.bits), replace(self.shape, stride=target.stride)
        if own != self.shape:
            code = self.packed.restride(own, code, self.shape.stride, 0)
        shift = target.trailing * self.shape.bits
        keep = self.packed.constant(whole.full ^ own.full << shift)
        self.context.writer.line(f"{local} = {local} & {keep} | {code}{f' << {shift}' if shift else ''}")

    def number(self, expr: LaneExpr) -> str:
        """Return code for a value per lane; parenthesized unless it is a name."""
        shape, packed, kind = self.shape, self.packed, expr.kind
        if kind == "lanes":
            assert expr.slice is not None
            return self._lanes(expr.slice)
        if kind == "bank":
            if self.indices is None:
                return "0"
            assert expr.expr is not None
            return f"{self.context.registers.cells(expr.bank[0])}[{self.indices[expr.expr]}]"
        if kind == "constant":
            return packed.constant(expr.number)
        if kind == "scalar":
            assert expr.expr is not None
            value = self.context.expressions.value(expr.expr, self.scope)
            code = value.code if value.fits(shape.bits) else f"{value} & {(1 << shape.bits) - 1:#x}"
            return f"({packed.broadcast(shape, code)})"
        if kind == "looked up":
            return self._look_up(expr)
        if expr.is_mask:
            return self._mask(expr)
        if kind == "?":
            return self._choose(expr)
        if kind in ("<<", ">>"):
            value_code = self.number(expr.args[0])
            if kind == "<<" and expr.exact:
                return f"({value_code} << {expr.number})"  # no bit leaves a lane
            shift = packed.shift_left if kind == "<<" else packed.shift_right
            return shift(shape, value_code, expr.number)
        if kind == "&" and expr.args[0].kind == ">>" and expr.args[1].kind == "constant":
            shifted, mask = expr.args[0], expr.args[1].number
            # The mask removes the bits of the neighbouring lane as well.
            if not mask & ~shape.splat(((1 << shape.bits) - 1) >> shifted.number):
                return f"({self.number(shifted.args[0])} >> {shifted.number} & {packed.constant(mask)})"
        codes = [self.number(arg) for arg in expr.args]
        if kind == "+":
            return packed.add(shape, *codes)
        if kind == "-":
            return packed.sub(shape, *codes)
        if kind == "~":
            return packed.invert(shape, codes[0])
        if kind == "&" and expr.args[1].kind == "constant" and expr.args[1].number == shape.full:
            return codes[0]
        return f"({codes[0]} {kind} {codes[1]})"

    def _lanes(self, lanes: LaneSlice) -> str:
        key = (lanes, self.shape)
        if key not in self.restrided:
            local = self._local(lanes.run)
            self.restrided[key] = self.packed.restride(self.shape, local, lanes.stride, lanes.trailing)
        return self.restrided[key]

    def _choose(self, expr: LaneExpr) -> str:
        condition, left, right = expr.args
        if condition.kind == "scalar":
            assert condition.expr is not None
            test = self.context.expressions.condition(condition.expr, self.scope)
            return f"({self.number(left)} if {test} else {self.number(right)})"
        codes = self.packed.let(self.number(left)), self.packed.let(self.number(right))
        return self.packed.select(self._mask(condition), *codes)

    def _mask(self, expr: LaneExpr) -> str:
        shape, packed = self.shape, self.packed
        if expr.kind in ("and", "or"):
            operator = "&" if expr.kind == "and" else "|"
            return f"({self._mask(expr.args[0])} {operator} {self._mask(expr.args[1])})"
        if expr.kind == "not":
            return packed.invert(shape, self._mask(expr.args[0]))
        x, y = (packed.let(self.number(arg)) for arg in expr.args)
        match expr.kind:
            case ">=":
                return packed.at_least(shape, x, y)
            case "<=":
                return packed.at_least(shape, y, x)
            case "<":
                return packed.invert(shape, packed.at_least(shape, x, y))
            case ">":
                return packed.invert(shape, packed.at_least(shape, y, x))
            case "!=":
                return packed.differs(shape, x, y)
        return packed.invert(shape, packed.differs(shape, x, y))

    def _look_up(self, expr: LaneExpr) -> str:
        """Return code that looks up the byte value of every lane with one ``bytes.translate``.

        Every lane holds one byte value. The mask removes the table's values for the other bytes of the lanes.
        """
        names = self.context.names
        table = names.constant("shift_table", "shift_table", shift_table)
        assert expr.expr is not None
        scalar = self.context.expressions.value(expr.expr, self.scope)
        size = self.shape.lanes * self.shape.bits * self.shape.stride // 8
        amount = self.number(expr.args[0])
        keep = self.packed.constant(self.shape.splat(expr.number))
        found = f"{amount}.to_bytes({size}, 'big').translate({table}({scalar.code}, {expr.number}))"
        return f"(int_from({found}, 'big') & {keep})"

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for expressions.

BMv2 computes with ints of any size and truncates a value where it is written to a field (docs/JSON_format.md, section
"General information"). Python ints do the same, so operators translate one to one. Bounds of every value are
tracked: masks that change nothing are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.layout import Value, VariableLayout
from lanesum_switch.compiler.python_source import check_size

# A left shift by more than this leaves no bit in any field. Without the limit, a packet could request 2**32 bits.
MAX_SHIFT = 16384
_HUGE = 1 << MAX_SHIFT

_COMPARE = {"==", "!=", "<", ">", "<=", ">="}


@dataclass(slots=True)
class Scope:
    """Names that an expression may refer to besides fields.

    Attributes:
        params: (local, bits) of the action's run-time parameters.
        register, lookahead: return the value of a register's cell and of a lookahead; None where there is none.
    """

    params: tuple[tuple[str, int], ...] = ()
    register: Callable[[ir.RegisterCell], Value] | None = None
    lookahead: Callable[[ir.Lookahead], Value] | None = None


class Expressions:
    """Writes the expressions of one program."""

    def __init__(self, layout: VariableLayout) -> None:
        self.layout = layout
        self.program = layout.program

    def value(self, expr: ir.Expr, scope: Scope) -> Value:
        """Return the value of an expression; a boolean is 0 or 1, as Python's bool is an int."""
        match expr:
            case ir.Const(number):
                return Value(str(number) if abs(number) < 1 << 64 else hex(number), number, number, number >= 0)
            case ir.Bool(flag):
                return Value(str(flag), int(flag), int(flag), True)
            case ir.FieldRef():
                return self.layout.read(expr)
            case ir.Param(index):
                name, bits = scope.params[index]
                return Value(name, 0, (1 << bits) - 1, True)
            case ir.Lookahead():
                if scope.lookahead is None:
                    raise UnsupportedProgramError("Unsupported: lookahead outside of a parser.")
                return scope.lookahead(expr)
            case ir.RegisterCell():
                if scope.register is None:
                    raise UnsupportedProgramError(f"Unsupported: register {expr.array} in this expression.")
                return scope.register(expr)
            case ir.LastField(stack, name):
                return self._last_field(stack, name)
            case ir.LastUnionField(stack, member, name):
                return self._last_union_field(stack, member, name)
            case ir.AccessField(header, index):
                return self._access_field(header, index, scope)
            case ir.Op():
                return self._operation(expr, scope)
        raise UnsupportedProgramError(f"Unsupported: expression {type(expr).__name__}.")

    def condition(self, expr: ir.Expr, scope: Scope) -> str:
        """Return the Python condition of a boolean expression."""
        if isinstance(expr, ir.Op) and expr.op == "d2b":
            return self.value(expr.args[0], scope).code
        return self.value(expr, scope).code

    def header_cases(self, expr: ir.Expr, scope: Scope) -> list[tuple[str, str]]:
        """Return (condition, header instance) of all headers that an expression may denote.

        The condition is empty if there is only one.
        """
        match expr:
            case ir.HeaderRef(name):
                return [("", name)]
            case ir.StackElement(stack, index):
                return self._element_cases(self.program.stacks[stack].elements, index, scope)
            case ir.AccessUnionHeader(union, number):
                cases = self.union_cases(union, scope)
                return [(c, self.program.unions[u].headers[number]) for c, u in cases]
            case ir.LastField(stack, "last"):  # p4c writes the header ``last`` of a stack like a field
                last = self.layout.next_index(stack)
                elements = self.program.stacks[stack].elements
                return [(f"{last} == {i + 1}", element) for i, element in enumerate(elements)]
        raise UnsupportedProgramError(f"Unsupported: {type(expr).__name__} where a header is needed.")

    def union_cases(self, expr: ir.Expr, scope: Scope) -> list[tuple[str, str]]:
        """Return (condition, union instance) of all unions that an expression may denote."""
        match expr:
            case ir.UnionRef(name):
                return [("", name)]
            case ir.UnionStackElement(stack, index):
                return self._element_cases(self.program.union_stacks[stack].elements, index, scope)
        raise UnsupportedProgramError(f"Unsupported: {type(expr).__name__} where a header union is needed.")

    def _element_cases(self, elements: tuple[str, ...], index: ir.Expr, scope: Scope) -> list[tuple[str, str]]:
        if isinstance(index, ir.Const):
            return [("", elements[index.value])] if 0 <= index.value < len(elements) else []
        code = self.value(index, scope)
        return [(f"{code} == {i}", element) for i, element in enumerate(elements)]

    def _choose(self, cases: list[tuple[str, Value]]) -> Value:
        """Return a conditional expression; 0 where no case holds (BMv2: undefined)."""
        if not cases:
            return Value("0", 0, 0, True)
        if not cases[0][0]:
            return cases[0][1]
        code = "0"
        for condition, value in reversed(cases):
            code = f"{value} if {condition} else {code}"
            check_size(len(code))
        low = min(0, *(v.low for _, v in cases))
        high = max(0, *(v.high for _, v in cases))
        return Value(code, low, high)

    def _access_field(self, header: ir.Expr, index: int, scope: Scope) -> Value:
        cases = []
        for condition, name in self.header_cases(header, scope):
            fields = self.program.instances[name].type.fields
            member = ir.VALID if index >= len(fields) else fields[index].name
            cases.append((condition, self.layout.read(ir.FieldRef(name, member))))
        return self._choose(cases)

    def _last_field(self, stack: str, name: str) -> Value:
        last = self.layout.next_index(stack)
        cases = [
            (f"{last} == {i + 1}", self.layout.read(ir.FieldRef(header, name)))
            for i, header in enumerate(self.program.stacks[stack].elements)
        ]
        return self._choose(cases)

    def _last_union_field(self, stack: str, member: str, name: str) -> Value:
        last = self.layout.next_index(stack)
        cases = []
        for i, union in enumerate(self.program.union_stacks[stack].elements):
            instance = self.program.unions[union]
            header = instance.headers[instance.members.index(member)]
            cases.append((f"{last} == {i + 1}", self.layout.read(ir.FieldRef(header, name))))
        return self._choose(cases)

    def _operation(self, expr: ir.Op, scope: Scope) -> Value:
        op, args = expr.op, expr.args
        if op in ("==", "!=") and isinstance(args[0], ir.HeaderRef | ir.StackElement | ir.AccessUnionHeader):
            return self._compare_headers(op, args, scope)
        if op in ("==", "!=") and isinstance(args[0], ir.UnionRef | ir.UnionStackElement):
            return self._compare_unions(op, args, scope)
        if op in ("==", "!=") and any(map(self._is_variable, args)):
            return self._compare_variable(op, args)
        if op == "valid":
            cases = self.header_cases(args[0], scope)
            return self._choose([(c, Value(self.layout.valid(h), 0, 1, True)) for c, h in cases])
        if op == "valid_union":
            cases = self.union_cases(args[0], scope)
            return self._choose([(c, Value(self._union_valid(u), 0, 1)) for c, u in cases])
        if op in ("last_stack_index", "size_stack"):
            return self._stack_size(op, args[0])
        if op == "?":
            condition = self.condition(args[0], scope)
            left, right = self.value(args[1], scope), self.value(args[2], scope)
            code = f"{left} if {condition} else {right}"
            return Value(code, min(left.low, right.low), max(left.high, right.high))
        values = [self.value(arg, scope) for arg in args]
        if op in ("and", "or"):
            return Value(f"{values[0]} {op} {values[1]}", 0, 1)
        if op == "not":
            return Value(f"not {values[0]}", 0, 1)
        if op in _COMPARE:
            return Value(f"{values[0]} {op} {values[1]}", 0, 1)
        if op == "d2b":
            return values[0] if values[0].fits(1) else Value(f"{values[0]} != 0", 0, 1)
        if op == "b2d":
            return values[0]  # Python's bool is an int
        if op == "~":
            return Value(f"~{values[0]}", ~values[0].high, ~values[0].low)
        if op in ("two_comp_mod", "usat_cast", "sat_cast"):
            return self._cast(op, values[0], args[1])
        return self._arithmetic(op, values[0], values[1])

    @staticmethod
    def _arithmetic(op: str, a: Value, b: Value) -> Value:
        if op == "+":
            return Value(f"{a} + {b}", a.low + b.low, a.high + b.high)
        if op == "-":
            return Value(f"{a} - {b}", a.low - b.high, a.high - b.low)
        if op == "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return Value(f"{a} * {b}", min(ends), max(ends))
        if op == "&":
            return _bit_and(a, b)
        if op in ("|", "^"):
            if a.low >= 0 and b.low >= 0:
                return Value(f"{a} {op} {b}", 0, (1 << max(a.high.bit_length(), b.high.bit_length())) - 1)
            return Value(f"{a} {op} {b}", -_HUGE, _HUGE)
        if op == "<<":
            if b.high <= MAX_SHIFT and b.low >= 0:
                return Value(f"{a} << {b}", min(a.low << b.high, a.low), max(a.high << b.high, a.high))
            return Value(f"{a} << {b} if 0 <= {b} <= {MAX_SHIFT} else 0", -_HUGE, _HUGE)
        if op == ">>":
            code = f"{a} >> {b}" if b.low >= 0 else f"{a} >> {b} if {b} >= 0 else 0"
            low = b.low if b.low >= 0 else 0
            ends = [a.low >> min(low, MAX_SHIFT), a.high >> min(low, MAX_SHIFT), 0]
            return Value(code, min(ends), max(ends))
        assert op in ("/", "%")
        python = "//" if op == "/" else "%"
        if b.low > 0:
            return Value(f"{a} {python} {b}", min(0, a.low), max(0, a.high))
        # BMv2 asserts that the divisor is positive. Here the result is 0: no packet may stop the switch.
        return Value(f"{a} {python} {b} if {b} > 0 else 0", min(0, a.low), max(0, a.high))

    @staticmethod
    def _cast(op: str, value: Value, width: ir.Expr) -> Value:
        if not isinstance(width, ir.Const):
            raise UnsupportedProgramError(f"Unsupported: {op} to a width that is not constant.")
        bits = width.value
        half = 1 << bits - 1
        if op == "usat_cast":
            high = (1 << bits) - 1
            if value.fits(bits):
                return value
            return Value(f"min(max({value.code}, 0), {high})", 0, high, True)
        if value.fits(bits, signed=True):
            return value
        if op == "sat_cast":
            return Value(f"min(max({value.code}, {-half}), {half - 1})", -half, half - 1, True)
        return Value(f"({value} + {half} & {(1 << bits) - 1:#x}) - {half}", -half, half - 1)

    def _stack_size(self, op: str, stack: ir.Expr) -> Value:
        if not isinstance(stack, ir.StackRef | ir.UnionStackRef):
            raise UnsupportedProgramError(f"Unsupported: {op} of an expression that is not a stack.")
        stacks = self.program.stacks if isinstance(stack, ir.StackRef) else self.program.union_stacks
        size = len(stacks[stack.name].elements)
        last = self.layout.next_index(stack.name)
        if op == "size_stack":
            return Value(last, 0, size, True)
        return Value(f"{last} - 1", -1, size - 1)

    def _is_variable(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.FieldRef) and self.program.field_type(expr).variable

    def _compare_variable(self, op: str, args: tuple[ir.Expr, ...]) -> Value:
        """Return the comparison of variable-length fields: as in BMv2, of their numbers, whatever the widths."""
        if not all(map(self._is_variable, args)):
            raise UnsupportedProgramError(f"Unsupported: {op} of a variable-length field and a number.")
        names = [self.layout.field_local(arg.header, arg.name) for arg in args if isinstance(arg, ir.FieldRef)]
        left, right = (f"int_from({name}, 'big')" for name in names)
        return Value(f"{left} {op} {right}", 0, 1)

    def _union_valid(self, union: str) -> str:
        return " or ".join(self.layout.valid(h) for h in self.program.unions[union].headers)

    def _same_header(self, left: str, right: str) -> str:
        """Return the condition that two headers of one type are valid and equal."""
        parts = [self.layout.valid(left), self.layout.valid(right)]
        pairs = zip(self.layout.locals_of(left), self.layout.locals_of(right), strict=True)
        parts += [f"{a} == {b}" for a, b in pairs]
        return " and ".join(parts)

    def _compare_headers(self, op: str, args: tuple[ir.Expr, ...], scope: Scope) -> Value:
        conditions = []
        for left_condition, left in self.header_cases(args[0], scope):
            for right_condition, right in self.header_cases(args[1], scope):
                guards = [c for c in (left_condition, right_condition) if c]
                conditions.append("(" + " and ".join([*guards, self._same_header(left, right)]) + ")")
        code = " or ".join(conditions) if conditions else "False"
        return Value(f"not ({code})" if op == "!=" else f"({code})", 0, 1)

    def _compare_unions(self, op: str, args: tuple[ir.Expr, ...], scope: Scope) -> Value:
        conditions = []
        for left_condition, left in self.union_cases(args[0], scope):
            for right_condition, right in self.union_cases(args[1], scope):
                guards = [c for c in (left_condition, right_condition) if c]
                pairs = zip(self.program.unions[left].headers, self.program.unions[right].headers, strict=True)
                same = " or ".join(f"({self._same_header(a, b)})" for a, b in pairs)
                conditions.append("(" + " and ".join([*guards, f"({same})"]) + ")")
        code = " or ".join(conditions) if conditions else "False"
        return Value(f"not ({code})" if op == "!=" else f"({code})", 0, 1)


def _bit_and(a: Value, b: Value) -> Value:
    if b.low == b.high and b.low >= 0 and a.low >= 0:
        mask = b.low
        if mask & (mask + 1) == 0 and a.high <= mask:
            return a
    if a.low >= 0 and b.low >= 0:
        return Value(f"{a} & {b}", 0, min(a.high, b.high))
    if a.low >= 0 or b.low >= 0:
        return Value(f"{a} & {b}", 0, a.high if a.low >= 0 else b.high)
    return Value(f"{a} & {b}", -_HUGE, _HUGE)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of P4 statements and expressions to primitives of ``ir``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.storage import Gress, HeaderVar, Leaf, Place, StackVar, StructVar, leaves
from lanesum_switch.tna.values import Typed


class Extern:
    """An instance of an extern: statements call its methods."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: Mapping[str, Binding] | None = None) -> None:
        self.gress = gress
        self.instance = instance
        self.name = instance.control_name

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        """Append the effects of the call to ``body``; return its value. Raises UnsupportedProgramError."""
        raise UnsupportedProgramError(
            f"Unsupported: method {method} of {self.instance.type} {self.name} in line {call.line}."
        )

    @property
    def size(self) -> int:
        """Number of cells: the first argument of the constructor. Raises UnsupportedProgramError."""
        size = self.instance.args[0]
        if not isinstance(size, p4.Number):
            raise UnsupportedProgramError(f"Unsupported: the size of {self.name} is no number.")
        return size.value


Binding = Place | Extern
Make = Callable[[Gress, p4.Instantiation, dict[str, Binding]], Extern]


class Body:
    """Collects the primitives of one action, or of a sequence of plain statements.

    Calls within expressions are extracted: their effects come first, their values are stored in variables.
    """

    def __init__(self, gress: Gress, scope: Mapping[str, Binding], where: str) -> None:
        self.gress = gress
        self.scope = scope
        self.where = where
        self.primitives: list[ir.Primitive] = []

    def unsupported(self, what: str, line: int = 0) -> UnsupportedProgramError:
        at = f" in line {line} of the program" if line else ""
        return UnsupportedProgramError(f"Unsupported: {what}{at} ({self.where}).")

    def emit(self, op: str, *args: ir.Expr) -> None:
        self.primitives.append(ir.Primitive(op, args, self.where))

    def statements(self, found: Sequence[p4.Statement]) -> None:
        for statement in found:
            self.statement(statement)

    def statement(self, found: p4.Statement) -> None:
        """Append one statement. Raises UnsupportedProgramError."""
        match found:
            case p4.Variable(kind, name, value):
                place = self.gress.storage.declare(f"{self.where}.{name}", kind)
                self.scope = {**self.scope, name: place}
                if value is not None:
                    self.assign(place, value)
            case p4.AssignmentStatement(p4.Slice(base, high, low), value, _):
                self._assign_slice(self.place(base), high, low, self.value(value))
            case p4.AssignmentStatement(target, value, _):
                self.assign(self.place(target), value)
            case p4.CallStatement(call, line):
                self._call(call, line)
            case p4.If(condition, then, otherwise, _):
                self._if(self.value(condition), then, otherwise)
            case p4.Exit():
                self.emit("exit")
            case _:
                raise self.unsupported(f"statement {type(found).__name__}", getattr(found, "line", 0))

    def _if(self, condition: Typed, then: Sequence[p4.Statement], otherwise: Sequence[p4.Statement]) -> None:
        test = len(self.primitives)
        self.emit("_jump_if_zero", condition.expr, ir.Const(0))
        self.statements(then)
        jump = len(self.primitives)
        if otherwise:
            self.emit("_jump", ir.Const(0))
            self.statements(otherwise)
            self.primitives[jump] = ir.Primitive("_jump", (ir.Const(len(self.primitives)),), self.where)
            jump += 1
        self.primitives[test] = ir.Primitive("_jump_if_zero", (condition.expr, ir.Const(jump)), self.where)

    def _call(self, call: p4.CallExpression, line: int) -> None:
        match call.function:
            case p4.MemberExpression(base, "setValid" | "setInvalid" as method):
                header = self.place(base)
                if not isinstance(header, HeaderVar):
                    raise self.unsupported(f"{method} of something that is no header", line)
                self.emit("add_header" if method == "setValid" else "remove_header", ir.HeaderRef(header.name))
            case p4.Path("invalidate"):
                place = self.place(call.args[0])
                flag = self.gress.written_flags.get(place.expr) if isinstance(place, Leaf) else None  # type: ignore[arg-type]
                if flag is None:
                    raise self.unsupported("invalidate of something else than ucast_egress_port", line)
                self.emit("assign", flag, ir.Const(0))
            case p4.Path(name) if self.action(name) is not None:
                self._inline(name, call)
            case _:
                self.call(call)

    def action(self, name: str) -> p4.ActionDeclaration | None:
        """Return the action of that name, if this body may call one."""
        return None

    def _inline(self, name: str, call: p4.CallExpression) -> None:
        action = self.action(name)
        assert action is not None
        outer = self.scope
        inner = dict(outer)
        for param, arg in zip(action.params, call.args, strict=True):
            if param.direction in ("out", "inout"):
                inner[param.name] = self.place(arg)
            else:
                copy = self.gress.storage.declare(f"{self.where}.{name}.{param.name}", param.type)
                self.assign(copy, arg)
                inner[param.name] = copy
        self.scope = inner
        self.statements(action.body)
        self.scope = outer

    def store(self, target: Leaf, value: Typed) -> None:
        if not isinstance(target.expr, ir.FieldRef):
            raise self.unsupported("assignment to a parameter of an action")
        expr = value.expr
        if isinstance(target.type, p4.Bits) and value.type is None:
            expr = values.cut(expr, target.type)
        self.emit("assign", target.expr, expr)
        flag = self.gress.written_flags.get(target.expr)
        if flag is not None:
            self.emit("assign", flag, ir.Const(1))

    def assign(self, target: Place, value: p4.Expr) -> None:
        """Assign a number, a list or struct expression, or a whole variable."""
        if isinstance(value, p4.Path | p4.MemberExpression | p4.Index) and not isinstance(target, Leaf):
            self._copy(target, self.place(value))
            return
        if isinstance(target, HeaderVar):
            self.emit("add_header", ir.HeaderRef(target.name))
        if isinstance(value, p4.StructOf | p4.ListOf) and isinstance(target, HeaderVar | StructVar):
            named = value.fields if isinstance(value, p4.StructOf) else zip(target.members, value.items, strict=True)
            # All values before any field, because values may contain the fields.
            held = [(target.members[name], self._held(target.members[name], expr)) for name, expr in named]
            for place, later in held:
                self._finish(place, later)
            return
        if not isinstance(target, Leaf):
            raise self.unsupported(f"assignment of {type(value).__name__} to a whole struct")
        self.store(target, self.value(value))

    def _held(self, place: Place, expr: p4.Expr) -> Typed | p4.Expr:
        if not isinstance(place, Leaf):
            return expr
        value = self.value(expr)
        if isinstance(value.expr, ir.Const | ir.Param):
            return value
        copy = self.gress.storage.temporary(place.type)
        self.store(copy, value)
        return Typed(copy.expr, place.type)

    def _finish(self, place: Place, value: Typed | p4.Expr) -> None:
        if isinstance(value, Typed):
            assert isinstance(place, Leaf)
            self.store(place, value)
        else:
            self.assign(place, value)

    def _copy(self, target: Place, source: Place) -> None:
        match target, source:
            case (HeaderVar(), HeaderVar()):
                self.emit("assign_header", ir.HeaderRef(target.name), ir.HeaderRef(source.name))
            case (StructVar(), StructVar()):
                for name, member in target.members.items():
                    self._copy(member, source.members[name])
            case (Leaf(), Leaf()):
                self.store(target, Typed(source.expr, source.type))
            case _:
                raise self.unsupported("this assignment of a whole variable")

    def _assign_slice(self, target: Place, high: int, low: int, value: Typed) -> None:
        if not isinstance(target, Leaf) or not isinstance(target.type, p4.Bits):
            raise self.unsupported("assignment to a slice of something that is no number")
        ones = ((1 << high - low + 1) - 1) << low
        kept = ir.Op("&", (values.bit_string(Typed(target.expr, target.type)), ir.Const((1 << target.bits) - 1 ^ ones)))
        part = values.cut(value.expr, p4.Bits(high - low + 1)) if value.type is None else values.bit_string(value)
        part = ir.Op("<<", (part, ir.Const(low))) if low else part
        self.store(target, Typed(values.cut(ir.Op("|", (kept, part)), target.type), target.type))

    def binding(self, path: p4.Path) -> Binding:
        found = self.scope.get(path.name)
        if found is None:
            raise self.unsupported(f"the name {path.name}", path.line)
        return found

    def place(self, expr: p4.Expr) -> Place:
        """Return the variable, or the part of one, that an expression names."""
        match expr:
            case p4.Path():
                found = self.binding(expr)
                if isinstance(found, Extern):
                    raise self.unsupported(f"{expr.name} as a variable", expr.line)
                return found
            case p4.MemberExpression(base, name):
                place = self.place(base)
                if isinstance(place, HeaderVar | StructVar) and name in place.members:
                    return place.members[name]
            case p4.Index(base, index):
                place = self.place(base)
                if isinstance(place, StackVar) and isinstance(index, p4.Number) and index.value < len(place.elements):
                    return place.elements[index.value]
        raise self.unsupported(f"{shown(expr)} as a variable")

    def value(self, expr: p4.Expr) -> Typed:
        """Return a number or truth value; emit calls in it."""
        match expr:
            case p4.Number(value, None, _):
                return Typed(ir.Const(value), None)
            case p4.Number(value, int(width), signed):
                kind = p4.Bits(width, signed)
                return Typed(values.cut(ir.Const(value), kind), kind)
            case p4.Truth(value):
                return Typed(ir.Const(int(value)), p4.Boolean())
            case p4.MemberExpression(p4.Path(name), member) if (
                name in self.gress.text.enumerations and name not in self.scope
            ):
                enumeration = self.gress.text.enumerations[name]
                return Typed(ir.Const(enumeration.members[member]), p4.Bits(32)) if enumeration.type is None else Typed(
                    ir.Const(enumeration.members[member]), self._bits(enumeration.type)
                )  # fmt: skip
            case p4.MemberExpression(p4.Path("error"), member):
                return Typed(ir.Const(self.gress.text.errors.index(member)), p4.Bits(16))
            case p4.Path(name) if name not in self.scope and name in self.gress.text.constants:
                return self.value(self.gress.text.constants[name])
            case p4.Path() | p4.MemberExpression() | p4.Index():
                place = self.place(expr)
                if not isinstance(place, Leaf):
                    raise self.unsupported("a whole struct where a number is needed")
                return Typed(place.expr, place.type)
            case p4.Slice(base, high, low):
                return values.slice_of(self.value(base), high, low)
            case p4.Unary(op, operand):
                return values.unary(op, self.value(operand))
            case p4.Cast(kind, operand):
                resolved = self.gress.storage.resolve(kind)
                if not isinstance(resolved, p4.Bits | p4.Boolean):
                    raise self.unsupported(f"a cast to {resolved}")
                return values.cast(self.value(operand), resolved)
            case p4.Binary(op, left, right):
                first = self.value(left)
                return values.binary(op, first, self._pure(right) if op in ("&&", "||") else self.value(right))
            case p4.Conditional(condition, left, right):
                return values.choose(self.value(condition), self._pure(left), self._pure(right))
            case p4.CallExpression():
                result = self.call(expr)
                if result is None:
                    raise self.unsupported("the value of a call that has none", expr.line)
                return result
        raise self.unsupported(f"{type(expr).__name__} as a number")

    def _bits(self, kind: p4.Type) -> p4.Bits:
        resolved = self.gress.storage.resolve(kind)
        assert isinstance(resolved, p4.Bits)
        return resolved

    def _pure(self, expr: p4.Expr) -> Typed:
        """Return an operand that P4 evaluates only under a condition: it must not contain calls."""
        before = len(self.primitives)
        result = self.value(expr)
        if len(self.primitives) != before:
            raise self.unsupported("a call that happens under a condition within an expression")
        return result

    def fields(self, expr: p4.Expr) -> list[Typed]:
        """Return the numbers of a list, struct or header, or the one number of an expression."""
        match expr:
            case p4.ListOf(items):
                return [value for item in items for value in self.fields(item)]
            case p4.StructOf(kind, named):
                record = None if kind is None else self.gress.storage.record(kind)
                if record is None:
                    return [value for _, item in named for value in self.fields(item)]
                given = dict(named)
                return [
                    self._widened(value, kind)
                    for name, kind in record.fields
                    for value in self.fields(given[name])
                ]  # fmt: skip
            case p4.Path() | p4.MemberExpression() | p4.Index():
                try:
                    place = self.place(expr)
                except UnsupportedProgramError:
                    return [self.value(expr)]
                return [Typed(leaf.expr, leaf.type) for leaf in leaves(place)]
        return [self.value(expr)]

    def _widened(self, value: Typed, kind: p4.Type) -> Typed:
        """Convert a number without width to a field of a type."""
        resolved = self.gress.storage.resolve(kind)
        if value.type is None and isinstance(resolved, p4.Bits):
            return Typed(values.cut(value.expr, resolved), resolved)
        return value

    def call(self, call: p4.CallExpression) -> Typed | None:
        """Emit a call of a method or function; return its value, if any."""
        match call.function:
            case p4.MemberExpression(p4.Path() as path, method) if isinstance(self.scope.get(path.name), Extern):
                extern = self.scope[path.name]
                assert isinstance(extern, Extern)
                return extern.call(self, method, call)
            case p4.MemberExpression(base, "isValid"):
                header = self.place(base)
                if isinstance(header, HeaderVar):
                    return Typed(ir.FieldRef(header.name, ir.VALID), p4.Boolean())
            case p4.Path("max" | "min" as name):
                left, right = (self.value(arg) for arg in call.args)
                better = values.binary(">" if name == "max" else "<", left, right)
                return values.choose(better, left, right)
            case p4.Path("sizeInBits" | "sizeInBytes" as name):
                bits = sum(value.bits for value in self.fields(call.args[0]))
                return Typed(ir.Const(bits if name == "sizeInBits" else bits // 8), p4.Bits(32))
        raise self.unsupported(f"the call of {shown(call.function)}", call.line)


def shown(expr: p4.Expr) -> str:
    """Return the text of a name or member, and the kind of any other expression."""
    match expr:
        case p4.Path(name):
            return name
        case p4.MemberExpression(base, name):
            return f"{shown(base)}.{name}"
    return type(expr).__name__

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Register and RegisterAction: one access of a stateful ALU.

The body of a RegisterAction is executed symbolically: cell and results become one expression each, of the old cell and
of packet fields. So an access is a read, a few assignments and a write without branches, and the ALU resources of the
body can be counted.

Comparisons of a stateful ALU differ from those of P4 at the ends of the value range. A comparator adds a number of the
register, a packet field and a constant, and compares the sum with zero. The sum has 35 bits: no addition of P4 in the
comparison wraps. Register and field are extended by zeros; for ``<``, ``<=``, ``>`` and ``>=`` of signed numbers by
their sign. The constant is always extended by its sign, so that 16 set bits in a register are not equal to -1. The
exception is an ordered comparison of a signed sum or difference: it reads the sign in the width of the register, as P4
does. Source: the chips' register-accurate model, and the instructions that p4c selects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanesum_fabric.tofino.chips import Chip
from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.body import Binding, Body, Extern
from lanesum_switch.tna.storage import Gress, Leaf, Place, StructVar, leaves
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


_ALU = COMPARISONS | {
    "+", "-", "&", "|", "^", "~", "?", "and", "or", "not", "two_comp_mod", "sat_cast", "usat_cast", ">>", "<<", "b2d",
}  # fmt: skip
_INDEX_BITS = 32


class Register(Extern):
    """A register; ``arrays``: one per number of a cell, which is a number or a struct of two."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        self.type = instance.type.args[0]
        body = Body(gress, scope, self.name)
        initial = body.fields(instance.args[1]) if len(instance.args) > 1 else []
        self.arrays: dict[str, str] = {}
        for i, (member, kind) in enumerate(self.members()):
            array = f"{self.name}.{member}" if member else self.name
            self.arrays[member] = array
            gress.program.registers[array] = ir.RegisterArray(array, self.size, kind.width, kind.signed)
            if i < len(initial) and isinstance(initial[i].expr, ir.Const):
                value = initial[i].expr
                assert isinstance(value, ir.Const)
                gress.initial[array] = value.value & ((1 << kind.width) - 1)

    def members(self) -> list[tuple[str, p4.Bits]]:
        """Return (name, type) of each number of a cell; the name is empty if the cell is a number."""
        record = self.gress.storage.record(self.type)
        if record is None:
            return [("", self._bits(self.type))]
        return [(name, self._bits(kind)) for name, kind in record.fields]

    def _bits(self, kind: p4.Type) -> p4.Bits:
        resolved = self.gress.storage.resolve(kind)
        if isinstance(resolved, p4.Boolean):
            return p4.Bits(1)
        if not isinstance(resolved, p4.Bits):
            raise UnsupportedProgramError(f"Unsupported: register {self.name} with cells of type {kind}.")
        return resolved

    def claim(self, body: Body, what: str) -> None:
        """Note the access of a packet to this register."""
        body.emit("claim_register", ir.Text(self.name), ir.Text(what))

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method not in ("read", "write") or len(self.arrays) != 1:
            return super().call(body, method, call)
        self.claim(body, f"{self.name}.{method}")
        index = body.value(call.args[0]).expr
        (kind,) = (kind for _, kind in self.members())
        old = body.gress.storage.temporary(kind)
        body.emit("register_read", old.expr, ir.Named("register_array", self.name), index)
        if method == "write":
            value = body.value(call.args[1])
            body.emit("register_write", ir.Named("register_array", self.name), index, value.expr)
        return Typed(old.expr, old.type)


class RegisterAction(Extern):
    """One access by ``execute(index)``; in T2NA with up to four results."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        target = instance.args[0]
        register = scope.get(target.name) if isinstance(target, p4.Path) else None
        if not isinstance(register, Register):
            raise UnsupportedProgramError(f"Unsupported: RegisterAction {self.name} without a register.")
        self.register = register
        self.scope = scope
        extra = [function.name for function in instance.functions if function.name != "apply"]
        if extra or not instance.functions:
            raise UnsupportedProgramError(
                f"Unsupported: RegisterAction {self.name} with {', '.join(extra) or 'no apply'}."
            )
        self.apply = instance.functions[0]
        self._check()

    def _check(self) -> None:
        """Refuse operations that no stateful ALU supports."""
        old = {
            member: Typed(ir.FieldRef("cell", member), kind) for member, kind in self.register.members()
        }  # fmt: skip
        alu = _Alu(self.gress, self.scope, self, old)
        alu.run()
        chip = self.gress.chip
        seen = [alu.new[member].expr for member in alu.new] + [r.expr for r in alu.results]
        nodes = [node for expr in seen for node in ir.walk(expr)]
        operators = {node.op for node in nodes if isinstance(node, ir.Op)} - _ALU
        operands = {n for n in nodes if isinstance(n, ir.FieldRef) and n.header != "cell"}
        problems = []
        if operators:
            problems.append(f"operators {', '.join(sorted(operators))}")
        if len(alu.comparisons) > chip.predicates:
            problems.append(f"{len(alu.comparisons)} comparisons, it has {chip.predicates}")
        for member, number in alu.updates.items():
            if number > chip.updates:
                problems.append(f"{number} updates of {member or 'the cell'}, it has {chip.updates}")
        if len(operands) > chip.operands:
            shown = ", ".join(sorted(f"{ref.header}.{ref.name}" for ref in operands))
            problems.append(f"{len(operands)} fields of the packet ({shown}), it takes {chip.operands}")
        if problems:
            raise UnsupportedProgramError(
                f"Unsupported: RegisterAction {self.name} is more than a stateful ALU of {chip.title} does: "
                f"{'; '.join(problems)}."
            )

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "execute":
            return super().call(body, method, call)
        register, storage = self.register, body.gress.storage
        register.claim(body, self.name)
        given = body.value(call.args[0])
        index = given.expr
        if not isinstance(index, ir.FieldRef | ir.Const | ir.Param):
            # In a variable of its type: an index that cannot exceed the register is not checked.
            held = storage.temporary(given.type or p4.Bits(_INDEX_BITS))
            body.store(held, Typed(index, held.type))
            index = held.expr
        old: dict[str, Typed] = {}
        for member, kind in register.members():
            cell = storage.temporary(kind)
            body.emit("register_read", cell.expr, ir.Named("register_array", register.arrays[member]), index)
            old[member] = Typed(cell.expr, kind)
        alu = _Alu(body.gress, self.scope, self, old)
        alu.run()
        results = list(alu.results)
        for member, kind in register.members():
            new = alu.new[member]
            if new.expr == old[member].expr:
                continue
            leaf = storage.temporary(kind)
            body.store(leaf, new)
            if isinstance(new.expr, ir.Op):
                results = [Typed(ir.substitute(r.expr, new.expr, leaf.expr), r.type) for r in results]
            body.emit("register_write", ir.Named("register_array", register.arrays[member]), index, leaf.expr)
        for target, result in zip(call.args[1:], results[1:], strict=False):
            place = body.place(target)
            assert isinstance(place, Leaf)
            body.store(place, result)
        if not results:
            return None
        if results[0].type is None:
            return results[0]
        leaf = storage.temporary(results[0].type)
        body.store(leaf, results[0])
        return Typed(leaf.expr, leaf.type)


class _Alu(Body):
    """Executes the body of a RegisterAction on expressions."""

    def __init__(self, gress: Gress, scope: dict[str, Binding], action: RegisterAction, old: dict[str, Typed]) -> None:
        super().__init__(gress, scope, action.name)
        self.old = old
        self.width = max(value.bits for value in old.values())
        self.function = action.apply
        self.variables: dict[str, Place] = {}
        self.comparisons: set[ir.Expr] = set()
        self.updates: dict[str, int] = dict.fromkeys(old, 0)

    def run(self) -> None:
        """Run; afterwards ``new`` has each number of the cell, and ``results`` the out parameters."""
        value, *outs = self.function.params
        record = self.gress.storage.record(value.type)
        if record is None:
            self.variables[value.name] = _leaf(self.old[""])
        else:
            self.variables[value.name] = StructVar(record, {name: _leaf(self.old[name]) for name, _ in record.fields})
        for out in outs:
            self.variables[out.name] = self._zero(out.type)
        self.cell = value.name
        self.statements(self.function.body)
        if self.primitives:
            raise self.unsupported("a call with an effect in a RegisterAction")
        names = [name for name, _ in record.fields] if record is not None else [""]
        self.new = {
            name: Typed(leaf.expr, leaf.type)
            for name, leaf in zip(names, leaves(self.variables[value.name]), strict=True)
        }
        self.results = [Typed(leaf.expr, leaf.type) for out in outs for leaf in leaves(self.variables[out.name])]

    def _zero(self, kind: p4.Type) -> Place:
        resolved = self.gress.storage.resolve(kind)
        if not isinstance(resolved, p4.Bits | p4.Boolean):
            raise self.unsupported(f"a result of type {kind}")
        return Leaf(ir.Const(0), resolved)

    def binding(self, path: p4.Path) -> Binding:
        return self.variables[path.name] if path.name in self.variables else super().binding(path)

    def value(self, expr: p4.Expr) -> Typed:
        match expr:
            case p4.Binary(op, left, right) if op in COMPARISONS:
                found = compare(op, self.value(left), self.value(right), self.width, self.gress.chip)
                self.comparisons.add(_comparator(found))
                return Typed(found, p4.Boolean())
        return super().value(expr)

    def statement(self, found: p4.Statement) -> None:
        match found:
            case p4.Variable(kind, name, value):
                self.variables[name] = self._zero(kind)
                if value is not None:
                    self._set(p4.Path(name), self.value(value))
            case p4.AssignmentStatement(
                p4.Path() | p4.MemberExpression() as target, p4.Path() | p4.MemberExpression() as source, _
            ) if not isinstance(self.place(target), Leaf):
                self._replace(target, self.place(source))
            case p4.AssignmentStatement(p4.Path() | p4.MemberExpression() as target, value, _):
                self._set(target, self.value(value))
            case p4.If(condition, then, otherwise, _):
                self._branch(self.value(condition), then, otherwise)
            case _:
                raise self.unsupported("such a statement in a RegisterAction", getattr(found, "line", 0))

    def _set(self, target: p4.Expr, value: Typed) -> None:
        place = self.place(target)
        assert isinstance(place, Leaf)
        expr = value.expr
        if value.type is None and isinstance(place.type, p4.Bits):
            expr = values.cut(expr, place.type)
        self._replace(target, Leaf(expr, place.type))

    def _replace(self, target: p4.Expr, place: Place) -> None:
        match target:
            case p4.Path(name) if name in self.variables:
                self.variables[name] = place
                if name == self.cell:
                    for member in self.updates:
                        self.updates[member] += 1
            case p4.MemberExpression(p4.Path(name), member) if name in self.variables:
                whole = self.variables[name]
                assert isinstance(whole, StructVar)
                self.variables[name] = StructVar(whole.record, {**whole.members, member: place})
                if name == self.cell:
                    self.updates[member] += 1
            case _:
                raise self.unsupported("an assignment to a field of the packet in a RegisterAction")

    def _branch(self, condition: Typed, then: Sequence[p4.Statement], otherwise: Sequence[p4.Statement]) -> None:
        before = dict(self.variables)
        self.statements(then)
        left = self.variables
        self.variables = before
        self.statements(otherwise)
        for name, place in self.variables.items():
            if name in left:
                self.variables[name] = _merge(condition, left[name], place)


def _comparator(comparison: ir.Op) -> ir.Op:
    """Return the same key for a comparison and its opposite: instructions use either from one comparator."""
    left, right = comparison.args
    if comparison.op in ("==", "!="):
        return ir.Op("==", (left, right))
    return ir.Op("<", (left, right) if comparison.op in ("<", ">=") else (right, left))


def _leaf(value: Typed) -> Leaf:
    assert isinstance(value.type, p4.Bits | p4.Boolean)
    return Leaf(value.expr, value.type)


def _merge(condition: Typed, left: Place, right: Place) -> Place:
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        chosen = values.choose(condition, Typed(left.expr, left.type), Typed(right.expr, right.type))
        return Leaf(chosen.expr, right.type)
    assert isinstance(left, StructVar) and isinstance(right, StructVar)
    return StructVar(
        right.record, {n: _merge(condition, left.members[n], member) for n, member in right.members.items()}
    )

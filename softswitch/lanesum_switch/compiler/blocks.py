# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Basic blocks of actions as simple statements, and the passes that fuse them.

p4c writes one primitive per P4 statement, so a lane update arrives as register_read, assign, register_write over a
temporary. Forward substitution turns the three into one statement where the temporary is not used elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import ir
from .usage import Usage

if TYPE_CHECKING:
    from .actions import Actions
    from .expr import Scope

Location = ir.FieldRef | str  # a field, or the name of a register array


@dataclass(slots=True)
class Assign:
    """``target = value``; a RegisterCell in ``value`` makes it a register read."""

    target: ir.FieldRef
    value: ir.Expr


@dataclass(slots=True)
class RegisterWrite:
    array: str
    index: ir.Expr
    value: ir.Expr


@dataclass(slots=True)
class Other:
    """Any primitive that is not a plain assignment; nothing moves across it."""

    primitive: ir.Primitive


class Special:
    """A statement that writes its own code: the vectorizer's. Its register accesses are in ``cells``."""

    cells: list[tuple[str, ir.Expr]]
    targets: set[ir.FieldRef]

    def emit(self, actions: Actions, scope: Scope, indices: dict[ir.Expr, str]) -> None:
        """Write the code; every register index is in range, its local is in ``indices``."""
        raise NotImplementedError

    def emit_out_of_range(self, actions: Actions, scope: Scope) -> None:
        """Write the code for a register index that is out of range."""
        raise NotImplementedError


Statement = Assign | RegisterWrite | Other | Special


def statements_of(primitives: tuple[ir.Primitive, ...], program: ir.Program) -> list[Statement]:
    """The statements of straight-line primitives."""
    found: list[Statement] = []
    for primitive in primitives:
        args = primitive.args
        if primitive.op in ("assign", "modify_field") and isinstance(args[0], ir.FieldRef):
            found.append(Assign(args[0], args[1]))
        elif primitive.op == "register_read" and isinstance(args[0], ir.FieldRef):
            assert isinstance(args[1], ir.Named)
            found.append(Assign(args[0], ir.RegisterCell(args[1].name, args[2])))
        elif primitive.op == "register_write":
            assert isinstance(args[0], ir.Named)
            found.append(RegisterWrite(args[0].name, args[1], args[2]))
        elif primitive.op != "no_op":
            found.append(Other(primitive))
    return found


def reads(statement: Statement, usage: Usage) -> set[Location]:
    """Fields and register arrays that a statement reads."""
    match statement:
        case Assign(_, value):
            parts = [value]
        case RegisterWrite(_, index, value):
            parts = [index, value]
        case Other(primitive):
            return set(usage.primitive_effects(primitive)[0])
        case Special():
            raise TypeError("vectorized statements are not analysed again")
    found: set[Location] = set()
    for part in parts:
        found.update(usage.fields_in(part))
        found.update(node.array for node in ir.walk(part) if isinstance(node, ir.RegisterCell))
    return found


def cells(statement: Statement) -> list[tuple[str, ir.Expr]]:
    """(array, index) of every register access of a statement."""
    match statement:
        case Assign(_, value):
            parts = [value]
            found = []
        case RegisterWrite(array, index, value):
            parts = [value]
            found = [(array, index)]
        case Special():
            return statement.cells
        case Other():
            return []
    for part in parts:
        found += [(n.array, n.index) for n in ir.walk(part) if isinstance(n, ir.RegisterCell)]
    return found


def written_fields(statement: Statement) -> set[ir.FieldRef]:
    """Fields that an assignment writes; primitives other than assignments are not looked into."""
    match statement:
        case Assign(target, _):
            return {target}
        case Special():
            return statement.targets
    return set()


def _uses(statement: Statement, ref: ir.FieldRef, usage: Usage) -> int:
    match statement:
        case Assign(_, value):
            parts: tuple[ir.Expr, ...] = (value,)
        case RegisterWrite(_, index, value):
            parts = (index, value)
        case Other(primitive):
            return 2 if ref in usage.primitive_effects(primitive)[0] else 0
        case Special():
            raise TypeError("vectorized statements are not analysed again")
    count = 0
    for part in parts:
        for node in ir.walk(part):
            if node == ref:
                count += 1
            elif isinstance(node, ir.AccessField | ir.LastField | ir.LastUnionField) and ref in usage.fields_in(node):
                count += 2  # cannot be substituted there
    return count


def _replace(statement: Statement, ref: ir.FieldRef, value: ir.Expr) -> None:
    match statement:
        case Assign():
            statement.value = ir.substitute(statement.value, ref, value)
        case RegisterWrite():
            statement.index = ir.substitute(statement.index, ref, value)
            statement.value = ir.substitute(statement.value, ref, value)


def fuse(statements: list[Statement], usage: Usage) -> list[Statement]:
    """Substitute block-local fields into their single use; drop those that nobody uses.

    A field keeps BMv2's truncation: the substituted value is masked to the field's width where it might not fit.
    """
    found = list(statements)
    i = 0
    while i < len(found):
        statement = found[i]
        if not isinstance(statement, Assign) or not usage.block_local(statement.target):
            i += 1
            continue
        verdict = _single_use(found, i, usage)
        if verdict == "unused":
            del found[i]
        elif isinstance(verdict, int):
            _replace(found[verdict], statement.target, _truncated(statement, usage))
            del found[i]
        else:
            i += 1
    return found


def _truncated(statement: Assign, usage: Usage) -> ir.Expr:
    kind = usage.program.field_type(statement.target)
    value = statement.value
    if isinstance(value, ir.FieldRef):
        source = usage.program.field_type(value)
        if source.bits <= kind.bits and source.signed == kind.signed:
            return value
    narrow = isinstance(value, ir.RegisterCell) and usage.program.registers[value.array].bits <= kind.bits
    if narrow and not kind.signed:
        return value
    if kind.signed:
        return ir.Op("two_comp_mod", (value, ir.Const(kind.bits)))
    return ir.Op("&", (value, ir.Const((1 << kind.bits) - 1)))


def _single_use(statements: list[Statement], position: int, usage: Usage) -> int | str | None:
    """Index of the only statement that uses the assigned value exactly once, ``unused``, or None."""
    statement = statements[position]
    assert isinstance(statement, Assign)
    target = statement.target
    inputs = reads(statement, usage)
    user: int | None = None
    changed = False
    for j in range(position + 1, len(statements)):
        later = statements[j]
        count = _uses(later, target, usage)
        if count:
            if user is not None or count > 1 or changed or isinstance(later, Other):
                return None
            user = j
        match later:
            case Assign(ref, _):
                if ref == target:
                    break
                changed = changed or ref in inputs
            case RegisterWrite(array, _, _):
                changed = changed or array in inputs
            case Other():
                if later.primitive.op not in ("count", "log_msg"):
                    changed = changed or bool(inputs) or user is None
    return "unused" if user is None else user

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Statements of basic blocks, and forward substitution.

p4c writes one primitive per P4 statement: an update of a register is ``register_read``, ``assign`` and
``register_write`` over a temporary field. Forward substitution makes one statement of the three if nothing else uses
the field.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.field_usage import FieldUsage, Location
from lanesum_switch.compiler.lane_expressions import VectorStatement


@dataclass(slots=True)
class Assign:
    """``target = value``; a RegisterCell in ``value`` makes it a register read."""

    target: ir.FieldRef
    value: ir.Expr


@dataclass(slots=True)
class RegisterWrite:
    """``array[index] = value``."""

    array: str
    index: ir.Expr
    value: ir.Expr


@dataclass(slots=True)
class Other:
    """Any other primitive. Statements keep their order relative to it."""

    primitive: ir.Primitive


Statement = Assign | RegisterWrite | Other | VectorStatement
BlockPass = Callable[[list[Statement]], list[Statement]]  # a pass over the statements of a basic block


def _indirect(node: ir.Expr) -> bool:
    """Return True if an expression reads a field that a run-time index chooses."""
    return isinstance(node, ir.AccessField | ir.LastField | ir.LastUnionField)


def statements_of(primitives: tuple[ir.Primitive, ...]) -> list[Statement]:
    """Return the statements of primitives without jumps."""
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


def reads(statement: Statement, usage: FieldUsage) -> set[Location]:
    """Return the fields and register arrays that a statement reads."""
    match statement:
        case Assign(_, value):
            parts = [value]
        case RegisterWrite(_, index, value):
            parts = [index, value]
        case Other(primitive):
            return set(usage.primitive_effects(primitive)[0])
        case VectorStatement():
            raise TypeError("vector statements are not analysed again")
    return set().union(*map(usage.locations_in, parts))


def cells(statement: Statement) -> list[tuple[str, ir.Expr]]:
    """Return (array, index) of every register access of a statement."""
    match statement:
        case Assign(_, value):
            parts = [value]
            found = []
        case RegisterWrite(array, index, value):
            parts = [value]
            found = [(array, index)]
        case VectorStatement():
            return statement.cells
        case Other():
            return []
    for part in parts:
        found += [(n.array, n.index) for n in ir.walk(part) if isinstance(n, ir.RegisterCell)]
    return found


def written_fields(statement: Statement) -> set[ir.FieldRef]:
    """Return the fields that an assignment writes; other primitives are not analysed."""
    match statement:
        case Assign(target, _):
            return {target}
        case VectorStatement():
            return statement.targets
    return set()


def fuse(statements: list[Statement], usage: FieldUsage, duplicate: bool = False) -> list[Statement]:
    """Return the statements with block-local fields substituted into their single use; unused fields disappear.

    With ``duplicate``, a field whose value is a register or another field is substituted into several uses too. The
    truncation to a field's width stays: a value that may not fit is masked.
    """
    return _Fuser(statements, usage, duplicate).run()


class _Fuser:
    """Forward substitution in one block. A removed statement leaves None, so that positions stay."""

    def __init__(self, statements: list[Statement], usage: FieldUsage, duplicate: bool) -> None:
        self.usage = usage
        self.duplicate = duplicate
        self.found: list[Statement | None] = [copy(statement) for statement in statements]
        self.readers: dict[Location, list[int]] = {}
        self.writers: dict[Location, list[int]] = {}
        for i, statement in enumerate(statements):
            for location in reads(statement, usage):
                self.readers.setdefault(location, []).append(i)
            for target in self._targets(statement):
                self.writers.setdefault(target, []).append(i)

    def _targets(self, statement: Statement) -> list[Location]:
        match statement:
            case Assign(target, _):
                return [target]
            case RegisterWrite(array, _, _):
                return [array]
            case Other(primitive):
                return list(self.usage.primitive_effects(primitive)[1])
        return []

    def run(self) -> list[Statement]:
        for i in range(len(self.found)):
            statement = self.found[i]
            if isinstance(statement, Assign) and self.usage.block_local(statement.target):
                self._try(i, statement)
        return [statement for statement in self.found if statement is not None]

    def _try(self, i: int, statement: Assign) -> None:
        target = statement.target
        end = min((w for w in self.writers.get(target, ()) if w > i), default=len(self.found))
        users = sorted({r for r in self.readers.get(target, ()) if i < r <= end and self.found[r] is not None})
        if not users:
            self.found[i] = None
            return
        if not self._unchanged(i, users[-1], reads(statement, self.usage)):
            self._coalesce(i, statement, users)
            return
        cheap = self.duplicate and isinstance(statement.value, ir.RegisterCell | ir.FieldRef)
        counts = [self._direct_uses(user, target) for user in users]
        if 0 in counts or (sum(counts) > 1 and not cheap):
            self._coalesce(i, statement, users)
            return
        value = _truncated(statement, self.usage)
        for user in users:
            self._replace(user, target, value)
        self.found[i] = None

    def _unchanged(self, start: int, end: int, locations: set[Location]) -> bool:
        """Return True if no statement strictly between two positions changes one of the locations."""
        if any(start < w < end for location in locations for w in self.writers.get(location, ())):
            return False
        return not locations or all(self._transparent(k) for k in range(start + 1, end))

    def _transparent(self, position: int) -> bool:
        """Return False for primitives that may change any field."""
        statement = self.found[position]
        return not isinstance(statement, Other) or statement.primitive.op in ("claim_register", "count", "log_msg")

    def _direct_uses(self, position: int, ref: ir.FieldRef) -> int:
        """Return how often a statement reads a field; 0 for a read that cannot be substituted."""
        statement = self.found[position]
        if not isinstance(statement, Assign | RegisterWrite):
            return 0
        parts = [statement.value] if isinstance(statement, Assign) else [statement.index, statement.value]
        count = 0
        for part in parts:
            for node in ir.walk(part):
                if node == ref:
                    count += 1
                elif _indirect(node) and ref in self.usage.fields_in(node):
                    return 0
        return count

    def _replace(self, position: int, ref: ir.FieldRef, value: ir.Expr) -> None:
        statement = self.found[position]
        if isinstance(statement, Assign):
            statement.value = ir.substitute(statement.value, ref, value)
        elif isinstance(statement, RegisterWrite):
            statement.index = ir.substitute(statement.index, ref, value)
            statement.value = ir.substitute(statement.value, ref, value)
        if statement is not None:
            for location in reads(statement, self.usage):
                self.readers.setdefault(location, []).append(position)

    def _coalesce(self, i: int, statement: Assign, users: list[int]) -> None:
        """Replace ``t = e; f = t; ... t ...`` by ``f = e; ... f ...``."""
        first = self.found[users[0]]
        if not isinstance(first, Assign) or first.value != statement.target:
            return
        kinds = [self.usage.program.field_type(ref) for ref in (statement.target, first.target)]
        if (kinds[0].bits, kinds[0].signed) != (kinds[1].bits, kinds[1].signed):
            return
        middle, end = users[0], users[-1]
        touched = [*self.writers.get(first.target, ()), *self.readers.get(first.target, ())]
        if any(i < position < middle for position in touched):
            return
        if any(middle < w < end for w in self.writers.get(first.target, ())):
            return
        if not all(self._transparent(k) for k in range(i + 1, end)):
            return
        if any(self._direct_uses(user, statement.target) == 0 for user in users[1:]):
            return
        for user in users[1:]:
            self._replace(user, statement.target, first.target)
        self.found[i] = Assign(first.target, statement.value)
        self.found[middle] = None
        self.writers.setdefault(first.target, []).append(i)


def _truncated(statement: Assign, usage: FieldUsage) -> ir.Expr:
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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectorizer: does the same work on neighbouring fields and on registers side by side as one operation on big ints.

A *run* is a sequence of equal-width fields of a header, kept as one int. A *bank* is a set of registers of equal size
and width, whose cells at one index are one int. Statements of a basic block that differ only in which field of a run
and which register of a bank they touch form a *column*. A column becomes one statement if no dependence between
statements is turned around by doing all of it at once. Whatever does not fit stays scalar: fields of a run and
registers of a bank can still be read and written one by one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler import lane_expressions
from lanesum_switch.compiler.basic_blocks import (
    Assign,
    Other,
    RegisterWrite,
    Special,
    Statement,
    fuse,
    reads,
    statements_of,
)
from lanesum_switch.compiler.field_usage import FieldUsage, blocks_of
from lanesum_switch.compiler.lane_expressions import LaneSlice, NotVectorizable, Run, VectorStatement, share_moves
from lanesum_switch.compiler.layout import LaneRuns
from lanesum_switch.runtime.externs import RegisterBank

MIN_LANES = 8


@dataclass(slots=True)
class Plan:
    """What is kept side by side. Without a plan, any run and any bank may be assumed."""

    runs: LaneRuns = field(default_factory=dict)
    banks: set[tuple[str, ...]] = field(default_factory=set)


def candidate_runs(program: ir.Program) -> dict[str, list[tuple[str, ...]]]:
    """Per header type the longest runs of equal-width unsigned fields of whole bytes."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for instance in program.instances.values():
        kind = instance.type
        if instance.metadata or kind.name in found:
            continue
        found[kind.name] = []
        offset, i = 0, 0
        while i < len(kind.fields):
            first = kind.fields[i]
            end = i
            while end < len(kind.fields) and _alike(kind.fields[end], first):
                end += 1
            end = max(end, i + 1)
            if end - i >= MIN_LANES and offset % 8 == 0:
                found[kind.name].append(tuple(f.name for f in kind.fields[i:end]))
            offset += sum(f.bits for f in kind.fields[i:end])
            i = end
    return found


def _alike(kind: ir.FieldType, first: ir.FieldType) -> bool:
    return kind.bits == first.bits and not kind.signed and not kind.variable and kind.bits % 8 == 0


class LaneVectorizer:
    """Rewrites the statements of basic blocks."""

    def __init__(self, program: ir.Program, usage: FieldUsage) -> None:
        self.program = program
        self.usage = usage
        self._runs: dict[ir.FieldRef, tuple[Run, int]] = {}
        for instance in program.instances.values():
            for names in candidate_runs(program).get(instance.type.name, ()):
                run = Run(instance.name, names, instance.type.field(names[0]).bits)
                for position, name in enumerate(names):
                    self._runs[ir.FieldRef(instance.name, name)] = (run, position)
        self._banks: set[tuple[str, ...]] | None = None

    def plan(self) -> Plan:
        """Find out what pays; afterwards ``rewrite`` keeps to it."""
        plan = Plan()
        lanes: Counter[tuple[str, tuple[str, ...]]] = Counter()
        scalars: Counter[tuple[str, tuple[str, ...]]] = Counter()
        banks: Counter[tuple[str, ...]] = Counter()
        for action in self.program.actions.values():
            body = self.usage.bodies[action.id]
            for start, end in blocks_of(body):
                for statement in self.rewrite(statements_of(body[start:end], self.program)):
                    if isinstance(statement, VectorStatement):
                        for run in statement.runs:
                            lanes[self._type_run(run)] += statement.shape.lanes
                        banks.update(statement.banks)
                    else:
                        touched = {r for r in reads(statement, self.usage) if isinstance(r, ir.FieldRef)}
                        if isinstance(statement, Assign):
                            touched.add(statement.target)
                        for ref in touched & self._runs.keys():
                            scalars[self._type_run(self._runs[ref][0])] += 1
        for key, count in lanes.items():
            if count >= 2 * scalars[key]:
                plan.runs.setdefault(key[0], []).append(key[1])
        taken: set[str] = set()
        for bank, _ in banks.most_common():
            if not taken & set(bank):
                taken |= set(bank)
                plan.banks.add(bank)
        kept = {(kind, names) for kind, runs in plan.runs.items() for names in runs}
        self._runs = {ref: item for ref, item in self._runs.items() if self._type_run(item[0]) in kept}
        self._banks = plan.banks
        return plan

    def _type_run(self, run: Run) -> tuple[str, tuple[str, ...]]:
        return self.program.instances[run.header].type.name, run.names

    def rewrite(self, statements: list[Statement]) -> list[Statement]:
        """The statements of a block with columns replaced; the fused scalar ones where nothing fits."""
        scalar = fuse(statements, self.usage)
        if not self._runs:
            return scalar
        found: list[Statement] = []
        changed = False
        segment: list[Statement] = []
        # A register that is read once and used twice (x > r ? x : r) must be one expression here.
        for statement in [*fuse(statements, self.usage, duplicate=True), None]:
            if statement is not None and not isinstance(statement, Other | Special):
                segment.append(statement)
                continue
            rewritten = self._segment(segment)
            changed = changed or rewritten is not segment
            found += rewritten
            segment = []
            if statement is not None:
                found.append(statement)
        return found if changed else scalar

    # One run of assignments and register writes

    def _segment(self, statements: list[Statement]) -> list[Statement]:
        groups: dict[object, list[int]] = {}
        for i, statement in enumerate(statements):
            groups.setdefault(self._shape(statement), []).append(i)
        columns: dict[int, tuple[list[int], VectorStatement]] = {}
        owner = list(range(len(statements)))
        for members in groups.values():
            if len(members) < MIN_LANES // 2:
                continue
            for part in self._parts([statements[i] for i in members], members):
                try:
                    vector = self._column([statements[i] for i in part])
                except NotVectorizable:
                    continue
                columns[part[0]] = (part, vector)
                for i in part:
                    owner[i] = part[0]
        if not columns:
            return statements
        order = self._order(statements, owner)
        if order is None:
            return statements
        found = [columns[i][1] if i in columns else statements[i] for i in order]
        share_moves(found)
        return found

    def _parts(self, statements: list[Statement], members: list[int]) -> list[list[int]]:
        """Statements of one shape may cover several rows of lanes: cut where the target starts again."""
        parts: list[list[int]] = []
        seen: set[object] = set()
        last_row: Run | None = None
        for statement, i in zip(statements, members, strict=True):
            target = statement.target if isinstance(statement, Assign) else getattr(statement, "array", None)
            row = self._runs[target][0] if isinstance(target, ir.FieldRef) and target in self._runs else None
            if not parts or target in seen or row != last_row:
                parts.append([])
                seen = set()
            parts[-1].append(i)
            seen.add(target)
            last_row = row
        return parts

    def _order(self, statements: list[Statement], owner: list[int]) -> list[int] | None:
        """An order of columns and scalars that keeps every dependence; None where there is none."""
        before: dict[int, set[int]] = {number: set() for number in owner}
        written: dict[object, list[int]] = {}
        read: dict[object, list[int]] = {}
        for i, statement in enumerate(statements):
            inputs = reads(statement, self.usage)
            target = statement.target if isinstance(statement, Assign) else getattr(statement, "array", None)
            earlier = [j for location in inputs for j in written.get(location, ())]
            earlier += written.get(target, []) + read.get(target, [])
            for j in earlier:
                if owner[j] == owner[i]:
                    return None  # one lane depends on another one of its own column
                before[owner[i]].add(owner[j])
            written.setdefault(target, []).append(i)
            for location in inputs:
                read.setdefault(location, []).append(i)
        try:
            return list(TopologicalSorter(before).static_order())
        except CycleError:
            return None

    def _shape(self, statement: Statement) -> object:
        """Equal for statements that differ only in their lane."""
        match statement:
            case Assign(target, value):
                return ("assign", self._leaf_shape(target), self._expression_shape(value))
            case RegisterWrite(array, index, value):
                register = self.program.registers[array]
                return ("write", register.size, register.bits, index, self._expression_shape(value))
        return id(statement)

    def _leaf_shape(self, ref: ir.FieldRef) -> object:
        item = self._runs.get(ref)
        if item is None:
            return ref
        # The words that a code word widens to are a column each.
        return ("field", item[0].header, item[0].names)

    def _expression_shape(self, expr: ir.Expr) -> object:
        match expr:
            case ir.FieldRef():
                return self._leaf_shape(expr)
            case ir.RegisterCell(array, index):
                register = self.program.registers[array]
                return ("cell", register.size, register.bits, index)
            case ir.Op(op, args):
                return (op, *(self._expression_shape(arg) for arg in args))
        return expr

    def _column(self, statements: list[Statement]) -> VectorStatement:
        """One statement for all lanes. Raises NotVectorizable."""
        first = statements[0]
        values: list[ir.Expr] = []
        if isinstance(first, Assign):
            targets: list[ir.FieldRef] = []
            for statement in statements:
                assert isinstance(statement, Assign)
                targets.append(statement.target)
                values.append(statement.value)
            place = self.lanes(targets)
            shape = lane_expressions.Shape(len(targets), place.run.bits, place.apart)
            value = lane_expressions.build(values, shape, self)
            if any(node.kind == "found" for node in value.leaves()):
                # Looking bytes up costs so much for each that lanes had better be side by side for it.
                shape = lane_expressions.Shape(len(targets), place.run.bits)
                value = lane_expressions.build(values, shape, self)
            return VectorStatement(shape, value, place, None, None, set(targets))
        assert isinstance(first, RegisterWrite)
        arrays: list[str] = []
        for statement in statements:
            assert isinstance(statement, RegisterWrite)
            arrays.append(statement.array)
            values.append(statement.value)
        bank = self.bank(arrays)
        shape = lane_expressions.Shape(len(arrays), self.program.registers[arrays[0]].bits)
        value = lane_expressions.build(values, shape, self)
        return VectorStatement(shape, value, None, bank, first.index, set())

    # For lane_expressions.build

    def lanes(self, refs: list[ir.FieldRef]) -> LaneSlice:
        """Where in its run a list of fields is: all of it, or every so many fields."""
        items = [self._runs.get(ref) for ref in refs]
        if any(item is None for item in items):
            raise NotVectorizable
        run = items[0][0]  # type: ignore[index]
        if any(item[0] != run for item in items):  # type: ignore[index]
            raise NotVectorizable
        positions = [item[1] for item in items]  # type: ignore[index]
        apart = positions[1] - positions[0] if len(positions) > 1 else 1
        whole = apart > positions[0] and len(run.names) % apart == 0
        if whole and positions == list(range(positions[0], len(run.names), apart)):
            return LaneSlice(run, positions[0], apart)
        raise NotVectorizable

    def bank(self, arrays: list[str]) -> tuple[str, ...]:
        """The bank that registers form, in lane order. Raises NotVectorizable."""
        names = tuple(arrays)
        registers = [self.program.registers[name] for name in names]
        if len(set(names)) != len(names) or len(names) < MIN_LANES // 2:
            raise NotVectorizable
        if any(r.size != registers[0].size or r.bits != registers[0].bits for r in registers):
            raise NotVectorizable
        if self._banks is not None and names not in self._banks:
            raise NotVectorizable
        return names

    def bound(self, ref: ir.Expr) -> int | None:
        """The largest value of a scalar, where it is known and the scalar is unsigned."""
        if isinstance(ref, ir.FieldRef):
            kind = self.program.field_type(ref)
            return None if kind.signed or kind.variable else (1 << kind.bits) - 1
        if isinstance(ref, ir.Const):
            return ref.value if ref.value >= 0 else None
        if isinstance(ref, ir.Op) and ref.op == "&":
            bounds = [b for b in map(self.bound, ref.args) if b is not None]
            return min(bounds) if bounds else None
        return None


def banks_for(plan: Plan, program: ir.Program) -> dict[str, RegisterBank]:
    """Register name -> its bank; registers outside of the plan are banks of one."""
    found: dict[str, RegisterBank] = {}
    for names in plan.banks:
        first = program.registers[names[0]]
        bank = RegisterBank(names, first.size, first.bits)
        for name in names:
            found[name] = bank
    for name, array in program.registers.items():
        if name not in found:
            found[name] = RegisterBank((name,), array.size, array.bits)
    return found

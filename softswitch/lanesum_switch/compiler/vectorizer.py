# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Vectorizer: turns packs of isomorphic statements into operations on large ints.

The technique is superword-level parallelism (S. Larsen and S. Amarasinghe, "Exploiting Superword Level Parallelism
with Multimedia Instruction Sets", PLDI 2000). A *run* is a sequence of equal-width fields of a header, kept as one
int. A *bank* is a set of register arrays of equal size and width; one int holds their cells at one index. A *pack* is
a set of statements of a basic block that differ only in the field of a run and the register of a bank. A pack becomes
one statement if that keeps the order of dependent statements. All other statements stay scalar: the fields of a run
and the registers of a bank can be read and written one by one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.basic_blocks import Assign, Other, RegisterWrite, Statement, fuse, reads, statements_of
from lanesum_switch.compiler.field_usage import FieldUsage
from lanesum_switch.compiler.header_segments import LaneRuns
from lanesum_switch.compiler.lane_expressions import (
    FieldRun,
    LaneSlice,
    NotVectorizable,
    VectorStatement,
    build,
    share_restrided,
)
from lanesum_switch.compiler.packed_arithmetic import VectorShape
from lanesum_switch.compiler.structuring import blocks_of
from lanesum_switch.runtime.externs import RegisterBank

MIN_LANES = 8


@dataclass(slots=True)
class VectorPlan:
    """The runs of fields and the banks of registers that are kept as one int."""

    runs: LaneRuns = field(default_factory=dict)
    banks: set[tuple[str, ...]] = field(default_factory=set)


def candidate_runs(program: ir.Program) -> dict[str, list[tuple[str, ...]]]:
    """Return, by header type, the longest runs of unsigned fields of equal width in whole bytes."""
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
    """Rewrites the statements of basic blocks.

    Before ``plan`` it assumes every run and every bank; afterwards it uses those of the plan only.
    """

    def __init__(self, program: ir.Program, usage: FieldUsage) -> None:
        self.program = program
        self.usage = usage
        self._runs: dict[ir.FieldRef, tuple[FieldRun, int]] = {}
        for instance in program.instances.values():
            for names in candidate_runs(program).get(instance.type.name, ()):
                run = FieldRun(instance.name, names, instance.type.field(names[0]).bits)
                for position, name in enumerate(names):
                    self._runs[ir.FieldRef(instance.name, name)] = (run, position)
        self._banks: set[tuple[str, ...]] | None = None

    def plan(self) -> VectorPlan:
        """Choose the runs and banks that more statements use as a whole than lane by lane."""
        plan = VectorPlan()
        lanes: Counter[tuple[str, tuple[str, ...]]] = Counter()
        scalars: Counter[tuple[str, tuple[str, ...]]] = Counter()
        banks: Counter[tuple[str, ...]] = Counter()
        for action in self.program.actions.values():
            body = self.usage.bodies[action.id]
            for start, end in blocks_of(body):
                for statement in self.rewrite(statements_of(body[start:end])):
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

    def _type_run(self, run: FieldRun) -> tuple[str, tuple[str, ...]]:
        return self.program.instances[run.header].type.name, run.names

    def rewrite(self, statements: list[Statement]) -> list[Statement]:
        """Return the statements of a block with its packs vectorized; the fused scalar ones if there is no pack."""
        scalar = fuse(statements, self.usage)
        if not self._runs:
            return scalar
        found: list[Statement] = []
        changed = False
        segment: list[Statement] = []
        # A register that is read once and used twice (x > r ? x : r) must be one expression here.
        for statement in [*fuse(statements, self.usage, duplicate=True), None]:
            if statement is not None and not isinstance(statement, Other | VectorStatement):
                segment.append(statement)
                continue
            rewritten = self._segment(segment)
            changed = changed or rewritten is not segment
            found += rewritten
            segment = []
            if statement is not None:
                found.append(statement)
        return found if changed else scalar

    # One sequence of assignments and register writes

    def _segment(self, statements: list[Statement]) -> list[Statement]:
        groups: dict[object, list[int]] = {}
        for i, statement in enumerate(statements):
            groups.setdefault(self._form(statement), []).append(i)
        packs: dict[int, tuple[list[int], VectorStatement]] = {}
        owner = list(range(len(statements)))
        for members in groups.values():
            if len(members) < MIN_LANES // 2:
                continue
            for part in self._parts([statements[i] for i in members], members):
                try:
                    vector = self._vectorize([statements[i] for i in part])
                except NotVectorizable:
                    continue
                packs[part[0]] = (part, vector)
                for i in part:
                    owner[i] = part[0]
        if not packs:
            return statements
        order = self._order(statements, owner)
        if order is None:
            return statements
        found = [packs[i][1] if i in packs else statements[i] for i in order]
        share_restrided(found)
        return found

    def _parts(self, statements: list[Statement], members: list[int]) -> list[list[int]]:
        """Split statements of one form where a target occurs again or its run changes."""
        parts: list[list[int]] = []
        seen: set[object] = set()
        last_run: FieldRun | None = None
        for statement, i in zip(statements, members, strict=True):
            target = _target(statement)
            run = self._runs[target][0] if isinstance(target, ir.FieldRef) and target in self._runs else None
            if not parts or target in seen or run != last_run:
                parts.append([])
                seen = set()
            parts[-1].append(i)
            seen.add(target)
            last_run = run
        return parts

    def _order(self, statements: list[Statement], owner: list[int]) -> list[int] | None:
        """Return an order of packs and scalar statements that keeps every dependence, or None if there is none."""
        before: dict[int, set[int]] = {number: set() for number in owner}
        written: dict[object, list[int]] = {}
        read: dict[object, list[int]] = {}
        for i, statement in enumerate(statements):
            inputs = reads(statement, self.usage)
            target = _target(statement)
            earlier = [j for location in inputs for j in written.get(location, ())]
            earlier += written.get(target, []) + read.get(target, [])
            for j in earlier:
                if owner[j] == owner[i]:
                    return None  # a lane depends on another lane of its own pack
                before[owner[i]].add(owner[j])
            written.setdefault(target, []).append(i)
            for location in inputs:
                read.setdefault(location, []).append(i)
        try:
            return list(TopologicalSorter(before).static_order())
        except CycleError:
            return None

    def _form(self, statement: Statement) -> object:
        """Return a value that is equal for statements that differ only in their lane."""
        match statement:
            case Assign(target, value):
                return ("assign", self._field_form(target), self._expression_form(value))
            case RegisterWrite(array, index, value):
                register = self.program.registers[array]
                return ("write", register.size, register.bits, index, self._expression_form(value))
        return id(statement)

    def _field_form(self, ref: ir.FieldRef) -> object:
        item = self._runs.get(ref)
        if item is None:
            return ref
        return ("field", item[0].header, item[0].names)

    def _expression_form(self, expr: ir.Expr) -> object:
        match expr:
            case ir.FieldRef():
                return self._field_form(expr)
            case ir.RegisterCell(array, index):
                register = self.program.registers[array]
                return ("cell", register.size, register.bits, index)
            case ir.Op(op, args):
                return (op, *(self._expression_form(arg) for arg in args))
        return expr

    def _vectorize(self, statements: list[Statement]) -> VectorStatement:
        """Return one statement for all lanes of a pack. Raises NotVectorizable."""
        first = statements[0]
        if isinstance(first, Assign):
            assigns = [one for one in statements if isinstance(one, Assign)]
            targets, values = [one.target for one in assigns], [one.value for one in assigns]
            target = self.lanes(targets)
            shape = VectorShape(len(targets), target.run.bits, target.stride)
            value = build(values, shape, self)
            if any(node.kind == "looked up" for node in value.nodes()):
                # The cost of a lookup grows with the bytes of the int: bring the lanes together first.
                shape = VectorShape(len(targets), target.run.bits)
                value = build(values, shape, self)
            return VectorStatement(shape, value, target, None, None, set(targets))
        assert isinstance(first, RegisterWrite)
        writes = [one for one in statements if isinstance(one, RegisterWrite)]
        arrays, values = [one.array for one in writes], [one.value for one in writes]
        bank = self.bank(arrays)
        shape = VectorShape(len(arrays), self.program.registers[arrays[0]].bits)
        value = build(values, shape, self)
        return VectorStatement(shape, value, None, bank, first.index, set())

    # LaneResolver of lane_expressions.build

    def lanes(self, refs: list[ir.FieldRef]) -> LaneSlice:
        """Return the slice of a run that a list of fields is. Raises NotVectorizable."""
        items = [self._runs.get(ref) for ref in refs]
        if any(item is None for item in items):
            raise NotVectorizable
        run = items[0][0]  # type: ignore[index]
        if any(item[0] != run for item in items):  # type: ignore[index]
            raise NotVectorizable
        positions = [item[1] for item in items]  # type: ignore[index]
        stride = positions[1] - positions[0] if len(positions) > 1 else 1
        whole = stride > positions[0] and len(run.names) % stride == 0
        if whole and positions == list(range(positions[0], len(run.names), stride)):
            return LaneSlice(run, positions[0], stride)
        raise NotVectorizable

    def bank(self, arrays: list[str]) -> tuple[str, ...]:
        """Return the bank that register arrays form, in lane order. Raises NotVectorizable."""
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
        """Return the largest value of an unsigned scalar, or None if it is unknown."""
        if isinstance(ref, ir.FieldRef):
            kind = self.program.field_type(ref)
            return None if kind.signed or kind.variable else (1 << kind.bits) - 1
        if isinstance(ref, ir.Const):
            return ref.value if ref.value >= 0 else None
        if isinstance(ref, ir.Op) and ref.op == "&":
            bounds = [b for b in map(self.bound, ref.args) if b is not None]
            return min(bounds) if bounds else None
        return None


def _target(statement: Statement) -> ir.FieldRef | str | None:
    """Return the field or register array that a statement writes."""
    match statement:
        case Assign(target):
            return target
        case RegisterWrite(array):
            return array
    return None


def banks_for(plan: VectorPlan, program: ir.Program) -> dict[str, RegisterBank]:
    """Return the bank of every register array, by name; an array outside of the plan is a bank of its own."""
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

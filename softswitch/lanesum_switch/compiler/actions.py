# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for actions, inlined where they run.

P4_16 specification, section "Actions"; BMv2 JSON format, section ``actions``.
"""

from __future__ import annotations

from collections.abc import Callable

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.basic_blocks import (
    Assign,
    Other,
    RegisterWrite,
    Statement,
    cells,
    statements_of,
    written_fields,
)
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.lane_code import write_vector, write_vector_out_of_range
from lanesum_switch.compiler.lane_expressions import VectorStatement
from lanesum_switch.compiler.layout import Value, cut_to
from lanesum_switch.compiler.primitives import Primitives, constant_value
from lanesum_switch.compiler.structuring import END, FlowNode, Goto, NodeKey, Structurer, blocks_of


class Actions(Primitives):
    """Writes actions, and primitives of parser and deparser."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._fused: dict[tuple[int, int], list[Statement]] = {}

    def exits(self, action: ir.Action) -> str:
        """Return ``never``, ``always`` or ``maybe``: if the action ends the pipeline by ``exit``."""
        body = self.context.usage.bodies[action.id]
        if not any(p.op == "exit" for p in body):
            return "never"
        return "always" if len(blocks_of(body)) == 1 else "maybe"

    def emit(self, action: ir.Action, params: tuple[str, ...]) -> None:
        """Write an action; ``params`` are the locals of its run-time parameters."""
        body = self.context.usage.bodies[action.id]
        bits = [width for _, width in action.params]
        scope = Scope(tuple(zip(params, bits, strict=True)))
        blocks = blocks_of(body)
        if len(blocks) == 1:
            self._block(action, 0, len(body), scope)
            return
        starts = {start for start, _ in blocks}

        def key(position: int) -> NodeKey:
            return position if position in starts else END

        nodes: dict[NodeKey, FlowNode] = {}
        for start, end in blocks:
            last = body[end - 1]
            if last.op == "_jump":
                target = key(constant_value(last.args[0]))
                nodes[start] = FlowNode([target], self._jump(action, start, end - 1, target, scope))
            elif last.op == "_jump_if_zero":
                other = key(constant_value(last.args[1]))
                nodes[start] = FlowNode(
                    [key(end), other], self._branch(action, start, end - 1, last, end, other, scope, key)
                )
            else:
                nodes[start] = FlowNode([key(end)], self._jump(action, start, end, key(end), scope))
        Structurer(self.context.writer, nodes, 0, self.context.names.fresh("at")).write()

    def _jump(self, action: ir.Action, start: int, end: int, target: NodeKey, scope: Scope) -> Callable[[Goto], None]:
        def emit(goto: Goto) -> None:
            self._block(action, start, end, scope)
            goto(target)

        return emit

    def _branch(
        self,
        action: ir.Action,
        start: int,
        end: int,
        test: ir.Primitive,
        following: int,
        other: NodeKey,
        scope: Scope,
        key: Callable[[int], NodeKey],
    ) -> Callable[[Goto], None]:
        def emit(goto: Goto) -> None:
            self._block(action, start, end, scope)
            writer = self.context.writer
            with writer.block(f"if {self.expressions.condition(test.args[0], scope)}:"):
                goto(key(following))
            with writer.block("else:"):
                goto(other)

        return emit

    def call(self, primitive: ir.Primitive) -> None:
        """Write a primitive of a parser or deparser."""
        self.statements(statements_of((primitive,)), Scope())

    def _block(self, action: ir.Action, start: int, end: int, scope: Scope) -> None:
        key = (action.id, start)
        if key not in self._fused:
            plain = statements_of(self.context.usage.bodies[action.id][start:end])
            self._fused[key] = self.context.rewrite(plain)
        self.statements(self._fused[key], scope)

    def statements(self, statements: list[Statement], scope: Scope) -> None:
        """Write statements; register accesses that share an index share one bounds check."""
        i = 0
        while i < len(statements):
            run = self._run(statements, i)
            if run <= i:
                self._plain(statements[i], scope, {})
                i += 1
            else:
                self._guarded(statements[i:run], scope)
                i = run

    def _guards(self, statement: Statement) -> set[tuple[ir.Expr, int]]:
        """Return (index, size of the array) of a statement's register accesses."""
        return {(index, self.program.registers[array].size) for array, index in cells(statement)}

    def _run(self, statements: list[Statement], start: int) -> int:
        """Return the end of the longest run from ``start`` whose register accesses share one bounds check."""
        guards = self._guards(statements[start])
        if not guards:
            return start
        usage = self.context.usage
        inputs = {f for index, _ in guards for f in usage.fields_in(index)}
        end = start
        i = start
        while i < len(statements):
            statement = statements[i]
            if isinstance(statement, Other):
                break
            own = self._guards(statement)
            if own and own != guards:
                break
            if own:
                end = i + 1
            if written_fields(statement) & inputs:
                break
            i += 1
        return end

    def _guarded(self, statements: list[Statement], scope: Scope) -> None:
        writer = self.context.writer
        indices: dict[ir.Expr, str] = {}
        conditions = []
        for index, size in sorted(self._guards(statements[0]), key=repr):
            if index not in indices:
                value = self._index(index, scope)
                name = value.code
                if not value.atomic:
                    name = self.context.names.fresh("ix")
                    writer.line(f"{name} = {value.code}")
                indices[index] = name
            value = self._index(index, scope)
            if value.high >= size:
                conditions.append(f"{indices[index]} < {size}")
        if not conditions:
            for statement in statements:
                self._plain(statement, scope, indices)
            return
        with writer.block(f"if {' and '.join(conditions)}:"):
            for statement in statements:
                self._plain(statement, scope, indices)
        with writer.block("else:"):
            for statement in statements:
                self._checked(statement, scope, indices, len(conditions) == 1)

    def _checked(self, statement: Statement, scope: Scope, indices: dict[ir.Expr, str], only: bool) -> None:
        """Write a statement of a run with an index out of range; ``only``: the run has one index."""
        guards = self._guards(statement)
        if not guards:
            self._plain(statement, scope, indices)
            return
        if only:
            self._out_of_range(statement, scope)
            return
        writer = self.context.writer
        condition = " and ".join(f"{indices[index]} < {size}" for index, size in sorted(guards, key=repr))
        with writer.block(f"if {condition}:"):
            self._plain(statement, scope, indices)
        with writer.block("else:"):
            self._out_of_range(statement, scope)

    def _out_of_range(self, statement: Statement, scope: Scope) -> None:
        """Write a statement whose register index is out of range."""
        writer = self.context.writer
        writer.line("out_of_range()")
        if isinstance(statement, Assign) and not isinstance(statement.value, ir.RegisterCell):
            # BMv2 leaves the target of a read unchanged. A fused read has no target: it counts as 0.
            zero = Scope(scope.params, lambda cell: Value("0", 0, 0, True))
            writer.line(self.layout.store(statement.target, self.expressions.value(statement.value, zero)))
        elif isinstance(statement, Assign) and self.context.usage.block_local(statement.target):
            writer.line(self.layout.store(statement.target, Value("0", 0, 0, True)))
        elif isinstance(statement, VectorStatement):
            write_vector_out_of_range(self.context, statement, scope)

    def _plain(self, statement: Statement, scope: Scope, indices: dict[ir.Expr, str]) -> None:
        writer = self.context.writer

        def cell(ref: ir.RegisterCell) -> Value:
            return self.context.registers.read(ref.array, indices[ref.index])

        inner = Scope(scope.params, cell)
        match statement:
            case Assign(target, value):
                writer.line(self.layout.store(target, self.expressions.value(value, inner)))
            case RegisterWrite(array, index, value):
                register = self.program.registers[array]
                code = self.expressions.value(value, inner)
                kind = ir.FieldType("", register.bits)
                writer.line(self.context.registers.write(array, indices[index], Value(cut_to(code, kind), 0, 0)))
            case Other(primitive):
                self.primitive(primitive, scope)
            case VectorStatement():
                write_vector(self.context, statement, inner, indices)

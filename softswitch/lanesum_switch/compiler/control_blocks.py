# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Code for control blocks: tables and conditions as nested ifs, actions inlined where a table runs them.

P4_16 specification, section "Control blocks"; BMv2 JSON format, section ``pipelines``.
"""

from __future__ import annotations

from collections.abc import Callable

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.actions import Actions
from lanesum_switch.compiler.context import Context
from lanesum_switch.compiler.expressions import Scope
from lanesum_switch.compiler.structuring import END, FlowNode, Goto, NodeKey, Structurer
from lanesum_switch.runtime.lookup import GROUP, TupleSpaceSearch
from lanesum_switch.runtime.tables import MatchTable

# Tables with at most this many const entries become a chain of ifs instead of a lookup.
_MAX_CHAIN = 12


class ControlBlockWriter:
    """Writes one control block."""

    def __init__(self, context: Context, actions: Actions, pipeline: ir.Pipeline) -> None:
        self.context = context
        self.actions = actions
        self.pipeline = pipeline

    def emit(self) -> None:
        """Write the control block; execution continues after it at its end or after ``exit``."""
        if self.pipeline.initial is None:
            return
        possible = [a for a in self.context.usage.actions_of(self.pipeline)]
        self.context.dynamic_exit = any(self.actions.exits(a) == "maybe" for a in possible)
        if self.context.dynamic_exit:
            self.context.writer.line("exited = False")
        nodes: dict[NodeKey, FlowNode] = {}
        for name, node in self.pipeline.nodes.items():
            match node:
                case ir.ConditionNode(_, _, true_next, false_next):
                    nodes[name] = FlowNode([true_next, false_next], self._condition(node))
                case ir.ActionNode(_, action, following):
                    nodes[name] = FlowNode([following], self._call(action, following))
                case ir.TableNode():
                    writer = _TableWriter(self, node)
                    nodes[name] = FlowNode(writer.successors(), writer.emit)
        Structurer(self.context.writer, nodes, self.pipeline.initial, self.context.names.fresh("next")).write()

    def _condition(self, node: ir.ConditionNode) -> Callable[[Goto], None]:
        def emit(goto: Goto) -> None:
            writer = self.context.writer
            with writer.block(f"if {self.context.expressions.condition(node.condition, Scope())}:"):
                goto(node.true_next)
            with writer.block("else:"):
                goto(node.false_next)

        return emit

    def _call(self, action: ir.Action, following: NodeKey) -> Callable[[Goto], None]:
        def emit(goto: Goto) -> None:
            self.actions.emit(action, ())
            self.leave(goto, action, following)

        return emit

    def leave(self, goto: Goto, action: ir.Action, following: NodeKey) -> None:
        """Continue after an action, unless it executed ``exit``."""
        exits = self.actions.exits(action)
        if exits == "always":
            goto(END)
        elif exits == "maybe" and following is not END:
            with self.context.writer.block("if exited:"):
                goto(END)
            with self.context.writer.block("else:"):
                goto(following)
        else:
            goto(following)


class _TableWriter:
    """Writes the application of one table; one that stands for a plain statement is inlined as its action."""

    def __init__(self, pipeline: ControlBlockWriter, node: ir.TableNode) -> None:
        self.pipeline = pipeline
        self.context = pipeline.context
        self.node = node
        self.table: MatchTable = self.context.runtime.tables[node.name]
        self.inlined = not node.keys and node.default_const and node.default_action is not None

    def _reachable(self) -> list[int]:
        """Return the numbers of the actions that the table can run."""
        node = self.node
        if self.inlined or (not node.keys and node.default_const):
            return [i for i, a in enumerate(node.actions) if a is node.default_action]
        if node.entries_const:
            names = {entry.action for entry in node.const_entries}
            if node.default_const and node.default_action is not None:
                names.add(node.default_action.name)
            elif not node.default_const:
                return list(range(len(node.actions)))
            return [i for i, a in enumerate(node.actions) if a.name in names]
        return list(range(len(node.actions)))

    def _after(self, action: ir.Action) -> str | None:
        return self.node.next_by_action.get(action.name)

    def _may_run_nothing(self) -> bool:
        return self.node.default_action is None

    def successors(self) -> list[NodeKey]:
        """Return the nodes that follow the table, once per way out."""
        node = self.node
        found: list[NodeKey] = []
        if node.hit_miss:
            if not self.inlined:
                found.append(node.next_hit)
            found.append(node.next_miss)
            if any(self.pipeline.actions.exits(node.actions[i]) != "never" for i in self._reachable()):
                found = [*found, *found, END]  # each action goes there: make the successors joins
            return found
        for number in self._reachable():
            found.append(self._after(node.actions[number]))
        if self._may_run_nothing() or not found:
            found.append(node.base_default_next)
        return found

    def emit(self, goto: Goto) -> None:
        """Write lookup, counters and actions."""
        node = self.node
        context, writer = self.context, self.context.writer
        if self.inlined:
            assert node.default_action is not None
            params = tuple(str(value) for value in node.default_args)
            self.pipeline.actions.emit(node.default_action, params)
            following = node.next_miss if node.hit_miss else self._after(node.default_action)
            self.pipeline.leave(goto, node.default_action, following)
            return
        row, hit = context.names.fresh("row"), ""
        self._look_up(row)
        default = context.names.constant("default", ("default", node.name), self.table.default_row)
        if not node.keys:
            writer.line(f"{row} = {default}[0]")
        else:
            if node.hit_miss:
                hit = context.names.fresh("hit")
            if hit or node.direct_meter is not None:
                with writer.block(f"if {row} is None:"):
                    writer.line(f"{row} = {default}[0]")
                    if hit:
                        writer.line(f"{hit} = False")
                with writer.block("else:"):
                    if hit:
                        writer.line(f"{hit} = True")
                    self._direct_meter(row)
            else:
                writer.line(f"if {row} is None: {row} = {default}[0]")
        if node.profile is not None:
            self._choose_member(row)
        self._account(row)
        self._dispatch(goto, row, hit)

    def _key_code(self) -> str:
        parts = []
        for key in self.node.keys:
            code = self.context.layout.unsigned(key.source)
            if key.mask is not None and key.mask & ((1 << key.bits) - 1) != (1 << key.bits) - 1:
                code = f"({code} & {key.mask:#x})"
            parts.append(code)
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def _look_up(self, row: str) -> None:
        node, table = self.node, self.table
        if not node.keys:
            return
        names, writer = self.context.names, self.context.writer
        if isinstance(table.rows, TupleSpaceSearch):
            if node.entries_const and len(node.const_entries) <= _MAX_CHAIN:
                self._chain(row)
                return
            rows = names.constant("rows", ("rows", node.name), table.rows)
            writer.line(f"{row} = {rows}[{self._key_code()}]")
        else:
            get = names.constant("get", ("get", node.name), table.rows.get)
            code = self._key_code()
            writer.line(f"{row} = {get}({code.removeprefix('(').removesuffix(')') if len(node.keys) == 1 else code})")

    def _chain(self, row: str) -> None:
        """Write const entries as a chain of ifs, highest priority first."""
        writer, names = self.context.writer, self.context.names
        locals_: list[str] = []
        for key in self.node.keys:
            code = self.context.layout.unsigned(key.source)
            if key.mask is not None:
                code = f"{code} & {key.mask:#x}"
            if not code.isidentifier():
                name = names.fresh("key")
                writer.line(f"{name} = {code}")
                code = name
            locals_.append(code)
        first = True
        for number, (tests, entry_row) in enumerate(self.table.ordered_rows()):
            conditions = []
            for code, key, (mask, low, high) in zip(locals_, self.node.keys, tests, strict=True):
                full = (1 << key.bits) - 1
                masked = code if mask == full else f"{code} & {mask:#x}"
                if mask == 0 or (low == 0 and high == full):
                    continue
                conditions.append(f"{masked} == {low}" if low == high else f"{low} <= {masked} <= {high}")
            name = names.constant("entry", ("entry", self.node.name, number), entry_row)
            if not conditions:
                writer.line(f"{row} = {name}" if first else f"else: {row} = {name}")
                return
            writer.line(f"{'if' if first else 'elif'} {' and '.join(conditions)}: {row} = {name}")
            first = False
        writer.line(f"{row} = None" if first else f"else: {row} = None")

    def _choose_member(self, row: str) -> None:
        """Write the choice of a group's member by the selector's hash."""
        profile = self.context.program.profiles[self.node.profile or ""]
        if profile.selector is None:
            return
        writer = self.context.writer
        with writer.block(f"if {row}[0] == {GROUP}:"):
            inputs = [ir.CalcInput("field", part, self._selector_bits(part)) for part in profile.selector.inputs]
            value = self.pipeline.actions.calculations.over(profile.selector.algorithm, inputs, profile.name)
            members = self.context.names.fresh("members")
            writer.line(f"{members} = {row}[2]")
            writer.line(f"{row} = {members}[{value} % len({members})]")

    def _selector_bits(self, part: ir.Expr) -> int:
        return self.context.program.field_type(part).bits if isinstance(part, ir.FieldRef) else 0

    def _direct_meter(self, row: str) -> None:
        meter = self.context.program.meters.get(self.node.direct_meter or "")
        if meter is None or meter.result is None:
            return
        color = self.context.names.constant("color", ("color", self.node.name), self.table.meter_color)
        target = self.context.layout.field_local(meter.result.header, meter.result.name)
        self.context.writer.line(f"{target} = {color}({row}[1], frame_length)")

    def _account(self, row: str) -> None:
        node, writer = self.node, self.context.writer
        if not node.with_counters and not node.supports_timeout:
            return
        state = self.context.names.fresh("state")
        writer.line(f"{state} = {row}[1]")
        if node.with_counters:
            count = f"{state}[0] += 1; {state}[1] += frame_length"
            if node.counted_actions is not None:
                numbers = [str(i) for i, a in enumerate(node.actions) if a.name in node.counted_actions]
                count = f"if {row}[0] in ({', '.join(numbers)},): {count}" if numbers else "pass"
            writer.line(count)
        if node.supports_timeout:
            writer.line(f"{state}[2] = clock()")

    def _dispatch(self, goto: Goto, row: str, hit: str) -> None:
        """Write the row's action and the continuation after it."""
        node, writer = self.node, self.context.writer
        numbers = self._reachable()
        nothing = self._may_run_nothing()
        if not numbers:
            self._follow(goto, None, hit)
            return
        choice = f"{row}[0]"
        if len(numbers) + nothing > 2:
            choice = self.context.names.fresh("act")
            writer.line(f"{choice} = {row}[0]")
        branches: list[int | None] = [*numbers, None] if nothing else list(numbers)
        # With hit and miss successors, one decision after all actions serves them all.
        joint = bool(hit) and not any(self.pipeline.actions.exits(node.actions[i]) != "never" for i in numbers)
        for position, number in enumerate(branches):
            if len(branches) == 1:
                self._branch(goto, number, row, hit, joint)
                break
            header = f"{'elif' if position else 'if'} {choice} == {number}:"
            with writer.block("else:" if position == len(branches) - 1 else header):
                self._branch(goto, number, row, hit, joint)
        if joint:
            self._follow(goto, None, hit)

    def _branch(self, goto: Goto, number: int | None, row: str, hit: str, joint: bool) -> None:
        action = None if number is None else self.node.actions[number]
        if action is not None:
            params = tuple(self.context.names.fresh(f"p_{name}") for name, _ in action.params)
            if params:
                self.context.writer.line(f"_, _, {', '.join(params)} = {row}")
            self.pipeline.actions.emit(action, params)
        if not joint:
            self._follow(goto, action, hit)

    def _follow(self, goto: Goto, action: ir.Action | None, hit: str) -> None:
        node, writer = self.node, self.context.writer
        if not node.hit_miss:
            if action is None:
                goto(node.base_default_next)
            else:
                self.pipeline.leave(goto, action, self._after(action))
            return
        if action is not None and self.pipeline.actions.exits(action) == "always":
            goto(END)
            return
        if not node.keys:
            goto(node.next_miss)
            return
        with writer.block(f"if {hit}:"):
            if action is None:
                goto(node.next_hit)
            else:
                self.pipeline.leave(goto, action, node.next_hit)
        with writer.block("else:"):
            if action is None:
                goto(node.next_miss)
            else:
                self.pipeline.leave(goto, action, node.next_miss)

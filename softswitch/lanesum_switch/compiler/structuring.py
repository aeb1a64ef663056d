# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Structuring: jumps in actions as a control-flow graph, and such a graph as nested Python ifs.

Python has no goto. A node with one predecessor is written at the jump to it. A join, which has several, is written
after its immediate dominator (K. D. Cooper, T. J. Harvey and K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001).
If every open path leads to the join, it follows without a test. Otherwise the paths store the number of their target
in a variable, and the join tests it. Graphs with cycles (parsers over header stacks) and graphs nested deeper than
Python's indentation limit become a dispatch loop.

p4c writes conditional statements in actions as the primitives ``_jump`` and ``_jump_if_zero``, whose last argument is
the position of a primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from lanesum_switch.bmv2 import ir
from lanesum_switch.compiler.python_source import SourceWriter

NodeKey = Hashable  # a node key, or END
END = None
MAX_DEPTH = 90  # CPython refuses 100 levels of indentation
MAX_STEPS = 1 << 16  # nodes of one loop that one packet may visit before LoopLimit is raised

Goto = Callable[[NodeKey], None]


@dataclass(slots=True)
class FlowNode:
    """A node. ``emit`` writes its code and calls ``goto`` wherever execution leaves for a successor."""

    successors: list[NodeKey]  # one item per way out, with repetitions
    emit: Callable[[Goto], None]


@dataclass(slots=True)
class _Pass:
    guarded: set[NodeKey] = field(default_factory=set)  # targets whose number a path stores


class Structurer:
    """Writes one graph. ``variable`` is a local that no graph around it uses."""

    def __init__(self, writer: SourceWriter, nodes: dict[NodeKey, FlowNode], entry: NodeKey, variable: str) -> None:
        self.writer = writer
        self.variable = variable
        self.entry = entry
        self.order = _reverse_postorder(nodes, entry)
        self.nodes = {key: nodes[key] for key in self.order}
        self.position = {key: i for i, key in enumerate(self.order)}
        self.cyclic = any(
            target is not END and self.position[target] <= self.position[key]
            for key, node in self.nodes.items()
            for target in node.successors
        )
        self._pass = _Pass()
        self._joins: dict[NodeKey, list[NodeKey]] = {}
        self._is_join: set[NodeKey] = set()

    def write(self) -> None:
        """Write the graph; execution continues after it at END."""
        if self.entry is END:
            return
        if self.cyclic:
            self._dispatch_loop()
            return
        self._find_joins()
        lines, depth = len(self.writer.lines), self.writer.depth
        max_depth, self.writer.max_depth = self.writer.max_depth, depth
        self._node(self.entry)  # the first pass finds the targets whose number must be stored
        too_deep = self.writer.max_depth > MAX_DEPTH
        del self.writer.lines[lines:]
        self.writer.max_depth = max_depth
        if too_deep:
            self._dispatch_loop()
        else:
            self._node(self.entry)

    def _number(self, target: NodeKey) -> int:
        return 0 if target is END else self.position[target] + 1

    def _dispatch_loop(self) -> None:
        def goto(target: NodeKey) -> None:
            self.writer.line(f"{self.variable} = {self._number(target)}")

        goto(self.entry)
        budget = f"{self.variable}_budget"
        if self.cyclic:
            self.writer.line(f"{budget} = {MAX_STEPS}")
        with self.writer.block(f"while {self.variable}:"):
            if self.cyclic:
                self.writer.line(f"{budget} -= 1")
                self.writer.line(f"if {budget} < 0: raise LoopLimit")
            for i, key in enumerate(self.order):
                with self.writer.block(f"{'if' if i == 0 else 'elif'} {self.variable} == {i + 1}:"):
                    self.nodes[key].emit(goto)

    def _find_joins(self) -> None:
        ways_in: dict[NodeKey, list[NodeKey]] = {}
        for key, node in self.nodes.items():
            for target in node.successors:
                if target is not END:
                    ways_in.setdefault(target, []).append(key)
        dominator: dict[NodeKey, NodeKey] = {self.entry: self.entry}
        for key in self.order[1:]:
            candidates = ways_in[key]
            current = candidates[0]
            for other in candidates[1:]:
                current = self._common(dominator, current, other)
            dominator[key] = current
            if len(candidates) > 1:
                self._is_join.add(key)
                self._joins.setdefault(current, []).append(key)
        for joins in self._joins.values():
            joins.sort(key=lambda k: self.position[k])

    def _common(self, dominator: dict[NodeKey, NodeKey], a: NodeKey, b: NodeKey) -> NodeKey:
        while a != b:
            while self.position[a] > self.position[b]:
                a = dominator[a]
            while self.position[b] > self.position[a]:
                b = dominator[b]
        return a

    def _node(self, key: NodeKey) -> set[NodeKey]:
        """Write a node and the joins it dominates; return the targets that stay open after it."""
        pending: set[NodeKey] = set()

        def goto(target: NodeKey) -> None:
            if target is END or target in self._is_join:
                if target in self._pass.guarded:
                    self.writer.line(f"{self.variable} = {self._number(target)}")
                pending.add(target)
            else:
                pending.update(self._node(target))

        self.nodes[key].emit(goto)
        for join in self._joins.get(key, ()):
            if pending == {join}:
                pending.clear()
                pending.update(self._node(join))
            elif join in pending:
                self._pass.guarded |= pending
                with self.writer.block(f"if {self.variable} == {self._number(join)}:"):
                    after = self._node(join)
                pending.discard(join)
                pending |= after
        return pending


def _reverse_postorder(nodes: dict[NodeKey, FlowNode], entry: NodeKey) -> list[NodeKey]:
    if entry is END:
        return []
    order: list[NodeKey] = []
    seen: set[NodeKey] = {entry}
    stack = [(entry, iter(nodes[entry].successors))]
    while stack:
        key, successors = stack[-1]
        for target in successors:
            if target is not END and target not in seen:
                seen.add(target)
                stack.append((target, iter(nodes[target].successors)))
                break
        else:
            order.append(key)
            stack.pop()
    return order[::-1]


def blocks_of(body: tuple[ir.Primitive, ...]) -> list[tuple[int, int]]:
    """Return the basic blocks of an action's body as (start, end) positions."""
    if not body:
        return [(0, 0)]
    leaders = {0}
    for i, primitive in enumerate(body):
        if primitive.op in ("_jump", "_jump_if_zero"):
            target = primitive.args[-1]
            assert isinstance(target, ir.Const)
            leaders.add(target.value)
            leaders.add(i + 1)
    starts = sorted(n for n in leaders if n < len(body))
    return [(s, e) for s, e in zip(starts, [*starts[1:], len(body)], strict=True)]


def convert_ifs(body: tuple[ir.Primitive, ...]) -> tuple[ir.Primitive, ...]:
    """Replace ``if (c) x = a; else x = b;`` in jumps by the assignment of a conditional value.

    p4c writes the P4 operator ``?:`` in actions as jumps over two assignments. Without them the whole action is one
    basic block.
    """
    changed = True
    while changed:
        changed = False
        for i in range(len(body) - 3):
            converted = _convert_at(body, i)
            if converted is not None:
                body = converted
                changed = True
                break
    return body


def _convert_at(body: tuple[ir.Primitive, ...], i: int) -> tuple[ir.Primitive, ...] | None:
    test, first, jump, second = body[i : i + 4]
    if (test.op, first.op, jump.op, second.op) != ("_jump_if_zero", "assign", "_jump", "assign"):
        return None
    if test.args[1] != ir.Const(i + 3) or jump.args[0] != ir.Const(i + 4) or first.args[0] != second.args[0]:
        return None
    if not isinstance(first.args[0], ir.FieldRef):
        return None
    targets = {
        p.args[-1].value
        for k, p in enumerate(body)
        if p.op in ("_jump", "_jump_if_zero") and k not in (i, i + 2) and isinstance(p.args[-1], ir.Const)
    }
    if targets & {i + 1, i + 2, i + 3}:
        return None
    condition = ir.Op("d2b", (test.args[0],))
    chosen = ir.Primitive(
        "assign", (first.args[0], ir.Op("?", (condition, first.args[1], second.args[1]))), first.place
    )
    shifted = []
    for primitive in (*body[:i], chosen, *body[i + 4 :]):
        target = primitive.args[-1] if primitive.op in ("_jump", "_jump_if_zero") else None
        if isinstance(target, ir.Const) and target.value > i:
            args = (*primitive.args[:-1], ir.Const(target.value - 3))
            primitive = ir.Primitive(primitive.op, args, primitive.place)
        shifted.append(primitive)
    return tuple(shifted)

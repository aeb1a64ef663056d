# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of TNA controls, including tables and deparsers, to ``ir`` pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lanesum_switch.api import ParamSpec, UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.body import Binding, Body, shown
from lanesum_switch.tna.parsers import constant
from lanesum_switch.tna.storage import Gress, Leaf
from lanesum_switch.tna.values import Typed, bit_string

DEFAULT_SIZE = 512  # default size of a table in TNA
_KINDS = ("exact", "lpm", "ternary", "range", "optional")
_KNOWN = {"default_action", "size", "counters", "meters", "idle_timeout"}


class Tables:
    """The tables of one control."""

    def __init__(
        self, gress: Gress, block: p4.BlockDeclaration, scope: dict[str, Binding], actions: dict[str, ir.Action]
    ) -> None:
        self.gress = gress
        self.block = block
        self.scope = scope
        self.actions = actions

    def node(
        self, table: p4.TableDeclaration, body: Body, jumps: dict[str, str | None], following: str | None
    ) -> ir.TableNode:
        """Return the node that applies a table.

        ``body`` gets the computation of keys that are not fields. ``jumps``: successors by name of the action in the
        text, or ``__HIT__`` and ``__MISS__``; others continue at ``following``.
        """
        where = table.control_name
        unknown = set(table.properties) - _KNOWN
        if unknown:
            raise UnsupportedProgramError(f"Unsupported: property {', '.join(sorted(unknown))} of table {where}.")
        keys = tuple(self._key(key, body, where) for key in table.keys)
        actions = tuple(self.actions[name] for name in table.actions)
        default: ir.Action | None = None
        default_args: tuple[int, ...] = ()
        given = table.properties.get("default_action")
        if given is not None:
            default, default_args = self._called(given.value, body)
        else:
            default = next((a for a in actions if a.name == "NoAction"), None)
        size = table.properties.get("size")
        hit_miss = "__HIT__" in jumps
        by_action = {} if hit_miss else {a.name: following for a in actions}
        for name, target in jumps.items():
            if not hit_miss:
                by_action[self.actions[name].name] = target
        counter = table.properties.get("counters")
        counted = self._counted(counter, table)
        meter = table.properties.get("meters")
        return ir.TableNode(
            name=where,
            keys=keys,
            actions=actions,
            next_by_action=by_action,
            next_hit=jumps.get("__HIT__"),
            next_miss=jumps.get("__MISS__"),
            hit_miss=hit_miss,
            base_default_next=following,
            size=size.value.value if size is not None and isinstance(size.value, p4.Number) else DEFAULT_SIZE,
            profile=None,
            with_counters=counter is not None,
            supports_timeout=table.properties.get("idle_timeout", p4.Property(p4.Truth(False), True)).value
            == p4.Truth(True),
            direct_meter=None if meter is None else self._meter(meter, where),
            default_action=default,
            default_args=default_args,
            default_const=given is not None and given.const,
            const_entries=self._entries(table, keys, body),
            entries_const=table.has_entries and table.entries_const,
            place=f"line {table.line}",
            counted_actions=counted,
        )

    def _key(self, key: p4.Key, body: Body, table: str) -> ir.KeyField:
        if key.kind not in _KINDS:
            raise UnsupportedProgramError(f"Unsupported: match kind {key.kind} in table {table}.")
        value = body.value(key.expr)
        source = value.expr
        if not isinstance(source, ir.FieldRef):
            kind = p4.Bits(value.bits)
            copy = self.gress.storage.temporary(kind)
            body.store(copy, Typed(bit_string(value), kind))
            assert isinstance(copy.expr, ir.FieldRef)
            source = copy.expr
        return ir.KeyField(key.name, key.kind, source, value.bits, None)

    def _called(self, expr: p4.Expr, body: Body) -> tuple[ir.Action, tuple[int, ...]]:
        called = expr if isinstance(expr, p4.CallExpression) else p4.CallExpression(expr, (), ())
        if not isinstance(called.function, p4.Path) or called.function.name not in self.actions:
            raise UnsupportedProgramError(f"Unsupported: {shown(called.function)} as an action ({body.where}).")
        action, args = self.actions[called.function.name], called.args
        numbers = tuple(
            constant(body, arg) & ((1 << bits) - 1) for arg, (_, bits) in zip(args, action.params, strict=True)
        )
        return action, numbers

    def _counted(self, counter: p4.Property | None, table: p4.TableDeclaration) -> frozenset[str] | None:
        """Return the actions that count; None for all."""
        if counter is None:
            return None
        assert isinstance(counter.value, p4.Path)
        names = frozenset(self.gress.counted[counter.value.name])
        return None if names >= {self.actions[name].name for name in table.actions} else names

    def _meter(self, meter: p4.Property, table: str) -> str:
        assert isinstance(meter.value, p4.Path)
        name = self.gress.direct_meters[meter.value.name]
        self.gress.program.meters[name] = replace(self.gress.program.meters[name], binding=table)
        return name

    def _entries(
        self, table: p4.TableDeclaration, keys: tuple[ir.KeyField, ...], body: Body
    ) -> tuple[ir.ConstEntry, ...]:
        found = []
        for number, entry in enumerate(table.entries):
            if len(entry.keys) == 1 and isinstance(entry.keys[0], p4.Anything) and len(keys) > 1:
                sets: tuple[p4.Expr, ...] = tuple(p4.Anything() for _ in keys)
            else:
                sets = entry.keys
            match = tuple(self._match(expr, key, body) for expr, key in zip(sets, keys, strict=True))
            action, args = self._called(entry.action, body)
            found.append(ir.ConstEntry(match, action.name, args, number + 1))
        return tuple(found)

    def _match(self, expr: p4.Expr, key: ir.KeyField, body: Body) -> tuple[int, int]:
        """Return (value, aux) as in ``api.Match``."""
        full = (1 << key.bits) - 1
        match expr:
            case p4.Anything():
                return (0, full) if key.kind == "range" else (0, 0)
            case p4.Masked(value, mask):
                low, ones = constant(body, value) & full, constant(body, mask) & full
                if key.kind == "lpm":
                    return low, ones.bit_count()
                return low, ones
            case p4.Between(low, high):
                return constant(body, low) & full, constant(body, high) & full
        number = constant(body, expr) & full
        return number, {"exact": 0, "lpm": key.bits, "range": number}.get(key.kind, full)


class _Statements(Body):
    """Statements of an action or of a control, which may call actions."""

    def __init__(self, control: Control, scope: dict[str, Binding], where: str) -> None:
        super().__init__(control.gress, scope, where)
        self.control = control

    def action(self, name: str) -> p4.ActionDeclaration | None:
        return self.control.block.actions.get(name) or self.gress.text.actions.get(name)


class Control:
    """Translates one control into a pipeline."""

    def __init__(self, gress: Gress, block: p4.BlockDeclaration, scope: dict[str, Binding]) -> None:
        self.gress = gress
        self.block = block
        self.scope = scope
        self.nodes: dict[str, ir.ControlNode] = {}
        self.actions: dict[str, ir.Action] = {}
        for action in (*gress.text.actions.values(), *block.actions.values()):
            self.actions[action.name] = self._action(action)
        self.tables = Tables(gress, block, scope, self.actions)

    def pipeline(self) -> ir.Pipeline:
        """Return the pipeline of the control's apply block."""
        return ir.Pipeline(self._statements(self.block.body, None), self.nodes)

    def _action(self, action: p4.ActionDeclaration) -> ir.Action:
        scope = dict(self.scope)
        params = []
        for number, param in enumerate(action.params):
            kind = self.gress.storage.resolve(param.type)
            if not isinstance(kind, p4.Bits | p4.Boolean):
                raise UnsupportedProgramError(
                    f"Unsupported: parameter {param.name} of action {action.control_name} is no number."
                )
            leaf = Leaf(ir.Param(number), kind)
            scope[param.name] = leaf
            params.append(ParamSpec(param.control_name, leaf.bits))
        body = _Statements(self, scope, action.control_name)
        if all(not param.direction for param in action.params):
            body.statements(action.body)
        return self.gress.new_action(action.control_name, tuple(params), tuple(body.primitives))

    # Statements, from the last one to the first, because each refers to its successor

    def _name(self, what: str) -> str:
        return f"{self.block.name}.{what}.{len(self.nodes)}"

    def _statements(self, found: Sequence[p4.Statement], following: str | None) -> str | None:
        plain: list[p4.Statement] = []
        for statement in reversed(found):
            if self._is_plain(statement):
                plain.insert(0, statement)
                continue
            following = self._run(plain, following)
            plain = []
            following = self._branching(statement, following)
        return self._run(plain, following)

    def _is_plain(self, statement: p4.Statement) -> bool:
        if isinstance(statement, p4.CallStatement):
            return self._applied(statement.call) is None
        return not isinstance(statement, p4.If | p4.SwitchStatement | p4.Return)

    def _run(self, plain: Sequence[p4.Statement], following: str | None) -> str | None:
        """Return a node for statements that always run one after the other."""
        if not plain:
            return following
        return self._before(lambda body: body.statements(plain), following)

    def _before(self, write: Callable[[_Statements], None], following: str | None) -> str | None:
        name = self._name("statements")
        body = _Statements(self, self.scope, name)
        write(body)
        return self._node_of(body, name, following)

    def _node_of(self, body: Body, name: str, following: str | None) -> str | None:
        if not body.primitives:
            return following
        action = self.gress.new_action(name, (), tuple(body.primitives))
        self.nodes[name] = ir.ActionNode(name, action, following)
        return name

    def _branching(self, statement: p4.Statement, following: str | None) -> str | None:
        match statement:
            case p4.Return():
                return None
            case p4.CallStatement(call, _):
                table = self._applied(call)
                assert table is not None
                return self._apply(table, {}, following)
            case p4.If(condition, then, otherwise, line):
                return self._if(condition, then, otherwise, following, line)
            case p4.SwitchStatement(p4.MemberExpression(p4.CallExpression() as call, "action_run"), cases, _):
                table = self._applied(call)
                assert table is not None
                return self._switch(table, cases, following)
        raise UnsupportedProgramError(f"Unsupported: a switch over numbers in {self.block.name}; TNA has none.")

    def _applied(self, expr: p4.Expr) -> p4.TableDeclaration | None:
        """Return the table of ``table.apply()``."""
        match expr:
            case p4.CallExpression(p4.MemberExpression(p4.Path(name), "apply"), _, _):
                return self.block.tables.get(name)
        return None

    def _if(
        self,
        condition: p4.Expr,
        then: Sequence[p4.Statement],
        otherwise: Sequence[p4.Statement],
        following: str | None,
        line: int,
    ) -> str | None:
        hit, miss = self._statements(then, following), self._statements(otherwise, following)
        while isinstance(condition, p4.Unary) and condition.op == "!":
            condition, hit, miss = condition.operand, miss, hit
        match condition:
            case p4.MemberExpression(p4.CallExpression() as call, "hit" | "miss" as outcome):
                table = self._applied(call)
                if table is not None:
                    jumps = (hit, miss) if outcome == "hit" else (miss, hit)
                    return self._apply(table, {"__HIT__": jumps[0], "__MISS__": jumps[1]}, following)
        name = self._name(f"if.{line}")
        body = _Statements(self, self.scope, name)
        self.nodes[name] = ir.ConditionNode(name, body.value(condition).expr, hit, miss)
        return self._node_of(body, f"{name}.before", name)

    def _apply(self, table: p4.TableDeclaration, jumps: dict[str, str | None], following: str | None) -> str:
        name = self._name(f"{table.name}.keys")
        body = _Statements(self, self.scope, name)
        node = self.tables.node(table, body, jumps, following)
        if node.name in self.nodes:
            raise UnsupportedProgramError(f"Unsupported: table {node.name} is applied at two places.")
        self.nodes[node.name] = node
        return self._node_of(body, name, node.name) or node.name

    def _switch(self, table: p4.TableDeclaration, cases: Sequence[p4.Case], following: str | None) -> str:
        jumps: dict[str, str | None] = dict.fromkeys(table.actions, following)
        default = following
        named: dict[str, str | None] = {}
        for case in cases:
            target = self._statements(case.body, following)
            for label in case.labels:
                if label is None:
                    default = target
                else:
                    assert isinstance(label, p4.Path)
                    named[label.name] = target
        for name in jumps:
            jumps[name] = named.get(name, default)
        return self._apply(table, jumps, following)

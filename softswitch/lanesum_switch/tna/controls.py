# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of TNA controls, including deparsers, to ``ir`` pipelines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.body import Binding, Body
from lanesum_switch.tna.gress import Gress
from lanesum_switch.tna.storage import Leaf
from lanesum_switch.tna.tables import Tables


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
            params.append((param.control_name, leaf.bits))
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
        jumps: dict[str, str | None] = {ref.name: following for ref in table.actions}
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

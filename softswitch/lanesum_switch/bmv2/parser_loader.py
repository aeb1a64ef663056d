# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of parsers. Format: docs/JSON_format.md of p4lang/behavioral-model, section ``parsers``."""

from __future__ import annotations

from lanesum_switch.api import InvalidArgumentError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.expression_loader import ExpressionLoader, Json, number_of, place_of, unsupported


class ParserLoader(ExpressionLoader):
    """Loads parsers over the headers that the program has so far."""

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.union_types: dict[str, tuple[str, ...]] = {}
        self.union_stack_types: dict[str, str] = {}

    def _parser(self, parsers: list[Json]) -> None:
        if len(parsers) > 1:
            raise unsupported("a program with several parsers")
        for item in parsers:
            states = {s["name"]: self._state(s) for s in item["parse_states"]}
            for state in states.values():
                for target in [t.next_state for t in state.transitions] + [state.default]:
                    if target is not None and target not in states:
                        raise InvalidArgumentError(
                            f"Parser state {state.name!r} has a transition to the unknown state {target!r}."
                        )
            self.program.parser = ir.Parser(item["init_state"], states)

    def _state(self, item: Json) -> ir.ParserState:
        ops = tuple(self._parser_op(op) for op in item["parser_ops"])
        keys = []
        for part in item["transition_key"]:
            expr = self._expr(part)
            keys.append((expr, self._bits_of(expr)))
        transitions = []
        default: str | None = None
        for part in item["transitions"]:
            kind = part.get("type", "hexstr")
            if part["value"] == "default":
                kind = "default"
            if kind == "default":
                default = part["next_state"]
            elif kind == "hexstr":
                values = self._split(number_of(part["value"]), keys)
                mask = part.get("mask")
                masks: tuple[int | None, ...] = (None,) * len(keys)
                if mask is not None:
                    masks = tuple(self._split(number_of(mask), keys))
                transitions.append(ir.Transition(tuple(values), masks, part["next_state"]))
            elif kind == "parse_vset":
                if part.get("mask") is not None:
                    raise unsupported("masked parser value set", place_of(part))
                transitions.append(ir.Transition((), (), part["next_state"], part["value"]))
            else:
                raise unsupported(f"parser transition of type {kind!r}", place_of(part))
        return ir.ParserState(item["name"], ops, tuple(keys), tuple(transitions), default)

    @staticmethod
    def _split(value: int, keys: list[tuple[ir.Expr, int]]) -> list[int]:
        """Return the value of each key field; the JSON concatenates them, each padded to whole bytes."""
        parts = []
        for _, bits in reversed(keys):
            padded = (bits + 7) // 8 * 8
            parts.append(value & ((1 << padded) - 1))
            value >>= padded
        return parts[::-1]

    def _bits_of(self, expr: ir.Expr) -> int:
        match expr:
            case ir.FieldRef():
                return self.program.field_type(expr).bits
            case ir.LastField(stack, name):
                first = self.program.stacks[stack].elements[0]
                return self.program.instances[first].type.field(name).bits
            case ir.LastUnionField(stack, member, name):
                union = self.program.unions[self.program.union_stacks[stack].elements[0]]
                header = union.headers[union.members.index(member)]
                return self.program.instances[header].type.field(name).bits
            case ir.Lookahead(_, bits):
                return bits
        raise unsupported(f"parser transition key {expr!r}")

    def _parser_op(self, item: Json) -> ir.ParserOp:
        op, args = item["op"], item["parameters"]
        place = place_of(item)
        if op in ("extract", "extract_VL"):
            return ir.Extract(self._extract_target(args[0], place), self._expr(args[1]) if len(args) > 1 else None)
        if op == "set":
            return ir.SetField(self._expr(args[0]), self._expr(args[1]))
        if op == "verify":
            error = ir.Const(args[1]) if isinstance(args[1], int) else self._expr(args[1])
            return ir.Verify(self._expr(args[0]), error)
        if op == "shift":
            return ir.Advance(ir.Const(int(args[0]) * 8))
        if op == "advance":
            return ir.Advance(self._expr(args[0]))
        if op == "primitive":
            return ir.Call(self._primitive(args[0]))
        raise unsupported(f"parser operation {op!r}", place)

    def _extract_target(self, item: Json, place: str) -> ir.Expr:
        kind, value = item["type"], item["value"]
        if kind == "regular":
            return ir.HeaderRef(self._known(value, self.program.instances))
        if kind == "stack":
            return ir.StackRef(self._known(value, self.program.stacks))
        if kind == "union_stack":
            stack = self._known(value[0], self.program.union_stacks)
            members = self.union_types[self.union_stack_types[stack]]
            return ir.AccessUnionHeader(ir.UnionStackRef(stack), members.index(value[1]))
        raise unsupported(f"extract to {kind!r}", place)

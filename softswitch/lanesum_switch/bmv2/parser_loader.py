# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of parsers. Format: docs/JSON_format.md of p4lang/behavioral-model, section ``parsers``."""

from __future__ import annotations

from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.expression_loader import ExpressionLoader, place_of, unsupported
from lanesum_switch.bmv2.fields import (
    MAX_VARBIT_BYTES,
    FieldError,
    Json,
    array,
    integer,
    number,
    optional_reference,
    record,
    records,
    reference,
    text,
)


class ParserLoader(ExpressionLoader):
    """Loads parsers over the headers that the program has so far."""

    def _parser(self, parsers: list[Json]) -> None:
        if len(parsers) > 1:
            raise unsupported("a program with several parsers")
        for item in parsers:
            states = records(item, "parse_states")
            names = {text(state, "name") for state in states}
            loaded = {state["name"]: self._state(state, names) for state in states}
            self.program.parser = ir.Parser(reference(item, "init_state", names, "parser state"), loaded)

    def _state(self, item: Json, names: set[str]) -> ir.ParserState:
        ops = tuple(self._parser_op(op) for op in records(item, "parser_ops"))
        keys = []
        for part in records(item, "transition_key"):
            expr = self._expr(part)
            keys.append((expr, self._bits_of(expr)))
        transitions = []
        default: str | None = None
        for part in records(item, "transitions"):
            kind = text(part, "type") if "type" in part else "hexstr"
            following = optional_reference(part, "next_state", names, "parser state")
            if kind == "default" or part.get("value") == "default":
                default = following
            elif kind == "hexstr":
                values = self._split(number(part, "value"), keys)
                masks: tuple[int | None, ...] = (None,) * len(keys)
                if part.get("mask") is not None:
                    masks = tuple(self._split(number(part, "mask"), keys))
                transitions.append(ir.Transition(tuple(values), masks, following))
            elif kind == "parse_vset":
                if part.get("mask") is not None:
                    raise unsupported("masked parser value set", place_of(part))
                vset = reference(part, "value", self.program.value_sets, "parser value set")
                transitions.append(ir.Transition((), (), following, vset))
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
        kind: ir.FieldType | None = None
        match expr:
            case ir.FieldRef():
                kind = self.program.field_type(expr)
            case ir.LastField(stack, name) if name != "last":
                kind = self._element_type(stack).field(name)
            case ir.LastUnionField(stack, member, name):
                union = self.program.unions[self.program.union_stacks[stack].elements[0]]
                header = union.headers[union.members.index(member)]
                kind = self.program.instances[header].type.field(name)
            case ir.Lookahead(_, bits):
                return bits
        if kind is None or kind.variable:
            raise unsupported(f"parser transition key of type {type(expr).__name__}")
        return kind.bits

    def _parser_op(self, item: Json) -> ir.ParserOp:
        op, args = text(item, "op"), array(item, "parameters")
        place = place_of(item)
        if op in ("extract", "extract_VL"):
            target = self._extract_target(record(args, 0), place)
            return ir.Extract(target, self._expr(record(args, 1)) if len(args) > 1 else None)
        if op == "set":
            return self._set(args)
        if op == "verify":
            code = args[1] if len(args) > 1 else None
            error = ir.Const(integer(args, 1)) if isinstance(code, int) else self._expr(record(args, 1))
            return ir.Verify(self._expr(record(args, 0)), error)
        if op == "shift":
            return ir.Advance(ir.Const(integer(args, 0, 0, MAX_VARBIT_BYTES) * 8))
        if op == "advance":
            bits = self._expr(record(args, 0))
            if isinstance(bits, ir.Const) and not 0 <= bits.value <= 8 * MAX_VARBIT_BYTES:
                raise FieldError(args[0], "value", f"a number of bits from 0 to {8 * MAX_VARBIT_BYTES}")
            return ir.Advance(bits)
        if op == "primitive":
            return ir.PrimitiveCall(self._primitive(record(args, 0)))
        raise unsupported(f"parser operation {op!r}", place)

    def _set(self, args: list[Json]) -> ir.SetField:
        target, value = self._expr(record(args, 0)), self._expr(record(args, 1))
        if not isinstance(target, ir.FieldRef) or target.name == ir.VALID:
            raise FieldError(args, 0, "a field")
        if self.program.field_type(target).variable and not (
            isinstance(value, ir.FieldRef) and self.program.field_type(value).variable
        ):
            raise FieldError(args, 1, "a variable-length field, as the target is")
        return ir.SetField(target, value)

    def _extract_target(self, item: Json, place: str) -> ir.Expr:
        kind = text(item, "type")
        program = self.program
        if kind == "regular":
            name = reference(item, "value", program.instances, "header")
            if program.instances[name].metadata:
                raise FieldError(item, "value", "a header that is not metadata")
            return ir.HeaderRef(name)
        if kind == "stack":
            return ir.StackRef(reference(item, "value", program.stacks, "header stack"))
        if kind == "union_stack":
            value = array(item, "value", 2)
            stack = reference(value, 0, program.union_stacks, "header union stack")
            members = program.unions[program.union_stacks[stack].elements[0]].members
            return ir.AccessUnionHeader(
                ir.UnionStackRef(stack), members.index(reference(value, 1, members, "union member"))
            )
        raise unsupported(f"extract to {kind!r}", place)

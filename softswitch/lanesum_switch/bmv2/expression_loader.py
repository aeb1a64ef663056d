# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of expressions and primitives.

Format: docs/JSON_format.md of p4lang/behavioral-model, sections "The type value object" and "actions".
"""

from __future__ import annotations

from typing import Any

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2 import ir

_BINARY = frozenset(
    ("+", "-", "*", "/", "%", "<<", ">>", "==", "!=", ">", "<", ">=", "<=", "&", "|", "^")
    + ("and", "or", "two_comp_mod", "usat_cast", "sat_cast")
)
_UNARY = frozenset(("not", "~", "d2b", "b2d", "valid", "valid_union", "last_stack_index", "size_stack"))
# Arithmetic primitives of P4_14, with the arguments (target, operand) or (target, left, right).
_ARITHMETIC = {
    "add_to_field": "+",
    "subtract_from_field": "-",
    "add": "+",
    "subtract": "-",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_OBJECT_TYPES = frozenset(("calculation", "register_array", "meter_array", "counter_array", "extern"))

Json = dict[str, Any]


def place_of(item: Json) -> str:
    """Return ``file(line)`` from the ``source_info`` of a JSON object, or an empty string."""
    info = item.get("source_info") or {}
    if "filename" not in info:
        return ""
    return f"{info['filename']}({info.get('line', '?')})"


def unsupported(construct: str, place: str = "") -> UnsupportedProgramError:
    """Return the error for a construct that this switch does not run."""
    where = f" at {place}" if place else ""
    return UnsupportedProgramError(f"Unsupported: {construct}{where}.")


def number_of(text: str) -> int:
    """Return the value of a ``hexstr``, which may have a prefix and a sign."""
    negative = text.startswith("-")
    digits = text.lstrip("-")
    value = int(digits, 16)
    return -value if negative else value


class ExpressionLoader:
    """Loads expressions and primitives over the headers that the program has so far."""

    def __init__(self, program: ir.Program) -> None:
        self.program = program

    def _field(self, value: list[str]) -> ir.FieldRef:
        header, name = value
        if not isinstance(header, str):
            raise unsupported("field of an expression that is not a header instance")
        ref = ir.FieldRef(header, name)
        try:
            self.program.field_type(ref)
        except KeyError:
            raise InvalidArgumentError(
                f"The program refers to the field {header}.{name}, which it does not define."
            ) from None
        return ref

    def _expr(self, item: Json | None) -> ir.Expr:
        if item is None:
            return ir.Const(0)
        kind: str = item["type"]
        value: Any = item.get("value")
        if kind == "expression":
            return self._operation(value) if "op" in value else self._expr(value)
        if kind == "field":
            return self._field(value)
        if kind == "hexstr":
            return ir.Const(number_of(value))
        if kind == "bool":
            return ir.Bool(bool(value))
        if kind in ("local", "runtime_data"):
            return ir.Param(int(value))
        if kind == "header":
            return ir.HeaderRef(self._known(value, self.program.instances))
        if kind == "header_stack":
            return ir.StackRef(self._known(value, self.program.stacks))
        if kind == "header_union":
            return ir.UnionRef(self._known(value, self.program.unions))
        if kind == "header_union_stack":
            return ir.UnionStackRef(self._known(value, self.program.union_stacks))
        if kind == "stack_field":
            return ir.LastField(self._known(value[0], self.program.stacks), value[1])
        if kind == "union_stack_field":
            return ir.LastUnionField(self._known(value[0], self.program.union_stacks), value[1], value[2])
        if kind == "register":
            return ir.RegisterCell(value[0], self._expr(value[1]))
        if kind == "lookahead":
            return ir.Lookahead(int(value[0]), int(value[1]))
        if kind in _OBJECT_TYPES:
            return ir.Named(kind, value)
        if kind == "string":
            return ir.Text(value)
        if kind == "parameters_vector":
            return ir.Vector(tuple(self._expr(part) for part in value or ()))  # p4c writes {} for an empty one
        raise unsupported(f"value of type {kind!r}", place_of(item))

    @staticmethod
    def _known(name: str, names: dict[str, Any]) -> str:
        if name not in names:
            raise InvalidArgumentError(f"The program refers to {name!r}, which it does not define.")
        return name

    def _operation(self, item: Json) -> ir.Expr:
        op = item["op"]
        left, right = item.get("left"), item.get("right")
        if op == "?":
            return ir.Op(op, (self._expr(item["cond"]), self._expr(left), self._expr(right)))
        if op == "access_field":
            assert left is not None
            return ir.AccessField(self._expr(left), int(right))  # type: ignore[arg-type]
        if op == "access_union_header":
            assert left is not None
            return ir.AccessUnionHeader(self._expr(left), int(right))  # type: ignore[arg-type]
        if op in ("dereference_header_stack", "dereference_stack", "dereference_union_stack"):
            stack = self._expr(left)
            index = self._expr(right)
            if isinstance(stack, ir.StackRef):
                return ir.StackElement(stack.name, index)
            if isinstance(stack, ir.UnionStackRef):
                return ir.UnionStackElement(stack.name, index)
            raise unsupported(f"{op} of an expression that is not a stack", place_of(item))
        if op in _BINARY:
            return ir.Op(op, (self._expr(left), self._expr(right)))
        if op in _UNARY:
            return ir.Op(op, (self._expr(right if right is not None else left),))
        raise unsupported(f"operator {op!r}", place_of(item))

    def _primitive(self, item: Json) -> ir.Primitive:
        op = item["op"]
        args = tuple(self._expr(arg) for arg in item["parameters"])
        if op in _ARITHMETIC:
            operands = args if len(args) == 2 else args[1:]
            return ir.Primitive("assign", (args[0], ir.Op(_ARITHMETIC[op], operands)), place_of(item))
        return ir.Primitive(op, args, place_of(item))

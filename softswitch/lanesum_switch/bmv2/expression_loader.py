# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of expressions and primitives, and the signatures of the primitives of simple_switch.

Format: docs/JSON_format.md of p4lang/behavioral-model, sections "The type value object" and "actions"; and
src/bm/bm_sim/primitives.h for the core primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.fields import (
    MAX_BITS,
    MAX_LOOKAHEAD_OFFSET,
    FieldError,
    Json,
    array,
    boolean,
    integer,
    number,
    record,
    records,
    reference,
    text,
)

Check = Callable[[ir.Expr], bool]
Parameter = tuple[Check, str]  # test of a parameter, and its name for error messages
Signature = tuple[tuple[Parameter, ...], int]  # parameters, and how many of them are required

_NUMBERS: tuple[type, ...] = (
    ir.FieldRef, ir.Const, ir.Op, ir.Param, ir.Bool, ir.AccessField, ir.LastField, ir.LastUnionField, ir.Lookahead,
    ir.RegisterCell,
)  # fmt: skip


def _of(what: str, *kinds: type) -> Parameter:
    return (lambda expr: isinstance(expr, kinds), what)


def _named(kind: str) -> Parameter:
    return (lambda expr: isinstance(expr, ir.Named) and expr.kind == kind, f"a {kind.replace('_', ' ')}")


def _is_target(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.AccessField) or (isinstance(expr, ir.FieldRef) and expr.name != ir.VALID)


_NUMBER = _of("a number", *_NUMBERS)
_TARGET: Parameter = (_is_target, "a field")
_FIELD = _of("a field", ir.FieldRef)
_HEADER = _of("a header", ir.HeaderRef, ir.StackElement, ir.AccessUnionHeader, ir.LastField)
_UNION = _of("a header union", ir.UnionRef, ir.UnionStackElement)
_STACK = _of("a header stack", ir.StackRef)
_UNION_STACK = _of("a header union stack", ir.UnionStackRef)
_ANY_STACK = _of("a stack", ir.StackRef, ir.UnionStackRef)
_NATURAL: Parameter = (lambda e: isinstance(e, ir.Const) and 0 <= e.value < 1 << 31, "a constant from 0 to 2^31 - 1")
_REGISTER, _COUNTER, _METER = _named("register_array"), _named("counter_array"), _named("meter_array")
_CALCULATION = _named("calculation")
_TEXT = _of("a string", ir.Text)
_VECTOR: Parameter = (
    lambda e: isinstance(e, ir.Vector) and all(isinstance(item, _NUMBERS) for item in e.items),
    "a vector of numbers",
)


def _signature(*parameters: Parameter, required: int | None = None) -> Signature:
    return parameters, len(parameters) if required is None else required


_ASSIGN = _signature(_TARGET, _NUMBER)
_COPY_HEADER = _signature(_HEADER, _HEADER)
_CLONE = _signature(_NUMBER, _NATURAL)
_DROP = _signature(_of("a header", ir.HeaderRef), required=0)
_ASSERT = _signature(_NUMBER)
_SHIFT = _signature(_ANY_STACK, _NATURAL)
_LIST = _signature(_NATURAL)

SIGNATURES: dict[str, Signature] = {
    "assign": _ASSIGN,
    "modify_field": _ASSIGN,
    "assign_VL": _signature(_FIELD, _FIELD),
    "assign_header": _COPY_HEADER,
    "copy_header": _COPY_HEADER,
    "assign_union": _signature(_UNION, _UNION),
    "assign_header_stack": _signature(_STACK, _STACK),
    "assign_union_stack": _signature(_UNION_STACK, _UNION_STACK),
    "add_header": _signature(_HEADER),
    "remove_header": _signature(_HEADER),
    "push": _SHIFT,
    "pop": _SHIFT,
    "register_read": _signature(_TARGET, _REGISTER, _NUMBER),
    "register_write": _signature(_REGISTER, _NUMBER, _NUMBER),
    "count": _signature(_COUNTER, _NUMBER),
    "execute_meter": _signature(_METER, _NUMBER, _TARGET),
    "modify_field_with_hash_based_offset": _signature(_TARGET, _NUMBER, _CALCULATION, _NUMBER),
    "modify_field_rng_uniform": _signature(_TARGET, _NUMBER, _NUMBER),
    "mark_to_drop": _DROP,
    "drop": _DROP,
    "exit": _signature(),
    "no_op": _signature(),
    "clone_ingress_pkt_to_egress": _CLONE,
    "clone_egress_pkt_to_egress": _CLONE,
    "resubmit": _LIST,
    "recirculate": _LIST,
    "generate_digest": _signature(_NUMBER, _NATURAL),
    "truncate": _signature(_NUMBER),
    "log_msg": _signature(_TEXT, _VECTOR, required=1),
    "assert": _ASSERT,
    "assume": _ASSERT,
    "_jump": _signature(_NATURAL),
    "_jump_if_zero": _signature(_NUMBER, _NATURAL),
}


def mismatch(signature: Signature, args: tuple[ir.Expr, ...]) -> tuple[int, str] | None:
    """Return the position of the first parameter that a primitive does not take, and what it takes there."""
    parameters, required = signature
    if not required <= len(args) <= len(parameters):
        return min(len(args), len(parameters)), f"{len(parameters)} parameters: nothing or another object"
    for position, (arg, (check, what)) in enumerate(zip(args, parameters, strict=False)):
        if not check(arg):
            return position, what
    return None


_BINARY = frozenset(
    ("+", "-", "*", "/", "%", "<<", ">>", "==", "!=", ">", "<", ">=", "<=", "&", "|", "^")
    + ("and", "or", "two_comp_mod", "usat_cast", "sat_cast")
)
_CASTS = frozenset(("two_comp_mod", "usat_cast", "sat_cast"))
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


def place_of(item: Json) -> str:
    """Return ``file(line)`` from the ``source_info`` of a JSON object, or an empty string."""
    info = item.get("source_info")
    if type(info) is not dict or type(info.get("filename")) is not str:
        return ""
    line = info.get("line")
    return f"{info['filename'][-200:]}({line if type(line) is int and 0 <= line < 1 << 32 else '?'})"


def unsupported(construct: str, place: str = "") -> UnsupportedProgramError:
    """Return the error for a construct that this switch does not run."""
    where = f" at {place}" if place else ""
    return UnsupportedProgramError(f"Unsupported: {construct}{where}.")


class ExpressionLoader:
    """Loads expressions and primitives over the headers that the program has so far.

    Attributes:
        num_params: number of run-time parameters of the action whose expressions are loaded; 0 outside of actions.
    """

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.num_params = 0
        self._fields: dict[tuple[str, str], ir.FieldRef] = {}
        # Kinds of objects that a program refers to by name: constructor of the expression, and the names known so far.
        self._by_name: dict[str, tuple[Callable[[str], ir.Expr], Container[str]]] = {
            "header": (ir.HeaderRef, program.instances),
            "header_stack": (ir.StackRef, program.stacks),
            "header_union": (ir.UnionRef, program.unions),
            "header_union_stack": (ir.UnionStackRef, program.union_stacks),
            "calculation": (partial(ir.Named, "calculation"), program.calculations),
            "register_array": (partial(ir.Named, "register_array"), program.registers),
            "meter_array": (partial(ir.Named, "meter_array"), program.meters),
            "counter_array": (partial(ir.Named, "counter_array"), program.counters),
        }

    def _field(self, holder: Any, key: Any) -> ir.FieldRef:
        try:
            header, name = holder[key]
            return self._fields[header, name]
        except (KeyError, TypeError, ValueError, IndexError):
            value = array(holder, key, 2)
        if isinstance(value[0], dict):
            raise unsupported("field of an expression that is not a header instance")
        ref = ir.FieldRef(text(value, 0), text(value, 1))
        try:
            self.program.field_type(ref)
        except KeyError:
            raise FieldError(value, 1, f"a field of {ref.header[:80]!r} that the program defines") from None
        if ref.header not in self.program.instances:
            raise FieldError(value, 0, "the name of a header that the program defines")
        self._fields[ref.header, ref.name] = ref
        return ref

    def _number_field(self, holder: Any, key: Any) -> ir.FieldRef:
        """Return a field that a program may write a number to."""
        ref = self._field(holder, key)
        if ref.name == ir.VALID or self.program.field_type(ref).variable:
            raise FieldError(holder, key, "a field of fixed width")
        return ref

    def _arg(self, holder: Any, key: Any) -> ir.Expr:
        """Return an operand; 0 for a missing one."""
        if holder.get(key) is None:
            return ir.Const(0)
        return self._expr(record(holder, key))

    def _exprs(self, holder: Any, key: Any) -> tuple[ir.Expr, ...]:
        return tuple([self._expr(item) for item in records(holder, key)])

    def _expr(self, item: Json) -> ir.Expr:
        kind = item.get("type")
        if kind == "field":
            return self._field(item, "value")
        if kind == "expression":
            value = record(item, "value")
            return self._operation(value) if "op" in value else self._expr(value)
        if kind == "hexstr":
            return ir.Const(number(item, "value"))
        if kind in ("local", "runtime_data"):
            return ir.Param(integer(item, "value", 0, self.num_params - 1))
        if kind == "bool":
            return ir.Bool(boolean(item, "value"))
        return self._object(item, text(item, "type"))

    def _object(self, item: Json, kind: str) -> ir.Expr:
        """Return an expression that denotes an object, or a field of one."""
        program = self.program
        if kind in self._by_name:
            make, known = self._by_name[kind]
            return make(reference(item, "value", known, kind.replace("_", " ")))
        if kind == "stack_field":
            value = array(item, "value", 2)
            stack = reference(value, 0, program.stacks, "header stack")
            names = {f.name for f in self._element_type(stack).fields} | {"last"}
            return ir.LastField(stack, reference(value, 1, names, "field"))
        if kind == "union_stack_field":
            value = array(item, "value", 3)
            stack = reference(value, 0, program.union_stacks, "header union stack")
            union = program.unions[program.union_stacks[stack].elements[0]]
            member = reference(value, 1, union.members, "member")
            header = program.instances[union.headers[union.members.index(member)]]
            names = {f.name for f in header.type.fields}
            return ir.LastUnionField(stack, member, reference(value, 2, names, "field"))
        if kind == "register":
            value = array(item, "value", 2)
            return ir.RegisterCell(
                reference(value, 0, program.registers, "register array"), self._expr(record(value, 1))
            )
        if kind == "lookahead":
            value = array(item, "value", 2)
            return ir.Lookahead(integer(value, 0, 0, MAX_LOOKAHEAD_OFFSET), integer(value, 1, 1, MAX_BITS))
        if kind == "string":
            return ir.Text(text(item, "value"))
        if kind == "parameters_vector":  # p4c writes {} for an empty one
            return ir.Vector(self._exprs(item, "value") if item.get("value") else ())
        raise unsupported(f"value of type {kind!r}", place_of(item))

    def _element_type(self, stack: str) -> ir.HeaderType:
        return self.program.instances[self.program.stacks[stack].elements[0]].type

    def _union(self, expr: ir.Expr) -> ir.UnionInstance | None:
        """Return a union of the type that a union expression has."""
        match expr:
            case ir.UnionRef(name):
                return self.program.unions[name]
            case ir.UnionStackElement(stack, _) | ir.UnionStackRef(stack):
                return self.program.unions[self.program.union_stacks[stack].elements[0]]
        return None

    def _header_type(self, expr: ir.Expr) -> ir.HeaderType | None:
        """Return the type of a header expression; None for any other expression."""
        match expr:
            case ir.HeaderRef(name):
                return self.program.instances[name].type
            case ir.StackElement(stack, _) | ir.LastField(stack, "last"):
                return self._element_type(stack)
            case ir.AccessUnionHeader(inner, index):
                union = self._union(inner)
                return None if union is None else self.program.instances[union.headers[index]].type
        return None

    def _operation(self, item: Json) -> ir.Expr:
        op = text(item, "op")
        if op in _BINARY:
            if op in _CASTS:
                self._cast_width(item)
            return ir.Op(op, (self._arg(item, "left"), self._arg(item, "right")))
        if op in _UNARY:
            return ir.Op(op, (self._arg(item, "right" if item.get("right") is not None else "left"),))
        if op == "?":
            return ir.Op(op, (self._expr(record(item, "cond")), self._arg(item, "left"), self._arg(item, "right")))
        if op == "access_field":
            header = self._expr(record(item, "left"))
            kind = self._header_type(header)
            if kind is None:
                raise FieldError(item, "left", "a header")
            return ir.AccessField(header, integer(item, "right", 0, len(kind.fields) - 1))
        if op == "access_union_header":
            operand = self._expr(record(item, "left"))
            union = self._union(operand)
            if union is None:
                raise FieldError(item, "left", "a header union")
            return ir.AccessUnionHeader(operand, integer(item, "right", 0, len(union.headers) - 1))
        if op in ("dereference_header_stack", "dereference_stack", "dereference_union_stack"):
            stack = self._arg(item, "left")
            index = self._arg(item, "right")
            if isinstance(stack, ir.StackRef):
                return ir.StackElement(stack.name, index)
            if isinstance(stack, ir.UnionStackRef):
                return ir.UnionStackElement(stack.name, index)
            raise unsupported(f"{op} of an expression that is not a stack", place_of(item))
        raise unsupported(f"operator {op!r}", place_of(item))

    def _cast_width(self, item: Json) -> None:
        """Check the constant width of a cast."""
        right = record(item, "right")
        while right.get("type") == "expression" and type(right.get("value")) is dict and "op" not in right["value"]:
            right = right["value"]
        if right.get("type") == "hexstr" and not 0 < number(right, "value") <= MAX_BITS:
            raise FieldError(right, "value", f"a width from 1 to {MAX_BITS} bits")

    def _primitive(self, item: Json) -> ir.Primitive:
        op = text(item, "op")
        args = self._exprs(item, "parameters")
        operator = _ARITHMETIC.get(op)
        if operator is not None:
            if len(args) not in (2, 3):
                raise FieldError(item, "parameters", "2 or 3 parameters")
            args = (args[0], ir.Op(operator, args if len(args) == 2 else args[1:]))
            op = "assign"
        signature = SIGNATURES.get(op)
        if signature is None:
            raise unsupported(f"primitive {op!r}", place_of(item))
        wrong = mismatch(signature, args)
        if wrong is not None:
            raise FieldError(item["parameters"], wrong[0], f"{wrong[1]} as parameter {wrong[0]} of {op}")
        if op in _PAIRS:
            self._check_pair(item, args)
        elif op in ("add_header", "remove_header"):
            if isinstance(args[0], ir.HeaderRef) and self.program.instances[args[0].name].metadata:
                raise FieldError(item["parameters"], 0, "a header that is not metadata")
        elif op in ("count", "execute_meter"):
            assert isinstance(args[0], ir.Named)
            arrays: dict[str, Any] = dict(self.program.counters if op == "count" else self.program.meters)
            if arrays[args[0].name].binding is not None:
                raise unsupported(f"{op} of the direct array {args[0].name!r}", place_of(item))
        return ir.Primitive(op, args, place_of(item))

    def _check_pair(self, item: Json, args: tuple[ir.Expr, ...]) -> None:
        """Check that both arguments of a copy have the same type."""
        if self._shape(args[0]) != self._shape(args[1]):
            raise FieldError(item["parameters"], 1, "an object of the type of parameter 0")

    def _shape(self, expr: ir.Expr) -> tuple[object, ...]:
        """Return a value that is equal for the operands of a valid copy."""
        program = self.program
        match expr:
            case ir.FieldRef():
                return (program.field_type(expr).variable,)
            case ir.StackRef(stack):
                return (self._element_type(stack).name, len(program.stacks[stack].elements))
            case ir.UnionStackRef(stack):
                elements = program.union_stacks[stack].elements
                return (program.unions[elements[0]].members, len(elements))
            case ir.UnionRef() | ir.UnionStackElement():
                union = self._union(expr)
                return (None if union is None else union.members,)
        kind = self._header_type(expr)
        metadata = isinstance(expr, ir.HeaderRef) and program.instances[expr.name].metadata
        return (None if kind is None else kind.name, metadata)


_PAIRS = frozenset(
    ("assign_VL", "assign_header", "copy_header", "assign_union", "assign_header_stack", "assign_union_stack")
)

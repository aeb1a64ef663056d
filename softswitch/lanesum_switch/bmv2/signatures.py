# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures of the primitives of simple_switch: what each takes as parameters.

docs/JSON_format.md of p4lang/behavioral-model, section "actions"; src/bm/bm_sim/primitives.h for the core primitives.
"""

from __future__ import annotations

from collections.abc import Callable

from lanesum_switch.bmv2 import ir

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

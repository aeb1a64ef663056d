# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Expressions of the intermediate representation.

Each class is a kind of "type value object" of the BMv2 JSON format (docs/JSON_format.md, section "The type value
object"). Nodes are frozen and hashable, so that compiler passes can compare and substitute them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VALID = "$valid$"


@dataclass(frozen=True, slots=True)
class Const:
    """A number of any size, possibly negative."""

    value: int


@dataclass(frozen=True, slots=True)
class Bool:
    """A boolean constant."""

    value: bool


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of a header or metadata instance; ``name`` may be the hidden field ``$valid$``."""

    header: str
    name: str


@dataclass(frozen=True, slots=True)
class Param:
    """Run-time parameter ``index`` of the enclosing action."""

    index: int


@dataclass(frozen=True, slots=True)
class Op:
    """An operation; the operator ``?`` has the arguments (condition, left, right)."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class HeaderRef:
    """A header or metadata instance."""

    name: str


@dataclass(frozen=True, slots=True)
class StackRef:
    """A header stack."""

    name: str


@dataclass(frozen=True, slots=True)
class UnionRef:
    """A header union."""

    name: str


@dataclass(frozen=True, slots=True)
class UnionStackRef:
    """A stack of header unions."""

    name: str


@dataclass(frozen=True, slots=True)
class LastField:
    """A field of the last extracted element of a header stack."""

    stack: str
    name: str


@dataclass(frozen=True, slots=True)
class LastUnionField:
    """A field of one member of the last extracted element of a header union stack."""

    stack: str
    member: str
    name: str


@dataclass(frozen=True, slots=True)
class RegisterCell:
    """A cell of a register array."""

    array: str
    index: Expr


@dataclass(frozen=True, slots=True)
class Lookahead:
    """The ``bits`` bits of the packet that begin ``offset`` bits after the parser's position."""

    offset: int
    bits: int


@dataclass(frozen=True, slots=True)
class StackElement:
    """An element of a header stack."""

    stack: str
    index: Expr


@dataclass(frozen=True, slots=True)
class UnionStackElement:
    """An element of a stack of header unions."""

    stack: str
    index: Expr


@dataclass(frozen=True, slots=True)
class AccessField:
    """Field number ``index`` of the header that an expression yields."""

    header: Expr
    index: int


@dataclass(frozen=True, slots=True)
class AccessUnionHeader:
    """Member number ``index`` of the union that an expression yields."""

    union: Expr
    index: int


@dataclass(frozen=True, slots=True)
class Named:
    """A calculation, register, meter or counter array; ``kind`` is its JSON type."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string constant."""

    value: str


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of parameters, for ``log_msg``."""

    items: tuple[Expr, ...]


Expr = (
    Const
    | Bool
    | FieldRef
    | Param
    | Op
    | HeaderRef
    | StackRef
    | UnionRef
    | UnionStackRef
    | LastField
    | LastUnionField
    | RegisterCell
    | Lookahead
    | StackElement
    | UnionStackElement
    | AccessField
    | AccessUnionHeader
    | Named
    | Text
    | Vector
)


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Op: lambda expr: expr.args,
    Vector: lambda expr: expr.items,
    RegisterCell: lambda expr: (expr.index,),
    StackElement: lambda expr: (expr.index,),
    UnionStackElement: lambda expr: (expr.index,),
    AccessField: lambda expr: (expr.header,),
    AccessUnionHeader: lambda expr: (expr.union,),
}


def walk(expr: Expr) -> list[Expr]:
    """Return the expression and all its sub-expressions."""
    found = [expr]
    for node in found:
        children = _CHILDREN.get(type(node))
        if children is not None:
            found.extend(children(node))
    return found


def substitute(expr: Expr, old: Expr, new: Expr) -> Expr:
    """Return ``expr`` with every occurrence of ``old`` replaced by ``new``."""
    if expr == old:
        return new
    match expr:
        case Op(op, args):
            return Op(op, tuple(substitute(arg, old, new) for arg in args))
        case Vector(items):
            return Vector(tuple(substitute(item, old, new) for item in items))
        case RegisterCell(array, index):
            return RegisterCell(array, substitute(index, old, new))
        case StackElement(stack, index):
            return StackElement(stack, substitute(index, old, new))
        case UnionStackElement(stack, index):
            return UnionStackElement(stack, substitute(index, old, new))
        case AccessField(header, number):
            return AccessField(substitute(header, old, new), number)
        case AccessUnionHeader(union, number):
            return AccessUnionHeader(substitute(union, old, new), number)
    return expr

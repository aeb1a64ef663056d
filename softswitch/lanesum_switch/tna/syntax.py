# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Syntax tree of simplified P4, which ``parse`` builds and the translation walks.

Nodes that error messages may name have the line of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bits:
    """``bit<width>`` or ``int<width>``."""

    width: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Boolean:
    pass


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type by name, with type arguments if it is generic; ``error`` and ``void``, too."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Stack:
    element: Type
    size: int


Type = Bits | Boolean | NamedType | Tuple | Stack


@dataclass(frozen=True, slots=True)
class Number:
    """``width`` is None for a literal without one."""

    value: int
    width: int | None = None
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool


@dataclass(frozen=True, slots=True)
class String:
    value: str


@dataclass(frozen=True, slots=True)
class Path:
    name: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class MemberExpression:
    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Slice:
    base: Expr
    high: int
    low: int


@dataclass(frozen=True, slots=True)
class Index:
    base: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary:
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expr
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    type: Type
    operand: Expr


@dataclass(frozen=True, slots=True)
class CallExpression:
    function: Expr
    type_args: tuple[Type, ...]
    args: tuple[Expr, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class ListOf:
    """``{ a, b }``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class StructOf:
    """``(type){ name = value, ... }``."""

    type: Type | None
    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """``default`` or ``_`` in a key set."""


@dataclass(frozen=True, slots=True)
class Masked:
    value: Expr
    mask: Expr


@dataclass(frozen=True, slots=True)
class Between:
    low: Expr
    high: Expr


Expr = (
    Number
    | Truth
    | String
    | Path
    | MemberExpression
    | Slice
    | Index
    | Unary
    | Binary
    | Conditional
    | Cast
    | CallExpression
    | ListOf
    | StructOf
    | Anything
    | Masked
    | Between
)


@dataclass(frozen=True, slots=True)
class Variable:
    type: Type
    name: str
    value: Expr | None


@dataclass(frozen=True, slots=True)
class AssignmentStatement:
    target: Expr
    value: Expr
    line: int


@dataclass(frozen=True, slots=True)
class CallStatement:
    call: CallExpression
    line: int


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Case:
    """``labels`` share one body; a label None is ``default``."""

    labels: tuple[Expr | None, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class SwitchStatement:
    subject: Expr
    cases: tuple[Case, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Exit:
    line: int


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None
    line: int


Statement = Variable | AssignmentStatement | CallStatement | If | SwitchStatement | Exit | Return


@dataclass(frozen=True, slots=True)
class Parameter:
    direction: str  # in, out, inout, or empty
    type: Type
    name: str
    control_name: str  # name of an action's parameter in the control plane


@dataclass(frozen=True, slots=True)
class Function:
    """An abstract method that an instance implements, such as ``apply`` of a RegisterAction."""

    name: str
    params: tuple[Parameter, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Instantiation:
    """``name`` in the text; ``control_name`` in the control plane."""

    type: NamedType
    args: tuple[Expr, ...]
    name: str
    control_name: str
    functions: tuple[Function, ...]
    line: int


@dataclass(frozen=True, slots=True)
class ActionDeclaration:
    name: str
    control_name: str
    params: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Key:
    expr: Expr
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class EntryDeclaration:
    keys: tuple[Expr, ...]
    action: CallExpression
    priority: int | None


@dataclass(frozen=True, slots=True)
class Property:
    value: Expr
    const: bool


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    name: str
    control_name: str
    keys: tuple[Key, ...]
    actions: tuple[str, ...]
    entries: tuple[EntryDeclaration, ...]
    has_entries: bool
    entries_const: bool
    properties: dict[str, Property]
    line: int


@dataclass(frozen=True, slots=True)
class TransitionStatement:
    keys: tuple[Expr, ...]
    state: str


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """``select`` is empty for a direct transition, whose only case has no keys."""

    name: str
    body: tuple[Statement, ...]
    select: tuple[Expr, ...]
    cases: tuple[TransitionStatement, ...]
    line: int


@dataclass(slots=True)
class BlockDeclaration:
    """A parser or a control."""

    kind: str  # parser or control
    name: str
    params: tuple[Parameter, ...]
    variables: list[Variable] = field(default_factory=list)
    instances: list[Instantiation] = field(default_factory=list)
    actions: dict[str, ActionDeclaration] = field(default_factory=dict)
    tables: dict[str, TableDeclaration] = field(default_factory=dict)
    states: dict[str, StateDeclaration] = field(default_factory=dict)
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A struct or a header."""

    name: str
    header: bool
    fields: tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """``members``: name to value; values count from 0 where the text gives none."""

    name: str
    type: Type | None
    members: dict[str, int]


@dataclass(slots=True)
class ProgramSource:
    """A whole program."""

    architecture: str = ""  # TNA or T2NA
    errors: tuple[str, ...] = ()
    typedefs: dict[str, Type] = field(default_factory=dict)
    constants: dict[str, Expr] = field(default_factory=dict)
    enumerations: dict[str, Enumeration] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    actions: dict[str, ActionDeclaration] = field(default_factory=dict)
    blocks: dict[str, BlockDeclaration] = field(default_factory=dict)
    instances: dict[str, Instantiation] = field(default_factory=dict)

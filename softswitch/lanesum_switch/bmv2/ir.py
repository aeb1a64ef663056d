# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A typed form of the BMv2 JSON: what ``bmv2json`` loads and ``compiler`` turns into Python.

Names follow the BMv2 JSON format (docs/JSON_format.md of p4lang/behavioral-model, version 2.24). Expression nodes are
frozen and hashable, so that passes can compare and substitute them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

VALID = "$valid$"


@dataclass(frozen=True, slots=True)
class Const:
    """A number of any size, possibly negative."""

    value: int


@dataclass(frozen=True, slots=True)
class Bool:
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
    """An operator of the JSON format; ``?`` has (condition, left, right), unary operators one argument."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class HeaderRef:
    name: str


@dataclass(frozen=True, slots=True)
class StackRef:
    name: str


@dataclass(frozen=True, slots=True)
class UnionRef:
    name: str


@dataclass(frozen=True, slots=True)
class UnionStackRef:
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
    array: str
    index: Expr


@dataclass(frozen=True, slots=True)
class Lookahead:
    """``bits`` bits of the packet, ``offset`` bits after the parser's position."""

    offset: int
    bits: int


@dataclass(frozen=True, slots=True)
class StackElement:
    stack: str
    index: Expr


@dataclass(frozen=True, slots=True)
class UnionStackElement:
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
    """A reference to a stateful object or calculation: ``kind`` is the JSON type."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    value: str


@dataclass(frozen=True, slots=True)
class Vector:
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


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions."""
    match expr:
        case Op(args=args):
            return args
        case Vector(items=items):
            return items
        case RegisterCell(index=index) | StackElement(index=index) | UnionStackElement(index=index):
            return (index,)
        case AccessField(header=inner) | AccessUnionHeader(union=inner):
            return (inner,)
    return ()


def walk(expr: Expr) -> list[Expr]:
    """The expression and all its sub-expressions."""
    found = [expr]
    for node in found:
        found.extend(children(node))
    return found


def substitute(expr: Expr, old: Expr, new: Expr) -> Expr:
    """``expr`` with every occurrence of ``old`` replaced."""
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


@dataclass(frozen=True, slots=True)
class FieldType:
    name: str
    bits: int  # 0 for a variable-length field
    signed: bool = False
    variable: bool = False


@dataclass(frozen=True, slots=True)
class HeaderType:
    name: str
    fields: tuple[FieldType, ...]
    max_length: int = 0  # bytes; 0 where the header has no variable-length field

    def field(self, name: str) -> FieldType:
        for candidate in self.fields:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    @property
    def fixed_bits(self) -> int:
        return sum(f.bits for f in self.fields)


@dataclass(frozen=True, slots=True)
class Instance:
    """A header or metadata instance."""

    name: str
    type: HeaderType
    metadata: bool


@dataclass(frozen=True, slots=True)
class StackType:
    name: str
    elements: tuple[str, ...]  # instance names


@dataclass(frozen=True, slots=True)
class UnionInstance:
    name: str
    members: tuple[str, ...]  # member names of the union type
    headers: tuple[str, ...]  # instance names


@dataclass(frozen=True, slots=True)
class UnionStackType:
    name: str
    elements: tuple[str, ...]  # union instance names


@dataclass(frozen=True, slots=True)
class Primitive:
    op: str
    args: tuple[Expr, ...]
    place: str  # for error messages


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    id: int
    params: tuple[tuple[str, int], ...]
    body: tuple[Primitive, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """``target`` is a HeaderRef, StackRef or AccessUnionHeader(UnionStackRef, member number)."""

    target: Expr
    length: Expr | None  # bits of the variable-length field


@dataclass(frozen=True, slots=True)
class SetField:
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Verify:
    condition: Expr
    error: Expr


@dataclass(frozen=True, slots=True)
class Advance:
    bits: Expr


@dataclass(frozen=True, slots=True)
class Call:
    primitive: Primitive


ParserOp = Extract | SetField | Verify | Advance | Call


@dataclass(frozen=True, slots=True)
class Transition:
    """``values`` and ``masks`` per key field; both empty for the default, ``vset`` for a parser value set."""

    values: tuple[int, ...]
    masks: tuple[int | None, ...]
    next_state: str | None
    vset: str | None = None


@dataclass(frozen=True, slots=True)
class ParserState:
    name: str
    ops: tuple[ParserOp, ...]
    keys: tuple[tuple[Expr, int], ...]  # expression and bits
    transitions: tuple[Transition, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class Parser:
    initial: str | None
    states: dict[str, ParserState]


@dataclass(frozen=True, slots=True)
class KeyField:
    name: str
    kind: str  # exact, lpm, ternary, range, optional
    source: FieldRef
    bits: int
    mask: int | None


@dataclass(frozen=True, slots=True)
class ConstEntry:
    match: tuple[tuple[int, int], ...]  # (value, aux) as in api.Match
    action: str
    args: tuple[int, ...]
    priority: int  # as in the JSON: a smaller number wins


@dataclass(frozen=True, slots=True)
class Selector:
    algorithm: str
    inputs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    size: int
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class TableNode:
    name: str
    keys: tuple[KeyField, ...]
    actions: tuple[Action, ...]
    next_by_action: dict[str, str | None]
    next_hit: str | None
    next_miss: str | None
    hit_miss: bool
    base_default_next: str | None
    size: int
    profile: str | None
    with_counters: bool
    supports_timeout: bool
    direct_meter: str | None
    default_action: Action | None
    default_args: tuple[int, ...]
    default_const: bool
    const_entries: tuple[ConstEntry, ...]
    entries_const: bool
    place: str
    counted_actions: frozenset[str] | None = None  # None: the direct counter counts whatever action runs


@dataclass(frozen=True, slots=True)
class ConditionNode:
    name: str
    condition: Expr
    true_next: str | None
    false_next: str | None


@dataclass(frozen=True, slots=True)
class ActionNode:
    name: str
    action: Action
    next: str | None


ControlNode = TableNode | ConditionNode | ActionNode


@dataclass(frozen=True, slots=True)
class Pipeline:
    initial: str | None
    nodes: dict[str, ControlNode]


@dataclass(frozen=True, slots=True)
class CalcInput:
    """``kind``: field, header, payload or hexstr; ``bits`` for a constant."""

    kind: str
    value: Expr | None
    bits: int


@dataclass(frozen=True, slots=True)
class Calculation:
    name: str
    algorithm: str
    inputs: tuple[CalcInput, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    name: str
    target: FieldRef
    calculation: str | None  # None: the legacy IPv4 checksum over the whole header
    update: bool
    verify: bool
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class RegisterArray:
    name: str
    size: int
    bits: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class CounterArray:
    name: str
    size: int
    binding: str | None  # the table of a direct counter


@dataclass(frozen=True, slots=True)
class MeterArray:
    name: str
    size: int
    unit: str  # bytes or packets
    binding: str | None
    result: FieldRef | None


@dataclass(frozen=True, slots=True)
class FieldList:
    name: str
    fields: tuple[FieldRef | Const, ...]


@dataclass(slots=True)
class Program:
    name: str
    instances: dict[str, Instance] = field(default_factory=dict)
    stacks: dict[str, StackType] = field(default_factory=dict)
    unions: dict[str, UnionInstance] = field(default_factory=dict)
    union_stacks: dict[str, UnionStackType] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    parser: Parser = field(default_factory=lambda: Parser(None, {}))
    value_sets: dict[str, int] = field(default_factory=dict)  # name -> bits
    deparser: tuple[str, ...] = ()
    deparser_calls: tuple[Primitive, ...] = ()
    actions: dict[int, Action] = field(default_factory=dict)
    ingress: Pipeline = field(default_factory=lambda: Pipeline(None, {}))
    egress: Pipeline = field(default_factory=lambda: Pipeline(None, {}))
    profiles: dict[str, Profile] = field(default_factory=dict)
    calculations: dict[str, Calculation] = field(default_factory=dict)
    checksums: tuple[Checksum, ...] = ()
    registers: dict[str, RegisterArray] = field(default_factory=dict)
    counters: dict[str, CounterArray] = field(default_factory=dict)
    meters: dict[str, MeterArray] = field(default_factory=dict)
    field_lists: dict[int, FieldList] = field(default_factory=dict)
    learn_lists: dict[int, FieldList] = field(default_factory=dict)
    aliases: dict[str, FieldRef] = field(default_factory=dict)
    inputs: tuple[FieldRef, ...] = ()  # what the architecture writes before the parser, besides the fields it aliases
    outputs: tuple[FieldRef, ...] = ()  # what it reads after the deparser

    def field_type(self, ref: FieldRef) -> FieldType:
        """The type of a field. Raises KeyError where there is none."""
        if ref.name == VALID:
            return FieldType(VALID, 1)
        return self.instances[ref.header].type.field(ref.name)

    def standard(self, name: str) -> FieldRef | None:
        """The program's field for a BMv2 name such as ``intrinsic_metadata.mcast_grp``; None where it has none."""
        if name in self.aliases:
            return self.aliases[name]
        header, _, member = name.partition(".")
        instance = self.instances.get(header)
        if instance is not None and any(f.name == member for f in instance.type.fields):
            return FieldRef(header, member)
        return None

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A program of the intermediate representation: headers, parser, pipelines, stateful objects.

Classes and attributes follow the objects of the BMv2 JSON format (docs/JSON_format.md of p4lang/behavioral-model);
each docstring names the object.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lanesum_switch.api import ParamSpec
from lanesum_switch.bmv2.ir.expressions import VALID, Const, Expr, FieldRef


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field of a header type (``header_types``)."""

    name: str
    bits: int  # 0 for a variable-length field
    signed: bool = False
    variable: bool = False


@dataclass(frozen=True, slots=True)
class HeaderType:
    """A header or metadata type (``header_types``)."""

    name: str
    fields: tuple[FieldType, ...]
    max_length: int = 0  # bytes; 0 where the header has no variable-length field
    _by_name: dict[str, FieldType] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {field.name: field for field in reversed(self.fields)})

    def field(self, name: str) -> FieldType:
        """Return the field with a name. Raises KeyError if there is none."""
        return self._by_name[name]

    @property
    def fixed_bits(self) -> int:
        return sum(f.bits for f in self.fields)


@dataclass(frozen=True, slots=True)
class Instance:
    """A header or metadata instance (``headers``)."""

    name: str
    type: HeaderType
    metadata: bool


@dataclass(frozen=True, slots=True)
class StackType:
    """A header stack (``header_stacks``)."""

    name: str
    elements: tuple[str, ...]  # instance names


@dataclass(frozen=True, slots=True)
class UnionInstance:
    """A header union (``header_unions``)."""

    name: str
    members: tuple[str, ...]  # member names of the union type
    headers: tuple[str, ...]  # instance names


@dataclass(frozen=True, slots=True)
class UnionStackType:
    """A stack of header unions (``header_union_stacks``)."""

    name: str
    elements: tuple[str, ...]  # union instance names


@dataclass(frozen=True, slots=True)
class Primitive:
    """A call of a primitive of simple_switch; ``place`` is ``file(line)`` of the P4 source, for error messages."""

    op: str
    args: tuple[Expr, ...]
    place: str  # for error messages


@dataclass(frozen=True, slots=True)
class Action:
    """An action (``actions``)."""

    name: str
    id: int
    params: tuple[ParamSpec, ...]
    body: tuple[Primitive, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """The parser operations ``extract`` and ``extract_VL``.

    ``target`` is a HeaderRef, StackRef or AccessUnionHeader(UnionStackRef, member number).
    """

    target: Expr
    length: Expr | None  # bits of the variable-length field


@dataclass(frozen=True, slots=True)
class SetField:
    """The parser operation ``set``."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Verify:
    """The parser operation ``verify``."""

    condition: Expr
    error: Expr


@dataclass(frozen=True, slots=True)
class Advance:
    """The parser operations ``shift`` and ``advance``."""

    bits: Expr


@dataclass(frozen=True, slots=True)
class PrimitiveCall:
    """The parser operation ``primitive``."""

    primitive: Primitive


ParserOp = Extract | SetField | Verify | Advance | PrimitiveCall


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition of a parser state.

    Attributes:
        values, masks: one item per key field; both empty for a parser value set.
        next_state: the state that follows; None for the end of the parser.
        vset: name of the parser value set; None for a transition by values.
    """

    values: tuple[int, ...]
    masks: tuple[int | None, ...]
    next_state: str | None
    vset: str | None = None


@dataclass(frozen=True, slots=True)
class ParserState:
    """A state of a parser (``parse_states``)."""

    name: str
    ops: tuple[ParserOp, ...]
    keys: tuple[tuple[Expr, int], ...]  # expression and bits
    transitions: tuple[Transition, ...]
    default: str | None


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser (``parsers``)."""

    initial: str | None
    states: dict[str, ParserState]


@dataclass(frozen=True, slots=True)
class KeyField:
    """A key field of a table."""

    name: str
    kind: str  # exact, lpm, ternary, range, optional
    source: FieldRef
    bits: int
    mask: int | None


@dataclass(frozen=True, slots=True)
class ConstEntry:
    """An entry that is part of the program (``entries`` of a table)."""

    match: tuple[tuple[int, int], ...]  # (value, aux) as in api.Match
    action: str
    args: tuple[int, ...]
    priority: int  # as in the JSON: a smaller number wins


@dataclass(frozen=True, slots=True)
class Selector:
    """The hash of an action selector."""

    algorithm: str
    inputs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """An action profile (``action_profiles``); one with a selector has groups."""

    name: str
    size: int
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class TableNode:
    """A table of a pipeline (``tables``), and the nodes that follow it.

    Attributes:
        next_by_action: name of the next node after each action, where ``hit_miss`` is False.
        next_hit, next_miss: name of the next node after a hit and after a miss, where ``hit_miss`` is True.
        base_default_next: next node where a miss runs no action.
        profile: action profile of an indirect table.
        entries_const: the entries are those of the program and cannot be changed.
        place: ``file(line)`` of the P4 source, for error messages.
        counted_actions: actions that the direct counter counts; None for all.
    """

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
    counted_actions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ConditionNode:
    """A conditional of a pipeline (``conditionals``)."""

    name: str
    condition: Expr
    true_next: str | None
    false_next: str | None


@dataclass(frozen=True, slots=True)
class ActionNode:
    """An action that a pipeline calls without a table (``action_calls``)."""

    name: str
    action: Action
    next: str | None


ControlNode = TableNode | ConditionNode | ActionNode


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A control block (``pipelines``)."""

    initial: str | None
    nodes: dict[str, ControlNode]


@dataclass(frozen=True, slots=True)
class CalcInput:
    """An input of a calculation: ``kind`` is field, header, payload or hexstr, ``bits`` the width of a constant."""

    kind: str
    value: Expr | None
    bits: int


@dataclass(frozen=True, slots=True)
class Calculation:
    """A hash or checksum over fields (``calculations``)."""

    name: str
    algorithm: str
    inputs: tuple[CalcInput, ...]


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum that is verified after the parser or updated before the deparser (``checksums``)."""

    name: str
    target: FieldRef
    calculation: str | None  # None: the IPv4 header checksum (JSON type ``ipv4``)
    update: bool
    verify: bool
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class RegisterArray:
    """A register array (``register_arrays``)."""

    name: str
    size: int
    bits: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class CounterArray:
    """A counter array (``counter_arrays``)."""

    name: str
    size: int
    binding: str | None  # the table of a direct counter


@dataclass(frozen=True, slots=True)
class MeterArray:
    """A meter array (``meter_arrays``)."""

    name: str
    size: int
    unit: str  # bytes or packets
    binding: str | None
    result: FieldRef | None


@dataclass(frozen=True, slots=True)
class FieldList:
    """Fields that a clone, resubmitted or recirculated packet keeps, or that a digest carries.

    The JSON has them in ``field_lists`` and ``learn_lists``.
    """

    name: str
    fields: tuple[FieldRef | Const, ...]


@dataclass(slots=True)
class Program:
    """A program, by the names and numbers of its objects."""

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
    inputs: tuple[FieldRef, ...] = ()  # fields without alias that the architecture writes before the parser
    outputs: tuple[FieldRef, ...] = ()  # fields that the architecture reads after the deparser
    digests: dict[str, tuple[int, ...]] = field(default_factory=dict)  # widths of the values of each digest

    @property
    def tables(self) -> list[TableNode]:
        """Tables of both pipelines."""
        nodes = (*self.ingress.nodes.values(), *self.egress.nodes.values())
        return [node for node in nodes if isinstance(node, TableNode)]

    def field_type(self, ref: FieldRef) -> FieldType:
        """Return the type of a field. Raises KeyError for an unknown one."""
        if ref.name == VALID:
            return FieldType(VALID, 1)
        return self.instances[ref.header].type.field(ref.name)

    def standard(self, name: str) -> FieldRef | None:
        """Return the field with a BMv2 name such as ``intrinsic_metadata.mcast_grp`` (``field_aliases``), or None."""
        if name in self.aliases:
            return self.aliases[name]
        header, _, member = name.partition(".")
        instance = self.instances.get(header)
        if instance is not None and any(f.name == member for f in instance.type.fields):
            return FieldRef(header, member)
        return None

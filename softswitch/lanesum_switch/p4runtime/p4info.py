# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names, widths and kinds of the objects of a P4Info message, by id."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Literal

from lanesum_fabric.protobufs import p4info_pb2
from lanesum_switch.api import MatchKind
from lanesum_switch.p4runtime.status import Code, StatusError

_Prefix = p4info_pb2.P4Ids
_MATCH_KINDS: dict[int, MatchKind] = {
    p4info_pb2.MatchField.EXACT: "exact",
    p4info_pb2.MatchField.LPM: "lpm",
    p4info_pb2.MatchField.TERNARY: "ternary",
    p4info_pb2.MatchField.RANGE: "range",
    p4info_pb2.MatchField.OPTIONAL: "optional",
}
_COUNTER_UNITS = (p4info_pb2.CounterSpec.BYTES, p4info_pb2.CounterSpec.PACKETS, p4info_pb2.CounterSpec.BOTH)
_METER_UNITS = (p4info_pb2.MeterSpec.BYTES, p4info_pb2.MeterSpec.PACKETS)
# Maximum width of a value in p4c.
MAX_BITS = 2048


@dataclass(frozen=True, slots=True)
class ParamInfo:
    id: int
    name: str
    bits: int
    translated: bool = False  # a type with @p4runtime_translation: the data plane may have another width


@dataclass(frozen=True, slots=True)
class ActionInfo:
    id: int
    name: str
    params: tuple[ParamInfo, ...]


@dataclass(frozen=True, slots=True)
class FieldInfo(ParamInfo):
    kind: MatchKind = "exact"


@dataclass(frozen=True, slots=True)
class TableInfo:
    id: int
    name: str
    fields: tuple[FieldInfo, ...]
    scopes: dict[int, int]  # action id -> ActionRef.Scope
    const_default_action: int
    profile: int  # id of the action profile, 0 for a direct table
    direct_counter: int
    direct_meter: int
    is_const: bool
    idle_timeout: bool

    @property
    def needs_priority(self) -> bool:
        return any(f.kind in ("ternary", "range", "optional") for f in self.fields)


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    id: int
    name: str
    with_selector: bool
    max_group_size: int
    size: int
    actions: frozenset[int]  # PI reads them from the first table that uses the profile


@dataclass(frozen=True, slots=True)
class MeterInfo:
    id: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class CounterInfo(MeterInfo):
    counts_packets: bool
    counts_bytes: bool


@dataclass(frozen=True, slots=True)
class DigestInfo:
    id: int
    name: str
    shape: Literal["bitstring", "struct", "tuple"]
    widths: tuple[int, ...]


@dataclass(slots=True)
class P4InfoIndex:
    """A P4Info message by id, in the order of the message."""

    tables: dict[int, TableInfo] = field(default_factory=dict)
    actions: dict[int, ActionInfo] = field(default_factory=dict)
    actions_by_name: dict[str, ActionInfo] = field(default_factory=dict)
    profiles: dict[int, ProfileInfo] = field(default_factory=dict)
    counters: dict[int, CounterInfo] = field(default_factory=dict)
    direct_counters: dict[int, CounterInfo] = field(default_factory=dict)
    meters: dict[int, MeterInfo] = field(default_factory=dict)
    direct_meters: dict[int, MeterInfo] = field(default_factory=dict)
    digests: dict[int, DigestInfo] = field(default_factory=dict)
    packet_headers: dict[str, tuple[ParamInfo, ...]] = field(default_factory=dict)


def _import_error(message: str) -> StatusError:
    # PI reports every problem of a P4Info import with this code.
    return StatusError(Code.UNKNOWN, f"Cannot import the P4Info: {message}")


def build_index(info: Any) -> P4InfoIndex:
    """Index a ``p4.config.v1.P4Info`` message.

    Raises StatusError: UNKNOWN for match types, action scopes, units and digest types that PI cannot import.
    """
    index = P4InfoIndex()
    for action in info.actions:
        name = action.preamble.name
        params = tuple(
            ParamInfo(p.id, p.name, _width(p.bitwidth, f"parameter {p.name} of action {name}"), p.HasField("type_name"))
            for p in action.params
        )
        entry = ActionInfo(action.preamble.id, name, params)
        index.actions[entry.id] = entry
        index.actions_by_name[entry.name] = entry
    for table in info.tables:
        index.tables[table.preamble.id] = _table(table)
    for profile in info.action_profiles:
        first = index.tables.get(profile.table_ids[0]) if profile.table_ids else None
        index.profiles[profile.preamble.id] = ProfileInfo(
            id=profile.preamble.id,
            name=profile.preamble.name,
            with_selector=profile.with_selector,
            max_group_size=profile.max_group_size,
            size=profile.size,
            actions=frozenset(first.scopes) if first else frozenset(),
        )
    for counter in info.counters:
        index.counters[counter.preamble.id] = _counter(counter, counter.size)
    for counter in info.direct_counters:
        index.direct_counters[counter.preamble.id] = _counter(counter, 0)
    for meter in info.meters:
        index.meters[meter.preamble.id] = _meter(meter, meter.size)
    for meter in info.direct_meters:
        index.direct_meters[meter.preamble.id] = _meter(meter, 0)
    for table in index.tables.values():
        _check_direct(table.name, "counter", table.direct_counter, index.direct_counters)
        _check_direct(table.name, "meter", table.direct_meter, index.direct_meters)
    for digest in info.digests:
        index.digests[digest.preamble.id] = _digest(digest, info.type_info)
    for header in info.controller_packet_metadata:
        name = header.preamble.name
        index.packet_headers[name] = tuple(
            ParamInfo(m.id, m.name, _width(m.bitwidth, f"field {m.name} of header {name}")) for m in header.metadata
        )
    return index


def _check_direct(table: str, what: str, p4_id: int, known: Container[int]) -> None:
    if p4_id and p4_id not in known:
        raise _import_error(f"table {table} has direct {what} {p4_id:#x}, which is not described")


def _width(bits: int, what: str) -> int:
    if not 0 <= bits <= MAX_BITS:
        raise _import_error(f"{what} has {bits} bits, not 0 to {MAX_BITS}")
    return bits


def _table(table: Any) -> TableInfo:
    name = table.preamble.name
    fields = []
    for match_field in table.match_fields:
        what = f"field {match_field.name} of table {name}"
        kind = _MATCH_KINDS.get(match_field.match_type)
        if kind is None:
            raise _import_error(f"{what} has an unknown match type, {match_field.match_type}")
        bits = _width(match_field.bitwidth, what)
        fields.append(FieldInfo(match_field.id, match_field.name, bits, match_field.HasField("type_name"), kind))
    scopes = {}
    for ref in table.action_refs:
        if ref.scope not in p4info_pb2.ActionRef.Scope.values():
            raise _import_error(f"action {ref.id:#x} of table {name} has an unknown scope, {ref.scope}")
        scopes[ref.id] = ref.scope
    return TableInfo(
        id=table.preamble.id,
        name=name,
        fields=tuple(fields),
        scopes=scopes,
        const_default_action=table.const_default_action_id,
        profile=table.implementation_id,
        direct_counter=_first_of(table.direct_resource_ids, _Prefix.DIRECT_COUNTER),
        direct_meter=_first_of(table.direct_resource_ids, _Prefix.DIRECT_METER),
        is_const=table.is_const_table,
        idle_timeout=table.idle_timeout_behavior == p4info_pb2.Table.NOTIFY_CONTROL,
    )


def _first_of(ids: Any, prefix: int) -> int:
    """Return the first id of a resource type; the type is the top byte of an id (specification, section 6.3)."""
    return next((p4_id for p4_id in ids if p4_id >> 24 == prefix), 0)


def _counter(counter: Any, size: int) -> CounterInfo:
    unit = counter.spec.unit
    if unit not in _COUNTER_UNITS:
        raise _import_error(f"counter {counter.preamble.name} has an unknown unit, {unit}")
    counts_packets, counts_bytes = unit != p4info_pb2.CounterSpec.BYTES, unit != p4info_pb2.CounterSpec.PACKETS
    return CounterInfo(counter.preamble.id, counter.preamble.name, size, counts_packets, counts_bytes)


def _meter(meter: Any, size: int) -> MeterInfo:
    if meter.spec.unit not in _METER_UNITS:
        raise _import_error(f"meter {meter.preamble.name} has an unknown unit, {meter.spec.unit}")
    return MeterInfo(meter.preamble.id, meter.preamble.name, size)


def _digest(digest: Any, types: Any) -> DigestInfo:
    name = digest.preamble.name
    spec = digest.type_spec
    shape: Literal["bitstring", "struct", "tuple"]
    if spec.HasField("struct"):
        if spec.struct.name not in types.structs:
            raise _import_error(f"digest {name} uses struct {spec.struct.name}, which is not in the type info")
        shape, specs = "struct", [m.type_spec for m in types.structs[spec.struct.name].members]
    elif spec.HasField("tuple"):
        shape, specs = "tuple", list(spec.tuple.members)
    elif spec.HasField("bitstring"):
        shape, specs = "bitstring", [spec]
    else:
        raise _import_error(f"the type of digest {name} is not a bit string, a struct or a tuple")
    widths = []
    for position, member in enumerate(specs):
        what = f"member {position} of digest {name}"
        if not member.HasField("bitstring") or not member.bitstring.HasField("bit"):
            raise _import_error(f"{what} is not bit<W>")
        widths.append(_width(member.bitstring.bit.bitwidth, what))
    return DigestInfo(digest.preamble.id, name, shape, tuple(widths))

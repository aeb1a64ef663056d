# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Table entries by name: conversion from plain values to P4Info numbers and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import text_format

from lanesum_fabric.errors import PipelineError
from lanesum_fabric.protobufs import p4info_pb2, p4runtime_pb2

_OTHER_PROGRAM = "It runs another program or version: let the controller push its own pipeline."


def canonical_bytes(value: int) -> bytes:
    """Return the shortest byte string of a non-negative integer (P4Runtime specification, section 8.4)."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


@dataclass(frozen=True, slots=True)
class Lpm:
    """Prefix of an LPM field."""

    value: int
    prefix_bits: int


@dataclass(slots=True)
class EntryRead:
    """Table entry read from a switch, by name; ``packets`` and ``bytes`` from its direct counter."""

    table: str
    match: dict[str, int]
    action: str
    params: dict[str, int] = field(default_factory=dict)
    packets: int = 0
    bytes: int = 0


class P4InfoNames:
    """Numbers of a P4Info, by full name. Raises PipelineError for missing names."""

    def __init__(self, p4info: p4info_pb2.P4Info) -> None:
        self._tables = {table.preamble.name: table for table in p4info.tables}
        self._registers = {register.preamble.name: register for register in p4info.registers}
        self._tables_by_id = {table.preamble.id: table for table in p4info.tables}
        self._actions = {action.preamble.name: action for action in p4info.actions}
        self._actions_by_id = {action.preamble.id: action for action in p4info.actions}
        self._fields = {name: {field.name for field in table.match_fields} for name, table in self._tables.items()}
        self._params = {name: {param.name for param in action.params} for name, action in self._actions.items()}

    @classmethod
    def from_text(cls, text: str) -> P4InfoNames:
        """Read the text form that p4c writes. Raises PipelineError for any other text."""
        try:
            return cls(text_format.Parse(text, p4info_pb2.P4Info(), allow_unknown_field=True))
        except (text_format.ParseError, RecursionError) as error:
            raise PipelineError(f"The P4Info is malformed: {error}.", "Build it again: make p4 tofino.") from error

    @property
    def actions(self) -> tuple[str, ...]:
        """Full names of all actions."""
        return tuple(self._actions)

    def has_table(self, name: str) -> bool:
        return name in self._tables

    def numbers(self) -> dict[str, tuple[int, dict[int, tuple[str, int]], dict[int, dict[int, int]]]]:
        """Return each table's id, its key fields (kind and bits by id), and its actions (bits by parameter id)."""
        kinds = p4info_pb2.MatchField.MatchType
        return {
            name: (
                table.preamble.id,
                {key.id: (kinds.Name(key.match_type).lower(), key.bitwidth) for key in table.match_fields},
                {
                    action.id: {param.id: param.bitwidth for param in self._actions_by_id[action.id].params}
                    for action in table.action_refs
                },
            )
            for name, table in self._tables.items()
        }

    def register_size(self, name: str) -> int:
        """Return the number of cells of a register. Raises PipelineError."""
        return int(_of("register", self._registers, name).size)

    def table_size(self, name: str) -> int:
        """Return the number of entries of a table. Raises PipelineError."""
        return int(self._table(name).size)

    def param_bits(self, action: str, name: str) -> int:
        """Return the width of a parameter. Raises PipelineError."""
        found = [param for param in self._action(action).params if param.name == name]
        if not found:
            raise PipelineError(f"Action {action} has no parameter {name}.", "Push the pipeline again.")
        return int(found[0].bitwidth)

    def _table(self, name: str) -> Any:
        return _of("table", self._tables, name)

    def _action(self, name: str) -> Any:
        return _of("action", self._actions, name)

    def entry(
        self, table: str, match: Mapping[str, int | Lpm], action: str | None = None, params: Mapping[str, int] = {}
    ) -> p4runtime_pb2.TableEntry:
        """Return a table entry; without an action only its key, for a deletion."""
        info = self._table(table)
        entry = p4runtime_pb2.TableEntry(table_id=info.preamble.id)
        known = self._fields[table]
        if match.keys() != known:
            raise PipelineError(f"Table {table} is keyed on {sorted(known)}, not on {sorted(match)}.")
        for spec in info.match_fields:
            value = match[spec.name]
            key = entry.match.add(field_id=spec.id)
            if isinstance(value, Lpm):
                key.lpm.value, key.lpm.prefix_len = canonical_bytes(value.value), value.prefix_bits
            else:
                key.exact.value = canonical_bytes(value)
        if action is not None:
            spec_action = self._action(action)
            entry.action.action.action_id = spec_action.preamble.id
            if params.keys() != self._params[action]:
                raise PipelineError(f"Action {action} does not take the parameters {sorted(params)}.")
            for param in spec_action.params:
                entry.action.action.params.add(param_id=param.id, value=canonical_bytes(params[param.name]))
        return entry

    def table_name(self, number: int) -> str:
        """Return the full name of a table number. Raises PipelineError for a number that the P4Info lacks."""
        return str(self._table_of(number).preamble.name)

    def action_name(self, number: int) -> str:
        """Return the full name of an action number; empty for one that the P4Info lacks."""
        return str(self._actions_by_id[number].preamble.name) if number in self._actions_by_id else ""

    def _table_of(self, number: int) -> Any:
        if number not in self._tables_by_id:
            raise PipelineError(
                f"The switch has an entry of table {number}, which this controller's program lacks.",
                _OTHER_PROGRAM,
            )
        return self._tables_by_id[number]

    def wildcard(self, table: str, *, counters: bool = True) -> p4runtime_pb2.TableEntry:
        """Return a read request for all entries of a table, with their counters unless excluded."""
        entry = p4runtime_pb2.TableEntry(table_id=self._table(table).preamble.id)
        if counters and self._table(table).direct_resource_ids:
            entry.counter_data.SetInParent()
        return entry

    def read(self, entry: p4runtime_pb2.TableEntry) -> EntryRead:
        """Convert a table entry from the switch to names. Raises PipelineError for numbers that the P4Info lacks."""
        table = self._table_of(entry.table_id)
        names = {field.id: field.name for field in table.match_fields}
        action = self._actions_by_id.get(entry.action.action.action_id)
        params = {param.id: param.name for param in action.params} if action else {}
        match = {}
        for key in entry.match:
            value = getattr(getattr(key, key.WhichOneof("field_match_type") or "exact"), "value", b"")
            match[names.get(key.field_id, "")] = int.from_bytes(value, "big")
        given = {params.get(p.param_id, ""): int.from_bytes(p.value, "big") for p in entry.action.action.params}
        if "" in match or "" in given:
            raise PipelineError(
                f"The switch has an entry of table {table.preamble.name} with a field or parameter that this "
                "controller's program lacks.",
                _OTHER_PROGRAM,
            )
        return EntryRead(
            table.preamble.name,
            match,
            self.action_name(entry.action.action.action_id),
            given,
            entry.counter_data.packet_count,
            entry.counter_data.byte_count,
        )


def _of(kind: str, known: Mapping[str, Any], name: str) -> Any:
    if name not in known:
        raise PipelineError(f"The switch's program has no {kind} {name}.", _OTHER_PROGRAM)
    return known[name]

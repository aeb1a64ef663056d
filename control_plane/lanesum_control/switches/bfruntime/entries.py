# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Table entries of P4Runtime as those of BF Runtime, and back.

The rest of the controller speaks of entries as P4Runtime does. p4c gives tables, fields and actions the same numbers in
both descriptions of a program; values differ: BF Runtime has all bytes of a field.
"""

from __future__ import annotations

from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import (
    COUNTED_BYTES,
    COUNTED_PACKETS,
    PRIORITY,
    BfRuntimeTable,
    Description,
    Field,
)
from lanesum_fabric.errors import PipelineError
from lanesum_fabric.program.p4info import P4InfoNames
from lanesum_fabric.protobufs import p4runtime_pb2


def check_numbers(names: P4InfoNames, program: Description) -> None:
    """Check that P4Info and bf-rt description number all tables, fields and actions alike. Raises PipelineError."""
    for name, numbers in names.numbers().items():
        table = program.by_name.get(name)
        found = None if table is None else (table.id, _keys(table), _actions(table))
        if found != numbers:
            raise PipelineError(
                f"Table {name} has other numbers in the bf-rt description than in the P4Info.",
                "Use both of one build: make tofino.",
            )


def _keys(table: BfRuntimeTable) -> dict[int, tuple[str, int]]:
    return {key.id: (key.kind, key.bits) for key in table.keys.values() if key.name != PRIORITY}


def _actions(table: BfRuntimeTable) -> dict[int, dict[int, int]]:
    return {action.id: {param.id: param.bits for param in action.params.values()} for action in table.actions.values()}


def to_bfruntime(program: Description, entry: p4runtime_pb2.TableEntry) -> Any:
    """Return the ``TableEntry`` of BF Runtime: a key, an entry, or the wildcard of a table."""
    table = program.by_id[entry.table_id]
    found = messages.TableEntry(table_id=table.id)
    for match in entry.match:
        key = found.key.fields.add(field_id=match.field_id)
        size = table.keys[match.field_id].size
        if match.WhichOneof("field_match_type") == "lpm":
            key.lpm.value, key.lpm.prefix_len = match.lpm.value.rjust(size, b"\0"), match.lpm.prefix_len
        else:
            key.exact.value = match.exact.value.rjust(size, b"\0")
    if entry.HasField("action"):
        action = entry.action.action
        found.data.action_id = action.action_id
        params = table.actions[action.action_id].params
        for param in action.params:
            found.data.fields.add(field_id=param.param_id, stream=param.value.rjust(params[param.param_id].size, b"\0"))
    found.table_flags.from_hw = entry.HasField("counter_data")
    return found


def to_p4runtime(program: Description, entry: Any) -> p4runtime_pb2.TableEntry:
    """Return the ``TableEntry`` of P4Runtime. Raises PipelineError for a number that the program lacks."""
    found = p4runtime_pb2.TableEntry(table_id=entry.table_id)
    try:
        table = program.by_id[entry.table_id]
        for key in entry.key.fields:
            _add_match(found, table.keys[key.field_id], key)
        action = table.actions.get(entry.data.action_id)
        if action is not None:
            found.action.action.action_id = action.id
        for datum in entry.data.fields:
            _add_datum(found, {} if action is None else action.params, table.data, datum)
    except KeyError as error:
        raise PipelineError(
            f"The switch has an entry of table {entry.table_id} with number {error}, which this program lacks.",
            "It runs another program or version: let the controller push its own pipeline.",
        ) from None
    return found


def _add_match(found: p4runtime_pb2.TableEntry, field: Field, key: Any) -> None:
    """Add a key field, except for wildcards, as a read over P4Runtime."""
    if field.name == PRIORITY:
        found.priority = int.from_bytes(key.exact.value, "big")
    elif field.kind == "exact":
        found.match.add(field_id=field.id).exact.value = key.exact.value
    elif field.kind == "lpm" and key.lpm.prefix_len:
        lpm = found.match.add(field_id=field.id).lpm
        lpm.value, lpm.prefix_len = key.lpm.value, key.lpm.prefix_len
    elif field.kind == "ternary" and any(key.ternary.mask):
        ternary = found.match.add(field_id=field.id).ternary
        ternary.value, ternary.mask = key.ternary.value, key.ternary.mask
    elif field.kind == "range":
        found.match.add(field_id=field.id).range.MergeFromString(key.range.SerializeToString())


def _add_datum(found: p4runtime_pb2.TableEntry, params: dict[int, Field], data: dict[int, Field], datum: Any) -> None:
    if datum.field_id in params:
        found.action.action.params.add(param_id=datum.field_id, value=datum.stream)
    elif data[datum.field_id].name == COUNTED_PACKETS:
        found.counter_data.packet_count = int.from_bytes(datum.stream, "big")
    elif data[datum.field_id].name == COUNTED_BYTES:
        found.counter_data.byte_count = int.from_bytes(datum.stream, "big")

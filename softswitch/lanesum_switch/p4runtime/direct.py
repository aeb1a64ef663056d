# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Direct counters and meters as entities of their own (specification, sections 9.4 and 9.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanesum_switch.api import CounterValue, TableEntry
from lanesum_switch.p4runtime.cells import check_counter_update, merge_counter, write_counter_data
from lanesum_switch.p4runtime.matches import MatchKey, parse_key, write_key
from lanesum_switch.p4runtime.other_programs import (
    check_meter_update,
    check_rates,
    parse_meter_config,
    write_meter_config,
)
from lanesum_switch.p4runtime.p4info import TableInfo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, on_target
from lanesum_switch.p4runtime.table_reads import stored_entries


def _entry_of(message: Any) -> Any:
    if not message.HasField("table_entry"):
        raise invalid("The entry of a direct counter or meter names no table entry: set table_entry")
    return message.table_entry


def _written_key(program: ServedProgram, info: TableInfo, entry: Any) -> MatchKey:
    key = parse_key(info, entry)
    if program.store.get(info.id, key) is None:
        raise invalid(f"{info.name} has no entry with this match and priority: insert it first")
    return key


def _no_resource(info: TableInfo, what: str) -> StatusError:
    return invalid(f"{info.name} has no direct {what}")


def _written(program: ServedProgram, message: Any, what: str) -> tuple[TableInfo, MatchKey]:
    """Return table and key of an entry to write, which has a direct ``what``. Raises StatusError."""
    entry = _entry_of(message)
    info = program.table_info(entry.table_id)
    key = _written_key(program, info, entry)
    if not getattr(info, f"direct_{what}"):
        raise _no_resource(info, what)
    return info, key


def _default_entry(info: TableInfo, what: str) -> StatusError:
    # BMv2 has no direct resources for default entries.
    return StatusError(Code.UNKNOWN, f"The default entry of {info.name} has no direct {what}")


def write_direct_counter(program: ServedProgram, kind: int, message: Any) -> None:
    """Apply one update of a ``p4.v1.DirectCounterEntry``.

    Raises StatusError: INVALID_ARGUMENT (not NOT_FOUND) for an entry that does not exist, UNKNOWN for default entries.
    """
    info, key = _written(program, message, "counter")
    check_counter_update(kind)
    if key.is_default:
        raise _default_entry(info, "counter")
    table = program.target_table(info)
    counter = program.index.direct_counters[info.direct_counter]
    with on_target(f"a write to a direct counter of {info.name}"):
        current = table.get(key.match, key.priority).counter or CounterValue()
        table.write_counter(key.match, key.priority, merge_counter(counter, message.data, current, kind))


def write_direct_meter(program: ServedProgram, kind: int, message: Any) -> None:
    """Apply one update of a ``p4.v1.DirectMeterEntry``.

    Raises StatusError: INVALID_ARGUMENT (not NOT_FOUND) for an entry that does not exist, UNKNOWN for default entries.
    """
    info, key = _written(program, message, "meter")
    check_meter_update(kind)
    rates = parse_meter_config(message.config) if message.HasField("config") else None
    if key.is_default:
        raise _default_entry(info, "meter")
    check_rates(rates)
    with on_target(f"a write to a direct meter of {info.name}"):
        program.target_table(info).write_meter(key.match, key.priority, rates)


def read_direct_counters(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.DirectCounterEntry``: that of one entry, or those of all entries of a table.

    Raises StatusError: UNIMPLEMENTED for all tables at once, INVALID_ARGUMENT for an entry that does not exist.
    """
    for entry, message in _read(program, request, response, "counter"):
        write_counter_data(entry.counter or CounterValue(), message.data)


def read_direct_meters(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.DirectMeterEntry``: that of one entry, or those of all entries of a table.

    Raises StatusError: UNIMPLEMENTED for all tables at once, INVALID_ARGUMENT for an entry that does not exist.
    """
    for entry, message in _read(program, request, response, "meter"):
        if entry.meter is not None:
            write_meter_config(entry.meter, message.config)


def _read(program: ServedProgram, request: Any, response: Any, what: str) -> Iterator[tuple[TableEntry, Any]]:
    """Yield the table entries that a request names, each with the message of its ``counter`` or ``meter``."""
    asked = _entry_of(request)
    if asked.table_id == 0:
        raise StatusError(
            Code.UNIMPLEMENTED, "Reading the direct resources of all tables is not supported: give a table_id"
        )
    info = program.table_info(asked.table_id)
    if not getattr(info, f"direct_{what}"):
        raise _no_resource(info, what)
    if asked.match or asked.is_default_action:
        key = _written_key(program, info, asked)
        if key.is_default:
            raise _default_entry(info, what)
        with on_target(f"reading a direct {what} of {info.name}"):
            entry = program.target_table(info).get(key.match, key.priority)
        message = getattr(response.entities.add(), f"direct_{what}_entry")
        message.table_entry.CopyFrom(asked)
        yield entry, message
        return
    for key, entry in stored_entries(program, info):
        message = getattr(response.entities.add(), f"direct_{what}_entry")
        message.table_entry.table_id = info.id
        write_key(info, key, message.table_entry)
        yield entry, message

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Reads of tables (specification, sections 9.1 and 11.1).

As in PI, the key is the only filter: other fields of the request select the returned parts of each entry.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from lanesum_switch.api import ActionCall, GroupRef, MemberRef, NotFoundError, TableEntry
from lanesum_switch.p4runtime.cells import write_counter_data
from lanesum_switch.p4runtime.entries import EntryState
from lanesum_switch.p4runtime.matches import DEFAULT_KEY, MatchKey, key_of, parse_key, write_action, write_key
from lanesum_switch.p4runtime.other_programs import write_meter_config
from lanesum_switch.p4runtime.p4info import TableInfo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, on_target


def read_tables(program: ServedProgram, request: Any, response: Any) -> None:
    """Answer one ``p4.v1.TableEntry`` of a ReadRequest; table id 0 reads all tables.

    Raises StatusError: earlier entries stay in the response.
    """
    if request.table_id == 0:
        for info in program.index.tables.values():
            _read_one(program, info, request, response)
    else:
        _read_one(program, program.table_info(request.table_id), request, response)


def stored_entries(program: ServedProgram, info: TableInfo) -> list[tuple[MatchKey, TableEntry]]:
    """Return all entries of a table with their keys, by handle, the order of BMv2."""
    with on_target(f"reading {info.name}"):
        entries = program.target_table(info).entries()
    if info.is_const:
        # P4Runtime did not choose their priorities: BMv2 reports its own, inverted.
        priorities = program.const_priorities.get(info.name, [e.priority for e in entries])
        return [(MatchKey(e.match, p), e) for e, p in zip(entries, priorities, strict=True)]
    keyed = [(key_of(e), e) for e in entries]
    return sorted(keyed, key=lambda item: _handle(program, info, item[0]))


def _handle(program: ServedProgram, info: TableInfo, key: MatchKey) -> int:
    state = program.store.get(info.id, key)
    return state.handle if state is not None else -1


def _stored_entry(program: ServedProgram, info: TableInfo, key: MatchKey) -> TableEntry | None:
    if info.is_const:
        return next((e for k, e in stored_entries(program, info) if k == key), None)
    with on_target(f"reading {info.name}"):
        try:
            return program.target_table(info).get(key.match, key.priority)
        except NotFoundError:
            return None


def _read_one(program: ServedProgram, info: TableInfo, request: Any, response: Any) -> None:
    if request.is_default_action:
        _read_default(program, info, request, response)
        return
    if request.HasField("time_since_last_hit") and not info.idle_timeout:
        raise invalid(f"{info.name} does not support idle timeouts: do not ask for time_since_last_hit")
    for key, entry in _selected(program, info, request):
        _read_entry(program, info, request, key, entry, response)


def _selected(program: ServedProgram, info: TableInfo, request: Any) -> Iterator[tuple[MatchKey, TableEntry]]:
    if not request.match:
        yield from stored_entries(program, info)
        return
    key = parse_key(info, request)
    entry = _stored_entry(program, info, key)
    if entry is not None:
        yield key, entry


def _read_entry(
    program: ServedProgram, info: TableInfo, request: Any, key: MatchKey, entry: TableEntry, response: Any
) -> None:
    message = response.entities.add().table_entry
    message.table_id = info.id
    write_key(info, key, message)
    _write_target(program, info, entry, message)
    _write_direct(info, request, entry, message)
    if info.is_const:
        return
    state = program.store.get(info.id, key)
    if state is None:
        # Initial entries of a table that is not const: BMv2 has them, but P4Runtime did not write them.
        raise StatusError(Code.INTERNAL, f"{info.name} has an entry that was not written over P4Runtime")
    _write_state(state, message)
    message.idle_timeout_ns = state.idle_timeout_ns
    if request.HasField("time_since_last_hit"):
        # Zero for entries that do not age: PI cannot query the target for them.
        elapsed = time.monotonic_ns() - entry.last_hit_ns if state.idle_timeout_ns else 0
        message.time_since_last_hit.elapsed_ns = max(0, min(elapsed, state.idle_timeout_ns))


def _read_default(program: ServedProgram, info: TableInfo, request: Any, response: Any) -> None:
    if request.HasField("time_since_last_hit"):
        raise invalid("Default entries do not age: do not ask for time_since_last_hit")
    with on_target(f"reading the default entry of {info.name}"):
        entry = program.target_table(info).default
    message = response.entities.add().table_entry
    message.table_id = info.id
    message.is_default_action = True
    # No action for indirect tables, and no direct resources: BMv2 has neither for default entries.
    if not info.profile and isinstance(entry.target, ActionCall):
        write_action(program.index, entry.target, message.action.action)
    state = program.store.get(info.id, DEFAULT_KEY)
    assert state is not None
    _write_state(state, message)


def _write_state(state: EntryState, message: Any) -> None:
    message.controller_metadata = state.controller_metadata
    message.metadata = state.metadata


def _write_target(program: ServedProgram, info: TableInfo, entry: TableEntry, message: Any) -> None:
    target = entry.target
    if isinstance(target, MemberRef):
        message.action.action_profile_member_id = target.member_id
    elif isinstance(target, GroupRef):
        manager = program.profile(info.profile)
        if manager.is_oneshot():
            manager.write_oneshot(target.group_id, message.action.action_profile_action_set)
        else:
            message.action.action_profile_group_id = target.group_id
    else:
        write_action(program.index, target, message.action.action)


def _write_direct(info: TableInfo, request: Any, entry: TableEntry, message: Any) -> None:
    if info.direct_counter and request.HasField("counter_data") and entry.counter is not None:
        write_counter_data(entry.counter, message.counter_data)
    if info.direct_meter and request.HasField("meter_config") and entry.meter is not None:
        write_meter_config(entry.meter, message.meter_config)

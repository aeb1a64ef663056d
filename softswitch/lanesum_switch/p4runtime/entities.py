# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Write and Read RPCs: handlers by kind of entity (specification, sections 11 and 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.cells import read_counters, read_meters, write_counter, write_meter
from lanesum_switch.p4runtime.direct import (
    read_direct_counters,
    read_direct_meters,
    write_direct_counter,
    write_direct_meter,
)
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import ERROR_SPACE, Code, StatusError, pack_write_errors
from lanesum_switch.p4runtime.table_reads import read_tables
from lanesum_switch.p4runtime.tables import write_table


class _Handlers(NamedTuple):
    """Functions of one kind of entity; both raise StatusError."""

    write: Callable[[ServedProgram, int, Any], None]
    read: Callable[[ServedProgram, Any, Any], None]


def _write_member(program: ServedProgram, kind: int, message: Any) -> None:
    program.profile(message.action_profile_id).write_member(kind, message)


def _read_members(program: ServedProgram, message: Any, response: Any) -> None:
    for manager in program.asked_profiles(message.action_profile_id):
        manager.read_members(message, response)


def _write_group(program: ServedProgram, kind: int, message: Any) -> None:
    program.profile(message.action_profile_id).write_group(kind, message)


def _read_groups(program: ServedProgram, message: Any, response: Any) -> None:
    for manager in program.asked_profiles(message.action_profile_id):
        manager.read_groups(message, response)


_HANDLERS = {
    "table_entry": _Handlers(write_table, read_tables),
    "counter_entry": _Handlers(write_counter, read_counters),
    "direct_counter_entry": _Handlers(write_direct_counter, read_direct_counters),
    "meter_entry": _Handlers(write_meter, read_meters),
    "direct_meter_entry": _Handlers(write_direct_meter, read_direct_meters),
    "action_profile_member": _Handlers(_write_member, _read_members),
    "action_profile_group": _Handlers(_write_group, _read_groups),
    "digest_entry": _Handlers(
        lambda program, kind, message: program.digests.write(kind, message),
        lambda program, message, response: program.digests.read(message, response),
    ),
    "packet_replication_engine_entry": _Handlers(
        lambda program, kind, message: program.replication.write(kind, message),
        lambda program, message, response: program.replication.read(message, response),
    ),
}
_NOT_WRITTEN = {"register_entry": "Registers", "value_set_entry": "Value sets", "extern_entry": "Externs"}
_NOT_READ = {"register_entry": "registers", "value_set_entry": "value sets"}


def write_updates(program: ServedProgram, request: Any) -> None:
    """Apply the updates of a WriteRequest in order, also after a failed one.

    Raises StatusError: UNIMPLEMENTED for an atomicity other than CONTINUE_ON_ERROR; UNKNOWN with one packed error per
    update if any failed.
    """
    if request.atomicity != p4rt.WriteRequest.CONTINUE_ON_ERROR:
        raise StatusError(Code.UNIMPLEMENTED, "Only CONTINUE_ON_ERROR is supported: nothing was written")
    errors: list[StatusError | None] = []
    for update in request.updates:
        try:
            write_entity(program, update.type, update.entity)
        except StatusError as error:
            errors.append(error)
        else:
            errors.append(None)
    if any(errors):
        raise pack_write_errors(errors, space=ERROR_SPACE)


def write_entity(program: ServedProgram, kind: int, entity: Any) -> None:
    """Apply one update. Raises StatusError."""
    which = entity.WhichOneof("entity")
    message = getattr(entity, which) if which else None
    if which in _HANDLERS:
        _HANDLERS[which].write(program, kind, message)
    elif which in _NOT_WRITTEN:
        raise StatusError(Code.UNIMPLEMENTED, f"{_NOT_WRITTEN[which]} cannot be written over P4Runtime")
    else:
        raise StatusError(Code.UNKNOWN, "The update holds an entity of an unknown kind")


def read_entities(program: ServedProgram, request: Any, response: Any) -> None:
    """Add the entities that a ReadRequest selects to the response.

    Raises StatusError: for the first entity that fails; earlier ones are in the response.
    """
    for entity in request.entities:
        _read_entity(program, entity, response)


def _read_entity(program: ServedProgram, entity: Any, response: Any) -> None:
    kind = entity.WhichOneof("entity")
    message = getattr(entity, kind) if kind else None
    if kind in _HANDLERS:
        _HANDLERS[kind].read(program, message, response)
    elif kind in _NOT_READ:
        raise StatusError(Code.UNIMPLEMENTED, f"Reading {_NOT_READ[kind]} is not supported over P4Runtime")
    else:
        # Extern entries, too: PI supports them in writes only.
        raise StatusError(Code.UNKNOWN, "The read request holds an entity of an unknown kind")

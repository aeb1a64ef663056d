# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Write and Read RPCs: handlers by kind of entity (specification, sections 11 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.cells import read_counters, read_meters, write_counter, write_meter
from lanesum_switch.p4runtime.direct import (
    read_direct_counters,
    read_direct_meters,
    write_direct_counter,
    write_direct_meter,
)
from lanesum_switch.p4runtime.other_programs import HANDLERS, OtherEntities, SweepOwner
from lanesum_switch.p4runtime.p4info import P4InfoIndex
from lanesum_switch.p4runtime.packet_io import PacketIo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.replication import ReplicationManager
from lanesum_switch.p4runtime.status import ERROR_SPACE, UNIMPLEMENTED, UNKNOWN, StatusError, pack_write_errors
from lanesum_switch.p4runtime.table_reads import read_tables
from lanesum_switch.p4runtime.tables import write_table


class ServedPipeline:
    """The active configuration, with all objects that belong to it."""

    def __init__(
        self,
        index: P4InfoIndex,
        config: Any,
        owner: SweepOwner,
        switch: EmbeddedSwitch,
        const_priorities: Mapping[str, list[int]] | None = None,
    ) -> None:
        self.config = p4rt.ForwardingPipelineConfig()
        self.config.CopyFrom(config)
        self.program = ServedProgram(index, switch, const_priorities)
        self.replication = ReplicationManager(self.program)
        self.packet_io = PacketIo(index)
        self.others = OtherEntities.of(
            index, self.program.profiles, self.program.store, self.program.target_table, owner
        )

    def close(self) -> None:
        self.others.close()


class _Handlers(NamedTuple):
    write: Callable[[Any, int, Any], None]
    read: Callable[[Any, Any, Any], None]


_OF_PROGRAM = {
    "table_entry": _Handlers(write_table, read_tables),
    "counter_entry": _Handlers(write_counter, read_counters),
    "direct_counter_entry": _Handlers(write_direct_counter, read_direct_counters),
    "meter_entry": _Handlers(write_meter, read_meters),
    "direct_meter_entry": _Handlers(write_direct_meter, read_direct_meters),
}
_REPLICATION = _Handlers(ReplicationManager.write, ReplicationManager.read)
_NOT_WRITTEN = {"register_entry": "Registers", "value_set_entry": "Value sets", "extern_entry": "Externs"}
_NOT_READ = {"register_entry": "registers", "value_set_entry": "value sets"}


def _served(pipeline: ServedPipeline, kind: str | None) -> tuple[_Handlers, Any] | None:
    """Return the handlers of a kind of entity, and the state that they work on; None for a kind without."""
    if kind in _OF_PROGRAM:
        return _OF_PROGRAM[kind], pipeline.program
    if kind in HANDLERS:
        return _Handlers(*HANDLERS[kind]), pipeline.others
    return (_REPLICATION, pipeline.replication) if kind == "packet_replication_engine_entry" else None


def write_updates(pipeline: ServedPipeline, request: Any) -> None:
    """Apply the updates of a WriteRequest in order, also after a failed one.

    Raises:
        StatusError: UNIMPLEMENTED for an atomicity other than CONTINUE_ON_ERROR; UNKNOWN with one packed error per
            update if any failed.
    """
    if request.atomicity != p4rt.WriteRequest.CONTINUE_ON_ERROR:
        raise StatusError(UNIMPLEMENTED, "Only CONTINUE_ON_ERROR is supported: nothing was written")
    errors: list[StatusError | None] = []
    for update in request.updates:
        try:
            write_entity(pipeline, update.type, update.entity)
        except StatusError as error:
            errors.append(error)
        else:
            errors.append(None)
    if any(errors):
        raise pack_write_errors(errors, space=ERROR_SPACE)


def write_entity(pipeline: ServedPipeline, kind: int, entity: Any) -> None:
    """Apply one update. Raises StatusError."""
    which = entity.WhichOneof("entity")
    message = getattr(entity, which) if which else None
    if (served := _served(pipeline, which)) is not None:
        handlers, state = served
        handlers.write(state, kind, message)
    elif which in _NOT_WRITTEN:
        raise StatusError(UNIMPLEMENTED, f"{_NOT_WRITTEN[which]} cannot be written over P4Runtime")
    else:
        raise StatusError(UNKNOWN, "The update holds an entity of an unknown kind")


def read_entities(pipeline: ServedPipeline, request: Any, response: Any) -> None:
    """Add the entities that a ReadRequest selects to the response.

    Raises:
        StatusError: for the first entity that fails; earlier ones are in the response.
    """
    for entity in request.entities:
        _read_entity(pipeline, entity, response)


def _read_entity(pipeline: ServedPipeline, entity: Any, response: Any) -> None:
    kind = entity.WhichOneof("entity")
    message = getattr(entity, kind) if kind else None
    if (served := _served(pipeline, kind)) is not None:
        handlers, state = served
        handlers.read(state, message, response)
    elif kind in _NOT_READ:
        raise StatusError(UNIMPLEMENTED, f"Reading {_NOT_READ[kind]} is not supported over P4Runtime")
    else:
        # Extern entries, too: PI supports them in writes only.
        raise StatusError(UNKNOWN, "The read request holds an entity of an unknown kind")

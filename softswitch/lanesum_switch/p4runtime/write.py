# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Write RPC: one handler per kind of entity (specification, section 12)."""

from __future__ import annotations

from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.counters import write_counter
from lanesum_switch.p4runtime.direct import write_direct_counter, write_direct_meter
from lanesum_switch.p4runtime.meters import write_meter
from lanesum_switch.p4runtime.served import ServedPipeline
from lanesum_switch.p4runtime.status import ERROR_SPACE, UNIMPLEMENTED, UNKNOWN, StatusError, pack_write_errors
from lanesum_switch.p4runtime.tables import write_table

_PROGRAM_WRITES = {
    "table_entry": write_table,
    "counter_entry": write_counter,
    "direct_counter_entry": write_direct_counter,
    "meter_entry": write_meter,
    "direct_meter_entry": write_direct_meter,
}
_NOT_SUPPORTED = {"register_entry": "Registers", "value_set_entry": "Value sets", "extern_entry": "Externs"}


def write_updates(pipeline: ServedPipeline, request: Any) -> None:
    """Apply the updates of a WriteRequest in order, also after a failed one.

    Raises:
        StatusError: UNIMPLEMENTED for an atomicity other than CONTINUE_ON_ERROR; UNKNOWN with one packed error per
        update
            if any failed.
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
    handler = _PROGRAM_WRITES.get(which)
    if handler is not None:
        handler(pipeline.program, kind, getattr(entity, which))
    elif which == "action_profile_member":
        member = entity.action_profile_member
        pipeline.program.profile(member.action_profile_id).write_member(kind, member)
    elif which == "action_profile_group":
        group = entity.action_profile_group
        pipeline.program.profile(group.action_profile_id).write_group(kind, group)
    elif which == "packet_replication_engine_entry":
        pipeline.replication.write(kind, entity.packet_replication_engine_entry)
    elif which == "digest_entry":
        pipeline.digests.write(kind, entity.digest_entry)
    elif which in _NOT_SUPPORTED:
        raise StatusError(UNIMPLEMENTED, f"{_NOT_SUPPORTED[which]} cannot be written over P4Runtime")
    else:
        raise StatusError(UNKNOWN, "The update holds an entity of an unknown kind")

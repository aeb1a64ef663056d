# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Read RPC: one handler per kind of entity (specification, section 11)."""

from __future__ import annotations

from typing import Any

from lanesum_switch.p4runtime.counters import read_counters
from lanesum_switch.p4runtime.direct import read_direct_counters, read_direct_meters
from lanesum_switch.p4runtime.meters import read_meters
from lanesum_switch.p4runtime.served import ServedPipeline
from lanesum_switch.p4runtime.status import UNIMPLEMENTED, UNKNOWN, StatusError
from lanesum_switch.p4runtime.table_reads import read_tables

_PROGRAM_READS = {
    "table_entry": read_tables,
    "counter_entry": read_counters,
    "direct_counter_entry": read_direct_counters,
    "meter_entry": read_meters,
    "direct_meter_entry": read_direct_meters,
}
_NOT_SUPPORTED = {"register_entry": "registers", "value_set_entry": "value sets"}


def read_entities(pipeline: ServedPipeline, request: Any, response: Any) -> None:
    """Add the entities that a ReadRequest selects to the response.

    Raises:
        StatusError: for the first entity that fails; earlier ones are in the response.
    """
    for entity in request.entities:
        _read_entity(pipeline, entity, response)


def _read_entity(pipeline: ServedPipeline, entity: Any, response: Any) -> None:
    kind = entity.WhichOneof("entity")
    handler = _PROGRAM_READS.get(kind)
    if handler is not None:
        handler(pipeline.program, getattr(entity, kind), response)
    elif kind == "action_profile_member":
        _read_profiles(pipeline, entity.action_profile_member, response, members=True)
    elif kind == "action_profile_group":
        _read_profiles(pipeline, entity.action_profile_group, response, members=False)
    elif kind == "packet_replication_engine_entry":
        pipeline.replication.read(entity.packet_replication_engine_entry, response)
    elif kind == "digest_entry":
        pipeline.digests.read(entity.digest_entry, response)
    elif kind in _NOT_SUPPORTED:
        raise StatusError(UNIMPLEMENTED, f"Reading {_NOT_SUPPORTED[kind]} is not supported over P4Runtime")
    else:
        # Extern entries, too: PI supports them in writes only.
        raise StatusError(UNKNOWN, "The read request holds an entity of an unknown kind")


def _read_profiles(pipeline: ServedPipeline, message: Any, response: Any, *, members: bool) -> None:
    program = pipeline.program
    wanted = message.action_profile_id
    managers = list(program.profiles.values()) if wanted == 0 else [program.profile(wanted)]
    for manager in managers:
        if members:
            manager.read_members(message, response)
        else:
            manager.read_groups(message, response)

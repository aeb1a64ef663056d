# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""RECONCILE_AND_COMMIT: keep the forwarding state across a pipeline push (specification, section 14)."""

from __future__ import annotations

from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.entities import read_entities, write_entity
from lanesum_switch.p4runtime.served import ServedPipeline
from lanesum_switch.p4runtime.status import UNKNOWN, StatusError

# In this order entries find their members and groups. PI keeps no more than this: replication groups, clone sessions,
# digest configurations and default actions are lost.
_KEPT = ("action_profile_member", "action_profile_group", "table_entry", "meter_entry", "counter_entry")


def snapshot(pipeline: ServedPipeline | None) -> Any:
    """Return the state to keep, as a ReadResponse.

    Raises:
        StatusError: it cannot be read, as with action profiles that hold one-shots.
    """
    response = p4rt.ReadResponse()
    if pipeline is not None:
        request = p4rt.ReadRequest()
        for kind in _KEPT:
            getattr(request.entities.add(), kind).SetInParent()
        read_entities(pipeline, request, response)
    return response


def replay(pipeline: ServedPipeline, state: Any) -> None:
    """Write the state back.

    Raises:
        StatusError: UNKNOWN if an entity is refused. That includes every program with an indirect counter or meter,
        because
            PI inserts their cells, which can only be modified.
    """
    failed = 0
    for entity in state.entities:
        try:
            write_entity(pipeline, p4rt.Update.INSERT, entity)
        except StatusError:
            failed += 1
    if failed:
        raise StatusError(
            UNKNOWN, f"{failed} entities cannot be kept: the new config is saved, COMMIT takes it without them"
        )

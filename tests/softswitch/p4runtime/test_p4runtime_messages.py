# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Words of the errors of writes and reads, without a server. Their codes are those of the tests with a client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.p4runtime.entities import write_entity
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import StatusError

from . import test_replication as replication
from .client import DELETE, INSERT, MODIFY, Program, between, exact, lpm, ternary
from .other_programs.test_other_programs_notifications import digest
from .other_programs.test_profiles import entry, group, member, oneshot
from .test_cells import cell, direct, meter

Set = p4rt.SetForwardingPipelineConfigRequest
Build = Callable[[Program], Any]

KEY = [exact(1, b"\x05"), exact(2, b"\x03")]
MEMBER_7 = p4rt.TableAction(action_profile_member_id=7)
UNSPECIFIED = p4rt.Update.UNSPECIFIED
NO_TYPE = "Update type 0 is not INSERT, MODIFY or DELETE"


def exact_entry(program: Program, action: Any = None, **fields: Any) -> Any:
    return program.entry("exact_table", KEY, action or program.action("set_choice", b"\x01"), **fields)


def keyed(table: str, *match: Any, **fields: Any) -> Build:
    """Return a function that makes an entry of ``table`` without parameters."""
    return lambda program: program.entry(table, match, program.action("nothing"), **fields)


def default(table: str, **fields: Any) -> Build:
    return lambda program: program.entry(table, is_default_action=True, **fields)


def seen(program: Program) -> Any:
    entity = exact_entry(program)
    entity.table_entry.time_since_last_hit.SetInParent()
    return entity


def packet_meter(program: Program, *rates: int) -> Any:
    return meter(program, "packet_meter", 1, *rates)


def wrong_parameter(program: Program) -> Any:
    action = program.action("set_choice", b"\x01")
    action.params[0].param_id = 9
    return exact_entry(program, action)


def foreign_member(program: Program) -> Any:
    entity = member(program, 1)
    entity.action_profile_member.action.CopyFrom(program.action("metered", b"\x01"))
    return entity


def without_port(program: Program) -> Any:
    entity = replication.group(1)
    entity.packet_replication_engine_entry.multicast_group_entry.replicas.add(instance=1)
    return entity


def empty_replication(program: Program) -> Any:
    entity = p4rt.Entity()
    entity.packet_replication_engine_entry.SetInParent()
    return entity


def by_oneshot(program: Program, weight: int = 1) -> Any:
    return entry(program, 1, action_profile_action_set=oneshot(program, (1, weight)))


SELECTED = "IngressImpl.selector"
WRITES: list[tuple[str, int, Build]] = [
    # actions
    ("Action IngressImpl.set_choice has 1 parameters, not 0", INSERT, lambda p: exact_entry(p, p.action("set_choice"))),
    ("Action IngressImpl.set_choice has no parameter with id 9, only [1]", INSERT, wrong_parameter),
    (
        "The byte string of a field of 16 bits is empty: give at least 1 byte",
        INSERT,
        lambda p: exact_entry(p, p.action("set_choice", b"")),
    ),
    # keys
    ("IngressImpl.lpm_table has 1 match fields, not 2", INSERT, keyed("lpm_table", *KEY)),
    (
        "The key for IngressImpl.ternary_table has fields [1, 1]: give each of [1, 2] at most once, and no other",
        INSERT,
        keyed("ternary_table", *[ternary(1, b"\x01", b"\x01")] * 2, priority=1),
    ),
    ("The key for IngressImpl.exact_table lacks exact field nibble", INSERT, keyed("exact_table", KEY[0])),
    (
        "Field address of IngressImpl.lpm_table is matched by lpm, not by exact",
        INSERT,
        keyed("lpm_table", exact(1, b"\x01")),
    ),
    (
        "Field address of IngressImpl.lpm_table is matched by lpm, not by nothing",
        INSERT,
        keyed("lpm_table", p4rt.FieldMatch(field_id=1)),
    ),
    (
        "The range for key of IngressImpl.range_table is the whole range: leave the field out",
        INSERT,
        keyed("range_table", between(1, b"\x00\x00", b"\xff\xff"), priority=1),
    ),
    (
        "The range for key of IngressImpl.range_table has its low end 0x7 above its high end 0x5",
        INSERT,
        keyed("range_table", between(1, b"\x07", b"\x05"), priority=1),
    ),
    (
        "The prefix length for address of IngressImpl.lpm_table must be 1 to 32, not 0: leave the field out",
        INSERT,
        keyed("lpm_table", lpm(1, b"\x00", 0)),
    ),
    (
        "The value 0xa000001 for address of IngressImpl.lpm_table has bits beyond its prefix of 31",
        INSERT,
        keyed("lpm_table", lpm(1, b"\x0a\x00\x00\x01", 31)),
    ),
    (
        "The mask for key of IngressImpl.ternary_table is 0: leave the field out",
        INSERT,
        keyed("ternary_table", ternary(1, b"\x00", b"\x00"), priority=1),
    ),
    (
        "The value 0x3 for key of IngressImpl.ternary_table has bits outside of its mask 0x1",
        INSERT,
        keyed("ternary_table", ternary(1, b"\x03", b"\x01"), priority=1),
    ),
    (
        "IngressImpl.exact_table has no ternary, range or optional field: the priority must be 0, not 5",
        INSERT,
        keyed("exact_table", *KEY, priority=5),
    ),
    (
        "IngressImpl.ternary_table has ternary, range or optional fields: the priority must not be 0",
        INSERT,
        keyed("ternary_table", ternary(1, b"\x03", b"\x03")),
    ),
    (
        "The default entry of IngressImpl.exact_table has match fields: leave them out",
        MODIFY,
        default("exact_table", match=KEY),
    ),
    (
        "The default entry of IngressImpl.exact_table has priority 3: it must be 0",
        MODIFY,
        default("exact_table", priority=3),
    ),
    # table entries
    ("time_since_last_hit is for reads only: leave it out", INSERT, seen),
    ("The default entry is always there: use MODIFY", INSERT, default("exact_table")),
    ("The entry for IngressImpl.exact_table has no action", INSERT, lambda p: p.entry("exact_table", KEY)),
    ("The entry for IngressImpl.exact_table has no action", MODIFY, lambda p: p.entry("exact_table", KEY)),
    (
        "The default entry cannot be deleted: MODIFY it without an action to reset it",
        DELETE,
        default("exact_table"),
    ),
    (
        "IngressImpl.selector_table has an action profile: give a member, a group or a one-shot",
        INSERT,
        keyed("selector_table", exact(1, b"\x01")),
    ),
    (
        "The action of the entry for IngressImpl.selector_table is empty: give a member, a group or a one-shot",
        INSERT,
        lambda p: entry(p, 1),
    ),
    (
        "The action profile of IngressImpl.selector_table has no member 7",
        INSERT,
        lambda p: entry(p, 1, action_profile_member_id=7),
    ),
    (
        "The action profile of IngressImpl.selector_table has no group 7",
        INSERT,
        lambda p: entry(p, 1, action_profile_group_id=7),
    ),
    (
        "The default action of IngressImpl.selector_table cannot be set: the table has an action profile",
        MODIFY,
        default("selector_table", action=MEMBER_7),
    ),
    (
        "IngressImpl.exact_table has no action profile: give an action",
        INSERT,
        lambda p: p.entry("exact_table", KEY, MEMBER_7),
    ),
    (
        "IngressImpl.metered is not an action of IngressImpl.exact_table",
        INSERT,
        lambda p: exact_entry(p, p.action("metered", b"\x01")),
    ),
    (
        "The idle timeout of an entry cannot be -1 ns: give at least 0",
        INSERT,
        lambda p: exact_entry(p, idle_timeout_ns=-1),
    ),
    (
        "IngressImpl.lpm_table does not support idle timeouts: idle_timeout_ns must be 0",
        INSERT,
        keyed("lpm_table", idle_timeout_ns=1),
    ),
    (
        "IngressImpl.exact_table has no direct meter",
        INSERT,
        lambda p: exact_entry(p, meter_config=p4rt.MeterConfig(cir=1)),
    ),
    (
        "IngressImpl.lpm_table has no direct counter",
        INSERT,
        keyed("lpm_table", counter_data=p4rt.CounterData(packet_count=1)),
    ),
    (NO_TYPE, UNSPECIFIED, exact_entry),
    # counters and meters
    ("A counter cannot be inserted: use MODIFY", INSERT, lambda p: cell(p, "cells", 1)),
    (NO_TYPE, UNSPECIFIED, lambda p: cell(p, "cells", 1)),
    ("A meter cannot be inserted: use MODIFY", INSERT, packet_meter),
    ("A meter cannot be deleted: MODIFY it without a configuration to reset it", DELETE, packet_meter),
    (NO_TYPE, UNSPECIFIED, packet_meter),
    ("The pir of a meter cannot be -2: give at least 0", MODIFY, lambda p: packet_meter(p, 1, 1, -2, 1)),
    (
        "The entry of a direct counter or meter names no table entry: set table_entry",
        MODIFY,
        lambda p: p4rt.Entity(direct_counter_entry=p4rt.DirectCounterEntry()),
    ),
    (
        "IngressImpl.exact_table has no entry with this match and priority: insert it first",
        MODIFY,
        lambda p: direct(exact_entry(p)),
    ),
    # action profiles
    (f"IngressImpl.metered is not an action of {SELECTED}", INSERT, foreign_member),
    (NO_TYPE, UNSPECIFIED, lambda p: member(p, 1)),
    (NO_TYPE, UNSPECIFIED, lambda p: group(p, 1)),
    ("The maximum size of a group cannot be -1: give at least 0", INSERT, lambda p: group(p, 1, max_size=-1)),
    (
        f"Groups of {SELECTED} have at most 4 members (max_group_size), not 5",
        INSERT,
        lambda p: group(p, 1, max_size=5),
    ),
    ("Member 1 of a group has weight 0: give at least 1", INSERT, lambda p: group(p, 1, (1, 0))),
    ("An action of a one-shot has weight -1: give at least 1", INSERT, lambda p: by_oneshot(p, -1)),
    # replication
    ("0 is not the id of a multicast group: give at least 1", INSERT, lambda p: replication.group(0)),
    (NO_TYPE, UNSPECIFIED, lambda p: replication.group(1)),
    ("A replica has no port: set port or egress_port", INSERT, without_port),
    ("Port 3 with instance 2 is in the group twice", INSERT, lambda p: replication.group(1, (3, 2), (3, 2))),
    (
        "The port of a replica is an empty byte string: give 1 to 4 bytes",
        INSERT,
        lambda p: replication.group(1, (b"", 2)),
    ),
    ("0 is not the id of a clone session: give at least 1", INSERT, lambda p: replication.session(0)),
    (NO_TYPE, UNSPECIFIED, lambda p: replication.session(1)),
    ("Clone session ids are less than 32768, not 40000", INSERT, lambda p: replication.session(40000)),
    ("The entry is neither a multicast group nor a clone session", INSERT, empty_replication),
    # digests
    (NO_TYPE, UNSPECIFIED, digest),
]


@pytest.mark.parametrize(("message", "kind", "build"), WRITES)
def test_write_of_wrong_entity_says_why(
    pipeline: ServedProgram, everything: Program, message: str, kind: int, build: Build
) -> None:
    with pytest.raises(StatusError, match=f"^INVALID_ARGUMENT: {re.escape(message)}"):
        write_entity(pipeline, kind, build(everything))

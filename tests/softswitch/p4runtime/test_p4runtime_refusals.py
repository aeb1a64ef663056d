# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Words of the errors of any code: of writes, reads, pipelines and packets, without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from lanesum.rpc.caller import UNAUTHENTICATED
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_fabric.protobufs import status_pb2
from lanesum_switch.api import InvalidArgumentError, SwitchError, TableFullError, UnsupportedProgramError
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.arbitration import Connection
from lanesum_switch.p4runtime.entities import read_entities, write_entity, write_updates
from lanesum_switch.p4runtime.other_programs import profiles
from lanesum_switch.p4runtime.other_programs.scheduler import Scheduler
from lanesum_switch.p4runtime.p4info import build_index
from lanesum_switch.p4runtime.packet_io import PacketIo
from lanesum_switch.p4runtime.pipeline import PipelineManager
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.server import P4RuntimeDevice, check_primary
from lanesum_switch.p4runtime.status import MAX_DETAILS_BYTES, Code, StatusError, pack_write_errors

from . import test_replication as replication
from .client import DELETE, INSERT, MODIFY, Program, exact
from .fake_switch import FakeSwitch
from .other_programs.test_other_programs_notifications import digest
from .other_programs.test_profiles import entry, group, member, oneshot
from .test_cells import cell, direct, meter
from .test_consistency import table
from .test_p4runtime_messages import SELECTED, Build, by_oneshot, empty_replication, exact_entry, keyed, packet_meter

Set = p4rt.SetForwardingPipelineConfigRequest


def aged(table: str) -> Build:
    def build(program: Program) -> Any:
        entity = program.entry(table)
        entity.table_entry.time_since_last_hit.SetInParent()
        return entity

    return build


def register(program: Program) -> Any:
    return p4rt.Entity(register_entry=p4rt.RegisterEntry(register_id=program.ids["words"]))


def by_group(program: Program) -> Any:
    return entry(program, 1, action_profile_group_id=1)


def drop_default(program: Program) -> Any:
    return program.entry("exact_table", action=program.action("drop_it"), is_default_action=True)


@pytest.mark.parametrize(
    ("message", "kind", "builds"),
    [
        (
            f"INVALID_ARGUMENT: {SELECTED} is programmed by one-shots: delete their entries before you use members",
            INSERT,
            [by_oneshot, lambda p: member(p, 1)],
        ),
        (
            f"INVALID_ARGUMENT: {SELECTED} is programmed by members and groups: delete them before you use one-shots",
            INSERT,
            [lambda p: member(p, 1), by_oneshot],
        ),
        (
            "INVALID_ARGUMENT: The maximum size of group 1 is 2: insert another group to have 3",
            MODIFY,
            [lambda p: group(p, 1, max_size=2), lambda p: group(p, 1, max_size=3)],
        ),
        (
            "INVALID_ARGUMENT: Member 1 is twice in group 1: use its weight",
            INSERT,
            [lambda p: member(p, 1), lambda p: group(p, 1, (1, 1), (1, 1))],
        ),
        ("UNKNOWN: The update holds an entity of an unknown kind", INSERT, [lambda p: p4rt.Entity()]),
        ("UNIMPLEMENTED: Registers cannot be written over P4Runtime", MODIFY, [register]),
        # table entries
        (
            "ALREADY_EXISTS: IngressImpl.exact_table has this entry already: use MODIFY to change its action",
            INSERT,
            [exact_entry, exact_entry],
        ),
        ("NOT_FOUND: IngressImpl.exact_table has no entry with this match and priority", MODIFY, [exact_entry]),
        ("NOT_FOUND: IngressImpl.exact_table has no entry with this match and priority", DELETE, [exact_entry]),
        (
            "UNKNOWN: The switch does not take priority -5: it must be positive",
            INSERT,
            [keyed("ternary_table", priority=-5)],
        ),
        (
            "PERMISSION_DENIED: IngressImpl.only_default is for the default entry of IngressImpl.exact_table only",
            INSERT,
            [lambda p: exact_entry(p, p.action("only_default", b"\x01"))],
        ),
        (
            "PERMISSION_DENIED: IngressImpl.drop_it is not for the default entry of IngressImpl.exact_table",
            MODIFY,
            [drop_default],
        ),
        (
            "UNKNOWN: The switch refused a new entry of IngressImpl.const_table: ",
            INSERT,
            [keyed("const_table", exact(1, b"\t"))],
        ),
        # counters and meters
        (
            "UNIMPLEMENTED: Writing all cells of a counter in one update is not supported: give an index",
            MODIFY,
            [lambda p: cell(p, "cells")],
        ),
        (
            "UNIMPLEMENTED: Writing all cells of a meter in one update is not supported: give an index",
            MODIFY,
            [lambda p: meter(p, "packet_meter")],
        ),
        (
            "UNIMPLEMENTED: The cburst of a meter is limited to 32 bits, not 4294967296",
            MODIFY,
            [lambda p: packet_meter(p, 1, 2**32, 1, 1)],
        ),
        (
            "UNKNOWN: The committed rate of a meter, 10, is above its peak rate, 5",
            MODIFY,
            [lambda p: packet_meter(p, 10, 1, 5, 1)],
        ),
        (
            "UNKNOWN: The default entry of IngressImpl.exact_table has no direct counter",
            MODIFY,
            [lambda p: direct(p.entry("exact_table", is_default_action=True))],
        ),
        # action profiles
        (
            f"UNKNOWN: Member 1 of {SELECTED} is in use: remove it from groups and entries first",
            DELETE,
            [lambda p: member(p, 1), lambda p: group(p, 1, (1, 1)), lambda p: member(p, 1)],
        ),
        (
            f"UNKNOWN: Group 1 of {SELECTED} is in use: delete the entries with it first",
            DELETE,
            [lambda p: member(p, 1), lambda p: group(p, 1, (1, 1)), by_group, lambda p: group(p, 1)],
        ),
        (
            f"UNKNOWN: Group 1 of {SELECTED} is empty: give it a member before an entry uses it",
            INSERT,
            [lambda p: group(p, 1), by_group],
        ),
        (
            "UNKNOWN: IngressImpl.profile has no selector: its entries can use members, not groups",
            INSERT,
            [lambda p: entry(p, 1, "profile_table", action_profile_action_set=oneshot(p, (1, 1)))],
        ),
        (
            "RESOURCE_EXHAUSTED: The weights of a group are 5: its maximum size is 4",
            INSERT,
            [lambda p: by_oneshot(p, 5)],
        ),
        (
            "UNIMPLEMENTED: One-shots without any action are not supported: give at least one",
            INSERT,
            [lambda p: entry(p, 1, action_profile_action_set=oneshot(p))],
        ),
        # replication
        (
            "OUT_OF_RANGE: Multicast group ids are less than 32768, not 32768",
            INSERT,
            [lambda p: replication.group(32768)],
        ),
        (
            "ALREADY_EXISTS: Multicast group 1 exists already: use MODIFY",
            INSERT,
            [lambda p: replication.group(1), lambda p: replication.group(1)],
        ),
        (
            "ALREADY_EXISTS: Clone session 1 exists already: use MODIFY",
            INSERT,
            [lambda p: replication.session(1), lambda p: replication.session(1)],
        ),
        (
            "UNIMPLEMENTED: Clone sessions have no class of service: it must be 0, not 3",
            INSERT,
            [lambda p: replication.session(1, class_of_service=3)],
        ),
        (
            "UNKNOWN: The switch does not truncate clones: packet_length_bytes must be 0, not 64",
            INSERT,
            [lambda p: replication.session(1, packet_length_bytes=64)],
        ),
        # digests
        ("ALREADY_EXISTS: Digest sample_t is configured already: use MODIFY", INSERT, [digest, digest]),
        ("NOT_FOUND: Digest sample_t is not configured: INSERT it first", MODIFY, [digest]),
        (
            "NOT_FOUND: 0x5 is not the id of a digest of this program",
            INSERT,
            [lambda p: p4rt.Entity(digest_entry=p4rt.DigestEntry(digest_id=5))],
        ),
    ],
)
def test_write_of_another_code_or_state_says_why(
    pipeline: ServedProgram, everything: Program, message: str, kind: int, builds: list[Build]
) -> None:
    *before, last = builds
    for build in before:
        write_entity(pipeline, INSERT, build(everything))
    with pytest.raises(StatusError, match=f"^{re.escape(message)}"):
        write_entity(pipeline, kind, last(everything))


def test_weights_of_a_profile_without_sizes_are_bounded(manager: PipelineManager, everything: Program) -> None:
    config = everything.config()
    config.p4info.action_profiles[0].size = config.p4info.action_profiles[0].max_group_size = 0
    manager.set(Set.VERIFY_AND_COMMIT, config)
    write_entity(manager.current, INSERT, member(everything, 1))
    with pytest.raises(StatusError, match="The weights of a group are 65537: its maximum size is 65536"):
        write_entity(manager.current, INSERT, group(everything, 1, (1, 65537)))
    write_entity(manager.current, MODIFY, group(everything, 1, (1, 65536)))


def test_copies_of_members_of_many_groups_are_bounded(
    pipeline: ServedProgram, everything: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "MAX_COPIES", 6)
    for number in (1, 2, 3):
        write_entity(pipeline, INSERT, member(everything, number))
    write_entity(pipeline, INSERT, group(everything, 1, (1, 4)))
    message = f"RESOURCE_EXHAUSTED: The members of {SELECTED} need 7 copies, more than 6: give smaller weights"
    with pytest.raises(StatusError, match=message):
        write_entity(pipeline, INSERT, group(everything, 2, (1, 1), (2, 2)))
    write_entity(pipeline, MODIFY, group(everything, 1, (1, 3)))
    write_entity(pipeline, MODIFY, group(everything, 2, (1, 1), (2, 2)))


@pytest.mark.parametrize(
    ("message", "build"),
    [
        (
            "INVALID_ARGUMENT: IngressImpl.lpm_table does not support idle timeouts: do not ask for",
            aged("lpm_table"),
        ),
        ("INVALID_ARGUMENT: The entry is neither a multicast group nor a clone session", empty_replication),
        ("UNKNOWN: The read request holds an entity of an unknown kind", lambda p: p4rt.Entity()),
        ("UNIMPLEMENTED: Reading registers is not supported over P4Runtime", register),
        (
            "UNIMPLEMENTED: Reading the direct resources of all tables is not supported: give a table_id",
            lambda p: direct(p4rt.Entity(table_entry=p4rt.TableEntry())),
        ),
        (
            "UNIMPLEMENTED: Reading the configuration of all digests is not supported: give a digest_id",
            lambda p: p4rt.Entity(digest_entry=p4rt.DigestEntry()),
        ),
        ("NOT_FOUND: Digest sample_t is not configured: INSERT it first", digest),
    ],
)
def test_read_of_wrong_entity_says_why(
    pipeline: ServedProgram, everything: Program, message: str, build: Build
) -> None:
    request = p4rt.ReadRequest(entities=[build(everything)])
    with pytest.raises(StatusError, match=f"^{re.escape(message)}"):
        read_entities(pipeline, request, p4rt.ReadResponse())


def test_pipeline_request_of_wrong_type_says_why(manager: PipelineManager, everything: Program) -> None:
    def refused(message: str, action: int, config: Any) -> None:
        with pytest.raises(StatusError, match=message):
            manager.set(action, config)

    config = everything.config()
    info = p4rt.ForwardingPipelineConfig(p4info=everything.p4info)
    with pytest.raises(StatusError, match="The device has no forwarding pipeline config: set one first"):
        _ = manager.current
    refused("The request has no action: use VERIFY_AND_COMMIT to install a program", Set.UNSPECIFIED, config)
    refused("There is no saved configuration to commit: use VERIFY_AND_SAVE first", Set.COMMIT, info)
    refused("The program has no table .*: send the P4Info and the device config", Set.VERIFY_AND_COMMIT, info)
    refused("The configuration has no device config: send it too, or use VERIFY_AND_COMMIT", Set.VERIFY_AND_SAVE, info)
    manager.set(Set.VERIFY_AND_COMMIT, config)
    refused("[0-9]+ entities cannot be kept: the new config is saved", Set.RECONCILE_AND_COMMIT, config)
    refused("A saved configuration waits for its commit: send COMMIT first", Set.VERIFY_AND_SAVE, config)
    with pytest.raises(StatusError, match="77 is not a response type of GetForwardingPipelineConfig"):
        manager.get(77)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (
            "Table IngressImpl.exact_table has 1 match fields in the P4Info and 2 in the program",
            lambda info: info.tables[0].match_fields.pop(),
        ),
        (
            "Field address of table IngressImpl.lpm_table is matched by ternary in the P4Info and by lpm in the",
            lambda info: setattr(info.tables[1].match_fields[0], "match_type", 4),
        ),
        (
            "The parameters of action IngressImpl.set_choice have widths [] in the P4Info and [16] in the program",
            lambda info: info.actions[1].params.pop(),
        ),
    ],
)
def test_p4info_of_program_not_running_is_refused(
    everything: Program, message: str, change: Callable[[Any], None]
) -> None:
    """Its entries once ended reads with a traceback."""
    manager = PipelineManager(EmbeddedSwitch(), Scheduler(), lambda message: None, lambda port, frame: None, None)
    manager.set(Set.VERIFY_AND_COMMIT, everything.config())
    config = p4rt.ForwardingPipelineConfig(p4info=everything.p4info)
    manager.set(Set.VERIFY_AND_COMMIT, config)
    change(config.p4info)
    step = ".*: send the P4Info and the device config of one compilation$"
    with pytest.raises(StatusError, match=f"^INVALID_ARGUMENT: {re.escape(message)}{step}"):
        manager.set(Set.VERIFY_AND_COMMIT, config)


def test_pipeline_of_switch_without_spare_cannot_be_saved(small: Program) -> None:
    alone = PipelineManager(FakeSwitch(), Scheduler(), lambda message: None, lambda port, frame: None, None)
    with pytest.raises(StatusError, match="This switch cannot hold two programs: use VERIFY_AND_COMMIT"):
        alone.set(Set.VERIFY_AND_SAVE, small.config())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UnsupportedProgramError("no float"), "UNIMPLEMENTED: The embedded switch cannot run this program: no float"),
        (InvalidArgumentError("no JSON"), "INVALID_ARGUMENT: The device config cannot be loaded: no JSON"),
        (TableFullError("no room"), "UNKNOWN: The device config cannot be loaded: no room"),
    ],
)
def test_program_that_the_switch_refuses_says_why(
    manager: PipelineManager, small: Program, monkeypatch: pytest.MonkeyPatch, error: SwitchError, message: str
) -> None:
    def load(switch: FakeSwitch, document: bytes) -> None:
        raise error

    monkeypatch.setattr(FakeSwitch, "load", load)
    with pytest.raises(StatusError, match=f"^{message}"):
        manager.set(Set.VERIFY_AND_COMMIT, small.config())


def test_device_of_another_id_says_so(everything: Program) -> None:
    with pytest.raises(StatusError, match="This switch is not device 9: check the device id"):
        P4RuntimeDevice(9).set_pipeline(Set.VERIFY, everything.config())


def test_entry_of_the_program_alone_cannot_be_read(manager: PipelineManager, initial: Program) -> None:
    manager.set(Set.VERIFY_AND_COMMIT, initial.config())
    request = p4rt.ReadRequest(entities=[initial.entry("initial")])
    with pytest.raises(StatusError, match=r"INTERNAL: \S+ has an entry that was not written over P4Runtime"):
        read_entities(manager.current, request, p4rt.ReadResponse())


def test_action_that_the_p4info_lacks_cannot_be_read(manager: PipelineManager, everything: Program) -> None:
    config = everything.config()
    ghost, actions, references = (
        everything.ids["only_default"],
        config.p4info.actions,
        config.p4info.tables[0].action_refs,
    )
    actions.remove(next(action for action in actions if action.preamble.id == ghost))
    references.remove(next(reference for reference in references if reference.id == ghost))
    manager.set(Set.VERIFY_AND_COMMIT, config)
    request = p4rt.ReadRequest(entities=[everything.entry("exact_table", is_default_action=True)])
    ending = "INTERNAL: The switch reports action IngressImpl.only_default, which the P4Info lacks"
    with pytest.raises(StatusError, match=ending):
        read_entities(manager.current, request, p4rt.ReadResponse())


def test_write_of_a_backup_names_the_device() -> None:
    device = P4RuntimeDevice(7)
    device.arbitration.add(Connection(), 5)
    request = p4rt.WriteRequest(device_id=7)
    request.election_id.low = 4
    with pytest.raises(StatusError, match="PERMISSION_DENIED: The client is not primary for device 7: send the"):
        check_primary(device, request, UNAUTHENTICATED)


def test_write_of_another_atomicity_says_why(pipeline: ServedProgram) -> None:
    request = p4rt.WriteRequest(atomicity=p4rt.WriteRequest.ROLLBACK_ON_ERROR)
    with pytest.raises(StatusError, match="Only CONTINUE_ON_ERROR is supported: nothing was written"):
        write_updates(pipeline, request)


def test_packet_out_with_wrong_metadata_says_why(pipeline: ServedProgram, small: Program) -> None:
    packet = p4rt.PacketOut(payload=b"payload")
    packet.metadata.add(metadata_id=9, value=b"\x01")
    with pytest.raises(StatusError, match=r"The packet_out header has no field with id 9, only \[1, 2, 3, 4\]"):
        pipeline.packet_io.packet_out(packet)
    without = PacketIo(build_index(small.p4info))
    with pytest.raises(StatusError, match="The program has no packet_out header: send packets without metadata"):
        without.packet_out(packet)


@pytest.mark.parametrize("name", ["long" * 1000, "\ud800"], ids=["long", "surrogate"])
def test_name_unfit_for_metadata_is_cut_or_replaced(manager: PipelineManager, everything: Program, name: str) -> None:
    document = json.loads(everything.json)
    table(document, "exact_table")["key"][0]["match_type"] = name
    config = everything.config()
    config.p4_device_config = json.dumps(document).encode()
    with pytest.raises(StatusError, match=r"Unsupported: match kind '.* in table 'IngressImpl.exact_table'") as failure:
        manager.set(Set.VERIFY_AND_COMMIT, config)
    assert len(failure.value.packed()) < 1100


def test_errors_of_updates_are_cut_to_the_metadata() -> None:
    long = StatusError(Code.INVALID_ARGUMENT, "é" * 5000)
    for count in (7, 64, 120):
        packed = pack_write_errors([None, *[long] * count])
        assert MAX_DETAILS_BYTES - 10 * count <= len(packed.packed()) <= MAX_DETAILS_BYTES
    for errors in ([long] * 1000, [None] * 1000 + [long]):
        counts = f"{len([one for one in errors if one])} of {len(errors)} updates were refused, too many to name"
        assert pack_write_errors(errors).message.startswith(f"{counts}: write fewer at once. The first: éé")


def test_codes_of_updates_are_kept_beyond_text_limit() -> None:
    long = StatusError(Code.INVALID_ARGUMENT, "é" * 5000)
    empty = StatusError(Code.INVALID_ARGUMENT, "")
    one, two = (len(pack_write_errors([empty] * count).packed()) for count in (1, 2))
    count = 1 + (MAX_DETAILS_BYTES - one) // (two - one)
    status = status_pb2.Status.FromString(pack_write_errors([long] * count).packed())
    errors = [p4rt.Error.FromString(detail.value) for detail in status.details]
    assert errors == [p4rt.Error(canonical_code=Code.INVALID_ARGUMENT)] * count
    assert pack_write_errors([long] * (count + 1)).details is None

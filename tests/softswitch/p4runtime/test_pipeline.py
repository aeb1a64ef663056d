# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Set and GetForwardingPipelineConfig."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from tests.paths import ROOT

from .client import OK, Client, Outcome, Program, exact

Set = p4rt.SetForwardingPipelineConfigRequest
Get = p4rt.GetForwardingPipelineConfigRequest


def entry_for(program: Program, key: int, value: int = 1) -> Any:
    return program.entry("forward", [exact(1, bytes([key]))], program.action("set_value", bytes([value])))


def test_without_a_pipeline(fresh: Client, small: Program) -> None:
    assert fresh.pipeline() == Outcome("FAILED_PRECONDITION")
    assert fresh.read(small.entry("forward")) == ([], "FAILED_PRECONDITION")
    assert fresh.write((p4rt.Update.INSERT, entry_for(small, 1))) == Outcome("FAILED_PRECONDITION")


def test_unspecified_action(fresh: Client, small: Program) -> None:
    assert fresh.push(small.config(), Set.UNSPECIFIED) == Outcome("INVALID_ARGUMENT")
    # The attempt creates the device: it has an empty config now.
    assert fresh.pipeline() == p4rt.ForwardingPipelineConfig()


def test_verify_installs_nothing(fresh: Client, small: Program) -> None:
    assert fresh.push(small.config(), Set.VERIFY) == OK
    assert fresh.pipeline() == p4rt.ForwardingPipelineConfig()


def test_response_types(fresh: Client, small: Program) -> None:
    config = small.config(cookie=99)
    assert fresh.push(config) == OK
    assert fresh.pipeline(Get.ALL) == config
    cookie = p4rt.ForwardingPipelineConfig()
    cookie.cookie.cookie = 99
    assert fresh.pipeline(Get.COOKIE_ONLY) == cookie
    p4info = p4rt.ForwardingPipelineConfig(p4info=small.p4info)
    p4info.cookie.cookie = 99
    assert fresh.pipeline(Get.P4INFO_AND_COOKIE) == p4info
    device = p4rt.ForwardingPipelineConfig(p4_device_config=small.json)
    device.cookie.cookie = 99
    assert fresh.pipeline(Get.DEVICE_CONFIG_AND_COOKIE) == device
    assert fresh.pipeline(77) == Outcome("INVALID_ARGUMENT")


def test_cookies(fresh: Client, small: Program) -> None:
    assert fresh.push(small.config()) == OK
    assert not fresh.pipeline(Get.COOKIE_ONLY).HasField("cookie")
    assert fresh.push(small.config(cookie=0)) == OK
    assert fresh.pipeline(Get.COOKIE_ONLY).HasField("cookie")
    assert fresh.push(small.config()) == OK
    assert not fresh.pipeline(Get.COOKIE_ONLY).HasField("cookie")


def test_verify_and_commit_wipes_entries(fresh: Client, small: Program, everything: Program) -> None:
    assert fresh.push(small.config()) == OK
    assert fresh.insert(entry_for(small, 1)) == "OK"
    assert fresh.push(small.config()) == OK
    assert fresh.read_ok(small.entry("forward")) == []
    assert fresh.push(everything.config()) == OK
    assert fresh.read(small.entry("forward")) == ([], "INVALID_ARGUMENT")


def test_save_then_commit(fresh: Client, small: Program, everything: Program) -> None:
    assert fresh.push(everything.config()) == OK
    assert fresh.push(small.config(cookie=5), Set.VERIFY_AND_SAVE) == OK
    # Reads and writes go to the saved program.
    assert fresh.pipeline(Get.COOKIE_ONLY).cookie.cookie == 5
    assert fresh.insert(entry_for(small, 1, 7)) == "OK"
    # No other configuration can be loaded before it is committed.
    assert fresh.push(small.config(), Set.VERIFY_AND_SAVE) == Outcome("UNKNOWN")
    assert fresh.push(small.config()) == Outcome("UNKNOWN")
    assert fresh.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT) == OK
    (read,) = fresh.read_ok(small.entry("forward"))
    assert read == entry_for(small, 1, 7)
    assert fresh.insert(entry_for(small, 2)) == "OK"
    assert fresh.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT) == Outcome("UNKNOWN")
    assert fresh.push(everything.config()) == OK


def test_commit_without_save(fresh: Client) -> None:
    assert fresh.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT) == Outcome("UNKNOWN")


def test_reconcile_keeps_members_groups_and_entries(fresh: Client, small: Program) -> None:
    assert fresh.push(small.config()) == OK
    profile = small.ids["selector"]
    member = p4rt.ActionProfileMember(action_profile_id=profile, member_id=3, action=small.action("nothing"))
    group = p4rt.ActionProfileGroup(action_profile_id=profile, group_id=4)
    group.members.add(member_id=3, weight=1)
    multicast = p4rt.Entity()
    multicast.packet_replication_engine_entry.multicast_group_entry.multicast_group_id = 1
    chosen = small.entry("chosen", [exact(1, b"\x01")], p4rt.TableAction(action_profile_group_id=4))
    kept = [
        p4rt.Entity(action_profile_member=member),
        p4rt.Entity(action_profile_group=group),
        entry_for(small, 1),
        chosen,
    ]
    for entity in (*kept, multicast):
        assert fresh.insert(entity) == "OK"
    default = small.entry("forward", (), small.action("set_value", b"\x05"), is_default_action=True)
    assert fresh.modify(default) == "OK"
    assert fresh.push(small.config(cookie=2), Set.RECONCILE_AND_COMMIT) == OK
    assert fresh.read_ok(p4rt.Entity(action_profile_group=p4rt.ActionProfileGroup())) == [kept[1]]
    assert fresh.read_ok(p4rt.Entity(table_entry=p4rt.TableEntry())) == kept[2:]
    assert fresh.pipeline().cookie.cookie == 2
    # Replication groups and default actions are not kept.
    everywhere = p4rt.Entity()
    everywhere.packet_replication_engine_entry.multicast_group_entry.SetInParent()
    assert fresh.read_ok(everywhere) == []
    (read,) = fresh.read_ok(small.entry("forward", is_default_action=True))
    assert read.table_entry.action.action.action_id == small.ids["nothing"]


def test_reconcile_of_weights_fails(fresh: Client, small: Program) -> None:
    # A member of weight 2 reads twice, and its second copy cannot be inserted.
    assert fresh.push(small.config()) == OK
    profile = small.ids["selector"]
    member = p4rt.ActionProfileMember(action_profile_id=profile, member_id=3, action=small.action("nothing"))
    group = p4rt.ActionProfileGroup(action_profile_id=profile, group_id=4)
    group.members.add(member_id=3, weight=2)
    assert fresh.insert(p4rt.Entity(action_profile_member=member)) == "OK"
    assert fresh.insert(p4rt.Entity(action_profile_group=group)) == "OK"
    assert fresh.push(small.config(), Set.RECONCILE_AND_COMMIT) == Outcome("UNKNOWN")


def test_reconcile_as_first_action(fresh: Client, small: Program) -> None:
    assert fresh.push(small.config(), Set.VERIFY_AND_COMMIT) == OK
    assert fresh.push(small.config(), Set.RECONCILE_AND_COMMIT) == OK


def test_reconcile_to_another_program(fresh: Client, small: Program, everything: Program) -> None:
    assert fresh.push(small.config()) == OK
    assert fresh.insert(entry_for(small, 1)) == "OK"
    assert fresh.push(everything.config(), Set.RECONCILE_AND_COMMIT) == Outcome("UNKNOWN")


def test_reconcile_with_counters_fails(fresh: Client, everything: Program) -> None:
    # Their cells are replayed as INSERT, which counters and meters do not have.
    assert fresh.push(everything.config()) == OK
    assert fresh.push(everything.config(cookie=3), Set.RECONCILE_AND_COMMIT) == Outcome("UNKNOWN")
    # The failed configuration stays in place as a saved one.
    assert fresh.pipeline(Get.COOKIE_ONLY).cookie.cookie == 3
    assert fresh.push(everything.config()) == Outcome("UNKNOWN")
    assert fresh.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT) == OK
    assert fresh.push(everything.config()) == OK


def test_initial_entries_that_are_not_const(fresh: Client, initial: Program) -> None:
    """BMv2 has them, but not the state that PI needs about them."""
    assert fresh.push(initial.config()) == OK
    found, code = fresh.read(initial.entry("initial"))
    assert code == "INTERNAL"
    assert len(found) == 1
    entry = initial.entry("initial", [exact(1, b"\x01")], initial.action("set_value", b"\x05"))
    assert fresh.modify(entry) == "NOT_FOUND"
    assert fresh.delete(entry) == "NOT_FOUND"
    assert fresh.insert(entry) == "UNKNOWN"
    assert fresh.push(initial.config(), Set.RECONCILE_AND_COMMIT) == Outcome("INTERNAL")


def test_invalid_p4info(fresh: Client, everything: Program) -> None:
    config = everything.config()
    config.p4info.tables[0].match_fields[0].match_type = 0
    assert fresh.push(config, Set.VERIFY) == Outcome("UNKNOWN")
    config = everything.config()
    config.p4info.counters[0].spec.unit = 0
    assert fresh.push(config) == Outcome("UNKNOWN")
    config = everything.config()
    config.p4info.digests[0].type_spec.struct.name = "nowhere"
    assert fresh.push(config) == Outcome("UNKNOWN")


def test_other_device(fresh: Client, small: Program) -> None:
    fresh.device_id = 9
    assert fresh.pipeline() == Outcome("FAILED_PRECONDITION")
    assert fresh.read(small.entry("forward")) == ([], "FAILED_PRECONDITION")
    assert fresh.push(small.config()) == Outcome("UNKNOWN")


def test_envelope_of_old_controllers(fresh: Client, small: Program) -> None:
    size = len(small.json)
    envelope = b"\x08\x01\x1a" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F]) + small.json
    assert size < 1 << 14
    config = p4rt.ForwardingPipelineConfig(p4info=small.p4info, p4_device_config=envelope)
    assert fresh.push(config) == OK
    assert fresh.insert(entry_for(small, 1)) == "OK"
    assert fresh.pipeline().p4_device_config == envelope


OWN_PROGRAMS = sorted((ROOT / "p4src" / "build").glob("*.p4info.txtpb"))


@pytest.mark.parametrize("p4info", OWN_PROGRAMS, ids=lambda path: path.name.split(".")[0])
def test_our_own_programs_can_be_pushed(fresh: Client, p4info: Path) -> None:
    program = p4info.with_name(p4info.name.replace(".p4info.txtpb", ".json"))
    if not program.exists():
        pytest.skip("not a BMv2 program")
    config = p4rt.ForwardingPipelineConfig(p4_device_config=program.read_bytes())
    text_format.Merge(p4info.read_text(), config.p4info)
    assert fresh.push(config) == OK
    assert fresh.pipeline() == config
    assert fresh.read(p4rt.Entity(table_entry=p4rt.TableEntry(is_default_action=True)))[1] == "OK"

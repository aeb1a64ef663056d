# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action profile members, groups and one-shots."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from ..client import Client, Program, exact
from ..targets import BMV2


def member(program: Program, member_id: int, value: int = 1, profile: str = "selector") -> Any:
    action = program.action("set_choice", bytes([value]))
    return p4rt.Entity(
        action_profile_member=p4rt.ActionProfileMember(
            action_profile_id=program.ids[profile], member_id=member_id, action=action
        )
    )


def group(
    program: Program, group_id: int, *members: tuple[int, int], max_size: int = 0, profile: str = "selector"
) -> Any:
    message = p4rt.ActionProfileGroup(action_profile_id=program.ids[profile], group_id=group_id, max_size=max_size)
    for member_id, weight in members:
        message.members.add(member_id=member_id, weight=weight)
    return p4rt.Entity(action_profile_group=message)


def all_members(profile_id: int = 0) -> Any:
    return p4rt.Entity(action_profile_member=p4rt.ActionProfileMember(action_profile_id=profile_id))


def all_groups(profile_id: int = 0) -> Any:
    return p4rt.Entity(action_profile_group=p4rt.ActionProfileGroup(action_profile_id=profile_id))


def entry(program: Program, key: int, table: str = "selector_table", **target: Any) -> Any:
    return program.entry(table, [exact(1, bytes([key]))], p4rt.TableAction(**target))


def oneshot(program: Program, *actions: tuple[int, int]) -> Any:
    result = p4rt.ActionProfileActionSet()
    for value, weight in actions:
        action = result.action_profile_actions.add(weight=weight)
        action.action.CopyFrom(program.action("set_choice", bytes([value])))
    return result


def test_members(client: Client, everything: Program) -> None:
    one = member(everything, 1, 5)
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    assert client.insert(member(everything, 70000, 6)) == "OK"
    assert client.insert(member(everything, 1, 7, "profile")) == "OK"
    assert client.read_ok(all_members()) == [one, member(everything, 70000, 6), member(everything, 1, 7, "profile")]
    assert client.read_ok(member(everything, 70000)) == [member(everything, 70000, 6)]
    assert client.read_ok(member(everything, 9)) == []
    assert client.modify(member(everything, 1, 8)) == "OK"
    assert client.read_ok(member(everything, 1)) == [member(everything, 1, 8)]
    assert client.delete(member(everything, 1)) == "OK"
    assert client.read_ok(member(everything, 1)) == []


def test_wrong_members(client: Client, everything: Program) -> None:
    wrong = member(everything, 1)
    wrong.action_profile_member.action.CopyFrom(everything.action("metered", b"\x01"))
    assert client.insert(wrong) == "INVALID_ARGUMENT"
    wrong.action_profile_member.action.CopyFrom(everything.action("set_choice", b"\x01\x00\x00"))
    assert client.insert(wrong) == "INVALID_ARGUMENT"
    wrong.action_profile_member.action.action_id = 5
    assert client.insert(wrong) == "INVALID_ARGUMENT"
    unknown = member(everything, 1)
    unknown.action_profile_member.action_profile_id = 12345
    assert client.insert(unknown) == "INVALID_ARGUMENT"
    assert client.read(unknown) == ([], "INVALID_ARGUMENT")
    assert client.update(0, member(everything, 1)) == "INVALID_ARGUMENT"
    assert client.insert(member(everything, 0, 3)) == "OK"
    assert client.read_ok(all_members()) == [member(everything, 0, 3)]


def test_groups(client: Client, everything: Program) -> None:
    for member_id in (1, 2, 3):
        assert client.insert(member(everything, member_id, member_id)) == "OK"
    one = group(everything, 7, (2, 1), (1, 1))
    assert client.modify(one) == "NOT_FOUND"
    assert client.delete(one) == "NOT_FOUND"
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    assert client.insert(group(everything, 8, max_size=5)) == "OK"
    assert client.read_ok(all_groups()) == [group(everything, 7, (1, 1), (2, 1)), group(everything, 8, max_size=5)]
    assert client.read_ok(group(everything, 7)) == [group(everything, 7, (1, 1), (2, 1))]
    assert client.read_ok(group(everything, 9)) == []
    assert client.modify(group(everything, 7, (3, 1))) == "OK"
    assert client.read_ok(group(everything, 7)) == [group(everything, 7, (3, 1))]
    assert client.delete(member(everything, 3)) == "UNKNOWN"
    assert client.delete(member(everything, 1)) == "OK"
    assert client.delete(group(everything, 7)) == "OK"
    assert client.delete(member(everything, 3)) == "OK"


def test_weights(client: Client, everything: Program) -> None:
    for member_id in (1, 2):
        assert client.insert(member(everything, member_id, member_id)) == "OK"
    assert client.insert(group(everything, 7, (1, 3), (2, 1))) == "OK"
    assert client.read_ok(group(everything, 7)) == [group(everything, 7, (1, 3), (2, 1))]
    # BMv2 makes a copy of the member for each unit of weight, and reads return all of them.
    ids = [e.action_profile_member.member_id for e in client.read_ok(all_members())]
    assert ids == [1, 2, 1, 1]
    assert client.read_ok(member(everything, 1)) == [member(everything, 1, 1)]
    assert client.modify(member(everything, 1, 9)) == "OK"
    values = [e.action_profile_member.action.params[0].value for e in client.read_ok(all_members())]
    assert values == [b"\x09", b"\x02", b"\x09", b"\x09"]
    assert client.insert(group(everything, 8, (1, 2))) == "OK"
    assert client.modify(group(everything, 7, (2, 2))) == "OK"
    ids = [e.action_profile_member.member_id for e in client.read_ok(all_members())]
    assert sorted(ids) == [1, 1, 2, 2]
    assert client.delete(group(everything, 8)) == "OK"
    assert client.delete(group(everything, 7)) == "OK"
    ids = [e.action_profile_member.member_id for e in client.read_ok(all_members())]
    assert ids == [1, 2]


def test_wrong_groups(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 1)) == "OK"
    assert client.insert(group(everything, 1, max_size=-1)) == "INVALID_ARGUMENT"
    # A failure in the members leaves an empty group.
    assert client.insert(group(everything, 1, (1, 0))) == "INVALID_ARGUMENT"
    assert client.insert(group(everything, 1)) == "ALREADY_EXISTS"
    assert client.modify(group(everything, 1, (1, 1), (1, 1))) == "INVALID_ARGUMENT"
    assert client.modify(group(everything, 1, (9, 1))) == "NOT_FOUND"
    assert client.modify(group(everything, 1, (1, -1))) == "INVALID_ARGUMENT"
    assert client.modify(group(everything, 1, (1, 1), max_size=3)) == "INVALID_ARGUMENT"
    assert client.insert(group(everything, 2, (1, 3), max_size=2)) == "RESOURCE_EXHAUSTED"
    assert client.read_ok(group(everything, 2)) == [group(everything, 2, max_size=2)]
    assert client.modify(group(everything, 2, (1, 2))) == "OK"
    assert client.modify(group(everything, 2, (1, 2), max_size=2)) == "OK"
    assert client.update(0, group(everything, 3)) == "INVALID_ARGUMENT"
    unknown = group(everything, 1)
    unknown.action_profile_group.action_profile_id = 12345
    assert client.insert(unknown) == "INVALID_ARGUMENT"
    assert client.read(unknown) == ([], "INVALID_ARGUMENT")


# PI makes a copy of the member for each: with the largest weight BMv2 does not answer any more.
@pytest.mark.parametrize("target", ["fake", "embedded"], indirect=True)
def test_weights_above_size_of_profile_are_refused(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 1)) == "OK"
    assert client.insert(group(everything, 1, (1, 128), max_size=2**31 - 1)) == "OK"
    assert client.modify(group(everything, 1, (1, 2**31 - 1))) == "RESOURCE_EXHAUSTED"
    assert client.read_ok(group(everything, 1)) == [group(everything, 1, (1, 128), max_size=2**31 - 1)]
    assert client.insert(group(everything, 2, (1, 129))) == "RESOURCE_EXHAUSTED"
    assert client.delete(group(everything, 1)) == "OK"
    assert client.delete(group(everything, 2)) == "OK"
    assert client.delete(member(everything, 1)) == "OK"
    too_many = entry(everything, 1, action_profile_action_set=oneshot(everything, (1, 2**31 - 1)))
    assert client.insert(too_many) == "RESOURCE_EXHAUSTED"


def test_groups_without_selector_are_of_no_use(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 1, profile="profile")) == "OK"
    assert client.insert(group(everything, 1, (1, 1), profile="profile")) == "OK"
    assert client.read_ok(all_groups()) == [group(everything, 1, (1, 1), profile="profile")]
    by_group = entry(everything, 1, "profile_table", action_profile_group_id=1)
    by_member = entry(everything, 1, "profile_table", action_profile_member_id=1)
    assert client.insert(by_group) == "UNKNOWN"
    assert client.insert(by_member) == "OK"
    assert client.modify(by_group) == "UNKNOWN"
    assert client.read_ok(everything.entry("profile_table")) == [by_member]
    assert client.delete(group(everything, 1, profile="profile")) == "OK"


def test_watch_ports(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 1)) == "OK"
    watching = group(everything, 1, (1, 1))
    watching.action_profile_group.members[0].watch_port = b"\x00\x05"
    assert client.insert(watching) == "OK"
    assert client.read_ok(group(everything, 1)) == [watching]
    watching.action_profile_group.members[0].watch = 3
    assert client.modify(watching) == "OK"
    assert client.read_ok(group(everything, 1)) == [watching]


def test_indirect_entries(client: Client, everything: Program) -> None:
    by_member = entry(everything, 1, action_profile_member_id=4)
    by_group = entry(everything, 2, action_profile_group_id=6)
    assert client.insert(by_member) == "INVALID_ARGUMENT"
    assert client.insert(by_group) == "INVALID_ARGUMENT"
    assert client.insert(member(everything, 4)) == "OK"
    assert client.insert(group(everything, 6, (4, 1))) == "OK"
    assert client.insert(by_member) == "OK"
    assert client.insert(by_group) == "OK"
    assert client.read_ok(everything.entry("selector_table")) == [by_member, by_group]
    direct = everything.entry("selector_table", [exact(1, b"\x09")], everything.action("set_choice", b"\x01"))
    assert client.insert(direct) == "INVALID_ARGUMENT"
    assert client.insert(entry(everything, 9)) == "INVALID_ARGUMENT"
    # An object in use cannot be deleted.
    assert client.delete(group(everything, 6)) == "UNKNOWN"
    assert client.modify(entry(everything, 2, action_profile_member_id=4)) == "OK"
    assert client.delete(group(everything, 6)) == "OK"
    assert client.delete(member(everything, 4)) == "UNKNOWN"
    assert client.delete(by_member) == "OK"
    assert client.delete(by_group) == "OK"
    assert client.delete(member(everything, 4)) == "OK"


def test_empty_groups_cannot_be_used(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 1)) == "OK"
    assert client.insert(group(everything, 1)) == "OK"
    assert client.insert(entry(everything, 1, action_profile_group_id=1)) == "UNKNOWN"
    assert client.modify(group(everything, 1, (1, 1))) == "OK"
    assert client.insert(entry(everything, 1, action_profile_group_id=1)) == "OK"
    # A group in use may become empty.
    assert client.modify(group(everything, 1)) == "OK"
    assert client.modify(entry(everything, 1, action_profile_group_id=1)) == "UNKNOWN"


def test_profiles_without_selector(client: Client, everything: Program) -> None:
    assert client.insert(member(everything, 4, profile="profile")) == "OK"
    assert client.insert(entry(everything, 1, "profile_table", action_profile_member_id=4)) == "OK"
    assert client.insert(entry(everything, 2, "profile_table", action_profile_group_id=4)) == "INVALID_ARGUMENT"
    assert client.delete(member(everything, 4, profile="profile")) == "UNKNOWN"


def test_oneshots(client: Client, everything: Program) -> None:
    one = entry(everything, 1, action_profile_action_set=oneshot(everything, (5, 2), (3, 1)))
    two = entry(everything, 2, action_profile_action_set=oneshot(everything, (9, 1)))
    assert client.insert(one) == "OK"
    assert client.insert(one) == "ALREADY_EXISTS"
    assert client.insert(two) == "OK"
    assert client.read_ok(everything.entry("selector_table")) == [one, two]
    changed = entry(everything, 1, action_profile_action_set=oneshot(everything, (1, 1), (2, 2), (3, 3)))
    assert client.modify(changed) == "OK"
    assert client.read_ok(everything.entry("selector_table", [exact(1, b"\x01")])) == [changed]
    # No mixing.
    assert client.insert(member(everything, 1)) == "INVALID_ARGUMENT"
    assert client.insert(group(everything, 1)) == "INVALID_ARGUMENT"
    assert client.read(all_members(everything.ids["selector"])) == ([], "INVALID_ARGUMENT")
    assert client.insert(entry(everything, 3, action_profile_member_id=1)) == "INVALID_ARGUMENT"
    assert client.delete(one) == "OK"
    assert client.delete(two) == "OK"
    assert client.insert(member(everything, 1)) == "OK"
    assert client.insert(one) == "INVALID_ARGUMENT"


def test_oneshot_watch_ports(client: Client, everything: Program) -> None:
    actions = oneshot(everything, (5, 1), (6, 1))
    actions.action_profile_actions[0].watch_port = b"\x04"
    actions.action_profile_actions[1].watch = 5
    one = entry(everything, 1, action_profile_action_set=actions)
    assert client.insert(one) == "OK"
    assert client.read_ok(everything.entry("selector_table")) == [one]


def test_wrong_oneshots(client: Client, everything: Program) -> None:
    def insert(actions: Any, table: str = "selector_table") -> str:
        return client.insert(entry(everything, 1, table, action_profile_action_set=actions))

    assert insert(p4rt.ActionProfileActionSet()) == "UNIMPLEMENTED"
    assert insert(oneshot(everything, (1, 0))) == "INVALID_ARGUMENT"
    wrong = oneshot(everything, (1, 1))
    wrong.action_profile_actions[0].action.action_id = everything.ids["metered"]
    assert insert(wrong) == "INVALID_ARGUMENT"
    too_wide = oneshot(everything, (1, 1))
    too_wide.action_profile_actions[0].action.params[0].value = b"\x01\x00\x00"
    assert insert(too_wide) == "INVALID_ARGUMENT"
    assert insert(oneshot(everything, (1, 1)), "lpm_table") == "INVALID_ARGUMENT"
    assert insert(oneshot(everything, (1, 1)), "profile_table") == "UNKNOWN"
    # Nothing was left behind.
    assert client.insert(member(everything, 1)) == "OK"
    assert client.insert(member(everything, 1, profile="profile")) == "OK"


def test_full_table_takes_back_the_oneshot(client: Client, everything: Program, target: str) -> None:
    for key in range(32):
        one = entry(everything, key, action_profile_action_set=oneshot(everything, (1, 1)))
        assert client.insert(one) == "OK"
    last = entry(everything, 99, action_profile_action_set=oneshot(everything, (1, 1)))
    if target == BMV2:
        # PI counts the refused entry as a user of the group, which then cannot be removed.
        assert client.insert(last) == "INTERNAL"
        return
    assert client.insert(last) == "UNKNOWN"
    for key in range(32):
        assert client.delete(entry(everything, key)) == "OK"
    assert client.insert(member(everything, 1)) == "OK"
    assert client.read_ok(all_members()) == [member(everything, 1)]


def test_default_entries_of_indirect_tables(client: Client, everything: Program) -> None:
    (read,) = client.read_ok(everything.entry("selector_table", is_default_action=True))
    assert not read.table_entry.HasField("action")
    assert read.table_entry.is_default_action

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from lanesum_switch.api import (
    ActionCall,
    AlreadyExistsError,
    GroupRef,
    InvalidArgumentError,
    Match,
    MemberRef,
    NotFoundError,
    ParamSpec,
    SwitchError,
    TableEntry,
    TableFullError,
)
from lanesum_switch.bmv2 import ir
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.runtime.action_profiles import ActionProfileMembers
from lanesum_switch.runtime.tables import MatchTable
from tests.softswitch.conftest import Load
from tests.softswitch.ipv4_packets import packet

SEND = ActionCall("send", (1,))


def profile_of(*, with_selector: bool) -> ActionProfileMembers:
    action = ir.Action("send", 0, (ParamSpec("port", 9),), ())
    return ActionProfileMembers("P", 2, with_selector, (action,), contextlib.nullcontext())


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("checksums")


def test_selector_keeps_each_flow_on_one_member(switch: EmbeddedSwitch) -> None:
    profile, table = switch.action_profiles["I.paths"], switch.tables["I.path"]
    assert profile.with_selector
    for member in (1, 2, 3):
        profile.insert_member(member, ActionCall("I.send", (member,)))
    profile.insert_group(1, [(1, 1), (2, 1), (3, 1)], 8)
    table.insert(TableEntry((Match(0x0A000002),), GroupRef(1)))
    ports = [switch.process(0, packet(b"x", port=flow))[0].port for flow in range(200)]
    assert set(ports) == {1, 2, 3}
    assert ports == [switch.process(0, packet(b"x", port=flow))[0].port for flow in range(200)]
    with pytest.raises(InvalidArgumentError, match=r"A table entry uses group 1 of I\.paths: delete the entry first"):
        profile.delete_group(1)
    with pytest.raises(
        InvalidArgumentError, match=r"Table I\.path is indirect: its entries refer to a member or group"
    ):
        table.insert(TableEntry((Match(1),), ActionCall("I.send", (1,))))
    profile.modify_group(1, [(2, 1)])
    assert {switch.process(0, packet(b"x", port=flow))[0].port for flow in range(20)} == {2}
    profile.modify_member(2, ActionCall("I.send", (5,)))
    assert switch.process(0, packet(b"x"))[0].port == 5
    table.modify(TableEntry((Match(0x0A000002),), MemberRef(3)))
    assert switch.process(0, packet(b"x"))[0].port == 3
    with pytest.raises(InvalidArgumentError, match=r"A table entry uses member 3 of I\.paths"):
        profile.delete_member(3)
    with pytest.raises(InvalidArgumentError, match=r"Member 2 of I\.paths is in group 1: remove it from the group"):
        profile.delete_member(2)
    with pytest.raises(NotFoundError, match=r"Action profile I\.paths has no member 77"):
        table.modify(TableEntry((Match(0x0A000002),), MemberRef(77)))
    profile.delete_group(1)
    profile.delete_member(2)


def test_entry_of_group_has_row_per_member(switch: EmbeddedSwitch) -> None:
    profile, table = switch.action_profiles["I.paths"], switch.tables["I.path"]
    assert isinstance(table, MatchTable)
    profile.insert_member(1, ActionCall("I.send", (1,)))
    profile.insert_member(2, ActionCall("I.send", (2,)))
    profile.insert_group(1, [(1, 3), (2, 1000)], 0)
    table.insert(TableEntry((Match(0x0A000002),), GroupRef(1)))
    rows = table.rows[0x0A000002][2]
    assert [row[2] for row in rows] == [1] * 3 + [2] * 1000
    assert len({id(row) for row in rows}) == 2, "weights do not take memory for rows"


@pytest.mark.parametrize(
    ("error", "message", "write"),
    [
        (AlreadyExistsError, "Action profile P already has a member 1", lambda p: p.insert_member(1, SEND)),
        (TableFullError, "Action profile P is full: it holds 2 members", lambda p: p.insert_member(3, SEND)),
        (InvalidArgumentError, "Action profile P has no action drop", lambda p: p.modify_member(1, ActionCall("drop"))),
        (
            InvalidArgumentError,
            "Action send has 1 parameters, but 2 arguments were given",
            lambda p: p.modify_member(1, ActionCall("send", (1, 2))),
        ),
        (
            InvalidArgumentError,
            "512 does not fit parameter port of send, which has 9 bits",
            lambda p: p.modify_member(1, ActionCall("send", (512,))),
        ),
        (NotFoundError, "Action profile P has no member 3", lambda p: p.delete_member(3)),
        (AlreadyExistsError, "Action profile P already has a group 1", lambda p: p.insert_group(1, [], 4)),
        (NotFoundError, "Action profile P has no group 2", lambda p: p.modify_group(2, [])),
        (
            InvalidArgumentError,
            "Member 2 of P has weight 0; a weight is at least 1",
            lambda p: p.modify_group(1, [(2, 0)]),
        ),
        (
            TableFullError,
            "The weights of a group of P sum to 5, more than its maximum size of 4",
            lambda p: p.modify_group(1, [(1, 2), (2, 3)]),
        ),
    ],
)
def test_profile_wrong_write_raises_and_changes_nothing(
    error: type[SwitchError], message: str, write: Callable[[ActionProfileMembers], None]
) -> None:
    profile = profile_of(with_selector=True)
    for member in (1, 2):
        profile.insert_member(member, SEND)
    profile.insert_group(1, [(1, 1)], 4)
    with pytest.raises(error, match=message):
        write(profile)
    assert profile.members() == {1: SEND, 2: SEND}
    assert profile.groups() == {1: [(1, 1)]}


def test_profile_without_selector_cannot_have_groups() -> None:
    with pytest.raises(InvalidArgumentError, match="Action profile P has no selector and cannot have groups"):
        profile_of(with_selector=False).insert_group(1, [], 0)

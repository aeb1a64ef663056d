# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors."""

from __future__ import annotations

import pytest

from lanesum_switch.api import ActionCall, GroupRef, InvalidArgumentError, Match, MemberRef, NotFoundError, TableEntry
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.conftest import Load
from tests.softswitch.ipv4_packets import packet


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
    profile.modify_group(1, [(2, 1)])
    assert {switch.process(0, packet(b"x", port=flow))[0].port for flow in range(20)} == {2}
    profile.modify_member(2, ActionCall("I.send", (5,)))
    assert switch.process(0, packet(b"x"))[0].port == 5
    table.modify(TableEntry((Match(0x0A000002),), MemberRef(3)))
    assert switch.process(0, packet(b"x"))[0].port == 3
    with pytest.raises(InvalidArgumentError, match=r"A table entry uses member 3 of I\.paths"):
        profile.delete_member(3)
    with pytest.raises(InvalidArgumentError):
        profile.delete_member(2)
    with pytest.raises(NotFoundError):
        table.modify(TableEntry((Match(0x0A000002),), MemberRef(77)))
    profile.delete_group(1)
    profile.delete_member(2)

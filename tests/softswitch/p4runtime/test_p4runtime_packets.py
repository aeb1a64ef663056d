# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet-out, packet-in, and the effect of written state on packets."""

from __future__ import annotations

import pytest

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

from .client import Client, Program, Stream, exact, lpm, ternary
from .packets import CLONE, COUNT, ECHO, MULTICAST, Answer, answer, packet_out, request
from .targets import BMV2
from .test_replication import group, session

CPU = b"\x01\xfe"

pytestmark = pytest.mark.parametrize("target", ["embedded", BMV2], indirect=True)


def answers(stream: Stream, count: int) -> list[Answer]:
    found = [answer(stream.get()) for _ in range(count)]
    assert stream.silent()
    return found


def test_echo(primary: Stream) -> None:
    payload = request(ECHO, key=5)
    primary.send(packet=packet_out(payload))
    assert answers(primary, 1) == [Answer(CPU, b"\0", b"\x0a\xbc", payload)]


def test_metadata_may_be_missing_or_padded(primary: Stream) -> None:
    payload = request(ECHO)
    primary.send(packet=packet_out(payload, tag=None))
    primary.send(packet=packet_out(payload, tag=b"\x00\x00\x05"))
    twice = packet_out(payload, tag=b"\x05")
    twice.metadata.add(metadata_id=3, value=b"\x06")
    primary.send(packet=twice)
    assert [a.tag for a in answers(primary, 3)] == [b"\0", b"\x05", b"\x06"]


def test_malformed_packets_are_dropped(primary: Stream) -> None:
    payload = request(ECHO)
    unknown = packet_out(payload)
    unknown.metadata.add(metadata_id=9, value=b"\x01")
    primary.send(packet=unknown)
    primary.send(packet=packet_out(payload, tag=b"\x10\x00"))
    assert primary.silent()


def test_empty_metadata_is_refused(primary: Stream, target: str) -> None:
    """P4Runtime specification, section 8.4. BMv2 reads it as zero."""
    primary.send(packet=packet_out(request(ECHO), tag=b""))
    if target == BMV2:
        assert [a.tag for a in answers(primary, 1)] == [b"\0"]
    else:
        assert primary.silent()


def test_only_the_primary_sends_and_receives(client: Client, primary: Stream) -> None:
    backup = client.stream()
    payload = request(ECHO)
    # Before arbitration, and from a backup, packets are ignored.
    backup.send(packet=packet_out(payload))
    backup.arbitrate(0)
    assert backup.role() == ("ALREADY_EXISTS", 1)
    backup.send(packet=packet_out(payload))
    assert backup.silent()
    assert primary.silent()
    primary.send(packet=packet_out(payload))
    assert len(answers(primary, 1)) == 1
    assert backup.silent()
    primary.cancel()
    assert backup.role() == ("OK", 0)
    backup.send(packet=packet_out(payload))
    assert len(answers(backup, 1)) == 1


def test_multicast(client: Client, primary: Stream) -> None:
    assert client.insert(group(3, (510, 1), (510, 2), (1, 3))) == "OK"
    payload = request(MULTICAST, 3)
    primary.send(packet=packet_out(payload))
    assert {a.rid for a in answers(primary, 2)} == {b"\x01", b"\x02"}
    assert client.modify(group(3, (510, 9))) == "OK"
    primary.send(packet=packet_out(payload))
    assert {a.rid for a in answers(primary, 1)} == {b"\x09"}
    assert client.delete(group(3)) == "OK"
    primary.send(packet=packet_out(payload))
    assert primary.silent()


def test_multicast_groups_do_not_outlive_a_push(
    client: Client, primary: Stream, everything: Program, target: str
) -> None:
    assert client.insert(group(3, (510, 1))) == "OK"
    assert client.push(everything.config()).code == "OK"
    assert client.read_ok(group(0)) == []
    primary.send(packet=packet_out(request(MULTICAST, 3)))
    if target != BMV2:
        assert primary.silent()
        return
    # BMv2's engine ignores the push: its replicas stay, and join those of a new group with the same id.
    assert [a.rid for a in answers(primary, 1)] == [b"\x01"]
    assert client.insert(group(3, (510, 2))) == "OK"
    primary.send(packet=packet_out(request(MULTICAST, 3)))
    assert {a.rid for a in answers(primary, 2)} == {b"\x01", b"\x02"}
    assert client.delete(group(3)) == "OK"
    primary.send(packet=packet_out(request(MULTICAST, 3)))
    assert primary.silent()


def test_clones(client: Client, primary: Stream) -> None:
    assert client.insert(session(7, (510, 4), (510, 5))) == "OK"
    primary.send(packet=packet_out(request(CLONE, 7)))
    assert {a.rid for a in answers(primary, 2)} == {b"\x04", b"\x05"}
    assert client.delete(session(7)) == "OK"
    primary.send(packet=packet_out(request(CLONE, 7)))
    assert primary.silent()


def test_counters_count(client: Client, primary: Stream, everything: Program) -> None:
    match = [exact(1, b"\x05"), exact(2, b"\x03")]
    set_odd = everything.action("set_odd", b"\x0e\xee", b"\x01")
    assert client.insert(everything.entry("exact_table", match, set_odd)) == "OK"
    for _ in range(3):
        primary.send(packet=packet_out(request(COUNT, 2, key=5, nibble=3)))
    found = answers(primary, 3)
    assert found[0].payload[4:6] == b"\xee\xe3"
    cell = p4rt.Entity(counter_entry=p4rt.CounterEntry(counter_id=everything.ids["cells"]))
    cell.counter_entry.index.index = 2
    (read,) = client.read_ok(cell)
    length = 4 + len(request(COUNT))
    assert (read.counter_entry.data.packet_count, read.counter_entry.data.byte_count) == (3, 3 * length)
    wanted = everything.entry("exact_table")
    wanted.table_entry.counter_data.SetInParent()
    (entry,) = client.read_ok(wanted)
    assert entry.table_entry.counter_data.packet_count == 3
    assert entry.table_entry.counter_data.byte_count == 3 * length


def test_state_of_every_table_reaches_packets(client: Client, primary: Stream, everything: Program) -> None:
    """``nothing`` and ``set_odd`` differ in the packet: one probe per match kind."""
    odd = everything.action("set_odd", b"\x01\x23", b"\x01")
    member = p4rt.ActionProfileMember(action_profile_id=everything.ids["selector"], member_id=1, action=odd)
    assert client.insert(p4rt.Entity(action_profile_member=member)) == "OK"
    by_member = p4rt.TableAction(action_profile_member_id=1)
    assert client.insert(everything.entry("selector_table", [exact(1, b"\x07")], by_member)) == "OK"
    primary.send(packet=packet_out(request(COUNT, key=7)))
    assert answers(primary, 1)[0].payload[4:6] == b"\x12\x30"
    profile_group = p4rt.ActionProfileGroup(action_profile_id=everything.ids["selector"], group_id=2)
    profile_group.members.add(member_id=1, weight=2)
    assert client.insert(p4rt.Entity(action_profile_group=profile_group)) == "OK"
    by_group = p4rt.TableAction(action_profile_group_id=2)
    assert client.modify(everything.entry("selector_table", [exact(1, b"\x07")], by_group)) == "OK"
    member.action.params[0].value = b"\x04\x56"
    assert client.modify(p4rt.Entity(action_profile_member=member)) == "OK"
    primary.send(packet=packet_out(request(COUNT, key=7)))
    assert answers(primary, 1)[0].payload[4:6] == b"\x45\x60"
    oneshot = p4rt.TableAction()
    action = oneshot.action_profile_action_set.action_profile_actions.add(weight=3)
    action.action.CopyFrom(everything.action("set_odd", b"\x07\x89", b"\x01"))
    assert client.delete(everything.entry("selector_table", [exact(1, b"\x07")])) == "OK"
    assert client.delete(p4rt.Entity(action_profile_group=profile_group)) == "OK"
    assert client.delete(p4rt.Entity(action_profile_member=member)) == "OK"
    assert client.insert(everything.entry("selector_table", [exact(1, b"\x08")], oneshot)) == "OK"
    primary.send(packet=packet_out(request(COUNT, key=8)))
    assert answers(primary, 1)[0].payload[4:6] == b"\x78\x90"


def test_saved_program_does_not_see_packets(client: Client, primary: Stream, everything: Program) -> None:
    Set = p4rt.SetForwardingPipelineConfigRequest
    match = [exact(1, b"\x05"), exact(2, b"\x03")]
    old = everything.entry("exact_table", match, everything.action("set_odd", b"\x01\x11", b"\x01"))
    new = everything.entry("exact_table", match, everything.action("set_odd", b"\x02\x22", b"\x01"))
    assert client.insert(old) == "OK"
    assert client.push(everything.config(), Set.VERIFY_AND_SAVE).code == "OK"
    assert client.insert(new) == "OK"
    primary.send(packet=packet_out(request(COUNT, key=5, nibble=3)))
    assert answers(primary, 1)[0].payload[4:6] == b"\x11\x13"
    assert client.push(p4rt.ForwardingPipelineConfig(), Set.COMMIT).code == "OK"
    primary.send(packet=packet_out(request(COUNT, key=5, nibble=3)))
    assert answers(primary, 1)[0].payload[4:6] == b"\x22\x23"


def test_counters_of_longest_prefix_and_ternary(client: Client, primary: Stream, everything: Program) -> None:
    entries = [
        everything.entry("ternary_table", [ternary(1, b"\x05", b"\x0f")], everything.action("nothing"), priority=1),
        everything.entry("ternary_table", [ternary(1, b"\x05", b"\xff")], everything.action("nothing"), priority=9),
        everything.entry("lpm_table", [lpm(1, b"\x0a\x00\x00\x00", 8)], everything.action("nothing")),
    ]
    for entity in entries:
        assert client.insert(entity) == "OK"
    primary.send(packet=packet_out(request(COUNT, key=0x05)))
    primary.send(packet=packet_out(request(COUNT, key=0x15)))
    primary.send(packet=packet_out(request(COUNT, key=0x05)))
    answers(primary, 3)
    wanted = everything.entry("ternary_table")
    wanted.table_entry.counter_data.SetInParent()
    counts = {e.table_entry.priority: e.table_entry.counter_data.packet_count for e in client.read_ok(wanted)}
    assert counts == {1: 1, 9: 2}

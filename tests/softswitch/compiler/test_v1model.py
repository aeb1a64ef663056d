# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Replication as in simple_switch, through programs/copies.p4.

port 0 --- switch --- multicast group, clone session 5, or the parser again
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import pytest

from lanesum_switch.api import CloneSession, InvalidArgumentError, NotFoundError, Replica
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.softswitch.conftest import PROGRAMS, Load

NORMAL, INGRESS_CLONE, EGRESS_CLONE, _, RECIRCULATED, REPLICATED, RESUBMITTED = range(7)


class Copy(NamedTuple):
    port: int
    round: int
    type: int
    length: int
    rid: int
    kept: int


def with_ingress_call(action: str, *primitives: dict[str, Any]) -> EmbeddedSwitch:
    """Return a switch that runs the program with ``primitives`` at the end of an action of ingress."""
    program = json.loads((PROGRAMS / "copies.json").read_text())
    (found,) = (one for one in program["actions"] if one["name"] == action)
    found["primitives"] += primitives
    switch = EmbeddedSwitch()
    switch.load(json.dumps(program).encode())
    return switch


RECIRCULATE = {"op": "recirculate", "parameters": [{"type": "hexstr", "value": "0x1"}]}


@pytest.fixture
def switch(load: Load) -> EmbeddedSwitch:
    return load("copies", cpu_port=255)


def send(switch: EmbeddedSwitch, command: int, port: int, round_: int = 0, payload: bytes = b"") -> list[Copy]:
    """Process a packet with a command of the program; return the copies that leave."""
    out = switch.process(0, struct.pack(">BBHIIHH", command, round_, port, 0, 0, 0, 0) + payload)
    assert switch.counts.program_errors == 0
    copies = []
    for item in out:
        _, rounds, eport, kind, length, rid, kept = struct.unpack_from(">BBHIIHH", item.frame)
        assert eport == item.port
        copies.append(Copy(item.port, rounds, kind, length, rid, kept))
    return copies


def test_egress_spec_chooses_port_or_drops(switch: EmbeddedSwitch) -> None:
    assert send(switch, 0, 3) == [Copy(3, 0, NORMAL, 16, 0, 0)]
    assert send(switch, 0, 511) == []
    assert switch.counts.dropped == 1
    assert switch.counts.by_port_out == {3: 1}


def test_mark_to_drop_on_metadata_copy_drops(switch: EmbeddedSwitch) -> None:
    assert send(switch, 8, 3) == []


def test_multicast_group_sends_one_copy_per_replica(switch: EmbeddedSwitch) -> None:
    assert send(switch, 1, 7) == []
    switch.set_multicast_group(7, [Replica(1, 10), Replica(2, 11), Replica(2, 12)])
    expected = [Copy(1, 0, REPLICATED, 16, 10, 0), Copy(2, 0, REPLICATED, 16, 11, 0), Copy(2, 0, REPLICATED, 16, 12, 0)]
    assert send(switch, 1, 7) == expected
    switch.set_multicast_group(7, None)
    assert send(switch, 1, 7) == []
    with pytest.raises(NotFoundError):
        switch.set_multicast_group(7, None)
    with pytest.raises(InvalidArgumentError):
        switch.set_multicast_group(0, [])


def test_ingress_clone_is_the_received_packet(switch: EmbeddedSwitch) -> None:
    switch.set_clone_session(5, CloneSession((Replica(4, 3),)))
    clone, original = send(switch, 2, 1)
    assert clone == Copy(4, 0, INGRESS_CLONE, 16, 3, 0x1234)
    assert original == Copy(1, 0xEE, NORMAL, 16, 0, (0x1234 + 0x5678) & 0xFFFF)
    switch.set_clone_session(5, None)
    assert len(send(switch, 2, 1)) == 1


def test_clone_session_with_length_truncates(switch: EmbeddedSwitch) -> None:
    switch.set_clone_session(5, CloneSession((Replica(4, 3),), packet_length_bytes=18))
    frame = struct.pack(">BBHIIHH", 2, 0, 1, 0, 0, 0, 0) + bytes(100)
    assert [len(item.frame) for item in switch.process(0, frame)] == [18, 116]


def test_egress_clone_keeps_headers_and_field_list(switch: EmbeddedSwitch) -> None:
    switch.set_clone_session(5, CloneSession((Replica(4, 3), Replica(6, 4))))
    assert send(switch, 3, 1) == [
        Copy(1, 0, NORMAL, 16, 0, 0x3333),
        Copy(4, 0, EGRESS_CLONE, 16, 3, 0x3333),  # fields have their values at the end of egress
        Copy(6, 0, EGRESS_CLONE, 16, 4, 0x3333),
    ]


def test_resubmit_runs_ingress_again(switch: EmbeddedSwitch) -> None:
    assert send(switch, 4, 1) == [Copy(1, 0, NORMAL, 16, 0, 0x4321)]


def test_recirculation_counts_down(switch: EmbeddedSwitch) -> None:
    (copy,) = send(switch, 5, 1, 3)
    assert (copy.port, copy.round, copy.kept) == (1, 0, 0x5555)


def test_recirculation_asked_in_ingress_follows_egress() -> None:
    switch = with_ingress_call("copies40", RECIRCULATE)  # the branch of truncate(20)
    assert send(switch, 6, 1) == []
    assert switch.counts.pass_drops == 1


def test_recirculation_asked_in_ingress_spares_multicast_copies() -> None:
    switch = with_ingress_call("copies26", RECIRCULATE)
    switch.set_multicast_group(7, [Replica(1, 10), Replica(2, 11)])
    assert [copy.port for copy in send(switch, 1, 7)] == [1, 2]


def test_recirculation_asked_in_ingress_spares_ingress_clones() -> None:
    switch = with_ingress_call("copies28", RECIRCULATE)
    switch.set_clone_session(5, CloneSession((Replica(4, 3),)))
    clones = send(switch, 2, 1)  # each pass of the packet makes one
    assert {(clone.port, clone.type) for clone in clones} == {(4, INGRESS_CLONE)}
    assert len(clones) == switch.max_passes + 1


def test_egress_rid_set_in_ingress_reaches_egress() -> None:
    rid = {"type": "field", "value": ["standard_metadata", "egress_rid"]}
    sets_rid = {"op": "assign", "parameters": [rid, {"type": "hexstr", "value": "0x0007"}]}
    assert send(with_ingress_call("copies24", sets_rid), 0, 3) == [Copy(3, 0, NORMAL, 16, 7, 0)]


def test_endless_recirculation_is_dropped_and_counted(switch: EmbeddedSwitch) -> None:
    assert send(switch, 7, 1) == []
    assert switch.counts.pass_drops == 1


def test_truncate_limits_packet_length(switch: EmbeddedSwitch) -> None:
    frame = struct.pack(">BBHIIHH", 6, 0, 1, 0, 0, 0, 0) + bytes(100)
    assert len(switch.process(0, frame)[0].frame) == 20


def truncation(length: int) -> dict[str, Any]:
    return {"op": "truncate", "parameters": [{"type": "hexstr", "value": f"{length:#x}"}]}


def lengths(switch: EmbeddedSwitch, what: int, port: int, rounds: int = 0) -> list[int]:
    frame = struct.pack(">BBHIIHH", what, rounds, port, 0, 0, 0, 0) + bytes(100)
    return [len(item.frame) for item in switch.process(0, frame)]


def test_shortest_of_several_truncations_counts() -> None:
    assert lengths(with_ingress_call("copies40", truncation(24)), 6, 1) == [20]
    assert lengths(with_ingress_call("copies40", truncation(18)), 6, 1) == [18]


def test_truncation_in_ingress_spares_other_packets() -> None:
    """Of copies and clones, as in BMv2: each begins without a limit."""
    switch = with_ingress_call("copies26", truncation(18))
    switch.set_multicast_group(7, [Replica(1, 10), Replica(2, 11)])
    assert lengths(switch, 1, 7) == [116, 116]
    switch = with_ingress_call("copies48", truncation(18))  # in egress, after a clone
    switch.set_clone_session(5, CloneSession((Replica(4, 3),)))
    assert lengths(switch, 3, 1) == [18, 116]


def test_recirculated_packet_is_not_truncated() -> None:
    switch = with_ingress_call("copies51", truncation(30))  # in egress, before the last pass
    assert lengths(switch, 5, 1, 3) == [116]


def test_packets_to_cpu_port_reach_the_listener(switch: EmbeddedSwitch) -> None:
    frames: list[bytes] = []
    assert len(send(switch, 0, 255)) == 1
    switch.on_cpu_packet(frames.append)
    assert send(switch, 0, 255) == []
    assert len(frames) == 1
    assert len(send(switch, 0, 3)) == 1


def test_listener_may_write_groups_and_process_packets(switch: EmbeddedSwitch) -> None:
    answers: list[int] = []

    def on_packet(_: bytes) -> None:
        switch.set_multicast_group(9, [Replica(1, 1)])
        answers.append(len(send(switch, 1, 9)))

    switch.on_cpu_packet(on_packet)
    assert send(switch, 0, 255) == []
    assert answers == [1]


def test_switch_without_program_drops() -> None:
    empty = EmbeddedSwitch()
    assert empty.process(1, b"x") == []
    assert empty.counts.dropped == 1

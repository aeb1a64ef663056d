# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Frames at the link layer: own and other MAC addresses, VLAN tags, ARP (RFC 826, RFC 1812, RFC 5227).

::

    worker 0 --0 +--------+ 8-- non-member
                 | switch |
    worker 3 --3 +--------+ 7-- server
"""

from __future__ import annotations

import dataclasses
import struct

import pytest

from lanesum.protocol.lanes import LaneOp
from lanesum_fabric.program.switch_job import BROADCAST_MAC, SWITCH_MAC, HostPort, Role, Station
from lanesum_switch.frames import UdpFrame, ipv4_int

from .oracle import aggregate
from .star import FIRST, NON_MEMBER, SERVER, Place, Star, rack, routed, worker_host
from .test_malformed import patched

HOSTS = [worker_host(0), worker_host(3), NON_MEMBER, SERVER]
ALL_NODES = bytes.fromhex("01005e000001")  # IPv4 multicast
OTHER_MACS = {
    "broadcast": BROADCAST_MAC,
    "multicast": ALL_NODES,
    "another host": SERVER.mac,
    "one bit": SWITCH_MAC[:5] + bytes([SWITCH_MAC[5] ^ 1]),
    "first bit": bytes([SWITCH_MAC[0] ^ 0x80]) + SWITCH_MAC[1:],
    "zero": bytes(6),
}
PING = UdpFrame(NON_MEMBER.mac, SWITCH_MAC, NON_MEMBER.ip, SERVER.ip, 5000, 5001, b"any traffic").pack()
UNKNOWN = ipv4_int("192.0.2.1")

to_other_macs = pytest.mark.parametrize("mac", OTHER_MACS.values(), ids=OTHER_MACS)


@to_other_macs
def test_frame_to_another_mac_address_is_dropped(star: Star, mac: bytes) -> None:
    """Broadcasts too: a router that forwards them multiplies them (RFC 1812, section 5.3.4)."""
    assert star.exchange(NON_MEMBER.port, mac + PING[6:]) == []
    assert star.all_decisions() == {"drop_misdirected": 1}


@to_other_macs
def test_contribution_to_another_mac_address_reaches_no_slot(star: Star, mac: bytes) -> None:
    """Neither first, nor last: the sum is that of the frames to the switch."""
    job = star.admit(2)
    words = job.words(1)
    port, frame = job.contribution(0, words[1])
    assert star.exchange(port, mac + frame[6:]) == []
    assert star.contribute(job, 0, words[0]) == []
    port, frame = job.contribution(1, words[0])
    assert star.exchange(port, mac + frame[6:]) == []
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))
    assert star.decisions()["drop_misdirected"] == 2


@pytest.mark.parametrize("tag", ["81000005", "8100e000", "81000000", "88a80007", "88a8000781000005"])
def test_tagged_frame_is_dropped(star: Star, tag: str) -> None:
    """The tag names another network; also priority tags and stacks. A contribution behind a tag reaches no slot."""
    job = star.admit(1)
    contribution = job.contribution(0, job.words(2)[0])[1]
    for frame in (PING, contribution, arp(1, NON_MEMBER, SERVER.ip)):
        assert star.exchange(NON_MEMBER.port, frame[:12] + bytes.fromhex(tag) + frame[12:]) == []
    assert star.all_decisions() == {"drop_tagged": 3}


@pytest.mark.parametrize("ether_type", [0x86DD, 0x0842, 0x8847, 0x88CC, 0x0026])
def test_frame_of_another_ether_type_is_dropped(star: Star, ether_type: int) -> None:
    assert star.exchange(NON_MEMBER.port, PING[:12] + ether_type.to_bytes(2, "big") + PING[14:]) == []
    assert star.all_decisions() == {"drop_unknown": 1}


def arp(operation: int, sender: HostPort, target_ip: int, target_mac: bytes = bytes(6)) -> bytes:
    addresses = sender.mac + sender.ip.to_bytes(4, "big") + target_mac + target_ip.to_bytes(4, "big")
    return BROADCAST_MAC + sender.mac + struct.pack(">HHHBBH", 0x0806, 1, 0x0800, 6, 4, operation) + addresses


@pytest.mark.parametrize("asked", [worker_host(0), worker_host(3), SERVER], ids=lambda host: f"for{host.port}")
@pytest.mark.parametrize("padding", [b"", bytes(18)], ids=["bare", "padded"])
@pytest.mark.parametrize("to", [BROADCAST_MAC, SWITCH_MAC], ids=["broadcast", "unicast"])
def test_arp_request_for_a_host_is_answered(star: Star, asked: HostPort, padding: bytes, to: bytes) -> None:
    """The switch gives its own MAC for every host at another port; Ethernet padding comes back unchanged."""
    reply = bytearray(arp(2, HostPort(0, asked.ip, SWITCH_MAC), NON_MEMBER.ip, NON_MEMBER.mac))
    reply[0:6] = NON_MEMBER.mac
    question = to + arp(1, NON_MEMBER, asked.ip)[6:] + padding
    assert star.exchange(NON_MEMBER.port, question) == [(NON_MEMBER.port, bytes(reply) + padding)]
    assert star.decisions() == {"answer_arp": 1, "replied": 1}


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: f"at{host.port}")
@pytest.mark.parametrize("sender", [0, None], ids=["probe", "announcement"])
def test_arp_probe_of_own_address_is_not_answered(star: Star, host: HostPort, sender: int | None) -> None:
    """An answer to a probe (sender 0.0.0.0) would keep the host from using its address (RFC 5227, section 2.1.1)."""
    asking = host if sender is None else dataclasses.replace(host, ip=sender)
    assert star.exchange(host.port, arp(1, asking, host.ip)) == []
    assert star.decisions() == {"answer_arp": 1, "drop_same_port": 1}


def test_arp_probe_of_address_elsewhere_is_answered(star: Star) -> None:
    """The address is in use, and the switch defends it for its owner."""
    probing = dataclasses.replace(NON_MEMBER, ip=0)
    ((port, reply),) = star.exchange(NON_MEMBER.port, arp(1, probing, SERVER.ip))
    assert port == NON_MEMBER.port
    assert reply[22:28] + reply[28:32] == SWITCH_MAC + SERVER.ip.to_bytes(4, "big")


def test_arp_request_for_a_neighbour_is_not_answered(star: Star) -> None:
    """Both are behind one port, as behind an Ethernet switch: they hear each other."""
    neighbour = HostPort(NON_MEMBER.port, 0x0A000A00 + star.new_address(), bytes.fromhex("020000000a01"))
    star.add_host(neighbour)
    assert star.exchange(NON_MEMBER.port, arp(1, NON_MEMBER, neighbour.ip)) == []
    assert star.decisions() == {"answer_arp": 1, "drop_same_port": 1}


def test_other_arp_packets_get_no_answer(star: Star) -> None:
    assert star.exchange(NON_MEMBER.port, arp(1, NON_MEMBER, UNKNOWN)) == []
    assert star.exchange(NON_MEMBER.port, arp(2, NON_MEMBER, SERVER.ip, SERVER.mac)) == []
    for operation in (0, 3, 8, 0xFFFF):
        assert star.exchange(NON_MEMBER.port, arp(operation, NON_MEMBER, SERVER.ip)) == []
    assert star.decisions() == {"answer_arp": 6, "drop_unknown_host": 6}


def test_arp_request_to_another_mac_address_is_dropped(star: Star) -> None:
    question = arp(1, NON_MEMBER, SERVER.ip)
    for mac in (SERVER.mac, ALL_NODES):
        assert star.exchange(NON_MEMBER.port, mac + question[6:]) == []
    assert star.decisions() == {"drop_misdirected": 2}


@pytest.mark.parametrize(
    ("at", "new"),
    [(14, "0006"), (16, "86dd"), (18, "08"), (18, "00"), (19, "10"), (19, "00"), (22, "ff" * 6), (22, "01005e000001")],
)
def test_malformed_arp_is_dropped(star: Star, at: int, new: str) -> None:
    """Other hardware, protocol or lengths; a group's MAC address as sender, so that all would get the answer."""
    question = bytearray(arp(1, NON_MEMBER, SERVER.ip))
    question[at : at + len(new) // 2] = bytes.fromhex(new)
    assert star.exchange(NON_MEMBER.port, bytes(question)) == []
    assert star.decisions() == {"drop_malformed": 1}


def test_truncated_arp_is_dropped(star: Star) -> None:
    question = arp(1, NON_MEMBER, SERVER.ip)
    lengths = range(max(14, star.target.min_frame_bytes), len(question))
    for length in lengths:
        assert star.exchange(NON_MEMBER.port, question[:length]) == []
    assert star.decisions() == ({"drop_malformed": len(lengths)} if lengths else {})


@pytest.mark.parametrize("role", [Role(0), Role.UPPER], ids=["one level", "upper"])
def test_answers_have_the_class_of_the_switch(star: Star, role: Role) -> None:
    """DSCP of result, replay, pending and conflict, whatever the contribution had; its ECN mark stays."""
    star.set_station(Station(answer_dscp=46))
    job = star.admit([rack(0), rack(1)] if role else 2, role=role)
    words = job.words(3, LaneOp.ADD32)
    frames = [
        (0, FIRST, 0), (0, FIRST, 0), (0, Place(op=LaneOp.MAX), 0), (1, FIRST, 0x2A << 2 | 1), (1, FIRST, 0),
    ]  # fmt: skip
    answers = []
    for worker, place, tos in frames:
        port, frame = job.contribution(worker, words[worker], place)
        answers.append(star.exchange(port, patched(frame, 15, bytes([tos]))))
    assert [len(copies) for copies in answers] == [0, 2, 2, 2, 1]
    assert {frame[15] for copies in answers[:3] for _, frame in copies} == {46 << 2}
    assert {frame[15] for _, frame in answers[3]} == {46 << 2 | 1}
    assert routed(PING, SERVER) == star.exchange(NON_MEMBER.port, PING), "other traffic keeps its own"

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""ICMP messages of a switch that has an address (RFC 792, RFC 1812): echo, time exceeded, destination unreachable.

::

    worker 0 --0 +--------------------+ 8-- non-member
                 | switch, 10.0.0.254 |
    worker 3 --3 +--------------------+ 7-- server

A port gets one message in a tick.
"""

from __future__ import annotations

import struct
import time

import pytest

from lanesum_fabric.program.switch_job import BROADCAST_MAC, SWITCH_MAC, HostPort, Role, Station
from lanesum_switch.frames import internet_checksum, ipv4_int

from .star import NON_MEMBER, SERVER, Star, routed, worker_host
from .test_forwarding import ping
from .test_link import arp
from .test_malformed import patched

OWN_IP = ipv4_int("10.0.0.254")
UNKNOWN = ipv4_int("192.0.2.1")
ECHO_REQUEST, ECHO_REPLY = 8, 0
EXPIRED, NO_ROUTE, NO_PROTOCOL, NO_PORT = (11, 0), (3, 0), (3, 2), (3, 3)

pytestmark = pytest.mark.offered("icmp")


@pytest.fixture
def router(star: Star) -> Star:
    star.set_station(Station(OWN_IP))
    pass_time(star)
    return star


def pass_time(star: Star) -> None:
    """Let a tick pass."""
    if star.target.clock is None:
        time.sleep(0.004)
    else:
        star.target.clock.advance(1)


def ipv4(source: HostPort, destination: int, protocol: int, payload: bytes, *, ttl: int = 64, tos: int = 0) -> bytes:
    """Return a frame to the switch."""
    size = 20 + len(payload)
    header = struct.pack(">BBHHHBBHII", 0x45, tos, size, 7, 0, ttl, protocol, 0, source.ip, destination)
    header = header[:10] + internet_checksum(header).to_bytes(2, "big") + header[12:]
    return SWITCH_MAC + source.mac + b"\x08\x00" + header + payload


def icmp(kind: int, code: int = 0, body: bytes = b"\0\1\0\2" + bytes(range(56))) -> bytes:
    message = bytes([kind, code, 0, 0]) + body
    return message[:2] + internet_checksum(message).to_bytes(2, "big") + message[4:]


def message_about(frame: bytes, kind_and_code: tuple[int, int]) -> bytes:
    """Return the frame of an ICMP message to the sender of ``frame``."""
    message = icmp(*kind_and_code, bytes(4) + frame[14:42])
    header = struct.pack(">BBHHHBBHI", 0x45, 0xC0, 56, 0, 0x4000, 64, 1, 0, OWN_IP) + frame[26:30]
    header = header[:10] + internet_checksum(header).to_bytes(2, "big") + header[12:]
    return frame[6:12] + SWITCH_MAC + b"\x08\x00" + header + message


@pytest.mark.parametrize("size", [4, 6, 60, 1400])
def test_echo_request_to_the_switch_is_answered(router: Star, size: int) -> None:
    """With the same data and class, and a right checksum."""
    body = (bytes(range(1, 256)) * 6)[:size]
    request = ipv4(NON_MEMBER, OWN_IP, 1, icmp(ECHO_REQUEST, body=body), tos=0xB8)
    ((port, reply),) = router.exchange(NON_MEMBER.port, request)
    assert (port, reply[:14]) == (NON_MEMBER.port, NON_MEMBER.mac + SWITCH_MAC + b"\x08\x00")
    assert reply[26:34] == OWN_IP.to_bytes(4, "big") + NON_MEMBER.ip.to_bytes(4, "big")
    assert (reply[15], reply[22], reply[34]) == (0xB8, 64, ECHO_REPLY)
    assert internet_checksum(reply[14:34]) == internet_checksum(reply[34:]) == 0
    assert reply[38:] == body
    assert router.decisions() == {"route": 1, "answer_echo": 1}


def test_echo_request_with_ttl_one_is_answered(router: Star) -> None:
    """The packet is at its destination."""
    request = ipv4(NON_MEMBER, OWN_IP, 1, icmp(ECHO_REQUEST), ttl=1)
    assert len(router.exchange(NON_MEMBER.port, request)) == 1


def test_damaged_echo_request_gets_a_damaged_reply(router: Star) -> None:
    """The checksum is updated, not computed: the sender detects the damage."""
    request = bytearray(ipv4(NON_MEMBER, OWN_IP, 1, icmp(ECHO_REQUEST)))
    request[50] ^= 1
    ((_, reply),) = router.exchange(NON_MEMBER.port, bytes(request))
    assert internet_checksum(reply[34:]) != 0


def test_echo_request_to_a_host_is_routed(router: Star) -> None:
    frame = ipv4(NON_MEMBER, SERVER.ip, 1, icmp(ECHO_REQUEST))
    assert router.exchange(NON_MEMBER.port, frame) == routed(frame, SERVER)


def test_arp_request_for_switch_is_answered_everywhere(router: Star) -> None:
    for host in (NON_MEMBER, SERVER, worker_host(0)):
        ((port, reply),) = router.exchange(host.port, arp(1, host, OWN_IP))
        assert (port, reply[22:28]) == (host.port, SWITCH_MAC)
    assert router.decisions() == {"answer_arp": 3, "replied": 3}


@pytest.mark.parametrize("ttl", [0, 1])
def test_expired_packet_is_reported(router: Star, ttl: int) -> None:
    """As traceroute needs it: to the sender, with its own header and ports."""
    frame = ping(NON_MEMBER, SERVER, ttl=ttl).pack()
    assert router.exchange(NON_MEMBER.port, frame) == [(NON_MEMBER.port, message_about(frame, EXPIRED))]
    assert router.decisions() == {"route": 1, "drop_expired": 1, "report": 1}


@pytest.mark.parametrize("protocol", [1, 6, 47, 132])
def test_unroutable_packet_of_any_protocol_is_reported(router: Star, protocol: int) -> None:
    payload = icmp(ECHO_REQUEST) if protocol == 1 else bytes(range(100, 140))
    frame = ipv4(NON_MEMBER, UNKNOWN, protocol, payload)
    assert router.exchange(NON_MEMBER.port, frame) == [(NON_MEMBER.port, message_about(frame, NO_ROUTE))]
    assert router.decisions() == {"route": 1, "drop_no_route": 1, "report": 1}


def test_unroutable_contribution_is_reported(router: Star) -> None:
    """The quote ends before the lanesum header."""
    job = router.admit(1)
    port, frame = job.contribution(0, job.words(1)[0], tag=1)
    frame = patched(frame, 30, UNKNOWN.to_bytes(4, "big"))
    assert router.exchange(port, frame) == [(port, message_about(frame, NO_ROUTE))]


def test_datagram_to_the_switch_is_refused(router: Star) -> None:
    frame = ping(NON_MEMBER, SERVER, destination_ip=OWN_IP).pack()
    assert router.exchange(NON_MEMBER.port, frame) == [(NON_MEMBER.port, message_about(frame, NO_PORT))]
    pass_time(router)
    frame = ipv4(NON_MEMBER, OWN_IP, 6, bytes(20))
    assert router.exchange(NON_MEMBER.port, frame) == [(NON_MEMBER.port, message_about(frame, NO_PROTOCOL))]


@pytest.mark.parametrize("kind", [3, 4, 5, 11, 12])
def test_icmp_error_is_not_reported(router: Star, kind: int) -> None:
    """Messages about messages would never end."""
    for destination, ttl in ((UNKNOWN, 64), (SERVER.ip, 1), (OWN_IP, 64)):
        assert router.exchange(NON_MEMBER.port, ipv4(NON_MEMBER, destination, 1, icmp(kind), ttl=ttl)) == []
        pass_time(router)
    assert router.decisions()["drop_unreported"] == 3


@pytest.mark.parametrize("source", ["0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"])
def test_packet_without_a_sender_is_not_reported(router: Star, source: str) -> None:
    """The message would go to many hosts, or to none."""
    frame = ipv4(HostPort(0, ipv4_int(source), NON_MEMBER.mac), UNKNOWN, 17, bytes.fromhex("1388138900080000"))
    assert router.exchange(NON_MEMBER.port, frame) == []
    assert router.decisions()["drop_unreported"] == 1


def test_broadcast_frame_is_not_reported(router: Star) -> None:
    frame = ping(NON_MEMBER, SERVER, ttl=1).pack()
    assert router.exchange(NON_MEMBER.port, BROADCAST_MAC + frame[6:]) == []
    assert router.decisions() == {"drop_misdirected": 1}


def test_later_fragment_is_not_reported(router: Star) -> None:
    """The first one is: it has the ports."""
    frame = ping(NON_MEMBER, SERVER, ttl=1).pack()
    assert router.exchange(NON_MEMBER.port, patched(frame, 20, b"\x00\x10")) == []
    first = patched(frame, 20, b"\x20\x00")
    assert router.exchange(NON_MEMBER.port, first) == [(NON_MEMBER.port, message_about(first, EXPIRED))]


def test_packet_with_options_or_short_is_not_reported(router: Star) -> None:
    short = ipv4(NON_MEMBER, UNKNOWN, 6, b"1234567")
    assert router.exchange(NON_MEMBER.port, short) == []
    header = bytearray(ipv4(NON_MEMBER, UNKNOWN, 6, bytes(24))[14:])
    header[0], header[10:12] = 0x46, b"\0\0"
    header[10:12] = internet_checksum(bytes(header[:24])).to_bytes(2, "big")
    assert router.exchange(NON_MEMBER.port, short[:14] + bytes(header)) == []
    assert router.decisions() == {"route": 2, "drop_no_route": 2, "drop_unreported": 2}


def test_messages_are_bounded_per_port(router: Star) -> None:
    """One in a tick; a flood at one port leaves the messages of the others."""
    if router.target.clock is None:
        pytest.skip("the ticks of this target pass in real time")
    frame = ping(NON_MEMBER, SERVER, ttl=1).pack()
    request = ipv4(SERVER, OWN_IP, 1, icmp(ECHO_REQUEST))
    sent = [router.exchange(NON_MEMBER.port, frame) for _ in range(20)]
    assert [len(out) for out in sent] == [1] + [0] * 19
    assert len(router.exchange(SERVER.port, request)) == 1
    assert router.exchange(SERVER.port, request) == []
    pass_time(router)
    assert len(router.exchange(NON_MEMBER.port, frame)) == len(router.exchange(SERVER.port, request)) == 1
    assert router.decisions()["drop_too_soon"] == 20


def test_flood_of_expired_packets_gets_few_messages(router: Star) -> None:
    """In real time too: at most one a millisecond."""
    frame = ping(NON_MEMBER, SERVER, ttl=1).pack()
    before = time.monotonic()
    out = router.target.exchange_all([(NON_MEMBER.port, frame)] * 200)
    ticks = 2 + (time.monotonic() - before) * 1e6 / 1024
    assert 1 <= len(out) <= ticks
    for _ in range(200):
        router.twin.process(NON_MEMBER.port, frame)


def test_switch_without_an_address_sends_no_message(star: Star) -> None:
    for frame in (
        ping(NON_MEMBER, SERVER, ttl=1).pack(),
        ipv4(NON_MEMBER, UNKNOWN, 6, bytes(20)),
        ipv4(NON_MEMBER, OWN_IP, 1, icmp(ECHO_REQUEST)),
        arp(1, NON_MEMBER, OWN_IP),
    ):
        assert star.exchange(NON_MEMBER.port, frame) == []


def test_unsendable_sum_is_not_reported(router: Star) -> None:
    """It is the switch's packet, not its sender's."""
    job = router.admit(1, role=Role.ASCEND)
    port, frame = job.contribution(0, job.words(4)[0])
    assert router.exchange(port, patched(frame, 22, b"\x01")) == []
    assert router.decisions() == {"aggregate": 1, "accept": 1, "claim_and_complete": 1, "drop_expired": 1}

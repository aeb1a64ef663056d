# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Other traffic is forwarded as by any IPv4 router. ``test_link`` has frames and ARP, ``test_icmp`` its messages.

::

    worker 0 --0 +--------+ 8-- non-member
                 | router |
    worker 3 --3 +--------+ 7-- server
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import pytest

from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int

from .star import NON_MEMBER, SERVER, Star, routed, worker_host

HOSTS = [worker_host(0), worker_host(3), NON_MEMBER, SERVER]


def ping(source: HostPort, destination: HostPort, **fields: Any) -> UdpFrame:
    frame = UdpFrame(source.mac, SWITCH_MAC, source.ip, destination.ip, 5000, 5001, b"hello switch")
    return dataclasses.replace(frame, **fields)


@pytest.mark.parametrize("source", HOSTS, ids=lambda host: f"from{host.port}")
@pytest.mark.parametrize("destination", HOSTS, ids=lambda host: f"to{host.port}")
def test_forward_between_all_hosts(star: Star, source: HostPort, destination: HostPort) -> None:
    """TTL decremented, MAC addresses of switch and host, right checksum; to itself too."""
    frame = ping(source, destination).pack()
    assert star.exchange(source.port, frame) == routed(frame, destination)
    assert star.all_decisions() == {"route": 1, "genuine": 1, "forwarded": 1}


@pytest.mark.parametrize("ttl", [2, 3, 128, 255])
def test_forward_decrements_the_ttl(star: Star, ttl: int) -> None:
    frame = ping(NON_MEMBER, SERVER, ttl=ttl).pack()
    ((_, hop),) = star.exchange(NON_MEMBER.port, frame)
    assert hop[22] == ttl - 1


@pytest.mark.parametrize("ttl", [0, 1])
def test_expired_ttl_is_dropped(star: Star, ttl: int) -> None:
    assert star.exchange(NON_MEMBER.port, ping(NON_MEMBER, SERVER, ttl=ttl).pack()) == []
    assert star.decisions() == {"route": 1, "drop_expired": 1}


def test_contribution_with_an_expired_ttl_is_summed(star: Star) -> None:
    """The switch is the destination of the packet; the answer starts with a full TTL."""
    job = star.admit(1)
    words = job.words(1)[0]
    port, frame = job.contribution(0, words)
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    assert star.exchange(port, dataclasses.replace(datagram, ttl=1).pack()) == job.result(words)


def test_unknown_destination_is_dropped(star: Star) -> None:
    frame = ping(NON_MEMBER, SERVER, destination_ip=ipv4_int("192.0.2.1")).pack()
    assert star.exchange(NON_MEMBER.port, frame) == []
    assert star.decisions() == {"route": 1, "drop_no_route": 1}


def test_forward_updates_every_ipv4_checksum(star: Star) -> None:
    """The update is incremental (RFC 1624): checksums over all carries and both zeros."""
    base = ping(NON_MEMBER, SERVER).pack()
    seen = set()
    for identification in range(0, 1 << 16, 257):
        for ttl in (2, 64):
            frame = bytearray(base)
            frame[18:20] = identification.to_bytes(2, "big")
            frame[22] = ttl
            frame[24:26] = bytes(2)
            checksum = internet_checksum(bytes(frame[14:34]))
            frame[24:26] = checksum.to_bytes(2, "big")
            seen.add(checksum >> 8)
            ((_, hop),) = star.exchange(NON_MEMBER.port, bytes(frame))
            assert internet_checksum(hop[14:34]) == 0
    assert len(seen) > 250


@pytest.mark.parametrize("protocol", [1, 6, 89, 255])
def test_other_ip_protocols_are_forwarded(star: Star, protocol: int) -> None:
    """ICMP, TCP and others; also with fewer bytes than a UDP header."""
    header = struct.pack(">BBHHHBBHII", 0x45, 0xB8, 22, 7, 0, 64, protocol, 0, NON_MEMBER.ip, SERVER.ip)
    checksum = internet_checksum(header)
    frame = SWITCH_MAC + NON_MEMBER.mac + b"\x08\x00" + header[:10] + checksum.to_bytes(2, "big") + header[12:] + b"ab"
    ((port, hop),) = star.exchange(NON_MEMBER.port, frame)
    assert port == SERVER.port
    assert hop[:14] == SERVER.mac + SWITCH_MAC + b"\x08\x00"
    assert hop[15] == 0xB8, "DSCP and ECN are kept"
    assert hop[22:24] == bytes([63, protocol])
    assert internet_checksum(hop[14:34]) == 0
    assert hop[34:] == b"ab"


def test_bad_ipv4_checksum_is_dropped(star: Star) -> None:
    frame = bytearray(ping(NON_MEMBER, SERVER).pack())
    frame[24] ^= 0xFF
    assert star.exchange(NON_MEMBER.port, bytes(frame)) == []
    assert star.decisions() == {"drop_corrupt": 1}


def test_large_frames_are_forwarded(star: Star) -> None:
    frame = dataclasses.replace(ping(NON_MEMBER, SERVER), payload=bytes(range(256)) * 5 + b"tail").pack()
    assert star.exchange(NON_MEMBER.port, frame) == routed(frame, SERVER)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets that a switch without ICMP redirects to its operating system, at the CPU port.

::

    worker 0 --0 +--------+ 8-- non-member
                 | switch | 9-- CPU port: the operating system, with the switch's MAC address
    worker 3 --3 +--------+ 7-- server

Tests without a CPU port are in ``test_forwarding``: the packets are dropped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from lanesum.protocol import LaneOp
from lanesum_fabric.program.switch_job import BROADCAST_MAC, SWITCH_MAC, HostPort, Role
from lanesum_switch.frames import internet_checksum, ipv4_int

from .oracle import aggregate
from .star import NON_MEMBER, SERVER, Star, routed, worker_host
from .test_forwarding import ping
from .test_icmp import ECHO_REQUEST, EXPIRED, UNKNOWN, icmp, ipv4
from .test_link import arp
from .test_malformed import patched
from .test_roles import FOR_EVER

CPU = HostPort(9, ipv4_int("10.0.0.254"), SWITCH_MAC)
BURST = 16  # redirected packets of a port in a tick
TICK = 16  # in ticks of the slots

pytestmark = pytest.mark.offered("redirects")


@pytest.fixture(scope="module")
def running_router(running_star: Star) -> Iterator[Star]:
    """The switch with a host at the CPU port. Hosts are never removed, so the program is pushed again at the end."""
    if not running_star.target.control.capabilities.redirects:
        yield running_star
        return
    running_star.add_host(CPU)
    yield running_star
    running_star.hosts.remove(CPU)
    running_star.restart()


@pytest.fixture
def router(running_router: Star, star: Star) -> Star:
    if star.target.clock is not None:
        star.target.clock.advance(TICK)
    return star


def redirected(frame: bytes) -> list[tuple[int, bytes]]:
    return [(CPU.port, frame)]


@pytest.mark.parametrize("ttl", [0, 1])
def test_expired_packet_is_redirected_unchanged(router: Star, ttl: int) -> None:
    frame = ping(NON_MEMBER, SERVER, ttl=ttl, payload=bytes(range(40))).pack(checksum=True)
    assert router.exchange(NON_MEMBER.port, frame) == redirected(frame)
    assert router.decisions() == {"route": 1, "redirect_expired": 1, "redirected": 1}


@pytest.mark.parametrize("protocol", [1, 6, 47])
def test_unroutable_packet_of_any_protocol_is_redirected_unchanged(router: Star, protocol: int) -> None:
    payload = icmp(ECHO_REQUEST) if protocol == 1 else bytes(range(100, 140))
    frame = ipv4(worker_host(1), UNKNOWN, protocol, payload, tos=0x2A)
    assert router.exchange(1, frame) == redirected(frame)
    assert router.decisions() == {"route": 1, "redirect_no_route": 1, "redirected": 1}


def test_fragment_and_packet_with_options_are_redirected_unchanged(router: Star) -> None:
    frame = ping(worker_host(2), SERVER, ttl=1, payload=bytes(60)).pack()
    for fragment in (patched(frame, 20, b"\x20\x00"), patched(frame, 20, b"\x00\x10")):
        assert router.exchange(2, fragment) == redirected(fragment)
    header = bytearray(ipv4(worker_host(2), UNKNOWN, 6, bytes(44))[14:])
    header[0], header[10:12] = 0x46, b"\0\0"
    header[10:12] = internet_checksum(bytes(header[:24])).to_bytes(2, "big")
    options = frame[:14] + bytes(header)
    assert router.exchange(2, options) == redirected(options)


def test_packet_to_switch_arrives_at_operating_system(router: Star) -> None:
    """As at any host; with a TTL of 1 it is redirected, and is at its destination."""
    request = ipv4(worker_host(3), CPU.ip, 1, icmp(ECHO_REQUEST))
    assert router.exchange(3, request) == routed(request, CPU)
    last = ipv4(worker_host(3), CPU.ip, 1, icmp(ECHO_REQUEST), ttl=1)
    assert router.exchange(3, last) == redirected(last)


def test_arp_request_for_the_switch_is_answered(router: Star) -> None:
    ((port, reply),) = router.exchange(NON_MEMBER.port, arp(1, NON_MEMBER, CPU.ip).ljust(60, b"\0"))
    assert (port, reply[22:28]) == (NON_MEMBER.port, SWITCH_MAC)


def test_message_of_the_operating_system_is_routed(router: Star) -> None:
    """From the switch's own MAC address to the switch's own MAC address, as Linux sends it after ARP."""
    message = ipv4(CPU, worker_host(4).ip, 1, icmp(*EXPIRED, bytes(36)))
    assert router.exchange(CPU.port, message) == routed(message, worker_host(4))


def test_packet_from_the_cpu_port_is_never_redirected(router: Star) -> None:
    """It would come back for ever."""
    for source in (CPU, dataclasses.replace(CPU, ip=UNKNOWN)):
        for destination, ttl in ((worker_host(0).ip, 1), (UNKNOWN, 64), (UNKNOWN, 1), (CPU.ip, 1)):
            assert router.exchange(CPU.port, ipv4(source, destination, 1, icmp(ECHO_REQUEST), ttl=ttl)) == []
    assert router.decisions() == {"route": 8, "drop_expired": 6, "drop_no_route": 2}


def test_dropped_packet_is_not_redirected(router: Star) -> None:
    """Damaged, misdirected, tagged and spoofed ones."""
    frame = ping(worker_host(5), SERVER, ttl=1, payload=bytes(60)).pack()
    for wrong in (
        frame[:24] + bytes(2) + frame[26:],
        BROADCAST_MAC + frame[6:],
        NON_MEMBER.mac + frame[6:],
        frame[:12] + b"\x81\x00\x00\x07" + frame[12:],
        frame[:12] + b"\x86\xdd" + frame[14:],
    ):
        assert router.exchange(5, wrong) == []
    assert router.exchange(4, frame) == [], "the address of worker 5 at the port of worker 4"
    assert router.decisions() == {
        "drop_corrupt": 1, "drop_misdirected": 2, "drop_tagged": 1, "drop_unknown": 1, "route": 1, "drop_spoofed": 1,
    }  # fmt: skip


def test_redirected_packets_are_bounded_per_port(router: Star) -> None:
    """A flood at one port leaves the packets of the others."""
    if router.target.clock is None:
        pytest.skip(f"time stands still on {router.target.name}: other tests use the tick")
    flood = ping(NON_MEMBER, SERVER, ttl=1).pack()
    other = ping(SERVER, NON_MEMBER, destination_ip=UNKNOWN).pack()
    sent = [router.exchange(NON_MEMBER.port, flood) for _ in range(BURST + 24)]
    assert sent == [redirected(flood)] * BURST + [[]] * 24
    assert router.exchange(SERVER.port, other) == redirected(other)
    assert router.decisions() == {
        "route": BURST + 25, "redirect_expired": BURST + 24, "redirect_no_route": 1, "redirected": BURST + 1,
        "drop_too_soon": 24,
    }  # fmt: skip
    router.target.clock.advance(TICK)
    assert router.exchange(NON_MEMBER.port, flood) == redirected(flood)


def test_redirected_packet_is_not_marked(router: Star) -> None:
    router.target.queue_depth.depths[CPU.port] = 100
    router.set_congestion(CPU.port, 5)
    frame = ipv4(worker_host(0), UNKNOWN, 6, bytes(40), tos=2)
    assert router.exchange(0, frame) == redirected(frame)
    del router.target.queue_depth.depths[CPU.port]


def test_expired_contribution_is_redirected_only_if_not_summed(router: Star) -> None:
    """With another job in its slot it would go to the server; unchanged, without the flag for that."""
    first = router.admit([0, 1], role=Role.SHARED, lease=FOR_EVER)
    second = router.admit([2, 3], role=Role.SHARED, lease=FOR_EVER)
    words = first.words(1)
    _, last = first.contribution(1, words[1])
    assert router.contribute(first, 0, words[0]) == []
    port, frame = second.contribution(0, second.words(2)[0])
    assert router.exchange(port, patched(frame, 22, b"\x01")) == redirected(patched(frame, 22, b"\x01"))
    assert router.exchange(1, patched(last, 22, b"\x01")) == first.result(aggregate(LaneOp.ADD32, words))


def test_unsendable_sum_is_not_redirected(router: Star) -> None:
    """It is the switch's packet, not its sender's."""
    job = router.admit(1, role=Role.ASCEND)
    port, frame = job.contribution(0, job.words(4)[0])
    assert router.exchange(port, patched(frame, 22, b"\x01")) == []
    assert router.decisions() == {"aggregate": 1, "accept": 1, "claim_and_complete": 1, "drop_expired": 1}

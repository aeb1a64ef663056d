# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports with faults on their links.

memory (or UDP) --- faulty --- switch --- memory
"""

from __future__ import annotations

import contextlib
import socket
import time

import pytest

from lanesum_switch.faults import FaultInjector, FaultPlan
from lanesum_switch.faults.counters import RuleCounts
from lanesum_switch.frames import UdpFrame, internet_checksum, udp_checksum
from lanesum_switch.ports.faulty import FaultyPort
from lanesum_switch.ports.port import MemoryPort, link_of
from lanesum_switch.ports.runner import PortRunner, queue_depths
from lanesum_switch.ports.udp import UdpPortConfig, open_udp_ports
from tests.softswitch.faults.packets import datagram, frame
from tests.softswitch.ports.links import Crossover
from tests.waiting import wait_until


def injector(rules: str, link: str = "w1") -> FaultInjector:
    return FaultInjector(FaultPlan.parse(f"rules: [{rules}]\n", "test"), link, 1)


def packet(chunk: int) -> bytes:
    return frame(datagram(chunk=chunk))


def test_faults_apply_in_both_directions() -> None:
    rules = """
      {name: a, kind: drop, direction: up, nth: 2}, {name: b, kind: duplicate, direction: down, nth: 1},
      {name: c, kind: reorder, direction: up, nth: 1, delay_ms: 30},
      {name: d, kind: reorder, direction: down, nth: 2, delay_ms: 30}"""

    def passed_down() -> list[bytes]:
        near, far, faults = MemoryPort(), MemoryPort(), injector(rules)
        for chunk in range(4):
            near.put(packet(chunk))
        start = time.monotonic()
        with PortRunner(Crossover(), {0: FaultyPort(near, faults), 1: far}):
            # Rule c follows a in the plan, so both number the packets from the same first one.
            assert far.wait_sent(3) == [packet(2), packet(3), packet(0)]
            for chunk in range(3):
                far.put(packet(chunk))
            arrived = near.wait_sent(4)
            assert time.monotonic() - start >= 0.06
            assert faults.counters.counts["a"] == RuleCounts(4, 1)
            return arrived

    # On a busy machine packet 1 may be due before packet 2 is sent.
    while (arrived := passed_down()) == [packet(0), packet(0), packet(1), packet(2)]:
        pass
    assert arrived == [packet(0), packet(0), packet(2), packet(1)]


def test_faulty_port_has_link_of_wrapped_port() -> None:
    class Linked(MemoryPort):
        def is_up(self) -> bool:
            return False

    rules = "{kind: drop, direction: up}"
    for port, states in ((Linked(), [False]), (MemoryPort(), [])):
        with contextlib.closing(FaultyPort(port, injector(rules))) as faulty:
            assert [is_up() for is_up in [link_of(faulty)] if is_up is not None] == states


def test_outbound_direction_of_server_port_is_up() -> None:
    near, far = MemoryPort(), MemoryPort()
    with PortRunner(
        Crossover(), {0: FaultyPort(near, injector("{kind: drop, direction: up}"), inbound="down"), 1: far}
    ):
        near.put(packet(0))
        assert far.wait_sent(1) == [packet(0)]
        far.put(packet(1))
        far.put(frame(datagram(), port=5000))  # not lanesum's: the rule does not match
        assert near.wait_sent(1) == [frame(datagram(), port=5000)]


def test_delayed_frames_are_dropped_on_close() -> None:
    near, far = MemoryPort(), MemoryPort()
    port = FaultyPort(near, injector("{kind: delay, delay_ms: 60000}"))
    with PortRunner(Crossover(), {0: port, 1: far}):
        port.send(packet(0))
        near.put(packet(1))
        far.put(packet(2))
    assert near.sent == far.sent == []


def test_backlog_is_that_of_the_inner_port() -> None:
    class BackloggedPort(MemoryPort):
        def backlog(self) -> int:
            return 7

    ports = {
        0: FaultyPort(BackloggedPort(), injector("{kind: drop}")),
        1: FaultyPort(MemoryPort(), injector("{kind: drop}")),
    }
    assert [queue_depths(ports)(number) for number in ports] == [7, 0]
    for port in ports.values():
        port.close()


def udp_port(**options: bool) -> tuple[socket.socket, tuple[str, int], UdpPortConfig]:
    host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    host.bind(("127.0.0.1", 0))
    host.settimeout(120)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        server = probe.getsockname()
    return host, server, UdpPortConfig(1, (server,), host.getsockname(), b"\2" * 6, b"\4" * 6, **options)


def test_corrupted_datagram_does_not_reach_the_host() -> None:
    """The kernel would add a correct checksum to wrong bytes, so the port verifies checksums itself."""
    host, server, config = udp_port(checksums=True)
    (port,) = open_udp_ports([config])
    memory = MemoryPort()
    faults = injector("{kind: corrupt, probability: 0.5, packet: other}")  # the UDP ports are not lanesum's
    with host, PortRunner(Crossover(), {0: FaultyPort(port, faults), 1: memory}):
        to_host = UdpFrame(
            b"\4" * 6, b"\2" * 6, 0x7F000001, 0x7F000001, server[1], config.host[1], b"payload" * 9
        ).pack(checksum=True)
        for _ in range(100):
            memory.put(to_host)
        for _ in range(100):
            host.sendto(b"payload" * 9, server)
        whole = 0
        arrived = memory.wait_sent(100)
        for data in arrived:
            found = UdpFrame.unpack(data)
            if found is not None and internet_checksum(data[14:34]) == 0:
                whole += udp_checksum(found.source_ip, found.destination_ip, data[34:]) == 0xFFFF
        assert 20 < whole < 80
        wait_until(lambda: faults.counters.counts["1 corrupt"].matched == 200)
        hit = faults.counters.counts["1 corrupt"]
        assert (hit.matched, hit.lost) == (200, 0)
        corrupted_to_host = hit.hit - (100 - whole)
        assert 20 < corrupted_to_host < 80
        for _ in range(100 - corrupted_to_host):
            assert host.recv(2048) == b"payload" * 9
        assert port.undeliverable == corrupted_to_host
        host.setblocking(False)
        with pytest.raises(BlockingIOError):
            host.recv(2048)


def test_corruption_without_checksum_drops_the_frame() -> None:
    host, server, config = udp_port()
    (port,) = open_udp_ports([config])
    faults = injector("{kind: corrupt, nth: 1, packet: other}")
    memory = MemoryPort()
    with host, PortRunner(Crossover(), {0: FaultyPort(port, faults), 1: memory}):
        host.sendto(b"one", server)
        host.sendto(b"two", server)
        ((data),) = memory.wait_sent(1)
        assert data.endswith(b"two")
        assert faults.counters.counts["1 corrupt"] == RuleCounts(2, 1, 1)

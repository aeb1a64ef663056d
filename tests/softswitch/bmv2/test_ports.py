# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports and the loop that serves them.

memory port 0 --- switch --- memory port 1
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator

import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum.errors import ConfigurationError, MissingToolError
from lanesum.protocol.frames import UdpFrame, ipv4_int, ipv4_text
from lanesum_lab.veth import wait_for_links
from lanesum_switch.api import PacketOut
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.aggregation_server import ServerPort, ServerPortConfig
from lanesum_switch.ports.memory import MemoryPort
from lanesum_switch.ports.port import Port, PortError
from lanesum_switch.ports.runner import PortRunner, queue_depths
from lanesum_switch.ports.trunk import TrunkPort
from lanesum_switch.ports.udp import UdpPort, UdpPortConfig, open_udp_ports


class Crossover:
    """Sends what comes in on port 0 out of 1 and the other way round; port 7 leads nowhere."""

    def process_batch(self, packets: Iterable[tuple[int, bytes]]) -> list[PacketOut]:
        return [PacketOut(7 if frame == b"lost" else 1 - port, frame) for port, frame in packets]


def test_frames_cross_and_are_counted() -> None:
    left, right = MemoryPort(), MemoryPort()
    with PortRunner(Crossover(), {0: left, 1: right}) as runner:
        for i in range(200):
            left.put(str(i).encode())
        right.put(b"back")
        left.put(b"lost")
        assert right.wait_sent(200) == [str(i).encode() for i in range(200)]
        assert left.wait_sent(1) == [b"back"]
        runner.inject(1, b"packet out")
        assert left.wait_sent(2)[1] == b"packet out"
    counts = runner.counts
    assert counts.received == {0: 201, 1: 1}
    assert counts.sent == {0: 2, 1: 200}
    assert counts.no_port == 1


def test_stop_and_start_again() -> None:
    left, right = MemoryPort(), MemoryPort()
    runner = PortRunner(Crossover(), {0: left, 1: right})
    runner.start()
    runner.stop()
    left.put(b"late")
    runner.start()
    assert right.wait_sent(1) == [b"late"]
    runner.close()
    runner.close()


@pytest.fixture
def veth() -> Iterator[tuple[str, str]]:
    """Two ends of a virtual cable."""
    names = (f"lsa{os.getpid() % 100000}", f"lsb{os.getpid() % 100000}")
    command = ["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]]
    try:
        made = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("needs root and ip(8) to make a veth pair")
    for name in names:
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    wait_for_links(names)
    yield names
    subprocess.run(["ip", "link", "delete", names[0]], check=True)


def test_interface_that_is_not_there() -> None:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        with pytest.raises(MissingToolError):
            AfPacketPort("no-such-if0")
        return
    with pytest.raises(PortError, match="no network interface no-such-if0"):
        AfPacketPort("no-such-if0")


def test_frames_cross_a_veth_pair(veth: tuple[str, str]) -> None:
    near, memory = AfPacketPort(veth[0]), MemoryPort()
    far = AfPacketPort(veth[1])
    frame = bytes(6) + bytes.fromhex("020000000001 88b5") + bytes(range(200))
    other = frame[:14] + b"back" * 20
    with PortRunner(Crossover(), {0: near, 1: memory}):
        far.send(frame)
        # The kernel may have sent frames of its own (IPv6 neighbour discovery) over the new cable before.
        deadline = time.monotonic() + 5
        while frame not in memory.sent and time.monotonic() < deadline:
            time.sleep(0.01)
        assert frame in memory.sent
        memory.put(other)
        received: list[bytes] = []
        deadline = time.monotonic() + 5
        while other not in received and time.monotonic() < deadline:
            select.select([far], [], [], 0.1)
            received += far.receive_batch()
        assert other in received
        assert frame not in received  # what a port sent does not come back to it
    far.close()


def test_frames_that_wait_in_the_kernel(veth: tuple[str, str]) -> None:
    """Behind a link of one kilobyte a second, about as many wait as were sent."""
    slow = f"tc qdisc add dev {veth[0]} root tbf rate 8kbit burst 2000 limit 1000000"
    if shutil.which("tc") is None or subprocess.run(slow.split(), capture_output=True, check=False).returncode:
        pytest.skip("needs tc(8) and its token bucket to slow a link down")
    port = AfPacketPort(veth[0])
    try:
        assert port.backlog() == 0
        for _ in range(40):
            port.send(bytes(12) + b"\x88\xb5" + bytes(316))
        time.sleep(0.001)  # what was asked for long ago is asked for again
        assert 25 <= port.backlog() <= 40
        assert queue_depths({3: port})(3) == port.backlog()
    finally:
        port.close()


def free_address(host: str = "127.0.0.1") -> tuple[str, int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        address: tuple[str, int] = probe.getsockname()
        return address


def wait_frames(port: Port, count: int) -> list[bytes]:
    """Frames of a port, polled by its descriptor as the runner does."""
    frames: list[bytes] = []
    deadline = time.monotonic() + 10
    while len(frames) < count and time.monotonic() < deadline:
        select.select([port], [], [], 0.1)
        frames += port.receive_batch()
    return frames


def test_a_trunk_carries_whole_frames_and_survives_the_other_end() -> None:
    addresses = free_address("127.0.0.2"), free_address("127.0.0.3")
    near, far = TrunkPort(*addresses), TrunkPort(*addresses[::-1])
    frames = [bytes([n]) * 600 for n in range(100)]  # more than a window at once
    for frame in frames:
        near.send(frame)
    assert wait_frames(far, 100) == frames
    far.close()
    near.send(b"nobody is there")
    assert near.receive_batch() == []
    far = TrunkPort(*addresses[::-1])
    near.send(b"again")
    near.send(b"and again")
    assert b"and again" in wait_frames(far, 1)
    far.send(b"back")
    assert wait_frames(near, 1) == [b"back"]
    with pytest.raises(ConfigurationError, match=r"cannot use 127\.0\.0\.3"):
        TrunkPort(*addresses[::-1])
    near.close()
    far.close()


def test_the_server_sees_every_worker_at_its_own_address() -> None:
    """worker sockets (not used here) --- switch --- server port --- server, with the workers' addresses beside it."""
    server, backend = ("127.0.0.4", 19541), free_address("127.0.0.4")
    workers = tuple(free_address(host) for host in ("127.0.0.5", "127.0.0.6"))
    own = [open_udp_socket(worker, peer=server, shared=True) for worker in workers]
    port = ServerPort(ServerPortConfig((server,), (backend,), b"\6" * 6, b"\4" * 6, workers, checksums=True))
    real = open_udp_socket(backend)
    real.setblocking(True)
    real.settimeout(10)

    def frame(source: tuple[str, int], payload: bytes, to: tuple[str, int] = server) -> bytes:
        return UdpFrame(b"\4" * 6, b"\6" * 6, ipv4_int(source[0]), ipv4_int(to[0]), source[1], to[1], payload).pack(
            checksum=True
        )

    for number, worker in enumerate(workers):
        port.send(frame(worker, b"from %d" % number))
        assert real.recvfrom(100) == (b"from %d" % number, worker)
        real.sendto(b"to %d" % number, worker)
    frames = wait_frames(port, 2)
    found = [UdpFrame.unpack(one) for one in frames]
    assert [(one.payload, ipv4_text(one.source_ip), one.source_port) for one in found if one] == [
        (b"to 0", *server),
        (b"to 1", *server),
    ]
    assert [(ipv4_text(one.destination_ip), one.destination_port) for one in found if one] == list(workers)
    for sock in own:  # answers of the server itself never reach a worker past the switch
        with pytest.raises(BlockingIOError):
            sock.recv(100)
    good = frame(workers[0], b"x")
    damaged = good[:-1] + b"y"
    for bad in (frame(("127.0.0.7", 9), b"x"), frame(workers[0], b"x", ("127.0.0.8", 1)), damaged, b"short"):
        port.send(bad)
    assert port.undeliverable == 4
    port.send(good)
    assert real.recv(100) == b"x"
    real.close()
    for _ in range(3):
        port.send(good)  # the server is away
    assert port.receive_batch() == []
    real = open_udp_socket(backend)
    real.setblocking(True)
    real.settimeout(10)
    port.send(good)
    port.send(good)
    assert real.recv(100) == b"x"
    for closing in (port, real, *own):
        closing.close()
    port.close()


def test_a_worker_address_that_nobody_shares() -> None:
    worker = free_address()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(worker)
        with pytest.raises(ConfigurationError, match=f"stand in for the worker at {worker[0]}:{worker[1]}"):
            ServerPort(ServerPortConfig((("127.0.0.1", 1),), (("127.0.0.1", 2),), b"\6" * 6, b"\4" * 6, (worker,)))


def test_switches_share_the_servers_address_but_no_host() -> None:
    """As the rack switches of one run do; and a second run is told."""
    server = free_address("127.0.0.9")

    def config(host: str) -> UdpPortConfig:
        return UdpPortConfig(1, (server,), (host, server[1]), b"\6" * 6, b"\4" * 6)

    one, other = UdpPort(config("127.0.0.10")), UdpPort(config("127.0.0.11"))
    with pytest.raises(ConfigurationError, match="is taken"):
        open_udp_ports([config("127.0.0.12"), config("127.0.0.11")])
    other.close()
    ports = open_udp_ports([config("127.0.0.12"), config("127.0.0.11")])
    for port in (one, other, *ports):
        port.close()
    with open_udp_socket(server), pytest.raises(ConfigurationError, match="is taken"):
        UdpPort(config("127.0.0.10"))
    UdpPort(config("127.0.0.10")).close()


def test_a_host_writes_to_several_servers_through_one_port() -> None:
    """Each server's answers come back from its own address; what bears nobody's address is not delivered."""
    servers, host = (free_address("127.0.0.13"), free_address("127.0.0.14")), free_address("127.0.0.15")
    port = UdpPort(UdpPortConfig(1, servers, host, b"\6" * 6, b"\4" * 6))
    sockets = [open_udp_socket(host, peer=server, shared=True) for server in servers]

    def answer(source: tuple[str, int], payload: bytes) -> bytes:
        source_ip, host_ip = ipv4_int(source[0]), ipv4_int(host[0])
        return UdpFrame(b"\4" * 6, b"\6" * 6, source_ip, host_ip, source[1], host[1], payload).pack()

    for number, sock in enumerate(sockets):
        sock.send(b"to %d" % number)
    found = [UdpFrame.unpack(one) for one in wait_frames(port, 2)]
    assert {(one.payload, ipv4_text(one.destination_ip), one.destination_port) for one in found if one} == {
        (b"to %d" % number, *server) for number, server in enumerate(servers)
    }
    port.send(answer(("127.0.0.16", servers[0][1]), b"foreign"))
    port.send(answer(servers[1], b"from 1"))
    port.send(answer(servers[0], b"from 0"))
    assert port.undeliverable == 1
    assert [sock.recv(100) for sock in sockets] == [b"from 0", b"from 1"]
    for closing in (port, *sockets):
        closing.close()


def test_a_cable_leads_one_worker_to_several_servers() -> None:
    servers, worker = (("127.0.0.17", 19541), ("127.0.0.18", 19541)), free_address("127.0.0.19")
    reals = [open_udp_socket((server[0], 0)) for server in servers]
    backends = tuple(real.getsockname() for real in reals)
    port = ServerPort(ServerPortConfig(servers, backends, b"\6" * 6, b"\4" * 6, (worker,)))
    for number, server in enumerate(servers):
        source_ip, server_ip = ipv4_int(worker[0]), ipv4_int(server[0])
        frame = UdpFrame(b"\4" * 6, b"\6" * 6, source_ip, server_ip, worker[1], server[1], b"to %d" % number)
        port.send(frame.pack())
        assert reals[number].recvfrom(100) == (b"to %d" % number, worker)
        reals[number].sendto(b"from %d" % number, worker)
    found = [UdpFrame.unpack(one) for one in wait_frames(port, 2)]
    assert {(one.payload, ipv4_text(one.source_ip)) for one in found if one} == {
        (b"from 0", servers[0][0]),
        (b"from 1", servers[1][0]),
    }
    for closing in (port, *reals):
        closing.close()


def test_queue_depths_ask_the_ports_that_know() -> None:
    class Waiting(MemoryPort):
        def backlog(self) -> int:
            return 12

    ports: dict[int, Port] = {}
    depth = queue_depths(ports)
    assert depth(0) == 0
    ports.update({0: Waiting(), 1: MemoryPort()})
    assert [depth(number) for number in (0, 1, 2)] == [12, 0, 0]
    for port in ports.values():
        port.close()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports and the loop that serves them.

memory port 0 --- switch --- memory port 1
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator

import pytest

from lanesum.errors import MissingToolError
from lanesum_switch.api import PacketOut
from lanesum_switch.ports.afpacket import AfPacketPort
from lanesum_switch.ports.memory import MemoryPort
from lanesum_switch.ports.port import PortError
from lanesum_switch.ports.runner import PortRunner


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

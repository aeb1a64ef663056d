# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Ports at network interfaces."""

from __future__ import annotations

import errno
import os
import queue
import select
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from lanesum.errors import MissingToolError
from lanesum_lab.veth import wait_for_links
from lanesum_switch.ports.afpacket import AfPacketPort, opening
from lanesum_switch.ports.port import MemoryPort, PortError
from lanesum_switch.ports.runner import LinkWatch, PortRunner, queue_depths
from tests.softswitch.ports.links import Crossover
from tests.waiting import wait_until


@pytest.fixture
def veth() -> Iterator[tuple[str, str]]:
    """The two ends of a veth pair."""
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


def test_unknown_interface_raises_port_error() -> None:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        with pytest.raises(MissingToolError):
            AfPacketPort("no-such-if0")
        return
    with pytest.raises(PortError, match="Unknown network interface 'no-such-if0'"):
        AfPacketPort("no-such-if0")


def test_interface_that_is_down_is_an_error() -> None:
    with (
        pytest.raises(
            PortError, match=r"Cannot open the interface 'eth7': Network is down\. Look at it: ip link show eth7"
        ),
        opening("eth7", "Run as root."),
    ):
        raise OSError(errno.ENETDOWN, os.strerror(errno.ENETDOWN))


def test_port_sends_and_receives_over_veth(veth: tuple[str, str]) -> None:
    near, memory = AfPacketPort(veth[0]), MemoryPort()
    far = AfPacketPort(veth[1])
    frame = bytes(6) + bytes.fromhex("020000000001 88b5") + bytes(range(200))
    other = frame[:14] + b"back" * 20
    with PortRunner(Crossover(), {0: near, 1: memory}):
        far.send(frame)
        # The kernel may have sent frames of its own (IPv6 neighbour discovery) over the new link before.
        wait_until(lambda: frame in memory.sent)
        memory.put(other)
        received: list[bytes] = []
        while other not in received:  # the test's time limit ends it
            select.select([far], [], [], 0.1)
            received += far.receive_batch()
        assert frame not in received  # a port does not receive its own frames
    far.close()


def test_link_that_goes_down_and_up_is_noticed(veth: tuple[str, str]) -> None:
    seen: queue.SimpleQueue[tuple[int, bool]] = queue.SimpleQueue()
    port = AfPacketPort(veth[0])
    looked = threading.Event()

    def is_up() -> bool:
        now = port.is_up()
        looked.set()
        return now

    with LinkWatch({7: is_up}, lambda number, up: seen.put((number, up)), interval_s=0.01):
        looked.wait()
        for state in ("down", "up"):
            subprocess.run(["ip", "link", "set", veth[1], state], check=True)
            assert seen.get() == (7, state == "up")
    port.close()


def test_tagged_frame_is_received_with_its_tags(veth: tuple[str, str]) -> None:
    """The kernel takes the outer tag out of the bytes; the program must see it, and frames must stay in order."""
    near, far = AfPacketPort(veth[0]), AfPacketPort(veth[1])
    addresses, rest = b"\x02" * 12, b"\x88\xb5" + bytes(range(60))
    tags = ("", "81000005", "81000000", "", "88a80007", "8100e064", "88a8000781000005", "")
    frames = [addresses + bytes.fromhex(tag) + rest for tag in tags]
    try:
        for frame in frames:
            far.send(frame)
        received: list[bytes] = []
        while len(received) < len(frames):  # the test's time limit ends it
            select.select([near], [], [], 0.1)
            received += [frame for frame in near.receive_batch() if frame.startswith(addresses)]
        assert received == frames
    finally:
        near.close()
        far.close()


def test_backlog_behind_slow_link_counts_waiting_frames(veth: tuple[str, str]) -> None:
    """Behind a link of ten bytes a second, almost all sent frames wait."""
    slow = f"tc qdisc add dev {veth[0]} root tbf rate 80bit burst 2000 limit 1000000"
    if shutil.which("tc") is None or subprocess.run(slow.split(), capture_output=True, check=False).returncode:
        pytest.skip("needs tc(8) and its token bucket to slow a link down")
    port = AfPacketPort(veth[0])
    try:
        assert port.backlog() == 0
        for _ in range(40):
            port.send(bytes(12) + b"\x88\xb5" + bytes(316))
        time.sleep(0.001)  # longer than a measured backlog is used
        assert 25 <= port.backlog() <= 40
        assert queue_depths({3: port})(3) == port.backlog()
    finally:
        port.close()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Datagrams in batches over loopback, with and without super-packets at either end."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum_lab.veth import obstacle

HOST = "127.0.0.1"
CONGESTED = 0x03
ECN_CAPABLE = 0x02
LARGEST = 65507
UDP_GRO = 104  # linux/udp.h


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two sockets connected to each other."""
    left, right = open_udp_socket((HOST, 0)), open_udp_socket((HOST, 0))
    left.connect(right.getsockname())
    right.connect(left.getsockname())
    yield left, right
    left.close()
    right.close()


def datagrams(*sizes: int) -> list[bytes]:
    """Return datagrams that begin with their numbers, cut to their sizes."""
    return [(number.to_bytes(2, "big") + bytes(size))[:size] for number, size in enumerate(sizes)]


def take(receiver: Any, count: int) -> list[tuple[bytes, tuple[str, int], bool]]:
    """Receive ``count`` datagrams; loopback delivers before a send returns, other devices slightly later."""
    taken = receiver.receive()
    while len(taken) < count:
        more = receiver.receive()
        assert receiver.error == 0
        if not more:
            time.sleep(0.001)
        taken += more
    return taken


def send(sender: Any, batch: list[bytes], to: tuple[str, int] | None = None) -> int:
    for one in batch:
        sender.add(one, to)
    result: int = sender.flush()
    return result


SIZES = {
    "equal": (1400,) * 40,
    "last shorter": (1400,) * 10 + (9,),
    "unequal": (100, 200, 200, 200, 50, 50, 300, 7, 7, 100),
    "one": (1056,),
    "more than a super-packet holds": (32,) * 200,
    "larger than half a super-packet": (40_000,) * 3,
    "empty": (0, 0, 5, 0, 5),
    "largest": (LARGEST, LARGEST),
}


@pytest.mark.parametrize(("gso", "gro"), list(product((False, True), repeat=2)))
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_datagrams_arrive_whole_and_in_order(
    native: Any, pair: tuple[socket.socket, socket.socket], sizes: tuple[int, ...], gso: bool, gro: bool
) -> None:
    left, right = pair
    sender, receiver = native.DatagramSender(left.fileno(), gso), native.DatagramReceiver(right.fileno(), 16, gro)
    sent = datagrams(*sizes)
    assert send(sender, sent) == 0
    taken = take(receiver, len(sent))
    assert [one for one, _, _ in taken] == sent
    assert {address for _, address, _ in taken} == {left.getsockname()}
    assert sender.gso is gso
    assert receiver.gro is gro
    assert receiver.receive() == []
    assert receiver.error == 0


@pytest.mark.parametrize("size", [32, 1056, 20_000])
def test_plain_socket_receives_split_super_packets(
    native: Any, pair: tuple[socket.socket, socket.socket], size: int
) -> None:
    left, right = pair
    sent = datagrams(*(size,) * 30)
    sender = native.DatagramSender(left.fileno(), True)
    assert send(sender, sent) == 0
    assert [right.recv(65536) for _ in sent] == sent
    with pytest.raises(BlockingIOError):
        right.recv(65536)
    assert sender.gso


def test_joining_receiver_receives_plain_datagrams(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    receiver = native.DatagramReceiver(right.fileno(), 4, True)
    sent = datagrams(500, 500, 20, 500)
    for one in sent:
        left.send(one)
    assert [one for one, _, _ in take(receiver, len(sent))] == sent


def test_super_packet_is_one_message_of_batch(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    # Proves that they were joined: two messages hold 128 datagrams.
    left, right = pair
    sender, receiver = native.DatagramSender(left.fileno(), True), native.DatagramReceiver(right.fileno(), 2, True)
    sent = datagrams(*(100,) * 128)
    send(sender, sent)
    assert [one for one, _, _ in receiver.receive()] == sent
    assert receiver.full
    assert receiver.receive() == []
    assert not receiver.full


def test_super_packets_hold_one_run_each(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    sender = native.DatagramSender(left.fileno(), True)
    right.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    for run, packets in enumerate((5, 3, 4)):
        for _ in range(packets):
            sender.add(bytes(100), run=run)
    assert sender.flush() == 0
    assert [len(right.recv(65536)) for _ in range(3)] == [500, 300, 400]


@pytest.mark.parametrize("gso", [False, True])
def test_datagrams_reach_their_receivers(native: Any, gso: bool) -> None:
    sockets = [open_udp_socket((HOST, 0)) for _ in range(3)]
    source = open_udp_socket((HOST, 0))
    try:
        sender = native.DatagramSender(source.fileno(), gso)
        order = [0, 0, 1, 0, 2, 2, 2, 1, 1, 0]
        sent = datagrams(*(64,) * len(order))
        for one, number in zip(sent, order, strict=True):
            sender.add(one, sockets[number].getsockname())
        assert sender.flush() == 0
        for number, sock in enumerate(sockets):
            receiver = native.DatagramReceiver(sock.fileno(), 8, gso)
            own = [one for one, place in zip(sent, order, strict=True) if place == number]
            assert [one for one, _, _ in take(receiver, len(own))] == own
    finally:
        for sock in (*sockets, source):
            sock.close()


def test_only_datagrams_that_may_be_joined_are(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    right.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    sender = native.DatagramSender(left.fileno(), True)
    for one, joined in zip(datagrams(*(100,) * 8), (True, True, False, False, True, False, True, True), strict=True):
        sender.add(one, None, joined)
    assert sender.flush() == 0
    assert [len(right.recv(LARGEST)) for _ in range(6)] == [200, 100, 100, 100, 100, 200]


@pytest.mark.parametrize("gro", [False, True])
def test_ecn_marks_belong_to_their_datagrams(native: Any, pair: tuple[socket.socket, socket.socket], gro: bool) -> None:
    left, right = pair
    right.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    receiver = native.DatagramReceiver(right.fileno(), 16, gro)
    sender = native.DatagramSender(left.fileno(), True)
    for tos in (ECN_CAPABLE, CONGESTED, 0):
        left.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        send(sender, datagrams(200, 200, 200))
    assert [congested for _, _, congested in take(receiver, 9)] == [False] * 3 + [True] * 3 + [False] * 3


def test_closed_port_loses_datagrams_without_error(native: Any) -> None:
    gone = open_udp_socket((HOST, 0))
    address = gone.getsockname()
    gone.close()
    source = open_udp_socket((HOST, 0), peer=address)
    sender, receiver = native.DatagramSender(source.fileno(), True), native.DatagramReceiver(source.fileno(), 4, True)
    sent = datagrams(100, 200, 300, 400)
    try:
        for _ in range(20):
            assert send(sender, sent) == 0  # each call reports the ICMP error of the one before
            assert receiver.receive() == []
            assert receiver.error == 0
        assert sender.gso
        back = open_udp_socket(address)
        assert send(sender, sent) == 0
        assert [back.recv(1000) for _ in sent] == sent
        back.close()
    finally:
        source.close()


def test_full_receive_buffer_loses_datagrams(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    right.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sender, receiver = native.DatagramSender(left.fileno(), False), native.DatagramReceiver(right.fileno(), 64, False)
    sent = datagrams(*(1000,) * 200)
    assert send(sender, sent) == 0
    taken = [one for one, _, _ in receiver.receive()]
    assert taken == sent[: len(taken)]
    assert 0 < len(taken) < len(sent)


def test_too_large_datagram_is_lost_alone(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    sender, receiver = native.DatagramSender(left.fileno(), True), native.DatagramReceiver(right.fileno(), 8, True)
    before, after = datagrams(10, 10)
    assert send(sender, [before, bytes(LARGEST + 1), after]) == 0
    assert [one for one, _, _ in take(receiver, 2)] == [before, after]


def test_refused_super_packets_are_sent_one_by_one(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    left.setsockopt(socket.SOL_SOCKET, 11, 1)  # SO_NO_CHECK: the kernel does not segment without a checksum
    sender, receiver = native.DatagramSender(left.fileno(), True), native.DatagramReceiver(right.fileno(), 16, True)
    sent = datagrams(7, *(100,) * 50, 3, 4)
    assert send(sender, sent) == 0
    assert not sender.gso
    assert [one for one, _, _ in take(receiver, len(sent))] == sent
    assert send(sender, sent) == 0
    assert [one for one, _, _ in take(receiver, len(sent))] == sent


@pytest.mark.parametrize("gso", [False, True])
def test_closed_socket_reports_errno(native: Any, gso: bool) -> None:
    sock = open_udp_socket((HOST, 0), peer=(HOST, 9))
    sender, receiver = native.DatagramSender(sock.fileno(), gso), native.DatagramReceiver(sock.fileno(), 8, gso)
    sock.close()
    assert send(sender, datagrams(100, 100, 5)) == errno.EBADF
    assert receiver.receive() == []
    assert receiver.error == errno.EBADF


def test_error_of_one_receiver_does_not_stop_others(native: Any) -> None:
    source = open_udp_socket((HOST, 0))
    near = open_udp_socket((HOST, 0))
    try:
        sender = native.DatagramSender(source.fileno(), True)
        sender.add(b"to no port", ("0.0.0.0", 0))  # port 0 is invalid
        sender.add(b"to a port", near.getsockname())
        assert sender.flush() == errno.EINVAL
        assert near.recv(100) == b"to a port"
        assert sender.gso
    finally:
        near.close()
        source.close()


def test_sockets_stay_open_after_sender_and_receiver(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    left, right = pair
    descriptors = Path("/proc/self/fd")
    before = sorted(os.listdir(descriptors))
    for _ in range(10):
        sender = native.DatagramSender(left.fileno(), True)
        receiver = native.DatagramReceiver(right.fileno(), 8, True)
        send(sender, datagrams(10, 10))
        assert len(take(receiver, 2)) == 2
        native.probe_offload(left.fileno())
        del sender, receiver
    assert sorted(os.listdir(descriptors)) == before
    left.send(b"still open")
    assert right.recv(100) == b"still open"


def test_probe_offload_accepts_loopback(native: Any, pair: tuple[socket.socket, socket.socket]) -> None:
    allowed, reason = native.probe_offload(pair[0].fileno())
    assert allowed
    assert "loopback" in reason
    other = open_udp_socket(("127.3.2.1", 0))
    assert native.probe_offload(other.fileno())[0]
    other.close()


@pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "namespaces can be made")
def test_probe_offload_refuses_software_devices(native: Any) -> None:
    tap = Path("/dev/net/tun").exists()  # some kernels have none
    addresses = ("10.9.0.1", "10.9.1.1", *(["10.9.2.1"] if tap else []), HOST)
    program = f"""
import socket, subprocess
from lanesum_native import _core
for command in (
    "ip link add v0 type veth peer name v1",
    "ip link add b0 type bridge",
    "ip addr add 10.9.0.1/24 dev v0",
    "ip addr add 10.9.1.1/24 dev b0",
    *(("ip tuntap add t0 mode tap", "ip addr add 10.9.2.1/24 dev t0") if {tap} else ()),
    "ip link set lo up",
    "ip link set v0 up",
    "ip link set b0 up",
):
    subprocess.run(command.split(), check=True)
for address in {addresses}:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, 0))
        print(_core.probe_offload(sock.fileno())[0])
"""
    environment = os.environ | {"PYTHONPATH": str(Path(native.__file__).parents[1])}
    command = ["unshare", "--net", sys.executable, "-c", program]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert ran.stdout.split() == ["False"] * (len(addresses) - 1) + ["True"]


def test_probe_offload_refuses_socket_without_device(native: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as everywhere:
        assert not native.probe_offload(everywhere.fileno())[0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        assert not native.probe_offload(other.fileno())[0]

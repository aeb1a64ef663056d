# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Selection of a socket by the slot of a packet."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

import pytest

from lanesum._internal.udp_socket import open_udp_socket
from lanesum.protocol import steering
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import MAX_SLOTS, SLOT_RUN, SLOT_SHARES
from tests.free_ports import LOCALHOST


@pytest.fixture
def steered() -> Iterator[list[socket.socket]]:
    """Three sockets at one address, of which the kernel selects one by slot."""
    opened = [open_udp_socket((LOCALHOST, 0), reuse_port=True)]
    opened += [open_udp_socket(opened[0].getsockname(), reuse_port=True) for _ in range(2)]
    assert steering.steer(opened) is None
    yield opened
    for sock in opened:
        sock.close()


def receiver_of(datagram: bytes, opened: list[socket.socket]) -> int:
    """Send a datagram from a new socket, and return the index of the socket that receives it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(datagram, opened[0].getsockname())
        (readable,), _, _ = select.select(opened, [], [])
    assert readable.recv(100) == datagram
    return opened.index(readable)


@pytest.mark.parametrize("jobs", [True, False])
@pytest.mark.parametrize("servers", [1, 3, 256])
def test_steered_packet_reaches_socket_of_its_slot(steered: list[socket.socket], servers: int, jobs: bool) -> None:
    assert steering.steer(steered, servers, jobs=jobs) is None
    for job in (0, 1, 7, 0xFFFF):
        for slot in (0, SLOT_RUN - 1, SLOT_RUN, 1000, MAX_SLOTS - 1):
            # All other fields are ones: the program must not read them.
            others = {"shadow": 1, "op": 255, "flags": 255, "tag": 2**32 - 1, "chunk": 2**32 - 1, "spare": 255}
            header = Header(job=job, slot=slot, **others)
            run = slot // (SLOT_RUN * servers)
            assert receiver_of(header.pack(), steered) == (job * jobs + (run + run // 4) % SLOT_SHARES) % 3


@pytest.mark.parametrize("size", [0, 1, 16, 19])
def test_datagram_without_slot_reaches_first_socket(steered: list[socket.socket], size: int) -> None:
    assert receiver_of(b"\xff" * size, steered) == 0


def test_kernel_refusal_is_returned() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as alone:
        alone.bind((LOCALHOST, 0))
        refused = steering.steer([alone] * 2)  # not bound with SO_REUSEPORT
    assert isinstance(refused, OSError)

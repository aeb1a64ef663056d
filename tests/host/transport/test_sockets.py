# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker's sockets: one address, one socket per server, every contribution to the server of its slot."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Iterator

import pytest

from lanesum._internal.udp_socket import Address, open_udp_socket
from lanesum.protocol.packet import Header, server_of
from lanesum.protocol.spec import MAX_SLOTS
from lanesum.transport.sockets import ServerSockets

LOCALHOST = "127.0.0.1"


@pytest.fixture
def servers() -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(open_udp_socket((LOCALHOST, 0))) for _ in range(3)]


def addresses(servers: list[socket.socket]) -> list[Address]:
    return [server.getsockname() for server in servers]


def take(sockets: ServerSockets, seconds: float = 200.0) -> bytes:
    """Return the next datagram; wait for it at the descriptors, as a transport does."""
    poll = select.poll()
    for descriptor in sockets.filenos():
        poll.register(descriptor, select.POLLIN)
    assert poll.poll(seconds * 1000), "no datagram arrived"
    buffer = bytearray(100)
    return bytes(buffer[: sockets.receive_into(buffer)])


def received(server: socket.socket) -> list[tuple[bytes, Address]]:
    """Return the datagrams that have arrived: on loopback, when ``send`` has returned."""
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(server.recvfrom(100))
    return found


@pytest.mark.parametrize("shadow", [0, 1])
def test_server_of_slot_is_independent_of_shadow_set(shadow: int) -> None:
    for slot in (0, 1, 2, 3, 255, 256, MAX_SLOTS - 1):
        assert server_of(Header(slot=slot, shadow=shadow).pack(), 3) == slot % 3
        assert server_of(memoryview(Header(slot=slot, shadow=shadow).pack()), 1) == 0


def test_contributions_from_one_address_reach_server_of_slot(servers: list[socket.socket]) -> None:
    with ServerSockets((LOCALHOST, 0), addresses(servers)) as sockets:
        sent = [Header(slot=slot, shadow=slot % 2).pack() for slot in range(7)]
        for datagram in sent:
            sockets.send(datagram)
        for number, server in enumerate(servers):
            assert received(server) == [(datagram, sockets.local) for datagram in sent[number::3]]
    assert sockets.local[1] != 0


def test_servers_take_turns_and_other_senders_are_ignored(servers: list[socket.socket]) -> None:
    with ServerSockets((LOCALHOST, 0), addresses(servers)) as sockets, open_udp_socket((LOCALHOST, 0)) as outsider:
        outsider.sendto(b"outsider", sockets.local)
        for number in range(40):
            servers[0].sendto(b"first %d" % number, sockets.local)
        servers[2].sendto(b"last", sockets.local)
        taken = [take(sockets) for _ in range(41)]
        assert [one for one in taken if one != b"last"] == [b"first %d" % number for number in range(40)]
        assert taken.index(b"last") < 40, "a busy server delays the others"
        with pytest.raises(BlockingIOError):
            sockets.receive_into(bytearray(100))
        servers[1].sendto(b"later", sockets.local)
        assert take(sockets) == b"later"


def test_unreachable_server_hides_no_answer_of_another(servers: list[socket.socket]) -> None:
    """The ICMP error is reported once, in the next call on that socket; the call after that returns the answer."""
    destinations = addresses(servers)
    servers[0].close()
    with ServerSockets((LOCALHOST, 0), destinations) as sockets:
        sockets.send(Header(slot=0).pack())
        servers[1].sendto(b"here", sockets.local)
        with pytest.raises(ConnectionRefusedError):
            take(sockets)
        assert take(sockets) == b"here"


def test_sockets_share_their_address_exclusively(servers: list[socket.socket]) -> None:
    with ServerSockets((LOCALHOST, 0), addresses(servers)) as sockets:
        with pytest.raises(OSError, match="in use"):
            ServerSockets(sockets.local, addresses(servers))
        with pytest.raises(OSError, match="in use"):
            open_udp_socket(sockets.local)
    ServerSockets(sockets.local, addresses(servers)).close()  # nothing was left open


def test_sockets_share_address_with_switch(servers: list[socket.socket]) -> None:
    with (
        open_udp_socket(("127.0.0.9", 0), shared=True) as stand_in,
        ServerSockets(stand_in.getsockname(), addresses(servers), shared=True) as sockets,
    ):
        assert sockets.local == stand_in.getsockname()


def test_sockets_mark_datagrams_ecn_capable(servers: list[socket.socket]) -> None:
    for ecn, expected in ((True, 0x02), (False, 0)):
        opened: list[socket.socket] = []

        def remember(sock: socket.socket, opened: list[socket.socket] = opened) -> socket.socket:
            opened.append(sock)
            return sock

        with ServerSockets((LOCALHOST, 0), addresses(servers), ecn=ecn, wrap_socket=remember):
            assert [sock.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) for sock in opened] == [expected] * 3
        assert all(sock.fileno() == -1 for sock in opened)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections of a quorum: who is lost, and who is let in."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Iterator

import pytest

from lanesum.joining import NotReadyError
from lanesum.torchft.peers import QuorumConnections
from tests.free_ports import LOCALHOST, free_address

KEY = b"twelve bytes"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((LOCALHOST, 0)) as made:
        yield made


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_every_rank_learns_who_is_lost(listener: socket.socket, lost: int) -> None:
    others = [QuorumConnections.connect(listener.getsockname(), rank, KEY, 5) for rank in (1, 2)]
    ranks = [QuorumConnections.accept(listener, 3, KEY, 5), *others]
    told: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    for rank, peers in enumerate(ranks):
        peers.start(lambda gone, rank=rank: told.put((rank, gone)))
    ranks[lost].close()
    found = {told.get(timeout=5) for _ in range(2)}
    assert found == {(rank, lost) for rank in range(3) if rank != lost}
    for peers in ranks:
        peers.close()
    assert told.empty()


def test_foreign_connections_are_closed(listener: socket.socket) -> None:
    address = listener.getsockname()
    foreign_ends = [socket.create_connection(address) for _ in range(4)]
    texts = (b"", b"GET / HTTP/1.1\r\n\r\n", b"a wrong keyy" + bytes([0, 0, 0, 1]), KEY + bytes([0, 0, 0, 9]))
    for foreign_end, text in zip(foreign_ends, texts, strict=True):
        foreign_end.sendall(text)
    made = []
    thread = threading.Thread(target=lambda: made.append(QuorumConnections.accept(listener, 2, KEY, 10)))
    thread.start()
    with QuorumConnections.connect(address, 1, KEY, 5):
        thread.join(10)
        assert len(made) == 1
        made[0].close()
    for foreign_end in foreign_ends:
        with foreign_end, contextlib.suppress(ConnectionResetError):  # unread bytes reset a connection
            assert foreign_end.recv(1) == b""


def test_second_connection_of_a_rank_is_not_used(listener: socket.socket) -> None:
    first, again = (QuorumConnections.connect(listener.getsockname(), 1, KEY, 5) for _ in range(2))
    with (
        first,
        again,
        pytest.raises(NotReadyError, match=r"Rank 2 of the quorum has not connected to rank 0 within 0\.3 s"),
    ):
        QuorumConnections.accept(listener, 3, KEY, 0.3)


def test_rank_zero_that_does_not_listen_is_named() -> None:
    with pytest.raises(NotReadyError, match=r"Rank 1 of the quorum cannot connect to rank 0 at 127\.0\.0\.1"):
        QuorumConnections.connect(free_address(kind=socket.SOCK_STREAM), 1, KEY, 1)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at the connections of a service, between what the event loop and other peers do meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from lanesum.rpc import connections as module
from lanesum.rpc.connections import Connections, _peer
from lanesum.rpc.limits import Limits
from lanesum.rpc.serving import JsonService
from tests.waiting import wait_until

LIMITS = Limits(blamed=2, unknown_bytes=0)


class Site:
    """A listener, and its connections as its service would look at them."""

    def __init__(self, listener: socket.socket, stack: contextlib.ExitStack) -> None:
        self._listener, self._stack = listener, stack
        self.connections = Connections(listener.getsockname()[1], LIMITS)

    def connect(self, port: int = 0, *, sent: int = 0) -> tuple[socket.socket, str]:
        """Return a new connection from a port, with its peer as gRPC names it, once bytes have arrived."""
        one = self._stack.enter_context(socket.socket())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", port))
        one.connect(self._listener.getsockname())
        accepted, address = self._listener.accept()
        self._stack.enter_context(accepted)
        one.sendall(b"x" * sent)
        wait_until(lambda: module._received_bytes(accepted) >= sent)
        return accepted, _peer(address)


@pytest.fixture
def site() -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        yield Site(stack.enter_context(socket.create_server(("127.0.0.1", 0))), stack)


def blame(connections: Connections, peer: str) -> None:
    for _ in range(6):  # the host of an ended connection is blamed at the fifth
        connections.blame(peer)
    assert connections.is_ended(peer)


def test_new_connection_of_an_ended_port_stays(site: Site) -> None:
    """A translator of addresses with few ports uses one again at once. All further connections of it were ended."""
    accepted, peer = site.connect()
    port = accepted.getpeername()[1]
    blame(site.connections, peer)
    assert site.connections.look(set(), is_due=True) == 1
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # no TIME_WAIT
    accepted.close()
    again, same = site.connect(port)
    assert same == peer
    assert site.connections.look(set(), is_due=True) == 0
    assert not site.connections.is_ended(peer)
    blame(site.connections, peer)
    assert site.connections.look(set(), is_due=True) == 1
    assert again.recv(1) == b""


def test_trust_survives_look_without_descriptors(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look missed connections that it had no descriptor for, and forgot that their calls were identified."""
    accepted, peer = site.connect(sent=1 << 15)
    site.connections.trust(peer)

    def none_left(file: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "dup", none_left)
        with pytest.raises(OSError, match="Too many open files"):
            site.connections.look(set(), is_due=True)
    assert site.connections.look(set(), is_due=True) == 0
    assert accepted.getpeername()


def test_time_noted_while_forgetting_stays() -> None:
    times = {"old": 1.0, "again": 1.0}

    def is_past(name: str, time_s: float) -> bool:
        if name == "again":
            times[name] = 2.0  # by the event loop
        return time_s < 2.0

    module._forget(times, is_past)
    assert times == {"again": 2.0}


def test_look_due_after_a_wait_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blame between the end of a wait and the next step was forgotten until the next regular look."""

    class Late(threading.Event):
        came = False

        def wait(self, timeout: float | None = None) -> bool:
            if self.came:
                return super().wait(timeout)
            self.came = True
            self.set()
            return False

    looks: list[bool] = []

    def look(_busy: object, *, is_due: bool) -> int:
        looks.append(is_due)
        return 0

    with JsonService("127.0.0.1:0", "test.Service", {"Echo": lambda message, _: message}, owner="test") as service:
        monkeypatch.setattr(service._connections, "look", look)
        service._connections.due = Late()
        wait_until(lambda: True in looks)

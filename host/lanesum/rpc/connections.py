# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections of a gRPC server: their number for each host, and the end of dead and of hostile ones.

gRPC bounds the number of connections for all hosts together. Its pings are answered by the process at the other end,
which may be stopped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

from lanesum.rpc.limits import Limits, host_of

_FILES = "/proc/self/fd"
# TCP probes a silent connection this often, and ends it when the host has not acknowledged for the second time. The
# kernel acknowledges for a process that is stopped; the connection of a process that has ended is closed by its kernel.
PROBE_AFTER_S, HOST_DEAD_S = 5, 15
_SILENT_S = PROBE_AFTER_S + 2
_LAST_ANSWER_MS = struct.Struct("56xI")  # tcpi_last_ack_recv of struct tcp_info
# Bytes that wait for gRPC at one connection. It reads them at once, and holds them a second time in plain text.
_BUFFER_BYTES = 1 << 15
_RECEIVED_BYTES = struct.Struct("128xQ")  # tcpi_bytes_received
# A process that uses less of a processor is not flooded, and looks at its connections after the second time. A look is
# followed by a pause of many times its duration.
_BUSY_SHARE, _IDLE_LOOK_S, _PAUSE = 0.02, 0.5, 10
_FORGIVE_S = 1.0  # after which one call less is blamed
# Bytes that a connection may send before its first identified call: a handshake with certificates needs them.
_HANDSHAKE_BYTES = 1 << 14
# A host with a connection that was ended may send no more than these, and has a smaller bound for blamed calls.
_SUSPECT_S, _SUSPECT_BLAMED = 10.0, 4
_MAX_KNOWN = 1 << 16


def probe_hosts(port: int) -> None:
    """Let TCP end the connections to hosts that are dead or cut off, and bound what waits at each of them.

    Connections inherit it from their listener.

    Call it before connections are accepted. ``port``: port of the service in this process.
    """
    for name in os.listdir(_FILES):
        with contextlib.suppress(OSError), _duplicate(int(name)) as one:
            if not _is_of_port(one, port):
                continue
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in (
                (socket.TCP_KEEPIDLE, PROBE_AFTER_S),
                (socket.TCP_KEEPINTVL, PROBE_AFTER_S),
                (socket.TCP_KEEPCNT, HOST_DEAD_S // PROBE_AFTER_S),
                (socket.TCP_USER_TIMEOUT, 1000 * HOST_DEAD_S),
            ):
                one.setsockopt(socket.IPPROTO_TCP, option, value)


def cut_off_peers(port: int) -> set[str]:
    """Return the peers, as gRPC names them, whose hosts have left a probe of TCP without an answer."""
    found = set()
    for name in os.listdir(_FILES):
        with contextlib.suppress(OSError), _duplicate(int(name)) as one:
            if _is_of_port(one, port):
                information = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_ANSWER_MS.size)
                if _LAST_ANSWER_MS.unpack(information)[0] > 1000 * _SILENT_S:
                    found.add(_peer(one.getpeername()))
    return found


@dataclass(frozen=True, slots=True)
class _Open:
    """An open connection: its descriptor, inode, peer as gRPC names it, and the bytes that it has received."""

    file: int
    inode: int
    peer: str
    received: int


class Connections:
    """Open connections of a service, of which those are ended that cost others too much.

    gRPC reads as fast as a peer sends, and never ends a connection for what it sends. It holds up to 128 bytes for each
    byte of headers, and has no bound for them. So a look at all connections ends those that have sent most without an
    identified call, and those whose calls were refused or cancelled too often. A look costs time itself: an idle
    process looks seldom. ``trust`` and ``blame`` are for the event loop, ``look`` is for one thread.

    Args:
        port: port of the service in this process.
        limits: its bounds.

    Attributes:
        due: set when a look should not wait.
    """

    def __init__(self, port: int, limits: Limits) -> None:
        self._port, self._limits = port, limits
        self.due = threading.Event()
        self._trusted: dict[str, float] = {}  # when a call of a peer was identified
        self._blamed: dict[str, float] = {}  # when the blame of a peer is forgotten
        # Peers whose connections end or have ended, until when it is of interest, and the inode; 0 before a look.
        self._ended: dict[str, tuple[float, int]] = {}
        self._suspects: dict[str, float] = {}  # hosts with a connection that was ended, and until when
        self._looked_s, self._used_s = time.monotonic(), time.process_time()
        self._due_s = {True: 0.0, False: 0.0}  # time of the next look, of a busy process and of an idle one

    def trust(self, peer: str) -> None:
        """Note that a call of a peer was identified."""
        self._trusted[peer] = time.monotonic()

    def blame(self, peer: str) -> None:
        """Count a call that was refused for want of identity, or ended before its message."""
        if not self._port:  # all peers of a unix socket have one name
            return
        now, limits = time.monotonic(), self._limits
        burst = _SUSPECT_BLAMED if host_of(peer) in self._suspects else limits.blamed
        due = max(self._blamed.get(peer, 0.0), now) + _FORGIVE_S
        self._blamed[peer] = due
        if due > now + burst * _FORGIVE_S:
            self._ended[peer] = now + _SUSPECT_S, 0
            self.due.set()

    def is_ended(self, peer: str) -> bool:
        """Return True if the connection of a peer is ended. Thousands of its calls may still wait."""
        return peer in self._ended

    def look(self, busy: Container[str], *, is_due: bool) -> int:
        """End connections; return their number. Raises OSError without descriptors.

        ``busy``: peers with a call; ``is_due``: look at all connections now.
        """
        now, used = time.monotonic(), time.process_time()
        is_busy = used - self._used_s > _BUSY_SHARE * (now - self._looked_s)
        self._looked_s, self._used_s = now, used
        if not is_due and now < self._due_s[is_busy] and max(len(self._trusted), len(self._blamed)) <= _MAX_KNOWN:
            return 0
        opened = self._opened()
        unwanted = self._unwanted(opened)
        if len(opened) >= self._limits.connections - self._limits.connections // 8:
            unwanted += self._beyond_share(opened, busy)
        peers = {one.peer for one in opened}
        # The event loop adds to these meanwhile, also peers that were not connected yet when the look began.
        _forget(self._trusted, lambda peer, since: since < now and peer not in peers)
        _forget(self._blamed, lambda _, due: due <= now)
        _forget(self._suspects, lambda _, until: until <= now)
        _forget(self._ended, lambda peer, ended: ended[0] <= now and peer not in peers)
        closed = sum(_end(one) for one in {one.peer: one for one in unwanted}.values())
        done_s = time.monotonic()
        pause_s = _PAUSE * (done_s - now)
        self._due_s = {True: done_s + pause_s, False: done_s + max(_IDLE_LOOK_S, pause_s)}
        return closed

    def _opened(self) -> list[_Open]:
        found = []
        for name in os.listdir(_FILES):
            try:
                with _duplicate(int(name)) as one:
                    if _is_of_port(one, self._port):
                        peer, inode = _peer(one.getpeername()), os.fstat(one.fileno()).st_ino
                        found.append(_Open(int(name), inode, peer, _received_bytes(one)))
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):  # those that it does not see would lose their trust
                    raise
        return found

    def _unwanted(self, opened: list[_Open]) -> list[_Open]:
        """Return the connections that misuse the service; their hosts are suspects from then on."""
        found = []
        for one in [one for one in opened if one.peer in self._ended]:
            if self._ended[one.peer][1] in (0, one.inode):
                found.append(one)
            else:  # another connection, which has its port by now
                del self._ended[one.peer]
                self._blamed.pop(one.peer, None)
        beyond = 0  # bytes of the connections that have sent least
        for one in sorted(opened, key=lambda one: one.received):
            if one.peer not in self._trusted and one.received > _HANDSHAKE_BYTES:
                beyond += one.received - _HANDSHAKE_BYTES
                if beyond > self._limits.unknown_bytes or host_of(one.peer) in self._suspects:
                    found.append(one)
        for one in found:
            self._suspects[host_of(one.peer)] = until = time.monotonic() + _SUSPECT_S
            self._ended[one.peer] = until, one.inode
        return found

    def _beyond_share(self, opened: list[_Open], busy: Container[str]) -> list[_Open]:
        """Return the oldest connections without a call, of hosts with more than their share."""
        found: defaultdict[str, list[_Open]] = defaultdict(list)
        for one in opened:
            found[host_of(one.peer)].append(one)
        share = min(self._limits.connections_of_host, self._limits.connections // 4)
        # Every processor numbers its sockets in their order, so this is nearly that of their age.
        oldest = (sorted(some, key=lambda one: one.inode)[: max(0, len(some) - share)] for some in found.values())
        return [one for some in oldest for one in some if one.peer not in busy]


def _forget(times: dict[str, Any], is_past: Callable[[str, Any], bool]) -> None:
    for name, noted in tuple(times.items()):
        if is_past(name, noted) and (taken := times.pop(name)) != noted:
            times.setdefault(name, taken)  # noted again meanwhile


def _end(one: _Open) -> bool:
    """End a connection; return False if it has ended, and its descriptor may be another file's by now."""
    with contextlib.suppress(OSError), _duplicate(one.file) as connection:
        if _peer(connection.getpeername()) == one.peer:
            connection.shutdown(socket.SHUT_RDWR)
            return True
    return False


def _received_bytes(one: socket.socket) -> int:
    information = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_BYTES.size)
    return int(_RECEIVED_BYTES.unpack(information)[0])


def _is_of_port(one: socket.socket, port: int) -> bool:
    return (
        one.family in (socket.AF_INET, socket.AF_INET6)
        and one.type == socket.SOCK_STREAM
        and one.getsockname()[1] == port
    )


def _duplicate(file: int) -> socket.socket:
    """Return a second descriptor of a socket, which stays the same if gRPC closes the first. Raises OSError."""
    copy = os.dup(file)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _peer(address: tuple[str, int]) -> str:
    host = address[0].removeprefix("::ffff:")
    return f"ipv6:[{host}]:{address[1]}" if ":" in host else f"ipv4:{host}:{address[1]}"

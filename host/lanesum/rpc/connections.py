# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections of a gRPC server: their number for each host, and the end of those to hosts that are dead.

gRPC bounds the number of connections for all hosts together. Its pings are answered by the process at the other end,
which may be stopped.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections import defaultdict
from collections.abc import Container

from lanesum.rpc.limits import Limits, host_of

_FILES = "/proc/self/fd"
# TCP probes a silent connection this often, and ends it when the host has not acknowledged for the second time. The
# kernel acknowledges for a process that is stopped; the connection of a process that has ended is closed by its kernel.
PROBE_AFTER_S, HOST_DEAD_S = 5, 15
_SILENT_S = PROBE_AFTER_S + 2
_LAST_ANSWER_MS = struct.Struct("56xI")  # tcpi_last_ack_recv of struct tcp_info


def probe_hosts(port: int) -> None:
    """Let TCP end the connections to hosts that are dead or cut off; connections inherit it from their listener.

    Call it before connections are accepted. ``port``: port of the service in this process.
    """
    for name in os.listdir(_FILES):
        with contextlib.suppress(OSError), _duplicate(int(name)) as one:
            if not _is_of_port(one, port):
                continue
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


def make_room(port: int, limits: Limits, busy: Container[str]) -> int:
    """Close the oldest connections without a call, of hosts with more than their share, if few others find room.

    Args:
        port: port of the service in this process.
        limits: its bounds.
        busy: peers with a call, as gRPC names them.

    Returns the number of closed connections.
    """
    full = limits.connections - limits.connections // 8
    if len(os.listdir(_FILES)) < full:
        return 0
    found: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for name in os.listdir(_FILES):
        with contextlib.suppress(OSError), _duplicate(int(name)) as one:
            if _is_of_port(one, port):
                peer = _peer(one.getpeername())
                # Every processor numbers its sockets in their order, so this is nearly that of their age.
                found[host_of(peer)].append((os.fstat(one.fileno()).st_ino, int(name), peer))
    if sum(map(len, found.values())) < full:
        return 0
    share = min(limits.connections_of_host, limits.connections // 4)
    closed = 0
    for connections in found.values():
        for _, file, peer in sorted(connections)[: max(0, len(connections) - share)]:
            if peer not in busy:
                with contextlib.suppress(OSError), _duplicate(file) as one:
                    if _peer(one.getpeername()) == peer:  # the number may be another file's by now
                        one.shutdown(socket.SHUT_RDWR)
                        closed += 1
    return closed


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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds of a gRPC server, for all callers together and for each of them."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass

from lanesum.rpc.caller import Caller

#: Streams that a service answers at once: for jobs of 1,024 workers of two tenants, two for each worker.
MAX_STREAMS = 4096
_MAX_IDLE_SHARES = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a server. A caller is a name at an address.

    Attributes:
        connections: open connections, and at most seven eighths of the files that the process may open.
        connections_of_host: connections of one host that stay when less than an eighth is free; at most a quarter.
        calls: open calls.
        silent: calls of one caller whose message has not arrived; one more ends the oldest.
        waiting: calls of one caller whose message has arrived, without streams; one more is refused.
        streams: open streams.
        streams_of_caller: those of one caller.
        rate: calls of one caller per second; those beyond are delayed.
        burst: calls of one caller that are not delayed after a pause.
        message_bytes: length of a message.
        message_s: time in which the message of a call arrives, and in which its caller takes an answer.
        blamed: calls of one connection that were refused for want of identity, or ended before their message; with one
            more at once it ends.
        unknown_bytes: bytes of all connections without an identified call, beyond 16 KiB of each for a handshake; with
            more those end that have sent most.
        handshake_s: time from a connection to its first bytes of HTTP/2, or to the end of the handshake of TLS.
        idle_s: time without a call after which a connection is closed.
        threads: threads for blocking code.
        threads_of_caller: those of one caller.
        slow_threads: threads for slow methods, of which one caller has one.
    """

    connections: int = 16384
    connections_of_host: int = 4096
    calls: int = 8192
    silent: int = 64
    waiting: int = 256
    streams: int = MAX_STREAMS
    streams_of_caller: int = 1024
    rate: float = 1000.0
    burst: int = 2000
    message_bytes: int = 1 << 20
    message_s: float = 10.0
    blamed: int = 64
    unknown_bytes: int = 1 << 18
    handshake_s: float = 10.0
    idle_s: float = 60.0
    threads: int = 8
    threads_of_caller: int = 4
    slow_threads: int = 2


class Share:
    """Resources that one caller holds.

    Attributes:
        calls: open calls.
        silent: tasks of the calls whose message has not arrived, the oldest first.
        waiting: see ``Limits``.
        streams: open streams.
        threads: semaphores of the threads, by whether the method is slow.
    """

    def __init__(self, limits: Limits) -> None:
        self.calls = self.waiting = self.streams = 0
        self.silent: dict[object, asyncio.Task[None]] = {}
        self.threads = {False: asyncio.Semaphore(limits.threads_of_caller), True: asyncio.Semaphore(1)}
        self._interval_s = 1 / limits.rate
        self._burst_s = limits.burst / limits.rate
        self._due = 0.0

    def delay_s(self) -> float:
        """Count a call; return the time for which it has to wait."""
        now = time.monotonic()
        self._due = max(self._due, now - self._burst_s) + self._interval_s
        return self._due - now


class Shares:
    """Shares of all callers; those without a call are forgotten when they are thousands."""

    def __init__(self, limits: Limits) -> None:
        self.streams = 0
        self._limits = limits
        self._shares: dict[tuple[str, str, str], Share] = {}

    def of(self, caller: Caller) -> Share:
        """Return the share of a caller."""
        key = caller.role, caller.name, host_of(caller.source)
        if key not in self._shares:
            if len(self._shares) >= _MAX_IDLE_SHARES:
                self._shares = {key: share for key, share in self._shares.items() if share.calls}
            self._shares[key] = Share(self._limits)
        return self._shares[key]


def host_of(source: str) -> str:
    """Return the host of a peer of gRPC; of IPv6 the first 64 bits, because one host has all addresses below them."""
    kind, _, rest = source.partition(":")
    host = rest.rpartition(":")[0]
    if kind != "ipv6":
        return host
    try:
        return socket.inet_pton(socket.AF_INET6, host.strip("[]").partition("%")[0])[:8].hex()
    except OSError:
        return host

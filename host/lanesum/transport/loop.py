# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What carries datagrams between a worker's rounds and its sockets, and waits."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Protocol

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.protocol.packet import server_of
from lanesum.transport.choose import AnyRounds, AnyWindow
from lanesum.transport.errors import MismatchError, SessionClosedError, TransportError
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket

# So many datagrams are taken in one go before new packets are sent.
_RECEIVE_BATCH = 64

# A datagram that could not be sent now counts as lost: the retransmission timer repairs it.
_NO_ROOM = (errno.EAGAIN, errno.ENOBUFS)
# What an ICMP message makes the kernel say, once, in the next call on a connected socket, whatever that is for: nobody
# knows who has written it (icmp(7), udp(7)). Everything else is an error of the call itself.
_HEARSAY = (
    errno.ECONNREFUSED, errno.EMSGSIZE, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENONET,
    errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPROTO,
)  # fmt: skip
# Messages would have to come within microseconds of each other to outlast so many tries.
_TRIES = 8
# Said by this host's own routing table if it is said every time.
_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH)


# A round, and so many chunks at its beginning that are to have their results.
Wanted = tuple[AnyWindow, int]


class Loop(Protocol):
    """Runs rounds, and answers others between them.

    All but ``wake`` and ``close`` raise MismatchError and ResultGoneError as the rounds do, TransportError for packets
    that cannot be sent, OSError for sockets that are broken, and SessionClosedError after ``close``.
    """

    def run(self, wanted: Sequence[Wanted], deadline_s: float, leave_s: float | None = None) -> bool:
        """Send and receive until one of ``wanted`` is there, or ``wake``; False after ``deadline_s`` without progress.

        Progress is a result of whichever round. ``leave_s``: nobody minds if the round never ends. It is progress to
        answer others, but all of it takes no longer than that.
        """

    def send(self) -> None:
        """Send what is due."""

    def attend(self) -> None:
        """Between rounds: answer who still lacks a result."""

    def wake(self) -> None:
        """Have ``run`` come back, or the next one not wait; from any thread."""

    def close(self) -> None:
        """Use the sockets no more; idempotent, and from any thread."""


def cannot_send(ticket: JobTicket, server: int, error: int) -> TransportError:
    """The error for an errno that sending to a server, by its number, ended with."""
    return TransportError(
        f"Worker {ticket.worker} cannot send to {ticket.servers[server][0]}: {os.strerror(error)}.",
        "Check the route to the aggregation server.",
    )


def closed_meanwhile() -> SessionClosedError:
    """The error of a round whose session somebody else has closed."""
    return SessionClosedError("This session was closed while a round of it was under way.")


class PythonLoop:
    """The loop in Python: for any kind of rounds, and sockets that need not be a kernel's."""

    def __init__(self, ticket: JobTicket, rounds: AnyRounds, sockets: ServerSockets) -> None:
        self._ticket = ticket
        self._rounds = rounds
        self._sockets = sockets
        self._buffer = bytearray(MAX_DATAGRAM_BYTES)
        self._closed = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._give_back = weakref.finalize(self, os.close, self._wake)
        self._waking = threading.Lock()  # guards the descriptor from being closed meanwhile
        self._inside = False
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        for descriptor in sockets.filenos():
            self._poll.register(descriptor, select.POLLIN)

    def run(self, wanted: Sequence[Wanted], deadline_s: float, leave_s: float | None = None) -> bool:
        with self._waking:
            if self._closed:
                raise closed_meanwhile()
            self._inside = True
        try:
            return self._run(wanted, deadline_s, leave_s)
        finally:
            with self._waking:
                self._inside = False
                if self._closed:
                    self._give_back()

    def _run(self, wanted: Sequence[Wanted], deadline_s: float, leave_s: float | None) -> bool:
        rounds = self._rounds
        begun = last_progress = time.monotonic()
        while True:
            now = time.monotonic()
            answered = rounds.stats.answered_pendings
            progress = self._receive(now)
            self.send()
            if any(window.done_chunks >= chunks for window, chunks in wanted) or self._was_woken():
                return True
            if progress or (leave_s is not None and rounds.stats.answered_pendings > answered):
                last_progress = now
            if now - last_progress > deadline_s or (leave_s is not None and now - begun > leave_s):
                return False
            timeout_s = rounds.next_timeout(now)
            wait_s = deadline_s if timeout_s is None else min(timeout_s, deadline_s)
            # Rounded up: poll counts in milliseconds, and waking too early would only spin.
            self._poll.poll(wait_s * 1000 + 1)

    def _was_woken(self) -> bool:
        try:
            return os.eventfd_read(self._wake) > 0
        except BlockingIOError:
            return False

    def wake(self) -> None:
        with self._waking:
            if self._give_back.alive:
                os.eventfd_write(self._wake, 1)

    def send(self) -> None:
        self._send_all(self._rounds.due(time.monotonic()))

    def attend(self) -> None:
        self._receive(time.monotonic())
        self.send()

    def close(self) -> None:
        self._closed = True
        self.wake()
        with self._waking:
            if not self._inside:
                self._give_back()

    def _receive(self, now: float) -> bool:
        """Take what is waiting; True when a chunk was completed."""
        progress = False
        view = memoryview(self._buffer)
        for _ in range(_RECEIVE_BATCH):
            if self._closed:
                raise closed_meanwhile()
            try:
                size = self._sockets.receive_into(self._buffer)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _HEARSAY:
                    continue  # perhaps nobody listens at the server's port yet; the deadline decides
                if self._closed:
                    raise closed_meanwhile() from error
                raise
            try:
                progress |= self._rounds.receive(view[:size], now)
            except MismatchError:
                self._send_all(self._rounds.last_words())
                raise
        return progress

    def _send_all(self, datagrams: list[memoryview]) -> None:
        for datagram in datagrams:
            self._send_one(datagram)

    def _send_one(self, datagram: memoryview) -> None:
        for left in reversed(range(_TRIES)):
            try:
                self._sockets.send(datagram)
                return
            except OSError as error:
                if error.errno in _NO_ROOM:
                    return
                if self._closed:
                    raise closed_meanwhile() from error
                if error.errno not in _HEARSAY or (error.errno in _NO_WAY and not left):
                    server = server_of(datagram, len(self._ticket.servers))
                    raise cannot_send(self._ticket, server, error.errno or 0) from error

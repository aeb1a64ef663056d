# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Event loop of a worker: moves datagrams between its rounds and its sockets, and waits."""

from __future__ import annotations

import os
import select
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import server_of
from lanesum.transport.constants import ICMP_ERRNOS, MAX_SEND_TRIES, RECEIVE_BATCH, UNSENT_ERRNOS
from lanesum.transport.errors import MismatchError, cannot_send, closed_in_round
from lanesum.transport.native_engine import AnyRoundSequence, AnyRoundState
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket


class PythonWorkerLoop:
    """Loop that runs rounds, and answers other workers' requests between them, on any sockets.

    All methods but ``wake`` and ``close`` raise MismatchError and ResultGoneError as the rounds do, TransportError for
    packets that cannot be sent, OSError for broken sockets, and SessionClosedError after ``close``.

    Attributes:
        rounds: the rounds of the session.
        supports_withheld: rounds may be started before their words are known.
    """

    supports_withheld = False

    def __init__(self, ticket: JobTicket, rounds: AnyRoundSequence, sockets: ServerSockets) -> None:
        self._ticket = ticket
        self.rounds = rounds
        self._sockets = sockets
        self._buffer = bytearray(MAX_DATAGRAM_BYTES)
        self._closed = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._close_wake = weakref.finalize(self, os.close, self._wake)
        self._wake_lock = threading.Lock()  # no thread closes the descriptor while another uses it
        self._running = False
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)
        for descriptor in sockets.filenos():
            self._poll.register(descriptor, select.POLLIN)

    def start(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        opening: bool = False,
        withheld: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> AnyRoundState:
        """Start the next round; see ``RoundSequence.start``.

        ``withheld``, where it is supported: the words are still being encoded, see ``NativeRoundSequence.start``.
        """
        assert not withheld
        return self.rounds.start(op, words, opening=opening, scattered=scattered, gathered=gathered)

    def exchange(self, op: LaneOp, words: NDArray[np.uint32], deadline_s: float) -> tuple[None, AnyRoundState, bool]:
        """Begin a round while no other one is in flight, and run it as far as it takes one call.

        Returns the round if it is completed, else None; the round if it is still to be completed, else None; and False
        if it is not completed after ``deadline_s`` without progress, else True.
        """
        return None, self.start(op, words), True

    def gather(self, vector: object, divisor: float, num_appended: int, deadline_s: float) -> None:
        """Return None: the caller gathers by ``exchange``. See ``NativeWorkerLoop.gather``."""

    def run(self, rounds: Sequence[Any], deadline_s: float, leave_s: float | None = None) -> bool:
        """Send and receive until the awaited chunks of one of ``rounds`` have their results, or ``wake`` is called.

        Returns False after ``deadline_s`` without progress, which is a result of any round. ``leave_s``: the caller may
        give up on the round. Answering other workers counts as progress then, but all of it takes at most ``leave_s``.
        """
        with self._wake_lock:
            if self._closed:
                raise closed_in_round()
            self._running = True
        try:
            return self._run(rounds, deadline_s, leave_s)
        finally:
            with self._wake_lock:
                self._running = False
                if self._closed:
                    self._close_wake()

    def _run(self, awaited: Sequence[Any], deadline_s: float, leave_s: float | None) -> bool:
        rounds = self.rounds
        begun = last_progress = time.monotonic()
        while True:
            now = time.monotonic()
            answered = rounds.stats.answered_pendings
            progress = self._receive(now)
            self.send()
            if any(round_.done_chunks >= round_.awaited_chunks for round_ in awaited) or self._was_woken():
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
        """Make ``run`` return, or the next one not wait; callable from any thread."""
        with self._wake_lock:
            if self._close_wake.alive:
                os.eventfd_write(self._wake, 1)

    def send(self) -> None:
        """Send the datagrams that are due."""
        self._send_all(self.rounds.due(time.monotonic()))

    def poll(self) -> None:
        """Receive the waiting datagrams and send those that are due, without waiting."""
        self._receive(time.monotonic())
        self.send()

    def close(self) -> None:
        """Stop using the sockets; idempotent, and callable from any thread."""
        self._closed = True
        self.wake()
        with self._wake_lock:
            if not self._running:
                self._close_wake()

    def _receive(self, now: float) -> bool:
        """Receive the waiting datagrams; return True if one completed a chunk."""
        progress = False
        view = memoryview(self._buffer)
        for _ in range(RECEIVE_BATCH):
            if self._closed:
                raise closed_in_round()
            try:
                size = self._sockets.receive_into(self._buffer)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in ICMP_ERRNOS:
                    continue  # perhaps no server listens at the port yet; the deadline decides
                if self._closed:
                    raise closed_in_round() from error
                raise
            try:
                progress |= self.rounds.receive(view[:size], now)
            except MismatchError:
                self._send_all(self.rounds.final_datagrams())
                raise
        return progress

    def _send_all(self, datagrams: list[memoryview]) -> None:
        for datagram in datagrams:
            self._send_one(datagram)

    def _send_one(self, datagram: memoryview) -> None:
        for _ in range(MAX_SEND_TRIES):
            try:
                self._sockets.send(datagram)
                return
            except OSError as error:
                if error.errno in UNSENT_ERRNOS:
                    return
                if self._closed:
                    raise closed_in_round() from error
                if error.errno not in ICMP_ERRNOS:
                    server = server_of(datagram, len(self._ticket.servers))
                    raise cannot_send(self._ticket, server, error.errno or 0) from error

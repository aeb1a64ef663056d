# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The rounds of a session, one after another, as a state machine without sockets or clocks.

The caller hands in datagrams and the time, and sends what ``due`` returns. This keeps the protocol testable in virtual
time, and the same for every kind of socket.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, MAX_SLOTS, VERSION, Flag, Kind
from lanesum.transport.congestion import CongestionControl, congestion_control
from lanesum.transport.errors import gone_error, mismatch_error
from lanesum.transport.history import History
from lanesum.transport.link import Link
from lanesum.transport.membership import Membership
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow


class RoundSequence:
    """Rounds of one session.

    Args:
        ticket: the worker's place in the job.
        window: packets under way at most (never more than the job's slots).
        congestion: how the link window moves below that: ``"aimd"``, ``"fixed"``, or an object of one's own.

    Attributes:
        stats: counts since the beginning.
        epoch: number of the round under way, or of the next one.
        position: running position, modulo ``2 * slots``, at which that round begins.

    Raises ConfigurationError for an unknown congestion control.
    """

    def __init__(
        self, ticket: JobTicket, *, window: int = MAX_SLOTS, congestion: str | CongestionControl = "aimd"
    ) -> None:
        most = min(window, ticket.slots)
        control = congestion_control(congestion, most) if isinstance(congestion, str) else congestion
        self._link = Link(ticket, Membership(ticket), control)
        self.stats = self._link.stats
        self.epoch = ticket.epoch
        self.position = 0
        self._ticket = ticket
        self._most = most
        self._history = History(self._link)
        self._window: RoundWindow | None = None
        self._last_words: list[memoryview] = []

    def start(self, op: LaneOp, words: NDArray[np.uint32]) -> RoundWindow:
        """The next round, of uint32 uplink ``words``; only when the last one has been finished."""
        assert self._window is None
        self._window = RoundWindow(self._link, op, words, epoch=self.epoch, position=self.position, most=self._most)
        self._history.begin(self.epoch, self._window.batch)
        return self._window

    def finish(self, window: RoundWindow) -> None:
        """Count a round that has all its results; the next one goes on where it ended."""
        assert window is self._window and window.finished
        self._history.end(window.epoch)
        self._window = None
        self.epoch = (self.epoch + 1) % (1 << 32)
        self.position = (self.position + window.chunks) % (2 * self._ticket.slots)
        self.stats.rounds += 1

    def due(self, now: float) -> list[memoryview]:
        """Datagrams to send at ``now``, in or between rounds; the views are good until the next call of any method."""
        datagrams = [] if self._window is None else self._window.due(now)
        return datagrams + self._history.due(now) if self._history.asked else datagrams

    def next_timeout(self, now: float) -> float | None:
        """Seconds until ``due`` may have something to send; None when only a datagram can change that."""
        if self._history.asked:
            return 0.0
        return None if self._window is None else self._window.next_timeout(now)

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """Take one datagram, in or between rounds; True when it completed a chunk of the round.

        Anything foreign is counted and ignored. Raises MismatchError when a worker brought another operation or number
        of words to a round (``last_words`` are to be sent then), ResultGoneError when a quorum went on without this
        worker too long ago. Both end the session.
        """
        stats = self.stats
        stats.packets_received += 1
        stats.bytes_received += len(datagram)
        if len(datagram) >= HEADER_BYTES:
            header = Header.unpack(datagram)
            if (header.version, header.job, header.tag) == (VERSION, self._ticket.job, self._ticket.tag):
                self._link.unanswered = 0
                window = self._window
                if header.kind == Kind.RESULT and window is not None and header.epoch == window.epoch:
                    return window.take_result(header, datagram, now)
                if header.kind == Kind.PENDING and len(datagram) == HEADER_BYTES:
                    self._take_pending(header, now)
                    return False
                if header.kind == Kind.CONFLICT and len(datagram) == HEADER_BYTES:
                    self._raise_mismatch(header)
        stats.foreign_packets += 1
        return False

    def _take_pending(self, header: Header, now: float) -> None:
        """Somebody lacks a result. Who has it sends again what he contributed, where he is asked."""
        self.stats.pending_replies += 1
        window = self._window
        if window is not None and header.epoch == window.epoch and not window.is_done(header.chunk):
            if not header.flags & Flag.GONE:
                window.take_pending(header, now)
            elif self._ticket.quorum:
                raise gone_error(self._ticket, header)
        elif not self._link.membership.has_mine(header) and not header.flags & Flag.GONE:
            bypass = bool(header.flags & Flag.BYPASS)
            self._history.ask(header.epoch, header.chunk, bypass=bypass, now=now)

    def last_words(self) -> list[memoryview]:
        """What is still to be sent after a MismatchError; the views are good until the next call of any method.

        This worker's contribution to the chunk, past the switches. Everybody who has heard of the conflict does that,
        so the server hears of both sides, and tells whoever comes later or has missed it.
        """
        return self._last_words

    def _raise_mismatch(self, header: Header) -> NoReturn:
        self.stats.conflicts += 1
        own = self._window
        if own is None or own.epoch != header.epoch:
            self._last_words = []
            raise mismatch_error(self._ticket, header, None)
        self._last_words = own.past_switches(header.chunk)
        raise mismatch_error(self._ticket, header, own.size)

    @property
    def answered(self) -> bool:
        """The aggregation point has said something about the round under way."""
        return self._window is not None and self._window.answered

    def missing_workers(self) -> tuple[int, ...]:
        """Workers, by number, that the round under way waits for, as far as pending answers have told."""
        return () if self._window is None else self._window.missing_workers()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The rounds of a session, in order and a few at a time, as a state machine without sockets or clocks.

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
from lanesum.transport.flights import Flights
from lanesum.transport.history import History
from lanesum.transport.link import Link
from lanesum.transport.membership import Membership
from lanesum.transport.pacing import Pacer
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow

# Rounds under way at most: enough for the norms of one vector behind the codes of another, and few enough to look
# through for every packet.
MAX_ACTIVE = 8


class RoundSequence:
    """Rounds of one session. All workers start the same rounds in the same order; they may finish in any.

    Args:
        ticket: the worker's place in the job.
        window: packets under way at most (never more than the job's slots).
        congestion: how the link window moves below that: ``"aimd"``, ``"fixed"``, or an object of one's own.
        pacing: spread over a round trip what the window has room for.

    Attributes:
        stats: counts since the beginning.

    Raises ConfigurationError for an unknown congestion control.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        window: int = MAX_SLOTS,
        congestion: str | CongestionControl = "aimd",
        pacing: bool = False,
    ) -> None:
        most = min(window, ticket.slots)
        control = congestion_control(congestion, most) if isinstance(congestion, str) else congestion
        self._link = Link(ticket, Membership(ticket), control, Pacer() if pacing else None)
        self.stats = self._link.stats
        self._ticket = ticket
        self._history = History(self._link)
        self._flights = Flights(self._link, most)
        self._next_epoch = ticket.epoch
        self._last_words: list[memoryview] = []

    @property
    def epoch(self) -> int:
        """Number of the first round under way, or of the next one."""
        windows = self._flights.windows
        return windows[0].epoch if windows else self._next_epoch

    @property
    def position(self) -> int:
        """Running position, modulo ``2 * slots``, at which that round begins."""
        windows = self._flights.windows
        return (windows[0].begin if windows else self._flights.end) % (2 * self._ticket.slots)

    @property
    def can_start(self) -> bool:
        """There is room for one more round. With a quorum, whose slots are in step, one is under way at a time."""
        under_way = len(self._flights.windows)
        return under_way < (1 if self._ticket.quorum else MAX_ACTIVE)

    def start(self, op: LaneOp, words: NDArray[np.uint32]) -> RoundWindow:
        """The next round, of uint32 uplink ``words``; only when ``can_start``."""
        assert self.can_start
        window = RoundWindow(self._link, op, words, epoch=self._next_epoch, begin=self._flights.end)
        self._flights.begin(window)
        self._history.begin(window.epoch, window.batch)
        self._next_epoch = (self._next_epoch + 1) % (1 << 32)
        return window

    def finish(self, window: RoundWindow) -> None:
        """Count a round that has all its results, which are known now to whoever started it.

        It is put away when all before it have been: others may lack whatever comes after the first chunk without a
        result, and more than that of a round that is behind.
        """
        windows = self._flights.windows
        assert window in windows and window.finished and not window.over
        window.over = True
        self.stats.rounds += 1
        while windows and windows[0].over:
            self._history.end(windows.popleft().epoch)

    def due(self, now: float) -> list[memoryview]:
        """Datagrams to send at ``now``, in or between rounds; the views are good until the next call of any method."""
        datagrams = self._flights.due(now)
        return datagrams + self._history.due(now) if self._history.asked else datagrams

    def next_timeout(self, now: float) -> float | None:
        """Seconds until ``due`` may have something to send; None when only a datagram can change that."""
        return 0.0 if self._history.asked else self._flights.next_timeout(now)

    def _under_way(self, epoch: int) -> RoundWindow | None:
        """The round of that number, if it is under way."""
        for window in self._flights.windows:
            if window.epoch == epoch:
                return window
        return None

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """Take one datagram, in or between rounds; True when it completed a chunk of a round.

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
                window = self._under_way(header.epoch)
                if header.kind == Kind.RESULT and window is not None:
                    return self._flights.take_result(window, header, datagram, now)
                if header.kind == Kind.PENDING and len(datagram) == HEADER_BYTES:
                    self._take_pending(window, header, now)
                    return False
                if header.kind == Kind.CONFLICT and len(datagram) == HEADER_BYTES:
                    self._raise_mismatch(window, header)
        stats.foreign_packets += 1
        return False

    def _take_pending(self, window: RoundWindow | None, header: Header, now: float) -> None:
        """Somebody lacks a result. Who has it sends again what he contributed, where he is asked."""
        self.stats.pending_replies += 1
        if window is not None and not window.is_done(header.chunk):
            if not header.flags & Flag.GONE:
                self._flights.take_pending(window, header, now)
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

    def _raise_mismatch(self, own: RoundWindow | None, header: Header) -> NoReturn:
        self.stats.conflicts += 1
        if own is None:
            self._last_words = []
            raise mismatch_error(self._ticket, header, None)
        self._last_words = self._flights.past_switches(own, header.chunk)
        raise mismatch_error(self._ticket, header, own.size)

    @property
    def answered(self) -> bool:
        """The aggregation point has said something about a round under way."""
        return any(window.answered for window in self._flights.windows)

    def missing_workers(self) -> tuple[int, ...]:
        """Workers, by number, that the first round under way waits for, as far as pending answers have told."""
        return next((window.missing_workers() for window in self._flights.windows if not window.finished), ())

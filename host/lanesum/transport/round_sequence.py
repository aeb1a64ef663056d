# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The rounds of a session, in order and a few at a time, as a state machine without sockets or clocks.

The caller hands in datagrams and the time, and sends the datagrams that ``due`` returns. So the protocol can be tested
in virtual time, and works with every kind of socket.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, MAX_SLOTS, VERSION, Flag, Kind
from lanesum.transport.congestion import CongestionControl, congestion_control
from lanesum.transport.constants import MAX_FAILED_RESULTS, MAX_ROUNDS_IN_FLIGHT
from lanesum.transport.errors import certification_error, gone_error, mismatch_error
from lanesum.transport.link import Link
from lanesum.transport.membership import Bitmaps, Membership
from lanesum.transport.pacing import Pacer
from lanesum.transport.recovery import LossDetector
from lanesum.transport.retransmit_buffer import RetransmitBuffer
from lanesum.transport.round_state import RoundState
from lanesum.transport.slot_scheduler import SlotScheduler
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket

# As plain integers: see ``membership``.
_ECN, _COLLISION, _PARTIAL, _BYPASS = int(Flag.ECN), int(Flag.COLLISION), int(Flag.PARTIAL), int(Flag.BYPASS)
_RETRANSMISSION = int(Flag.RETRANSMISSION)


class RoundSequence:
    """Rounds of one session. All workers start the same rounds in the same order; they may finish in any.

    Args:
        ticket: the worker's place in the job.
        window: congestion window, at most (never more than the job's slots).
        congestion: congestion control: ``"aimd"``, ``"fixed"``, or an object of the caller's.
        pacing: spread the packets of a window over a round trip.

    Attributes:
        ticket: as given, with the epoch of the first round after the opening.
        stats: counts since the beginning, or since the opening.

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
        self._max_window = min(window, ticket.slots)
        control = congestion_control(congestion, self._max_window) if isinstance(congestion, str) else congestion
        self._link = Link(ticket, Membership(ticket), control, Pacer() if pacing else None)
        self.stats = self._link.stats
        self.ticket = ticket
        self._scheduler = SlotScheduler(self._link)
        self._recovery = LossDetector(self._link)
        self._retransmit_buffer = RetransmitBuffer(self._link)
        self._next_epoch = ticket.epoch
        self._final_datagrams: list[memoryview] = []

    @property
    def epoch(self) -> int:
        """Number of the first round in flight, or of the next one."""
        rounds = self._scheduler.rounds
        return rounds[0].epoch if rounds else self._next_epoch

    @property
    def position(self) -> int:
        """Running position, modulo ``2 * slots``, at which that round begins."""
        rounds = self._scheduler.rounds
        return (rounds[0].begin if rounds else self._scheduler.end) % (2 * self.ticket.slots)

    @property
    def can_start(self) -> bool:
        """One more round may start. With a quorum, whose slots are in step, one is in flight at a time."""
        return len(self._scheduler.rounds) < (1 if self.ticket.quorum else MAX_ROUNDS_IN_FLIGHT)

    def start(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        opening: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> RoundState:
        """Start the next round, of uint32 uplink ``words``; only when ``can_start``.

        ``opening``: it opens the session. Its packets bypass the switches. ``scattered``, ``gathered``: see
        ``RoundState``.
        """
        assert self.can_start
        begin = self._scheduler.end
        round_ = RoundState(
            self._link,
            op,
            words,
            epoch=self._next_epoch,
            begin=begin,
            opening=opening,
            scattered=scattered,
            gathered=gathered,
        )
        self._scheduler.begin(round_)
        self._retransmit_buffer.begin(round_.epoch, round_.batch)
        self._next_epoch = (self._next_epoch + 1) % (1 << 32)
        return round_

    def continue_at(self, epoch: int) -> None:
        """Set the number of the next round, the first one after the opening.

        Only while no round is in flight. Of ``stats``, only the foreign packets remain.
        """
        assert not self._scheduler.rounds
        foreign = self.stats.foreign_packets
        self.stats = self._link.stats = TransportStats(foreign_packets=foreign, packets_received=foreign)
        self._next_epoch = epoch
        self.ticket = dataclasses.replace(self.ticket, epoch=epoch)

    def finish(self, round_: Any) -> None:
        """Count and retire a complete round that ``start`` has returned, whose result the caller has.

        It leaves the sequence when all rounds before it have: other workers may lack anything after the first chunk
        without a result, and so more of a late round than the retransmit buffer keeps.
        """
        rounds = self._scheduler.rounds
        assert round_ in rounds and round_.complete and not round_.retired
        round_.retired = True
        self.stats.rounds += 1
        while rounds and rounds[0].retired:
            self._retransmit_buffer.end(rounds.popleft().epoch)

    # Sending.

    def due(self, now: float) -> list[memoryview]:
        """Return the datagrams to send at ``now``, in or between rounds; valid until the next call of any method.

        Retransmissions come first, then new packets that the congestion window admits, then other workers' requests.
        """
        datagrams = self._retransmissions(now) + self._first_transmissions(now)
        return datagrams + self._retransmit_buffer.due(now) if self._retransmit_buffer.has_requests else datagrams

    def _retransmissions(self, now: float) -> list[memoryview]:
        datagrams = []
        lost = self._recovery.detect_loss(now, self._probe_position, more_to_send=self._scheduler.has_free)
        for position, (bypass, requested) in lost.items():
            sent = self._recovery.on_retransmitted(position, now, bypass=bypass)
            batch = sent.round.batch
            flags = Flag.RETRANSMISSION | (Flag.BYPASS if bypass else 0)
            if bypass and sent.round.server_failed(sent.chunk):
                flags |= Flag.OVERFLOW
            batch.set_flags(sent.chunk, flags)
            datagrams.append(batch.packet(sent.chunk))
            self._link.count_sent(len(datagrams[-1]), retransmission=True, bypass=bypass, requested=requested)
        return datagrams

    def _first_transmissions(self, now: float) -> list[memoryview]:
        datagrams = []
        link = self._link
        room = self._room(now)
        while (taken := self._scheduler.take_next(room)) is not None:
            round_, position = taken
            chunk, batch = position - round_.begin, round_.batch
            bypass = round_.bypasses or link.slot_backoff.bypasses(position % self.ticket.slots)
            self._recovery.on_packet_sent(position, round_, now, bypass=bypass)
            if bypass:
                batch.set_flags(chunk, Flag.BYPASS)
            datagrams.append(batch.packet(chunk))
            link.count_sent(len(datagrams[-1]), retransmission=False, bypass=bypass)
            if link.pacer is not None:
                link.pacer.spend(1)
            room -= 1
        return datagrams

    @property
    def _probe_position(self) -> int:
        """The position with the probe timer: the first without a result.

        It is not the one sent first: other workers may not have reached that one, with their windows full of chunks
        that this worker would not request. But a worker that lacks the first one of all has sent it, and a worker that
        has its result can retransmit it.
        """
        return self._scheduler.first_unacked()

    @property
    def _window(self) -> int:
        """Packets in flight, at most, except for the first without a result."""
        return min(self._max_window, self._link.congestion.congestion_window)

    def _room(self, now: float) -> int:
        """Return the number of packets that may be sent for the first time at ``now``."""
        room = self._window - self._recovery.in_flight
        pacer = self._link.pacer
        return room if pacer is None else min(room, pacer.credit(now, self._window))

    def next_timeout(self, now: float) -> float | None:
        """Return the seconds until ``due`` may have something to send; None if only a datagram can change that."""
        if self._retransmit_buffer.has_requests or self._recovery.has_requests:
            return 0.0
        more_to_send = self._scheduler.has_free
        in_flight = self._recovery.in_flight
        if not in_flight:
            return 0.0 if more_to_send else None
        left_s = self._recovery.time_left(now, self._probe_position, more_to_send=more_to_send)
        pacer = self._link.pacer
        if pacer is not None and more_to_send and in_flight < self._window:
            paced_s = pacer.left_s(self._window)
            left_s = left_s if paced_s is None else min(left_s, paced_s)
        return max(0.0, left_s)

    # Receiving.

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """Take one datagram, in or between rounds; return True if it completed a chunk of a round.

        Foreign datagrams are counted and ignored. Raises MismatchError if a worker brought another operation or number
        of words to a round (``final_datagrams`` are to be sent then), ResultGoneError if a quorum continued without
        this worker too long ago, and CertificationError if the server's results of a chunk fail their check again and
        again. All end the session.
        """
        stats = self.stats
        stats.packets_received += 1
        stats.bytes_received += len(datagram)
        if len(datagram) >= HEADER_BYTES:
            header = Header.unpack(datagram)
            if (header.version, header.job, header.tag) == (VERSION, self.ticket.job, self.ticket.tag):
                self._link.unanswered_probes = 0
                round_ = self._in_flight(header.epoch)
                if header.kind == Kind.RESULT and round_ is not None:
                    return self._take_result(round_, header, datagram, now)
                if header.kind == Kind.PENDING and len(datagram) == HEADER_BYTES:
                    self._take_pending(round_, header, now)
                    return False
                if header.kind == Kind.CONFLICT and len(datagram) == HEADER_BYTES:
                    self._raise_mismatch(round_, header)
        stats.foreign_packets += 1
        return False

    def _in_flight(self, epoch: int) -> RoundState | None:
        """Return the round of that number, if it is in flight."""
        for round_ in self._scheduler.rounds:
            if round_.epoch == epoch:
                return round_
        return None

    def _take_result(self, round_: RoundState, header: Header, datagram: bytes | memoryview, now: float) -> bool:
        """Take a result of a round in flight (job, tag and epoch are right); return True if it completed a chunk."""
        link, stats = self._link, self.stats
        chunk = header.chunk
        if header.op != round_.size.op or chunk >= round_.chunks:
            stats.foreign_packets += 1
            return False
        if round_.is_done(chunk):
            stats.duplicate_results += 1
            return False
        position = round_.begin + chunk
        bitmaps = link.membership.contributors(header, datagram, needs_words=round_.needs_words(chunk))
        if bitmaps is None or not self._may_have_result(position, bitmaps):
            stats.foreign_packets += 1
            round_.refused_results += 1
            return False
        if not round_.is_right(chunk, datagram, bitmaps):
            self._take_failed_result(round_, header)
            return False
        round_.store_result(chunk, datagram, bitmaps)
        marked, collided = bool(header.flags & _ECN), bool(header.flags & _COLLISION)
        stats.ecn_marks += marked
        stats.collisions += collided
        stats.partial_results += bool(header.flags & _PARTIAL)
        stats.server_results += bool(header.flags & _BYPASS)
        self._scheduler.on_result(position)
        link.slot_backoff.on_result(position % self.ticket.slots, collided)
        retransmitted = bool(header.flags & _RETRANSMISSION)
        self._recovery.on_ack_received(position, now, marked=marked, retransmitted=retransmitted)
        return True

    def _take_failed_result(self, round_: RoundState, header: Header) -> None:
        """Take a result that failed its check, and request another one from the server.

        The server sums again once all workers have refused its result. Until then, a timer repeats the request.
        """
        self.stats.failed_results += 1
        of_switches, of_server = round_.failed_results.get(header.chunk, (0, 0))
        from_server = bool(header.flags & _BYPASS)
        round_.failed_results[header.chunk] = of_switches + (not from_server), of_server + from_server
        if from_server and of_switches + of_server + 1 >= MAX_FAILED_RESULTS:
            raise certification_error(self.ticket, header)
        if not (from_server and of_server):
            self._recovery.on_result_failed(round_.begin + header.chunk)

    def _may_have_result(self, position: int, bitmaps: Bitmaps) -> bool:
        """Return True if the position was sent, or if a quorum continued without this worker, in turn."""
        if self._recovery.sent(position) is not None:
            return True
        return self._scheduler.is_free(position) and not self._link.membership.includes_own(bitmaps)

    def _take_pending(self, round_: RoundState | None, header: Header, now: float) -> None:
        """Take a pending answer: an aggregation point lacks a result, and requests contributions to it."""
        self.stats.pending_replies += 1
        if round_ is not None and not round_.is_done(header.chunk):
            if not header.flags & Flag.GONE:
                self._recovery.on_pending_received(round_.begin + header.chunk, header, now)
            elif self.ticket.quorum:
                raise gone_error(self.ticket, header)
        elif not self._link.membership.has_own(header) and not header.flags & Flag.GONE:
            bypass = bool(header.flags & Flag.BYPASS)
            self._retransmit_buffer.request(header.epoch, header.chunk, bypass=bypass, now=now)

    def final_datagrams(self) -> list[memoryview]:
        """Return the datagrams to send after a MismatchError; valid until the next call of any method.

        They are this worker's contribution to the chunk, bypassing the switches. Every worker that has received the
        conflict sends its own, so the server receives both sides, and reports the conflict to workers that come later
        or have missed it.
        """
        return self._final_datagrams

    def _raise_mismatch(self, own: RoundState | None, header: Header) -> NoReturn:
        self.stats.conflicts += 1
        if own is None:
            self._final_datagrams = []
            raise mismatch_error(self.ticket, header, None)
        self._final_datagrams = self._for_server(own, header.chunk)
        raise mismatch_error(self.ticket, header, own.size)

    def _for_server(self, round_: RoundState, chunk: int) -> list[memoryview]:
        """Return the chunk's contribution, bypassing the switches, if it is in flight."""
        if chunk >= round_.chunks or self._recovery.sent(round_.begin + chunk) is None:
            return []
        round_.batch.set_flags(chunk, Flag.RETRANSMISSION | Flag.BYPASS)
        datagram = round_.batch.packet(chunk)
        self._link.count_sent(len(datagram), retransmission=True, bypass=True, requested=True)
        return [datagram]

    @property
    def answered(self) -> bool:
        """A result or a pending answer of a round in flight has arrived."""
        return any(round_.answered for round_ in self._scheduler.rounds)

    def missing_workers(self) -> tuple[int, ...]:
        """Return the workers, by number, that the first incomplete round waits for, as pending answers report."""
        return next((round_.missing_workers() for round_ in self._scheduler.rounds if not round_.complete), ())

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One round as a state machine without sockets or clocks: what to send next, and what an answer means.

Slots and positions. Chunks of all rounds of a job are numbered by one running *position*; position ``p`` uses slot
``p mod slots`` in shadow set ``p div slots mod 2``. A chunk is sent only when the one ``slots`` positions earlier has
its result, which every worker then has contributed to: so nobody can still need what an entry held two turns ago.
(With a quorum somebody may, and gets it from the server, which keeps its decisions.) Slots do not wait for each other:
while one repairs a loss, the others go on; but with a quorum they stay in step.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import ChunkBatch, Header
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES, Flag
from lanesum.transport.errors import RoundSize
from lanesum.transport.link import Link, ServerPath
from lanesum.transport.membership import Arrived
from lanesum.transport.rtt import MAX_RTO_S

# A packet that so many later ones on its path have overtaken counts as lost: software switches reorder by a few.
REORDERING = 8
_PENDING_BACK_OFF = 4
# Every timeout is cut long before.
_MOST_BACK_OFF = 1 << 16
# So many timers that run out with no answer in between mean that the path is silent: the first is what a late worker
# looks like, and the answer to the second try may be lost by chance.
_SILENT_AFTER = 3
# From so many tries on, every second one goes past the switches: what is left of a sum may lie in different places, and
# only the server brings them together. A chunk that others overtook tries more often, and mostly has just been lost.
_BYPASS_AFTER = 2
_BYPASS_AFTER_QUICK = 4
# As plain integers: see ``membership``.
_ECN, _COLLISION, _PARTIAL, _BYPASS = int(Flag.ECN), int(Flag.COLLISION), int(Flag.PARTIAL), int(Flag.BYPASS)


@dataclass(slots=True)
class _Outstanding:
    """A chunk that was sent and has no result yet."""

    first_sent_at: float
    first_sequence: int  # running number of the first send, over all chunks of the path
    first_on_link: int  # the same over all paths
    sent_at: float  # the last time
    sequence: int  # of the last send
    bypass: bool  # its slot's turn goes past the switches
    bypassed: bool  # the last send did
    resends: int = 0
    tries: int = 0  # resends that nobody asked for


@dataclass(slots=True)
class _Flight:
    """What is under way on one path, and what was heard there: an answer of a near server makes no far one's late."""

    path: ServerPath
    outstanding: dict[int, _Outstanding] = field(default_factory=dict)  # by chunk; oldest first
    newest_answered: int = -1  # sequence number of the latest send that has its result
    back_off: int = 1
    last_result_at: float = float("-inf")

    def overtaken(self, ahead: int) -> Iterator[tuple[int, _Outstanding]]:
        """Chunks that some ``ahead`` later ones have overtaken; the first in line, as they are kept in order."""
        for chunk, state in self.outstanding.items():
            if state.first_sequence + ahead >= self.newest_answered:
                return
            yield chunk, state

    def quick_left(self, state: _Outstanding, since: float, now: float) -> float:
        return since + min(self.path.rtt.quick_timeout_s * (1 << min(state.resends, 16)), MAX_RTO_S) - now

    def timer_left(self, state: _Outstanding, now: float) -> float:
        # Every result restarts the timer (RFC 6298, 5.3): a full window takes a while to come back.
        since = max(state.sent_at, self.last_result_at)
        return since + min(self.path.rtt.timeout_s * self.back_off, MAX_RTO_S) - now


class RoundWindow:
    """Sends the words of one round and collects its result; made by ``RoundSequence.start``.

    Args:
        link: what all rounds of the session share.
        op: lane operation of the round.
        words: uint32 uplink words, one dimension, any length; padded with zeros to whole packets. A round of no words
            still has one packet: nobody finishes it before everybody has begun it.
        epoch: number of the round in the job.
        position: running position of the round's first chunk.
        most: packets under way at most; never more than the job's slots.

    Attributes:
        chunks: packets of the round.
        epoch: as given.
        size: operation and uplink words, as other workers must have them too.
        strangers: results of the round that were refused for their contributors or their length.
    """

    def __init__(
        self, link: Link, op: LaneOp, words: NDArray[np.uint32], *, epoch: int, position: int, most: int
    ) -> None:
        ticket = link.ticket
        shape = op.shape
        packet_words = shape.uplink_words(ticket.accumulator_words)
        self.chunks = max(1, -(-words.size // packet_words))
        self.epoch = epoch
        self.size = RoundSize(op, words.size)
        self.strangers = 0
        padded = np.zeros((self.chunks, packet_words), np.uint32)
        padded.reshape(-1)[: words.size] = words
        header = Header(
            job=ticket.job,
            tag=ticket.tag,
            epoch=epoch,
            op=op,
            workers=1 << ticket.place[1],
            racks=words.size,
            fan_in_workers=ticket.worker & 0xFF,
        )
        self.batch = ChunkBatch(header, padded, position=position, slots=ticket.slots)
        self._link = link
        self._position = position
        self._most = most
        self._slots = ticket.slots
        self._result_words = shape.accumulator_words(words.size)
        self._packet_bytes = ticket.accumulator_words * WORD_BYTES
        self._result = bytearray(self.chunks * self._packet_bytes)
        self._contributors = np.zeros((self.chunks, len(link.membership.everybody)), np.uint32)
        self._done = bytearray(self.chunks)
        self._flights = [_Flight(path) for path in link.paths]  # one for every server
        self._newest_on_link = -1  # running number of the latest first send that has its result, on whichever path
        self._open = list(range(min(self._slots, self.chunks)))  # a heap: to be sent, because their slots are free
        self._low = 0
        self._opened = len(self._open)  # chunks that were ever among them, with a quorum
        self._left = self.chunks
        self._arrived: dict[int, Arrived] = {}  # chunks without a result; what was heard of last comes last
        self._asked: dict[int, bool] = {}  # outstanding chunks to send again -> past the switches

    @property
    def finished(self) -> bool:
        """Every chunk has its result."""
        return self._left == 0

    @property
    def answered(self) -> bool:
        """The aggregation point has said something about this round."""
        return self._left < self.chunks or bool(self._arrived)

    def is_done(self, chunk: int) -> bool:
        """The chunk has its result, or is none of this round."""
        return chunk >= self.chunks or bool(self._done[chunk])

    def due(self, now: float) -> list[memoryview]:
        """Datagrams to send at ``now``: lost ones first, then new ones that fit the window."""
        link = self._link
        datagrams = []
        for chunk, (bypass, asked) in self._lost(now).items():
            flight = self._flight(chunk)
            state = flight.outstanding[chunk]
            state.sent_at, state.sequence, state.bypassed = now, flight.path.sequence, bypass
            state.resends += 1
            self.batch.set_flags(chunk, Flag.RESEND | (Flag.BYPASS if bypass else 0))
            link.count_sent(self.batch.packet_bytes, again=True, bypass=bypass, asked=asked)
            flight.path.sequence += 1
            link.sequence += 1
            datagrams.append(self.batch.packet(chunk))
        room = min(self._most, link.congestion.packets) - self._under_way
        while self._open and (room > 0 or self._open[0] == self._first_left()):
            chunk = heapq.heappop(self._open)
            if self._done[chunk]:
                continue  # a quorum was quicker
            bypass = link.slots.bypass(self._slot(chunk))
            flight = self._flight(chunk)
            number = flight.path.sequence
            flight.outstanding[chunk] = _Outstanding(now, number, link.sequence, now, number, bypass, bypass)
            if bypass:
                self.batch.set_flags(chunk, Flag.BYPASS)
            link.count_sent(self.batch.packet_bytes, again=False, bypass=bypass)
            flight.path.sequence += 1
            link.sequence += 1
            room -= 1
            datagrams.append(self.batch.packet(chunk))
        return datagrams

    def _slot(self, chunk: int) -> int:
        return (self._position + chunk) % self._slots

    def _flight(self, chunk: int) -> _Flight:
        return self._flights[self._slot(chunk) % len(self._flights)]

    @property
    def _under_way(self) -> int:
        return sum(len(flight.outstanding) for flight in self._flights)

    def _first_left(self) -> int:
        """The first chunk without a result. No window keeps it back.

        Slots come free in another order at every worker. Were one worker's window full of later chunks, and another's
        of earlier ones, each would wait for the other for ever; but everybody gets to what is the first for all.
        """
        while self._low < self.chunks and self._done[self._low]:
            self._low += 1
        return self._low

    def _free_slot(self, chunk: int) -> None:
        """The slot of a chunk that is done may be used again.

        With a quorum slots stay in step: the server tells a chunk that is still open from one whose decision it has
        forgotten by nothing but how much was decided since, and while a chunk is open that must not exceed two turns.
        """
        if not self._link.ticket.quorum:
            if chunk + self._slots < self.chunks:
                heapq.heappush(self._open, chunk + self._slots)
            return
        while self._opened < self.chunks and self._done[self._opened - self._slots]:
            heapq.heappush(self._open, self._opened)
            self._opened += 1

    def _is_open(self, chunk: int) -> bool:
        """The chunk's slot is free: what was there before has its result (earlier rounds are finished)."""
        return chunk < self._slots or bool(self._done[chunk - self._slots])

    def _lost(self, now: float) -> dict[int, tuple[bool, bool]]:
        """Chunks to send again -> (past the switches, somebody asked for it).

        Those that were asked for, those that later sends to the same server overtook, and the first one when its timer
        has run out. Only the first, because silence mostly means that a worker is late: one probe is enough to learn
        that. Its timer backs off until something completes on its path. A chunk that was overtaken waits for nobody who
        is late, since all (or a quorum) are in the round, and have sent the later one: it has a quick timer of its own,
        that backs off with every try.
        """
        link = self._link
        # Who asks is told where he asks: a place that has others' contributions is the one to complete the chunk.
        lost = {chunk: (bypass, True) for chunk, bypass in self._asked.items()}
        self._asked.clear()
        for flight, chunk, state, left_s in self._overtaken(now):
            if chunk in lost:
                continue
            if state.sequence + REORDERING < flight.newest_answered or left_s <= 0:
                lost[chunk] = (self._try_again(state, _BYPASS_AFTER_QUICK), False)
        first = self._timed()
        if first is not None and first not in lost:
            flight = self._flight(first)
            state = flight.outstanding[first]
            if flight.timer_left(state, now) <= 0:
                flight.back_off = min(2 * flight.back_off, _MOST_BACK_OFF)
                link.unanswered += 1
                if link.unanswered >= _SILENT_AFTER:
                    link.congestion.silence(link.sequence, self._under_way)
                lost[first] = (self._try_again(state, _BYPASS_AFTER), False)
        return lost

    def _try_again(self, state: _Outstanding, patience: int) -> bool:
        """Count a try that nobody asked for; True when it is to go past the switches."""
        state.tries += 1
        return state.bypass or (state.tries >= patience and state.tries % 2 == 0)

    def _overtaken(self, now: float) -> Iterator[tuple[_Flight, int, _Outstanding, float]]:
        """Chunks of which later ones have their results, and the seconds left to them: a quick timer is enough.

        Those that were overtaken on their path, and of every path the first one, if that was overtaken on others: then
        nobody is late with it either, but as much as a round trip may be needed still, or more while its path's results
        come one by one. Without that, a loss among the last packets on each path would have to wait for the long timer.

        Where nothing is left to be sent for now, fewer than usual have to have overtaken them: as many may never come.
        """
        ahead = REORDERING if self._open else 0
        for flight in self._flights:
            overtaken = False
            for chunk, state in flight.overtaken(ahead):
                overtaken = True
                yield flight, chunk, state, flight.quick_left(state, state.sent_at, now)
            if flight.outstanding and not overtaken:
                chunk, state = next(iter(flight.outstanding.items()))
                if state.first_on_link + ahead < self._newest_on_link:
                    since = max(state.sent_at, flight.last_result_at)
                    yield flight, chunk, state, flight.quick_left(state, since, now)

    def _timed(self) -> int | None:
        """The chunk that has the timer: the first without a result; None while that was not sent yet.

        Not what was sent first: others may not have got to that, their windows full of what this worker would not ask
        for. But whoever lacks the first chunk of all has sent it, and whoever has its result can send it again.
        """
        first = self._first_left()
        return first if first in self._flight(first).outstanding else None

    def next_timeout(self, now: float) -> float | None:
        """Seconds until ``due`` may have something to send; None when nothing is under way."""
        if self._asked:
            return 0.0
        if not self._under_way:
            return None
        first = self._timed()
        if first is None:
            return 0.0
        timed = self._flight(first)
        quick = (left_s for *_, left_s in self._overtaken(now))
        return max(0.0, min(timed.timer_left(timed.outstanding[first], now), min(quick, default=MAX_RTO_S)))

    def take_result(self, header: Header, datagram: bytes | memoryview, now: float) -> bool:
        """A result of this round (job, tag and epoch are right); True when it completed a chunk."""
        link = self._link
        stats = link.stats
        chunk = header.chunk
        if header.op != self.size.op or chunk >= self.chunks:
            stats.foreign_packets += 1
            return False
        if self._done[chunk]:
            stats.duplicate_results += 1
            return False
        bitmaps = link.membership.contributors(header, datagram)
        if bitmaps is None or not self._may_have_result(chunk, bitmaps):
            stats.foreign_packets += 1
            self.strangers += 1
            return False
        start = chunk * self._packet_bytes
        self._result[start : start + self._packet_bytes] = datagram[HEADER_BYTES : HEADER_BYTES + self._packet_bytes]
        self._contributors[chunk] = bitmaps
        self._done[chunk] = 1
        self._left -= 1
        self._free_slot(chunk)
        self._arrived.pop(chunk, None)
        self._asked.pop(chunk, None)
        flight = self._flight(chunk)
        flight.back_off = 1
        flight.last_result_at = now
        marked, collided = bool(header.flags & _ECN), bool(header.flags & _COLLISION)
        stats.ecn_marks += marked
        stats.collisions += collided
        stats.partial_results += bool(header.flags & _PARTIAL)
        link.slots.result(self._slot(chunk), collided)
        state = flight.outstanding.pop(chunk, None)
        if state is not None:
            # Which of several sends was answered cannot be told: count the first, and do not measure (Karn's rule).
            flight.newest_answered = max(flight.newest_answered, state.first_sequence)
            self._newest_on_link = max(self._newest_on_link, state.first_on_link)
            if state.sequence == state.first_sequence:
                flight.path.rtt.sample(now - state.sent_at)
            link.congestion.result(state.first_on_link, link.sequence, marked)
        return True

    def _may_have_result(self, chunk: int, bitmaps: tuple[int, ...]) -> bool:
        """It was sent; or a quorum went on without this worker, in turn."""
        if chunk in self._flight(chunk).outstanding:
            return True
        return self._is_open(chunk) and not self._link.membership.includes_me(bitmaps)

    def take_pending(self, header: Header, now: float) -> None:
        """Somebody waits for a chunk of which there is no result here either."""
        chunk = header.chunk
        flight = self._flight(chunk)
        state = flight.outstanding.get(chunk)
        if state is None:
            return  # not sent yet: its turn comes
        membership = self._link.membership
        self._arrived[chunk] = membership.learn(header, self._arrived.pop(chunk, Arrived()))
        # The path is alive, somebody else is late: keep asking, at a gentle pace.
        flight.back_off = min(flight.back_off, _PENDING_BACK_OFF)
        bypass = bool(header.flags & _BYPASS)
        elsewhere = state.bypassed != bypass
        if membership.has_mine(header) or (now - state.sent_at < flight.path.answer_interval_s and not elsewhere):
            return
        self._asked[chunk] = bypass
        if elsewhere and now - state.first_sent_at >= flight.path.rtt.timeout_s:
            # No loss, which is asked for sooner: the others' contributions have gone another way than this worker's.
            # Theirs of the other chunks under way have too, and asking for one after another would take for ever.
            # Whichever their servers: a switch is on the way to all of them.
            for other, one in itertools.chain.from_iterable(each.outstanding.items() for each in self._flights):
                if one.bypassed != bypass:
                    self._asked.setdefault(other, bypass)

    def past_switches(self, chunk: int) -> list[memoryview]:
        """The chunk once more for the server, if it was sent and has no result."""
        if chunk not in self._flight(chunk).outstanding:
            return []
        self.batch.set_flags(chunk, Flag.RESEND | Flag.BYPASS)
        self._link.count_sent(self.batch.packet_bytes, again=True, bypass=True, asked=True)
        return [self.batch.packet(chunk)]

    def missing_workers(self) -> tuple[int, ...]:
        """Workers that a chunk still waits for, as the latest pending answer tells."""
        latest = next(reversed(self._arrived.values()), None)
        return () if latest is None else self._link.membership.missing(latest)

    def result(self) -> NDArray[np.uint32]:
        """The accumulator words, shape ``(result words,)``, padding cut off; only when ``finished``."""
        assert self.finished
        return np.frombuffer(self._result, ">u4")[: self._result_words].astype(np.uint32)

    def contributors(self) -> NDArray[np.uint32]:
        """Bitmaps of the contributors of each chunk, shape ``(chunks, racks)``; one column with one level."""
        return self._contributors

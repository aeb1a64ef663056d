# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets under way, of all rounds under way, without sockets or clocks: what to send next, and what an answer means.

Slots and positions. Chunks of all rounds of a job are numbered by one running *position*; position ``p`` uses slot
``p mod slots`` in shadow set ``p div slots mod 2``. A position is sent only when the one ``slots`` earlier has its
result, which every worker then has contributed to: so nobody can still need what an entry held two turns ago. (With a
quorum somebody may, and gets it from the server, which keeps its decisions.) Slots do not wait for each other: while
one repairs a loss, the others go on, in the same round and in the next ones; but with a quorum they stay in step.

So where a round ends is of no account here: several under way are one sequence of positions, the first of which without
a result is the one that everything depends on.
"""

from __future__ import annotations

import collections
import heapq
import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from lanesum.protocol.packet import Header
from lanesum.protocol.spec import Flag
from lanesum.transport.link import Link, ServerPath
from lanesum.transport.rtt import MAX_RTO_S
from lanesum.transport.window import RoundWindow

# A packet that so many later ones on its path have overtaken counts as lost: software switches reorder by a few.
REORDERING = 8
_PENDING_BACK_OFF = 4
# So many chunks are probed for each that a probe has shown to have been lost.
_PROBES = 2
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

    window: RoundWindow
    chunk: int
    first_sent_at: float
    first_sequence: int  # running number of the first send, over all chunks of the path
    first_on_link: int  # the same over all paths
    sent_at: float  # the last time
    sequence: int  # of the last send
    bypass: bool  # its slot's turn goes past the switches
    bypassed: bool  # the last send did
    retransmissions: int = 0
    tries: int = 0  # retransmissions that nobody asked for
    probed: bool = False  # the last one was, where silence was all there was to tell of a loss


@dataclass(slots=True)
class _Flight:
    """What is under way on one path, and what was heard there: an answer of a near server makes no far one's late."""

    path: ServerPath
    outstanding: dict[int, _Outstanding] = field(default_factory=dict)  # by position; in the order of first sends
    newest_answered: int = -1  # sequence number of the latest send that has its result
    back_off: int = 1
    last_result_at: float = float("-inf")
    probed_from: int = 0  # sequence number of the last probe of a timer: what was sent before may be lost as well
    credit: int = 0  # so many of those are to be sent again

    def overtaken(self, ahead: int) -> Iterator[tuple[int, _Outstanding]]:
        """Positions that some ``ahead`` later sends have overtaken; the first in line, as they are kept in order."""
        for position, state in self.outstanding.items():
            if state.first_sequence + ahead >= self.newest_answered:
                return
            yield position, state

    def quick_left(self, state: _Outstanding, since: float, now: float) -> float:
        return since + min(self.path.rtt.quick_timeout_s * (1 << min(state.retransmissions, 16)), MAX_RTO_S) - now

    def timer_left(self, state: _Outstanding, now: float) -> float:
        # Every result restarts the timer (RFC 6298, 5.3): a full window takes a while to come back.
        since = max(state.sent_at, self.last_result_at)
        return since + min(self.path.rtt.timeout_s * self.back_off, MAX_RTO_S) - now


class Flights:
    """Sends the chunks of the rounds under way, and takes their results.

    Args:
        link: what all rounds of the session share.
        most: packets under way at most; never more than the job's slots.

    Attributes:
        windows: rounds under way, in their order, and finished ones behind one that is not.
        end: position at which the next round begins.
    """

    def __init__(self, link: Link, most: int) -> None:
        self.windows: collections.deque[RoundWindow] = collections.deque()
        self.end = 0
        self._link = link
        self._most = most
        self._slots = link.ticket.slots
        self._paths = [_Flight(path) for path in link.paths]  # one for every server
        self._newest_on_link = -1  # running number of the latest first send that has its result, on whichever path
        self._open: list[int] = []  # a heap of positions: to be sent, because their slots are free
        self._opened = 0  # positions that were ever among them, with a quorum
        self._asked: dict[int, bool] = {}  # positions under way to send again -> past the switches

    def begin(self, window: RoundWindow) -> None:
        """A round begins at ``end``. With a quorum none may be under way."""
        self.windows.append(window)
        self.end = window.end
        if self._link.ticket.quorum:
            self._open_in_step()
            return
        for position in range(window.begin, min(window.end, window.begin + self._slots)):
            if self._is_open(position):
                heapq.heappush(self._open, position)

    def due(self, now: float) -> list[memoryview]:
        """Datagrams to send at ``now``: lost ones first, then new ones that fit the window."""
        link = self._link
        datagrams = []
        for position, (bypass, asked) in self._lost(now).items():
            flight = self._flight(position)
            state = flight.outstanding[position]
            state.sent_at, state.sequence, state.bypassed = now, flight.path.sequence, bypass
            state.retransmissions += 1
            batch = state.window.batch
            batch.set_flags(state.chunk, Flag.RETRANSMISSION | (Flag.BYPASS if bypass else 0))
            link.count_sent(batch.packet_bytes, again=True, bypass=bypass, asked=asked)
            flight.path.sequence += 1
            link.sequence += 1
            datagrams.append(batch.packet(state.chunk))
        room = self._room(now)
        while self._open and (room > 0 or self._open[0] == self._first_left()):
            position = heapq.heappop(self._open)
            window = self._window_of(position)
            if window is None or window.is_done(position - window.begin):
                continue  # a quorum was quicker
            chunk, batch = position - window.begin, window.batch
            bypass = link.slots.bypass(position % self._slots)
            flight = self._flight(position)
            number = flight.path.sequence
            flight.outstanding[position] = _Outstanding(
                window, chunk, now, number, link.sequence, now, number, bypass, bypass
            )
            if bypass:
                batch.set_flags(chunk, Flag.BYPASS)
            link.count_sent(batch.packet_bytes, again=False, bypass=bypass)
            flight.path.sequence += 1
            link.sequence += 1
            room -= 1
            if link.pacer is not None:
                link.pacer.spend(1)
            datagrams.append(batch.packet(chunk))
        return datagrams

    @property
    def _window(self) -> int:
        """Packets under way at most, but for the first without a result."""
        return min(self._most, self._link.congestion.packets)

    def _room(self, now: float) -> int:
        """Packets that may be sent for the first time at ``now``."""
        room = self._window - self._under_way
        pacer = self._link.pacer
        return room if pacer is None else min(room, pacer.credit(now, self._window))

    def _flight(self, position: int) -> _Flight:
        return self._paths[position % self._slots % len(self._paths)]

    @property
    def _under_way(self) -> int:
        return sum(len(flight.outstanding) for flight in self._paths)

    def _window_of(self, position: int) -> RoundWindow | None:
        """The round of a position; None when that round, and so all before, has been retired."""
        for window in self.windows:
            if position < window.end:
                return window if position >= window.begin else None
        return None

    def _is_done(self, position: int) -> bool:
        """The position, which is before ``end``, has its result."""
        window = self._window_of(position)
        return window is None or window.is_done(position - window.begin)

    def _first_left(self) -> int:
        """The first position without a result. No window keeps it back.

        Slots come free in another order at every worker. Were one worker's window full of later chunks, and another's
        of earlier ones, each would wait for the other for ever; but everybody gets to what is the first for all.
        """
        for window in self.windows:
            if not window.finished:
                return window.begin + window.done_chunks
        return self.end

    def _free_slot(self, position: int) -> None:
        """The slot of a position that is done may be used again, by a later round's chunk too."""
        if self._link.ticket.quorum:
            self._open_in_step()
        elif position + self._slots < self.end:
            heapq.heappush(self._open, position + self._slots)

    def _open_in_step(self) -> None:
        """With a quorum slots stay in step.

        The server tells a chunk that is still open from one whose decision it has forgotten by nothing but how much was
        decided since, and while a chunk is open that must not exceed two turns.
        """
        while self._opened < self.end and self._is_open(self._opened):
            heapq.heappush(self._open, self._opened)
            self._opened += 1

    def _is_open(self, position: int) -> bool:
        """The position's slot is free: what was there before, in this round or an earlier one, has its result."""
        return position < self._slots or self._is_done(position - self._slots)

    def _lost(self, now: float) -> dict[int, tuple[bool, bool]]:
        """Positions to send again -> (past the switches, somebody asked for it).

        Those that were asked for, those that later sends to the same server overtook, and the first one when its timer
        has run out. Only the first, because silence mostly means that a worker is late: one probe is enough to learn
        that. Its timer backs off until something completes on its path. But where a probe brings a result at once, and
        nobody says that others are missing, nobody was late: then it was lost, and what was sent after it, with nothing
        behind it to overtake it, mostly was, too (a queue that is full loses the end of a burst, and trains of packets
        whole). Two more are probed then, and two more for each of them: a burst is repaired in a few round trips, and
        not in a timeout for each packet. A chunk that was overtaken waits for nobody who is late, since all (or a
        quorum) are in the round, and have sent the later one: it has a quick timer of its own, that backs off with
        every try. A later round's result tells the same: who is in that has begun this one.
        """
        link = self._link
        # Who asks is told where he asks: a place that has others' contributions is the one to complete the chunk.
        lost = {position: (bypass, True) for position, bypass in self._asked.items()}
        self._asked.clear()
        for flight, position, state, left_s in self._overtaken(now):
            if position in lost:
                continue
            if state.sequence + REORDERING < flight.newest_answered or left_s <= 0:
                if flight.path.rtt.queued:
                    link.congestion.loss(state.first_on_link, link.sequence)
                state.probed = False
                lost[position] = (self._try_again(state, _BYPASS_AFTER_QUICK), False)
        first = self._timed()
        if first is not None and first not in lost:
            flight = self._flight(first)
            state = flight.outstanding[first]
            if flight.timer_left(state, now) <= 0:
                flight.back_off = min(2 * flight.back_off, _MOST_BACK_OFF)
                link.unanswered += 1
                if link.unanswered >= _SILENT_AFTER:
                    link.congestion.silence(link.sequence, self._under_way)
                state.probed = True
                flight.probed_from = flight.path.sequence
                lost[first] = (self._try_again(state, _BYPASS_AFTER), False)
        for flight in self._paths:
            if flight.credit:
                for position in self._probably_lost(flight, lost):
                    state = flight.outstanding[position]
                    state.probed = True
                    lost[position] = (self._try_again(state, _BYPASS_AFTER), False)
        return lost

    @staticmethod
    def _probably_lost(flight: _Flight, known: Container[int]) -> list[int]:
        """As many positions as the path has credit for, which is used up then, that are not ``known`` to be lost."""
        sent_before = (
            position
            for position, state in flight.outstanding.items()
            if state.sequence < flight.probed_from and position not in known
        )
        chosen = list(itertools.islice(sent_before, flight.credit))
        flight.credit = 0
        return chosen

    def _try_again(self, state: _Outstanding, patience: int) -> bool:
        """Count a try that nobody asked for; True when it is to go past the switches."""
        state.tries += 1
        return state.bypass or (state.tries >= patience and state.tries % 2 == 0)

    def _overtaken(self, now: float) -> Iterator[tuple[_Flight, int, _Outstanding, float]]:
        """Positions of which later ones have their results, and the seconds left to them: a quick timer is enough.

        Those that were overtaken on their path, and of every path the first one, if that was overtaken on others: then
        nobody is late with it either, but as much as a round trip may be needed still, or more while its path's results
        come one by one. Without that, a loss among the last packets on each path would have to wait for the long timer.

        Where nothing is left to be sent for now, fewer than usual have to have overtaken them: as many may never come.
        """
        ahead = REORDERING if self._open else 0
        for flight in self._paths:
            overtaken = False
            for position, state in flight.overtaken(ahead):
                overtaken = True
                yield flight, position, state, flight.quick_left(state, state.sent_at, now)
            if flight.outstanding and not overtaken:
                position, state = next(iter(flight.outstanding.items()))
                if state.first_on_link + ahead < self._newest_on_link:
                    since = max(state.sent_at, flight.last_result_at)
                    yield flight, position, state, flight.quick_left(state, since, now)

    def _timed(self) -> int | None:
        """The position that has the timer: the first without a result; None while that was not sent yet.

        Not what was sent first: others may not have got to that, their windows full of what this worker would not ask
        for. But whoever lacks the first chunk of all has sent it, and whoever has its result can send it again.
        """
        first = self._first_left()
        return first if first in self._flight(first).outstanding else None

    def next_timeout(self, now: float) -> float | None:
        """Seconds until ``due`` may have something to send; None when nothing is under way."""
        if self._asked or any(flight.credit for flight in self._paths):
            return 0.0
        if not self._under_way:
            return 0.0 if self._open else None
        first = self._timed()
        if first is None:
            return 0.0
        timed = self._flight(first)
        quick = (left_s for *_, left_s in self._overtaken(now))
        least = min(timed.timer_left(timed.outstanding[first], now), min(quick, default=MAX_RTO_S))
        pacer = self._link.pacer
        if pacer is not None and self._open and self._under_way < self._window:
            paced_s = pacer.left_s(self._window)
            least = least if paced_s is None else min(least, paced_s)
        return max(0.0, least)

    def take_result(self, window: RoundWindow, header: Header, datagram: bytes | memoryview, now: float) -> bool:
        """A result of a round under way (job, tag and epoch are right); True when it completed a chunk."""
        link = self._link
        stats = link.stats
        chunk = header.chunk
        if header.op != window.size.op or chunk >= window.chunks:
            stats.foreign_packets += 1
            return False
        if window.is_done(chunk):
            stats.duplicate_results += 1
            return False
        position = window.begin + chunk
        bitmaps = link.membership.contributors(header, datagram)
        if bitmaps is None or not self._may_have_result(position, bitmaps):
            stats.foreign_packets += 1
            window.strangers += 1
            return False
        window.keep(chunk, datagram, bitmaps)
        self._free_slot(position)
        self._asked.pop(position, None)
        flight = self._flight(position)
        flight.back_off = 1
        flight.last_result_at = now
        marked, collided = bool(header.flags & _ECN), bool(header.flags & _COLLISION)
        stats.ecn_marks += marked
        stats.collisions += collided
        stats.partial_results += bool(header.flags & _PARTIAL)
        link.slots.result(position % self._slots, collided)
        state = flight.outstanding.pop(position, None)
        if state is not None:
            # Which of several sends was answered cannot be told: count the first, and do not measure (Karn's rule).
            flight.newest_answered = max(flight.newest_answered, state.first_sequence)
            self._newest_on_link = max(self._newest_on_link, state.first_on_link)
            stats.latency.record(now - state.first_sent_at)
            if state.sequence == state.first_sequence:
                flight.path.rtt.sample(now - state.sent_at)
                if link.pacer is not None:
                    link.pacer.sample(now - state.sent_at)
            elif state.probed and now - state.sent_at < flight.path.rtt.quick_timeout_s:
                flight.credit += _PROBES
            link.congestion.result(state.first_on_link, link.sequence, marked)
        return True

    def _may_have_result(self, position: int, bitmaps: tuple[int, ...]) -> bool:
        """It was sent; or a quorum went on without this worker, in turn."""
        if position in self._flight(position).outstanding:
            return True
        return self._is_open(position) and not self._link.membership.includes_me(bitmaps)

    def take_pending(self, window: RoundWindow, header: Header, now: float) -> None:
        """Somebody waits for a chunk of which there is no result here either."""
        position = window.begin + header.chunk
        flight = self._flight(position)
        state = flight.outstanding.get(position)
        if state is None:
            return  # not sent yet: its turn comes
        window.learn(header)
        state.probed = False
        # The path is alive, somebody else is late: keep asking, at a gentle pace.
        flight.back_off = min(flight.back_off, _PENDING_BACK_OFF)
        bypass = bool(header.flags & _BYPASS)
        elsewhere = state.bypassed != bypass
        late = now - state.sent_at >= flight.path.answer_interval_s
        if self._link.membership.has_mine(header) or not (late or elsewhere):
            return
        self._asked[position] = bypass
        if elsewhere and now - state.first_sent_at >= flight.path.rtt.timeout_s:
            # No loss, which is asked for sooner: the others' contributions have gone another way than this worker's.
            # Theirs of the other chunks under way have too, and asking for one after another would take for ever.
            # Whichever their servers: a switch is on the way to all of them.
            for other, one in itertools.chain.from_iterable(each.outstanding.items() for each in self._paths):
                if one.bypassed != bypass:
                    self._asked.setdefault(other, bypass)

    def past_switches(self, window: RoundWindow, chunk: int) -> list[memoryview]:
        """The chunk once more for the server, if it was sent and has no result."""
        position = window.begin + chunk
        if chunk >= window.chunks or position not in self._flight(position).outstanding:
            return []
        window.batch.set_flags(chunk, Flag.RETRANSMISSION | Flag.BYPASS)
        self._link.count_sent(window.batch.packet_bytes, again=True, bypass=True, asked=True)
        return [window.batch.packet(chunk)]

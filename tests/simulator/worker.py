# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker in virtual time: the real rounds in the loop of a session around a socket."""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable, Iterable

import numpy as np

from lanesum.transport.errors import CertificationError, MismatchError, ResultGoneError
from lanesum.transport.native_engine import AnyRoundState
from tests.simulator.job import JobRun
from tests.simulator.parts import Parts
from tests.simulator.truth import random_words
from tests.simulator.violation import Invariant, Violation
from tests.simulator.wire import (
    BYPASS,
    CONTRIBUTION,
    EPOCHS,
    GONE,
    HEADER_BYTES,
    OVERFLOW,
    PENDING,
    RESULT,
    RETRANSMISSION,
    UPPER,
    VERSION,
    Seen,
    read,
    shadow_slot,
    version_kind,
)

_RECEIVE_BATCH = 64
# The socket's poll counts milliseconds, rounded up.
_POLL_S = 1e-3

Send = Callable[["SimulatedWorker", bytes, Seen], None]
Wake = Callable[["SimulatedWorker", float], None]


class SimulatedWorker:
    """One worker of a job.

    Args:
        run: the job.
        worker: its number.
        parts: implementation of its rounds.
        send: takes (worker, datagram, its header).
        wake: requests a ``turn`` at a time.

    Attributes:
        ticket: its ticket.
        done: it has all results, and still answers other workers.
        over: it has ended.
    """

    def __init__(self, run: JobRun, worker: int, parts: Parts, send: Send, wake: Wake) -> None:
        plan = run.plan
        self.run = run
        self.worker = worker
        self.plan = plan.workers[worker]
        self.address = run.placement.addresses[worker]
        self.inbox: collections.deque[bytes] = collections.deque()
        self.done = False
        self.over = False
        self.woken_at = float("inf")
        self.counted: collections.Counter[str] = collections.Counter()
        self.ticket = run.placement.ticket(worker)
        self._rounds = parts.rounds(self.ticket, window=plan.window, congestion=plan.congestion)
        self._rounds_in_flight: dict[int, AnyRoundState] = {}  # rounds in flight, by number, in order
        self._begun = self._finished = 0  # rounds
        self._odd = plan.mismatch is not None and plan.mismatch.worker == worker
        # A disagreeing round must not change the positions of later rounds.
        self._in_flight = 1 if plan.quorum or self._odd else self.plan.in_flight
        self._outstanding: set[int] = set()  # positions
        self._refused: set[int] = set()  # positions of results of the server that failed their check
        self._max_in_flight = min(plan.window, plan.slots)
        self._accepted = run.accepted[worker]
        self._low = 0  # first position without a result
        self._packets: dict[int, bytes] = {}  # first sent packets by position; flags 0
        self._send_datagram = send
        self._wake = wake
        self._pauses = [(run.admitted_s + begin, run.admitted_s + begin + length) for begin, length in self.plan.pauses]
        self._dies = float("inf") if self.plan.dies_s is None else run.admitted_s + self.plan.dies_s

    def receive(self, datagram: bytes, now: float) -> None:
        """Put a datagram into the socket."""
        self.inbox.append(datagram)
        self._wake(self, now)

    def turn(self, now: float) -> None:
        """Run one turn of the loop: receive, then send."""
        if now >= self._dies:
            self._end()
            return
        for begin, end in self._pauses:
            if begin <= now < end:
                self._wake(self, end)
                return
        if self._may_start:
            self._start_round()
        for _ in range(min(_RECEIVE_BATCH, len(self.inbox))):
            if not self._take(self.inbox.popleft(), now):
                self._end()
                return
        for number in [number for number, round_ in self._rounds_in_flight.items() if round_.complete]:
            self._finish_round(number, self._rounds_in_flight.pop(number))
        self._send(now)
        left_s = self._rounds.next_timeout(now)
        if self.inbox or self._may_start:
            self._wake(self, now + self.plan.pace_s)
        elif left_s is not None:
            self._wake(self, now + left_s + _POLL_S)
        elif not self.done:
            raise Violation(Invariant.BOUNDED, f"{self} waits for nothing and has not finished")

    def __str__(self) -> str:
        return f"worker {self.worker} of {self.run}, round {self._number}"

    def _end(self) -> None:
        """End for good: killed, or told that it cannot continue."""
        self.over = True
        if not self.done:
            self.done = True
            self.run.running -= 1
            self.run.lost += 1

    @property
    def _number(self) -> int:
        """Return the number of the first round in flight, or of the next one."""
        return next(iter(self._rounds_in_flight), self._begun)

    @property
    def _may_start(self) -> bool:
        """Return True if a round can begin, or the end must be noticed."""
        if self.done or len(self._rounds_in_flight) >= self._in_flight or not self._rounds.can_start:
            return False
        return self._begun < len(self.run.plan.rounds) or not self._rounds_in_flight

    def _start_round(self) -> None:
        plan = self.run.plan
        number = self._begun
        if number == len(plan.rounds):
            self.done = True
            self.run.running -= 1
            return
        op, words = plan.rounds[number].op, self.run.truth.uplink(self.worker, number)
        odd = plan.mismatch
        if odd is not None and self._is_odd:
            op, words = odd.op, random_words(odd.words, 7, self.worker)
        one = plan.rounds[number]
        self._rounds_in_flight[number] = self._rounds.start(
            op, np.array(words, np.uint32), scattered=one.scattered, gathered=one.gathered
        )
        self._begun += 1

    @property
    def _is_odd(self) -> bool:
        """Return True if this worker disagrees about the round."""
        return self._odd and self.run.plan.mismatch is not None and self._number == self.run.plan.mismatch.number

    def _send(self, now: float) -> None:
        self._send_all(self._rounds.due(now))

    def _send_all(self, views: Iterable[memoryview]) -> None:
        for view in views:
            datagram = bytes(view)
            seen = read(datagram)
            self._check_sending(datagram, seen)
            self.counted["packets_sent"] += 1
            self.counted["bypasses"] += bool(seen.flags & BYPASS)
            self._send_datagram(self, datagram, seen)

    def _check_sending(self, datagram: bytes, seen: Seen) -> None:
        run = self.run
        plan, truth = run.plan, run.truth
        if seen.flags & ~(RETRANSMISSION | BYPASS | OVERFLOW):
            raise Violation(Invariant.SENDING, f"{self} sends {seen}")
        if self._is_odd and seen.epoch == truth.epoch(self._number):
            self.counted["retransmissions"] += bool(seen.flags & RETRANSMISSION)
            return
        position = truth.position(seen.epoch, seen.chunk)
        if position is None:
            raise Violation(Invariant.SENDING, f"{self} sends {seen}, of which there is no such chunk")
        body = datagram[:1] + b"\0" + datagram[2:]
        before = self._packets.get(position)
        if before is not None:
            self.counted["retransmissions"] += 1
            if before != body:
                raise Violation(Invariant.SENDING, f"{self} sends position {position} again, and changed: {seen}")
            # Two turns of all slots, and the rest of a round that begins before.
            if position not in self._outstanding and position < truth.starts[self._number_now] - 4 * plan.slots:
                raise Violation(Invariant.SENDING, f"{self} sends position {position} again, out of its history")
            if not seen.flags & RETRANSMISSION:
                raise Violation(Invariant.SENDING, f"{self} does not mark a retransmission: {seen}")
            refuses = position in self._refused and position not in self._accepted and seen.flags & BYPASS
            if bool(seen.flags & OVERFLOW) != bool(refuses) and plan.mismatch is None:
                raise Violation(Invariant.SENDING, f"{self} sends {seen}: flag OVERFLOW is wrong")
            return
        if plan.quorum and position in self._accepted:  # another worker requests an earlier decision
            self._check_words(position, body, seen)
            self._packets[position] = body
            self.counted["retransmissions"] += 1
            run.note_sent(self.worker, position)
            return
        if seen.flags & (RETRANSMISSION | OVERFLOW):
            raise Violation(Invariant.SENDING, f"{self} marks a first transmission as retransmitted: {seen}")
        if truth.round_of[position] not in self._rounds_in_flight:
            raise Violation(Invariant.SENDING, f"{self} sends position {position} out of turn")
        if position >= plan.slots and position - plan.slots not in self._accepted:
            raise Violation(Invariant.SENDING, f"{self} sends {seen} before the result in the other shadow set")
        while self._low in self._accepted:
            self._low += 1
        if plan.quorum and self._low <= position - plan.slots:
            raise Violation(Invariant.SENDING, f"{self} sends {seen}, and does not have position {self._low}")
        # A flag COLLISION that flipped is one of congestion to a worker.
        gathered = plan.rounds[truth.round_of[position]].gathered
        if seen.flags & BYPASS and not (run.is_shared or run.flipped or gathered):
            raise Violation(Invariant.SENDING, f"{self} avoids slots of its own: {seen}")
        if gathered and not seen.flags & BYPASS:
            raise Violation(Invariant.SENDING, f"{self} sends {seen} to the switches, which cannot gather")
        self._check_words(position, body, seen)
        self._packets[position] = body
        self._outstanding.add(position)
        # No window delays the position that all workers wait for.
        if len(self._outstanding) > self._max_in_flight and position != self._low:
            raise Violation(Invariant.BOUNDED, f"{self} has more than {self._max_in_flight} packets in flight")
        run.note_sent(self.worker, position)

    @property
    def _number_now(self) -> int:
        """Return the number of the round in flight, or of the last one."""
        return min(self._number, len(self.run.plan.rounds) - 1)

    def _check_words(self, position: int, body: bytes, seen: Seen) -> None:
        plan, truth = self.run.plan, self.run.truth
        number = truth.round_of[position]
        header = Seen(
            version_kind=version_kind(CONTRIBUTION),
            flags=0,
            job=plan.job,
            tag=plan.tag,
            epoch=truth.epoch(number),
            chunk=position - truth.starts[number],
            shadow_slot=shadow_slot(position, plan.slots),
            op=plan.rounds[number].op,
            spare=truth.mark(position),
            workers=1 << self.ticket.place[1],
            racks=truth.wire_size(number),
            fan_in_workers=self.worker,
            fan_in_racks=0,
            words=truth.wire_words(self.worker, position),
        )
        if body[:HEADER_BYTES] != header.pack():
            raise Violation(Invariant.SENDING, f"{self} sends {seen}, not {header}")
        words = truth.packet(self.worker, position)
        if body[HEADER_BYTES:] != struct.pack(f">{len(words)}I", *words):
            raise Violation(Invariant.SENDING, f"{self} sends other words than its own: {seen}")

    # Received datagrams.

    def _take(self, datagram: bytes, now: float) -> bool:
        """Handle a datagram; return False if the worker cannot continue."""
        self.counted["packets_received"] += 1
        meaning, position, workers = self._meaning(datagram)
        self.counted["asked"] += self._is_asked(datagram)
        try:
            accepted = self._rounds.receive(datagram, now)
        except MismatchError as error:
            self._check_mismatch(error)
            self._send_all(self._rounds.final_datagrams())
            return False
        except ResultGoneError:
            if meaning != "gone":
                raise Violation(Invariant.BOUNDED, f"{self} gives up, although it was told: {read(datagram)}") from None
            self.run.check_gone(position, str(self))
            return False
        except CertificationError as error:
            if position not in self.run.flipped or meaning not in ("failed", "other check word"):
                raise Violation(Invariant.BOUNDED, f"{self} gives up without a wrong sum: {error}") from None
            return False
        meaning, workers = self._judge(datagram, meaning, position, workers, accepted)
        if meaning == "gone":
            raise Violation(Invariant.BOUNDED, f"{self} goes on, although it was told: {read(datagram)}")
        if accepted != (meaning == "result"):
            if not accepted:
                raise Violation(Invariant.BOUNDED, f"{self} ignores a result that it waits for: {read(datagram)}")
            invariant = Invariant.ONCE if position in self._accepted else Invariant.ALIASING
            if meaning == "failed":
                invariant = Invariant.EXACTNESS
            raise Violation(invariant, f"{self} takes for a result what is {meaning}: {datagram.hex()}")
        if accepted:
            self._accept(datagram, position, workers)
        return True

    def _judge(self, datagram: bytes, meaning: str, position: int, workers: int, accepted: bool) -> tuple[str, int]:
        """Return the kind of a datagram whose kind depends on the worker, and its contributors.

        A flipped bit of a field that the worker does not read, or of a check word that depends on no word, may stay
        without effect.
        """
        run = self.run
        failed = self._rounds.stats.failed_results - self.counted["failed_results"]
        self.counted["failed_results"] += failed
        if failed and read(datagram).flags & BYPASS:
            self._refused.add(position)
        if failed and not run.flipped:
            raise Violation(Invariant.COUNTERS, f"{self} counts a failed result: {read(datagram)}")
        if meaning == "failed" and not accepted and not failed:
            raise Violation(Invariant.COUNTERS, f"{self} does not count a failed result: {read(datagram)}")
        if meaning == "other check word":
            return ("result" if accepted else "failed"), workers
        if meaning == "result" and not accepted and position in run.flipped:
            return "foreign", workers  # impossible contributors
        if meaning == "foreign" and accepted and position in run.flipped:
            words = run.truth.data(position, run.words_of(datagram))
            for named in run.possible_contributors(datagram):
                if words == run.truth.data(position, run.truth.combined(position, named)):
                    return "result", named
        return meaning, workers

    def _is_asked(self, datagram: bytes) -> bool:
        """Return True if a pending answer lacks this worker's contribution."""
        if len(datagram) != HEADER_BYTES:
            return False
        seen = read(datagram)
        rack, bit = self.ticket.place
        has_mine = seen.racks >> rack & 1 if seen.flags & UPPER else seen.workers >> bit & 1
        return seen.kind == PENDING and not has_mine

    def _meaning(self, datagram: bytes) -> tuple[str, int, int]:
        """Return the kind of a datagram for this worker, its position if it has one, and its contributors."""
        run = self.run
        plan, truth = run.plan, run.truth
        if len(datagram) < HEADER_BYTES:
            return "foreign", -1, 0
        seen = read(datagram)
        number = (seen.epoch - plan.first_epoch) % EPOCHS
        if (seen.version_kind >> 4, seen.job, seen.tag) != (
            VERSION,
            plan.job,
            plan.tag,
        ) or number not in self._rounds_in_flight:
            return "foreign", -1, 0
        odd = plan.mismatch if self._is_odd else None
        if seen.op != (plan.rounds[number].op if odd is None else odd.op):
            return "other operation", -1, 0
        if odd is not None:
            return "odd", -1, 0
        if seen.chunk >= truth.chunks(number):
            return "foreign", -1, 0
        position = truth.starts[number] + seen.chunk
        if position in self._accepted:
            return "duplicate", position, 0
        if seen.kind == PENDING and len(datagram) == HEADER_BYTES:
            return ("gone" if seen.flags & GONE else "pending"), position, 0
        if seen.kind != RESULT:
            return "foreign", position, 0
        size = HEADER_BYTES + 4 * truth.accumulator_words + run.trailer_bytes(seen)
        fits = len(datagram) == size
        if run.is_header_only(datagram, seen):
            fits = not truth.needs_words(position, self.worker)
        workers = run.named(datagram, seen) if fits else None
        # Fewer than a quorum, or fewer than all without one, is no valid result.
        if workers is None or workers.bit_count() < (plan.quorum or truth.workers):
            return "foreign", position, 0
        if position not in self._outstanding:
            # A quorum continued without this worker, in order.
            before = position - plan.slots
            if workers >> self.worker & 1 or not (before < 0 or before in self._accepted):
                return "foreign", position, 0
        return self._check_meaning(position, workers, run.words_of(datagram)), position, workers

    def _check_meaning(self, position: int, workers: int, words: bytes) -> str:
        """Return the kind of a result that the worker waits for, by its words."""
        truth = self.run.truth
        if not self.run.plan.certified or not truth.needs_words(position, self.worker):
            return "result"
        exact = truth.combined(position, workers)
        if words == exact:
            return "result"
        # Some bits of a check word depend on no word.
        return "other check word" if truth.data(position, words) == truth.data(position, exact) else "failed"

    def _accept(self, datagram: bytes, position: int, workers: int) -> None:
        run = self.run
        words = run.truth.data(position, run.words_of(datagram))
        unused = run.plan.certified and not run.truth.needs_words(position, self.worker)
        if unused or run.is_header_only(datagram, read(datagram)):
            words = b""
        elif words != run.truth.data(position, run.truth.combined(position, workers)):
            detail = f"{self} takes a result that is not the combination over workers {workers:#x}: {read(datagram)}"
            raise Violation(Invariant.EXACTNESS, detail)
        odd = run.plan.mismatch
        if odd is not None and run.truth.round_of[position] >= odd.number:
            raise Violation(Invariant.EXACTNESS, f"{self} takes a result, although the workers disagree")
        run.accept(self.worker, position, workers, words)
        self._outstanding.discard(position)

    def _check_mismatch(self, error: MismatchError) -> None:
        """Check a mismatch; it may arrive while an earlier round still lacks a result."""
        run = self.run
        odd = run.plan.mismatch
        if odd is None or self._number > odd.number:
            raise Violation(Invariant.ISOLATION, f"{self} is told of a mismatch that there is not: {error}")
        even = run.plan.rounds[odd.number]
        told = {(error.brought.op, error.brought.words), (error.expected.op, error.expected.words)}
        if told != {(odd.op, odd.words), (even.op, even.words)} or error.worker not in (
            None,
            *range(run.truth.workers),
        ):
            raise Violation(Invariant.EXACTNESS, f"{self} is told of another mismatch than there is: {error}")
        run.mismatched = True

    def _finish_round(self, number: int, round_: AnyRoundState) -> None:
        truth = self.run.truth
        begin = truth.starts[number]
        if any(position not in self._accepted for position in range(begin, begin + truth.chunks(number))):
            raise Violation(Invariant.EXACTNESS, f"{self} has finished round {number} without all results")
        words, contributors = self.run.result(number, self.worker)
        if round_.result().astype(">u4").tobytes() != words:
            raise Violation(Invariant.EXACTNESS, f"{self} hands out another result than it was given")
        if [tuple(map(int, row)) for row in round_.contributors()] != list(map(self._bitmaps, contributors)):
            raise Violation(Invariant.EXACTNESS, f"{self} names other contributors than it was told")
        self._rounds.finish(round_)
        self._finished += 1
        self._check_counters()

    def _bitmaps(self, workers: int) -> tuple[int, ...]:
        racks = self.run.placement.racks
        return tuple(sum((workers >> worker & 1) << bit for bit, worker in enumerate(rack)) for rack in racks)

    def _check_counters(self) -> None:
        stats, counted = self._rounds.stats, self.counted
        for name in ("packets_sent", "packets_received", "retransmissions", "bypasses"):
            if getattr(stats, name) != counted[name]:
                raise Violation(Invariant.COUNTERS, f"{self} counts {getattr(stats, name)} {name}, not {counted[name]}")
        # A request for one chunk may concern all chunks in flight.
        if stats.answered_pendings > counted["asked"] * self._max_in_flight + counted["failed_results"]:
            asked = f"and was asked for {counted['asked']}"
            raise Violation(Invariant.SENDING, f"{self} sends {stats.answered_pendings} packets on request, {asked}")
        if stats.rounds != self._finished:
            raise Violation(Invariant.COUNTERS, f"{self} counts {stats.rounds} rounds")

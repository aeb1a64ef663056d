# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A worker in virtual time: the real rounds and window, in the loop that ``UdpTransport`` runs around a socket."""

from __future__ import annotations

import collections
import struct
from collections.abc import Callable

import numpy as np

from lanesum.simulator.job import JobRun
from lanesum.simulator.points import SERVER, address
from lanesum.simulator.violation import Invariant, Violation
from lanesum.simulator.wire import (
    CONTRIBUTION,
    HEADER_BYTES,
    PENDING,
    RESEND,
    RESULT,
    VERSION,
    Seen,
    read,
    shadow_slot,
    version_kind,
)
from lanesum.transport.rounds import RoundSequence
from lanesum.transport.ticket import JobTicket
from lanesum.transport.window import RoundWindow

_RECEIVE_BATCH = 64
# The socket's poll counts in milliseconds and is rounded up.
_POLL_S = 1e-3

Send = Callable[["SimulatedWorker", int, bytes, float], None]
Wake = Callable[["SimulatedWorker", float], None]


class SimulatedWorker:
    """One worker of a job.

    Args:
        run: the job.
        worker: its number.
        send: takes (worker, chunk, datagram, now).
        wake: asks for a ``turn`` at a time.
    """

    def __init__(self, run: JobRun, worker: int, send: Send, wake: Wake) -> None:
        plan = run.plan
        self.run = run
        self.worker = worker
        self.plan = plan.workers[worker]
        self.address = address(run.line, worker)
        self.inbox: collections.deque[bytes] = collections.deque()
        self.done = False
        self.woken_at = float("inf")
        self.counted: collections.Counter[str] = collections.Counter()
        ticket = JobTicket(
            job=plan.job,
            tag=plan.tag,
            worker=worker,
            workers=len(plan.workers),
            slots=plan.slots,
            accumulator_words=run.truth.accumulator_words,
            server=SERVER,
            local=self.address,
            epoch=plan.first_epoch,
        )
        self._rounds = RoundSequence(ticket, window=plan.window)
        self._window: RoundWindow | None = None
        self._number = 0  # of the round
        self._outstanding: set[int] = set()  # positions
        self._most = min(plan.window, plan.slots)
        self._accepted = run.ghost.accepted[worker]
        self._next = 0  # first position never sent
        self._send_datagram = send
        self._wake = wake
        self._pauses = [(run.admitted_s + begin, run.admitted_s + begin + length) for begin, length in self.plan.pauses]

    def receive(self, datagram: bytes, now: float) -> None:
        """A datagram waits in the socket."""
        self.inbox.append(datagram)
        self._wake(self, now)

    def turn(self, now: float) -> None:
        """One turn of the loop: take what is there, send what is due."""
        for begin, end in self._pauses:
            if begin <= now < end:
                self._wake(self, end)
                return
        if self._window is None and not self._start_round(now):
            return
        window = self._window
        assert window is not None
        for _ in range(min(_RECEIVE_BATCH, len(self.inbox))):
            self._take(window, self.inbox.popleft(), now)
        if window.finished:
            self._finish_round(window, now)
            return
        self._send(window, now)
        left_s = window.next_timeout(now)
        if left_s is None:
            raise Violation(Invariant.BOUNDED, f"{self} waits for nothing and has not finished")
        self._wake(self, now + self.plan.pace_s if self.inbox else now + left_s + _POLL_S)

    def __str__(self) -> str:
        return f"worker {self.worker} of job {self.run.plan.job} (tag {self.run.plan.tag:#x}), round {self._number}"

    def _start_round(self, now: float) -> bool:
        plan = self.run.plan
        if self._number == len(plan.rounds):
            self._finish()
            return False
        words = np.array(self.run.truth.uplink(self.worker, self._number), np.uint32)
        self._window = self._rounds.start(plan.rounds[self._number].op, words)
        self._send(self._window, now)
        return True

    def _send(self, window: RoundWindow, now: float) -> None:
        for chunk in window.due(now):
            datagram = bytes(window.packet(chunk))
            self._check_sending(chunk, datagram)
            self.counted["packets_sent"] += 1
            self._send_datagram(self, chunk, datagram, now)

    def _check_sending(self, chunk: int, datagram: bytes) -> None:
        plan, truth = self.run.plan, self.run.truth
        position = truth.starts[self._number] + chunk
        resend = position in self._outstanding
        if resend:
            self.counted["retransmissions"] += 1
        elif position != self._next:
            raise Violation(Invariant.SENDING, f"{self} sends chunk {chunk} out of turn")
        elif position >= plan.slots and position - plan.slots not in self._accepted:
            raise Violation(Invariant.SENDING, f"{self} sends chunk {chunk} before the result in the other shadow set")
        else:
            self._next += 1
            self._outstanding.add(position)
            if len(self._outstanding) > self._most:
                raise Violation(Invariant.BOUNDED, f"{self} has more than {self._most} packets under way")
        header = Seen(
            version_kind=version_kind(CONTRIBUTION),
            flags=RESEND if datagram[1] else 0,
            job=plan.job,
            tag=plan.tag,
            epoch=truth.epoch(self._number),
            chunk=chunk,
            shadow_slot=shadow_slot(position, plan.slots),
            op=plan.rounds[self._number].op,
            spare=0,
            workers=1 << self.worker,
            racks=0,
            fan_in_workers=truth.workers,
            fan_in_racks=0,
            words=truth.packet_words[self._number],
        )
        if bool(datagram[1]) != resend or datagram[:HEADER_BYTES] != header.pack():
            raise Violation(Invariant.SENDING, f"{self} sends {read(datagram)}, not {header}")
        words = truth.packet(self.worker, position)
        if datagram[HEADER_BYTES:] != struct.pack(f">{len(words)}I", *words):
            raise Violation(Invariant.SENDING, f"{self} sends other words than its own in chunk {chunk}")

    def _meaning(self, datagram: bytes) -> tuple[str, int]:
        """What a datagram is to this worker now, by the name of the counter, and its position if it speaks of one."""
        plan, truth = self.run.plan, self.run.truth
        if len(datagram) < HEADER_BYTES:
            return "foreign_packets", -1
        seen = read(datagram)
        if (
            seen.version_kind >> 4 != VERSION
            or (seen.job, seen.tag, seen.epoch) != (plan.job, plan.tag, truth.epoch(self._number))
            or seen.op != plan.rounds[self._number].op
            or seen.chunk >= truth.chunks(self._number)
        ):
            return "foreign_packets", -1
        position = truth.starts[self._number] + seen.chunk
        if position in self._accepted:
            return "duplicate_results", position
        words = {RESULT: truth.accumulator_words, PENDING: 0}.get(seen.kind)
        if position not in self._outstanding or words is None or len(datagram) != HEADER_BYTES + 4 * words:
            return "foreign_packets", position
        return ("results" if seen.kind == RESULT else "pending_replies"), position

    def _take(self, window: RoundWindow, datagram: bytes, now: float) -> None:
        meaning, position = self._meaning(datagram)
        self.counted[meaning] += 1
        self.counted["packets_received"] += 1
        accepted = window.receive(datagram, now)
        if accepted == (meaning == "results"):
            if accepted:
                self._accept(datagram, position)
            return
        if not accepted:
            raise Violation(Invariant.BOUNDED, f"{self} ignores a result that it waits for")
        invariant = Invariant.ONCE if position in self._accepted else Invariant.ALIASING
        raise Violation(invariant, f"{self} takes for a result what is counted in {meaning}: {datagram.hex()}")

    def _accept(self, datagram: bytes, position: int) -> None:
        truth, workers = self.run.truth, read(datagram).workers
        if datagram[HEADER_BYTES:] != truth.combined(position, workers):
            detail = f"{self} gets a result that is not the combination over workers {workers:#x}"
            raise Violation(Invariant.EXACTNESS, detail)
        if workers != truth.everybody:
            raise Violation(Invariant.EXACTNESS, f"{self} gets a result over workers {workers:#x} only")
        self._accepted.add(position)
        self._outstanding.discard(position)

    def _finish_round(self, window: RoundWindow, now: float) -> None:
        truth = self.run.truth
        if any(position < self._end_of_round() for position in self._outstanding) or self._next < self._end_of_round():
            raise Violation(Invariant.EXACTNESS, f"{self} has finished without all results")
        self.run.agree(self.worker, self._number, window.result().astype(">u4").tobytes())
        if any(int(workers) != truth.everybody for workers in window.contributors()):
            raise Violation(Invariant.EXACTNESS, f"{self} names other contributors than all")
        self._rounds.finish(window)
        self._check_counters()
        self._window = None
        self._number += 1
        if self._number == len(self.run.plan.rounds):
            self._finish()
        else:
            self._wake(self, now + self.plan.pace_s)

    def _end_of_round(self) -> int:
        return self.run.truth.starts[self._number] + self.run.truth.chunks(self._number)

    def _check_counters(self) -> None:
        stats, counted = self._rounds.stats, self.counted
        names = ("packets_sent", "packets_received", "retransmissions", "duplicate_results", "pending_replies")
        for name in (*names, "foreign_packets"):
            if getattr(stats, name) != counted[name]:
                raise Violation(Invariant.COUNTERS, f"{self} counts {getattr(stats, name)} {name}, not {counted[name]}")
        if stats.rounds != self._number + 1 or stats.packets_sent - stats.retransmissions != self._next:
            raise Violation(Invariant.COUNTERS, f"{self} counts {stats.rounds} rounds and {stats.packets_sent} packets")

    def _finish(self) -> None:
        self.done = True
        self.run.running -= 1

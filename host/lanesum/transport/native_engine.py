# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds and worker loop of the native extension, with the interfaces of the Python ones.

The loop runs without the interpreter's lock. The module is imported without the extension too; only objects need it.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import os
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability, max_spin_s
from lanesum._internal.offload import Offload, use_gro, use_gso
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import MAX_SLOTS, SLOT_RUN, Kind
from lanesum.transport.congestion import CongestionControl, congestion_control
from lanesum.transport.errors import (
    RoundSize,
    TransportError,
    cannot_send,
    certification_error,
    closed_in_round,
    gone_error,
    mismatch_error,
)
from lanesum.transport.latency import LatencyHistogram
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.round_state import RoundState
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket

if TYPE_CHECKING:
    from lanesum_native import _core

# Delay of a signal (Ctrl-C), at most.
_SLICE_S = 0.05
# A thread needs microseconds to leave a closed loop, once it has a processor.
_MAX_LEAVE_S = 1.0


class NativeRoundState:
    """A round with the interface of ``RoundState``; made by ``NativeRoundSequence.start``.

    ``result`` and ``contributors`` return views of the round's own memory, which lives as long as they do.

    Attributes:
        core: the round in the native extension.
        words: uplink words, which the native extension reads until the round is retired; None afterwards.
        awaited_chunks: number of leading chunks whose results are waited for; at first all of them.
    """

    def __init__(self, core: _core.RoundState, size: RoundSize, words: NDArray[np.uint32], shards: int) -> None:
        self.core = core
        self._turns = Turns(shards, core.chunks // shards)
        self._data_words = core.data_words
        self._packet_words = LaneOp(size.op).shape.uplink_words(core.data_words)
        self.chunks = core.chunks
        self.epoch = core.epoch
        self.begin = core.begin
        self.size = size
        self.words: NDArray[np.uint32] | None = words
        self.awaited_chunks = self.chunks

    @property
    def complete(self) -> bool:
        """See ``RoundState.complete``."""
        return self.core.complete

    @property
    def answered(self) -> bool:
        """See ``RoundState.answered``."""
        return self.core.answered

    @property
    def refused_results(self) -> int:
        """See ``RoundState``."""
        return self.core.refused_results

    @property
    def failed_results(self) -> dict[int, tuple[int, int]]:
        """See ``RoundState``."""
        return self.core.failed_results

    def is_done(self, chunk: int) -> bool:
        """See ``RoundState.is_done``."""
        return self.core.is_done(chunk)

    def missing_workers(self) -> tuple[int, ...]:
        """See ``RoundState.missing_workers``."""
        return tuple(self.core.missing_workers())

    def release(self, words: int) -> None:
        """Allow to send the first ``words``, of each shard, of a round that was started ``withheld``."""
        # The last packet is padded.
        is_all = words * self._turns.shards == self.size.words
        self.core.release(self.chunks if is_all else self._turns.whole(words // self._packet_words))

    @property
    def retired(self) -> bool:
        """See ``RoundState``."""
        return self.words is None

    @property
    def done_chunks(self) -> int:
        """See ``RoundState.done_chunks``."""
        return self.core.done_chunks

    def await_words(self, words: int) -> None:
        """Wait for the first ``words`` accumulator words from now on."""
        self.awaited_chunks = self._turns.needed(-(-words // self._data_words))

    def arriving(self) -> NDArray[np.uint32]:
        """Return all accumulator words; those of the first ``done_chunks`` chunks have arrived."""
        return self.core.result()

    def result(self) -> NDArray[np.uint32]:
        """See ``RoundState.result``."""
        assert self.complete
        return self.arriving()

    def contributors(self) -> NDArray[np.uint32]:
        """See ``RoundState.contributors``."""
        return self.core.contributors()


def as_sent(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return words of a round as the native extension reads them."""
    return np.ascontiguousarray(words, np.uint32)


class NativeRoundSequence:
    """Rounds with the interface of ``RoundSequence``. Words are not copied: they must not change during their round.

    Args:
        ticket, window, pacing: see ``RoundSequence``.
        congestion: ``"aimd"`` or ``"fixed"``.
        shares: shares of the slots, each with its own loss detection, window and retransmit buffer; one for each thread
            of the transport. 1 for a job with a quorum.
        run_slots: neighbouring slots of one share; the kernel steers packets by the default.

    Attributes:
        ticket: see ``RoundSequence``.
        core: the rounds in the native extension.

    Raises ConfigurationError for an unknown congestion control, ImportError without the native extension.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        window: int = MAX_SLOTS,
        congestion: str = "aimd",
        pacing: bool = False,
        shares: int = 1,
        run_slots: int = SLOT_RUN,
    ) -> None:
        from lanesum_native import _core

        congestion_control(congestion, window)
        self.core = _core.RoundSequence(
            job=ticket.job,
            tag=ticket.tag,
            worker=ticket.worker,
            workers=ticket.workers,
            slots=ticket.slots,
            accumulator_words=ticket.accumulator_words,
            epoch=ticket.epoch,
            quorum=ticket.quorum,
            places=ticket.places,
            seed=ticket.seed,
            certified=ticket.certified,
            servers=len(ticket.servers),
            window=window,
            congestion=congestion,
            pacing=pacing,
            shares=shares,
            run_slots=run_slots,
        )
        self._outcome = _core.ReceiveOutcome
        self._link = self.core.link
        self.ticket = ticket
        self._rounds: collections.deque[NativeRoundState] = collections.deque()

    @property
    def stats(self) -> TransportStats:
        """Counts as of ``RoundSequence``; a copy, which any thread may ask for."""
        return TransportStats(**self.core.stats(), latency=LatencyHistogram(self.core.latency()))

    @property
    def epoch(self) -> int:
        """See ``RoundSequence.epoch``."""
        return self.core.epoch

    @property
    def position(self) -> int:
        """See ``RoundSequence.position``."""
        return self.core.position

    @property
    def can_start(self) -> bool:
        """See ``RoundSequence.can_start``."""
        return self.core.can_start

    def start(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        opening: bool = False,
        withheld: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> NativeRoundState:
        """Start the next round; see ``RoundSequence.start``. ``words`` must not change until the round is retired.

        ``withheld``: the words are still being encoded. None is sent before ``NativeRoundState.release``; all have to
        be released before the next round starts.
        """
        assert self.can_start
        words = as_sent(words)
        core = self.core.start(op, words, opening, scattered, gathered)
        if withheld:
            core.withhold()
        return self.adopt(core, op, words)

    def adopt(self, core: _core.RoundState, op: LaneOp, words: NDArray[np.uint32]) -> NativeRoundState:
        """Return the round that the native extension has started as ``core``, with ``words`` that are ``as_sent``."""
        shards = self.ticket.workers if core.scattered or core.gathered else 1
        num_words = words.size * (shards if core.gathered else 1)
        size = RoundSize(op, num_words, core.certified, core.scattered, core.gathered)
        self._rounds.append(NativeRoundState(core, size, words, shards))
        return self._rounds[-1]

    def continue_at(self, epoch: int) -> None:
        """See ``RoundSequence.continue_at``."""
        assert not self._rounds
        self.core.continue_at(epoch)
        self.ticket = dataclasses.replace(self.ticket, epoch=epoch)

    def finish(self, round_: Any) -> None:
        """See ``RoundSequence.finish``."""
        assert round_ in self._rounds and round_.complete and not round_.retired
        self.core.finish(round_.core)
        round_.words = None
        while self._rounds and self._rounds[0].retired:
            self._rounds.popleft()

    def due(self, now: float) -> list[memoryview]:
        """See ``RoundSequence.due``."""
        return self.core.due(now)

    def next_timeout(self, now: float) -> float | None:
        """See ``RoundSequence.next_timeout``."""
        return self.core.next_timeout(now)

    def receive(self, datagram: bytes | memoryview, now: float) -> bool:
        """See ``RoundSequence.receive``."""
        outcome = self.core.receive(datagram, now)
        if outcome in (self._outcome.CONFLICT, self._outcome.GONE, self._outcome.FAILED):
            raise self.fatal_error(datagram)
        return outcome == self._outcome.COMPLETED

    def fatal_error(self, datagram: bytes | memoryview) -> TransportError:
        """Return the error that a datagram means with which the native extension ended the session."""
        header = Header.unpack(datagram)
        if header.kind == Kind.PENDING:
            return gone_error(self.ticket, header)
        if header.kind == Kind.RESULT:
            return certification_error(self.ticket, header)
        sizes = (round_.size for round_ in self._rounds if round_.epoch == header.epoch)
        return mismatch_error(self.ticket, header, next(sizes, None))

    def final_datagrams(self) -> list[memoryview]:
        """See ``RoundSequence.final_datagrams``."""
        return self.core.final_datagrams()

    @property
    def answered(self) -> bool:
        """See ``RoundSequence.answered``."""
        return self.core.answered

    def missing_workers(self) -> tuple[int, ...]:
        """See ``RoundSequence.missing_workers``."""
        return tuple(self.core.missing_workers())


def _end(core: _core.WorkerLoop, running: threading.Lock) -> None:
    core.close()
    if running.acquire(timeout=_MAX_LEAVE_S):
        running.release()


class NativeWorkerLoop:
    """Loop with the interface of ``PythonWorkerLoop``, for native rounds on a kernel's sockets.

    Args:
        ticket: the worker's place in the job.
        rounds: rounds to run.
        sockets: sockets of the kernel, not wrapped.
        offload: see ``SessionOptions``.
    """

    supports_withheld = True

    def __init__(
        self, ticket: JobTicket, rounds: NativeRoundSequence, sockets: ServerSockets, offload: Offload
    ) -> None:
        from lanesum_native import _core

        self._ticket = ticket
        self.rounds = rounds
        descriptors = sockets.filenos()
        gso = use_gso(_core, descriptors, offload, joined_packets=ticket.joined_packets)
        servers = ticket.servers if sockets.divided else ()
        self._core = _core.WorkerLoop(rounds.core, descriptors, gso, use_gro(offload), max_spin_s(), servers)
        self._exit = exits = _core.LoopExit
        self._reached = exits.REACHED  # looked up once, for small rounds
        self._ends = (exits.REACHED, exits.WOKEN, exits.DEADLINE)
        self._running = threading.Lock()
        # A thread that is still in the loop when the interpreter ends never comes back.
        weakref.finalize(self, _end, self._core, self._running)

    @property
    def gso(self) -> bool:
        """Packets are handed to the kernel joined, and it has not refused them so far."""
        return self._core.gso

    def start(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        opening: bool = False,
        withheld: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> NativeRoundState:
        """See ``PythonWorkerLoop.start``."""
        return self.rounds.start(op, words, opening=opening, withheld=withheld, scattered=scattered, gathered=gathered)

    def run(self, rounds: Sequence[Any], deadline_s: float, leave_s: float | None = None) -> bool:
        """See ``PythonWorkerLoop.run``."""
        for round_ in rounds:
            round_.core.set_target(round_.awaited_chunks)
        self._core.begin(deadline_s, math.inf if leave_s is None else leave_s)
        try:
            with self._running:
                return self._resume(self._core.run(_SLICE_S))
        finally:
            for round_ in rounds:
                round_.core.set_target(round_.core.NO_TARGET)

    def _resume(self, reason: _core.LoopExit) -> bool:
        """Resume the loop after an exit, until it ends; return False after the deadline."""
        while reason not in self._ends:
            self._check(reason)
            reason = self._core.run(_SLICE_S)
        return reason != self._exit.DEADLINE

    def exchange(
        self, op: LaneOp, words: NDArray[np.uint32], deadline_s: float
    ) -> tuple[_core.RoundState | None, NativeRoundState | None, bool]:
        """See ``PythonWorkerLoop.exchange``. It is one call of the native extension if all goes well."""
        words = as_sent(words)
        with self._running:
            reason, core = self._core.exchange(op, words, deadline_s, _SLICE_S)
            if reason == self._reached and core is not None:
                return core, None, True
            return None, *self._continue(reason, core, op, words)

    def gather(
        self, vector: NDArray[np.float32], divisor: float, num_appended: int, deadline_s: float
    ) -> tuple[NDArray[np.float32], _core.RoundState | None, NativeRoundState | None, bool] | None:
        """Run a round of all workers' vectors side by side, and return their sum over ``divisor``.

        ``num_appended`` zeros follow the vectors. Returns None if the vector is not finite; nothing was sent then.
        Otherwise returns the array of the sum, and what ``exchange`` returns. The array is filled if there is no round,
        completed or not: all workers have appended zeros then.
        """
        ticket = self._ticket
        words = np.zeros(ticket.workers * vector.size + num_appended, np.uint32)
        values = np.empty_like(vector)
        with self._running:
            finite, reason, core = self._core.gather(
                vector, ticket.worker, ticket.workers, divisor, words, values, deadline_s, _SLICE_S
            )
            if reason == self._reached:
                return values, core, None, True
            return (values, None, *self._continue(reason, core, LaneOp.ADD32, words)) if finite else None

    def _continue(
        self, reason: _core.LoopExit, core: _core.RoundState | None, op: LaneOp, words: NDArray[np.uint32]
    ) -> tuple[NativeRoundState, bool]:
        """Continue a round that one call did not complete."""
        if core is None:
            raise closed_in_round()
        round_ = self.rounds.adopt(core, op, words)
        try:
            return round_, self._resume(reason)
        finally:
            core.set_target(core.NO_TARGET)

    def send(self) -> None:
        """See ``PythonWorkerLoop.send``."""
        with self._running:
            self._check(self._core.send())

    def poll(self) -> None:
        """See ``PythonWorkerLoop.poll``."""
        with self._running:
            self._check(self._core.poll())

    def wake(self) -> None:
        """See ``PythonWorkerLoop.wake``."""
        self._core.wake()

    def close(self) -> None:
        """See ``PythonWorkerLoop.close``."""
        self._core.close()

    def _check(self, reason: _core.LoopExit) -> None:
        """Raise the error of an exit, if it is one."""
        exits = self._exit
        if reason == exits.SLICE:
            return
        if reason in (exits.CONFLICT, exits.GONE, exits.FAILED):
            raise self.rounds.fatal_error(self._core.fatal_header)
        if reason == exits.CLOSED:
            raise closed_in_round()
        error = self._core.error
        if reason == exits.SEND_FAILED:
            raise cannot_send(self._ticket, self._core.failed_server, error)
        raise OSError(error, os.strerror(error))


AnyRoundState = RoundState | NativeRoundState
AnyRoundSequence = RoundSequence | NativeRoundSequence


def make_round_sequence(
    ticket: JobTicket,
    *,
    window: int = MAX_SLOTS,
    congestion: str | CongestionControl = "aimd",
    pacing: bool = False,
    shares: int = 1,
) -> AnyRoundSequence:
    """Return the rounds of a session; see ``RoundSequence``. A congestion control object needs the Python ones.

    ``shares``: see ``NativeRoundSequence``; the Python rounds have one.

    Raises ConfigurationError for an unknown congestion control, and if the environment requires the native extension
    and it is not available.
    """
    if availability().core is None or not isinstance(congestion, str):
        return RoundSequence(ticket, window=window, congestion=congestion, pacing=pacing)
    return NativeRoundSequence(ticket, window=window, congestion=congestion, pacing=pacing, shares=shares)

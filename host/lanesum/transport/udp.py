# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds over plain UDP sockets: no raw sockets, no root."""

from __future__ import annotations

import collections
import logging
import os
import threading
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import is_shared_with_switch
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_ROUND_WORDS
from lanesum.transport import long_wait
from lanesum.transport.constants import LEAVE_DEADLINE_S, MAX_FAILED_RESULTS
from lanesum.transport.engine import CompletedRound, divide_sockets, make_engine, transport_threads
from lanesum.transport.errors import (
    AggregationTimeoutError,
    CertificationError,
    MismatchError,
    ResultGoneError,
    SessionClosedError,
    TransportError,
    closed_in_round,
    timeout_error,
)
from lanesum.transport.native_engine import AnyRoundState, NativeRoundState
from lanesum.transport.opening import OPENING_OP, Opening, use_ticket
from lanesum.transport.options import SessionOptions
from lanesum.transport.path_check import check_path
from lanesum.transport.service_thread import ServiceThread
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.stats import MAX_FAILED_CHUNKS, FailedChunk, TransportStats
from lanesum.transport.ticket import JobTicket

logger = logging.getLogger(__name__)


class _Exclusive:
    """Exclusive use of a transport's rounds. An exception makes the transport unusable, because their state is unknown.

    A class instead of a ``contextlib`` generator, because every small round enters it several times.
    """

    __slots__ = ("_transport",)

    def __init__(self, transport: UdpTransport) -> None:
        self._transport = transport

    def __enter__(self) -> None:
        transport = self._transport
        if transport._process != os.getpid():  # its words would count as those of the worker
            raise SessionClosedError(f"This session is of process {transport._process}, not of a fork.", "Join again.")
        transport._lock.acquire()
        try:
            if transport._failure is not None:
                raise transport._failure
            if transport._closed_in_round:
                raise closed_in_round()
            if not transport._usable:
                raise SessionClosedError(
                    "This session is closed, or an earlier round of it failed.", "Join the job again for a new session."
                )
        except BaseException:
            transport._lock.release()
            raise

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._transport._usable = False
            self._transport._note_error(error)
        self._transport._lock.release()


class UdpTransport:
    """A worker's end of a job: runs rounds, one after another or a few at a time, and returns their sums.

    The first round is the opening, which needs all workers, also in a job with a quorum. It begins with the transport,
    in the background. ``begin_round``, ``exchange`` and ``gather`` wait for it.

    Args:
        ticket: the worker's place in the job.
        options: see ``SessionOptions``; None for the defaults.

    Raises ConfigurationError if an option is out of range, the local address is not this host's or its port is in use,
    if packets of the job would be fragmented on their way, or if the kernel's socket buffers do not hold a window of
    them; UsedTicketError if this process has used the ticket before.
    """

    def __init__(self, ticket: JobTicket, options: SessionOptions | None = None) -> None:
        options = options or SessionOptions()
        options.check()
        self.ticket = ticket
        self._deadline_s = self._session_deadline_s = options.deadline_s
        self._process = os.getpid()
        self._usable = True
        self._in_flight = 0  # rounds begun and not finished
        self._closed_in_round = False
        threads = transport_threads(ticket, options)
        try:
            shared = is_shared_with_switch(ticket.local)
            self._sockets = ServerSockets(ticket.local, ticket.servers, shared=shared, wrap_socket=options.wrap_socket)
            divide_sockets(self._sockets, threads)
        except OSError as error:
            raise ConfigurationError(
                f"Worker {ticket.worker} cannot send from {ticket.local[0]}:{ticket.local[1]} "
                f"to {ticket.server_names}: {error.strerror}.",
                "Check that the address belongs to this host and that no other process uses the port.",
            ) from error
        try:
            window = check_path(ticket, self._sockets.filenos(), options.window)
            self._engine = make_engine(ticket, options, window, self._sockets)
            use_ticket(ticket)
        except Exception:
            self._sockets.close()
            raise
        self._failure: LanesumError | None = None  # raised between calls, for the next one
        self._interruption: LanesumError | None = None  # raised instead of a timeout
        self._peers: long_wait.Peers | None = None
        self._failed_chunks: collections.deque[FailedChunk] = collections.deque(maxlen=MAX_FAILED_CHUNKS)
        self._opening = Opening(ticket)
        # The opening until it is complete.
        self._opening_round: AnyRoundState | None = self._engine.start(OPENING_OP, self._opening.words, opening=True)
        self._busy_s = self._waited_s = 0.0
        self._lock = threading.Lock()
        self._service_thread = ServiceThread(self._lock, self._service)

    def ask(self, peers: long_wait.Peers, busy_s: float) -> None:
        """Use the knowledge of ``peers``: wait up to ``busy_s`` seconds for missing workers that live."""
        self._peers, self._busy_s = peers, busy_s

    def interrupt(self, error: LanesumError | None, patience_s: float) -> None:
        """Raise ``error`` in this or the next wait, after ``patience_s`` without progress; for any thread.

        None withdraws the last one.
        """
        self._interruption = error
        self._deadline_s = min(self._session_deadline_s, patience_s)
        self._engine.wake()

    @property
    def stats(self) -> TransportStats:
        """Counts since the session is open, or of its opening; a snapshot."""
        stats = self._engine.rounds.stats.copy()
        stats.wait_us = round(self._waited_s * 1e6)
        return stats

    @property
    def failed_chunks(self) -> list[FailedChunk]:
        """The last chunks whose results failed their check; of finished rounds, and of a CertificationError."""
        return list(self._failed_chunks)

    @property
    def supports_withheld(self) -> bool:
        """Rounds may be ``withheld``. With a quorum they may not: a part of a result has no contributors."""
        return self._engine.supports_withheld and not self.ticket.quorum

    def exchange(self, op: LaneOp, words: NDArray[np.uint32]) -> CompletedRound:
        """Run one round from beginning to end.

        It is one call of the native extension if no other round is in flight and nothing goes wrong, and so the fastest
        way for a small round. Arguments and errors: see ``begin_round``. After an AggregationTimeoutError the transport
        is unusable, because the other workers may have the result.
        """
        if self._in_flight:
            round_ = self.begin_round(op, words)
        else:
            self._check_round(op, words)
            self.open()
            with _Exclusive(self):
                begun = time.monotonic()
                completed, unfinished, in_time = self._engine.exchange(op, words, self._deadline_s)
                self._waited_s += time.monotonic() - begun
                if unfinished is None:
                    assert completed is not None
                    self._log_failed_results(completed)
                    return completed
                round_ = self._adopt(unfinished, in_time)
        return self._complete(round_)

    def gather(
        self, vector: NDArray[np.float32], divisor: float, num_appended: int
    ) -> tuple[NDArray[np.float32], CompletedRound | None] | None:
        """Return the sum of all workers' vectors over ``divisor``, from one round in which they lie side by side.

        The sum is in float64, in the order of the workers, then rounded to float32, as codec ``fixed`` computes it for
        few values. ``num_appended`` zeros follow the vectors. If one call of the native extension did not complete the
        round, or another worker has appended other words, the completed round is returned as well, and the sum is
        still to be computed from it. Returns None, with nothing sent, if the fast way does not apply: other rounds are
        in flight or not in the native extension, or a value is not finite.
        """
        if self._in_flight or self.ticket.quorum or LaneOp.ADD32 not in self.ticket.ops:
            return None
        self.open()
        with _Exclusive(self):
            begun = time.monotonic()
            gathered = self._engine.gather(vector, divisor, num_appended, self._deadline_s)
            self._waited_s += time.monotonic() - begun
            if gathered is None:
                return None
            values, completed, unfinished, in_time = gathered
            if unfinished is None:
                return values, completed
            round_ = self._adopt(unfinished, in_time)
        return values, self._complete(round_)

    def _adopt(self, round_: AnyRoundState, in_time: bool) -> AnyRoundState:
        """Count a round that one call of the engine did not complete; wait on for it unless it was ``in_time``."""
        self._in_flight += 1
        if not in_time:
            self._wait_for_busy([round_])
        return round_

    def _complete(self, round_: AnyRoundState) -> AnyRoundState:
        """Wait for a round, and finish it."""
        while not round_.complete:
            self.wait([round_])
        with _Exclusive(self):
            self._finish(round_)
        return round_

    @property
    def can_begin(self) -> bool:
        """One more round may begin: the session is open, and with a quorum no other one is in flight."""
        return self._opening_round is None and self._engine.rounds.can_start

    @property
    def opening(self) -> AnyRoundState | None:
        """The opening, to ``wait`` for; None once the session is open."""
        return self._opening_round

    def open(self) -> None:
        """Wait until the session is open.

        Raises UsedTicketError if another process has used the ticket, and the errors of ``wait``.
        """
        if (opening := self.opening) is None:
            return
        with _Exclusive(self):
            self._engine.send()
        woken = False
        while not opening.complete:
            self.wait([opening])
            woken = woken or not opening.complete
        with _Exclusive(self):
            self._finish_opening()
        if woken:
            self.wake()  # that was meant for the next wait

    def _finish_opening(self) -> None:
        """Continue at the epoch of this session. Raises UsedTicketError."""
        assert self._opening_round is not None
        opening, self._opening_round = self._opening_round, None
        self._log_failed_results(opening)
        self._engine.rounds.finish(opening)
        self._engine.rounds.continue_at(self._opening.first_epoch(opening.result()))
        self._waited_s = 0.0

    def begin_round(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        *,
        withheld: bool = False,
        scattered: bool = False,
        gathered: bool = False,
    ) -> AnyRoundState:
        """Begin the next round, which the next call of any method below sends; only where ``can_begin``.

        All workers of a job begin the same rounds in the same order. Several may be in flight at the same time, if all
        words of each are released (``release``) before the next one begins. Each is finished, in any order. Between
        calls a service thread keeps packets moving, less quickly than ``wait``. The first call waits until the session
        is open, unless ``can_begin``.

        Args:
            op: lane operation.
            words: uint32 uplink words, any number of the operation's groups; all workers of the job pass the same
                number. They must not change until the round has finished.
            withheld: the words are still being encoded, and none is sent before ``release``; only where
                ``supports_withheld``.
            scattered: the words are equal shards of whole groups, one for each worker of the job, in their order. The
                result is the sum of this worker's shard. All workers agree.
            gathered: the words are the shard of this worker, and the result are the shards of all, in their order. Only
                without a quorum, and by operations that do not widen words. All workers agree.

        This method and all below that send or receive raise:
            MismatchError: another worker brought another operation or number of words to the round.
            CertificationError: the results of a chunk fail their check, also those of the server.
            ResultGoneError: a quorum continued without this worker too long ago.
            SessionClosedError: closed, or unusable after an earlier failure.
            TransportError: the operation is not one of the job's, or the words are not whole groups of it.
            UsedTicketError, AggregationTimeoutError: see ``open``.
        """
        workers = self.ticket.workers
        self._check_round(op, words, workers if scattered else 1, workers if gathered else 1)
        self.open()
        with _Exclusive(self):
            round_ = self._engine.start(op, words, withheld=withheld, scattered=scattered, gathered=gathered)
            self._in_flight += 1
            return round_

    def _check_round(self, op: LaneOp, words: NDArray[np.uint32], shards: int = 1, senders: int = 1) -> None:
        """Raise TransportError for words in ``shards`` of one worker, or in a shard of each of ``senders``."""
        if op not in self.ticket.ops:
            allowed = ", ".join(one.name for one in self.ticket.ops)
            raise TransportError(f"Job {self.ticket.label} was not admitted for {op.name}; it has {allowed}.")
        if words.size % (shards * op.shape.uplink_words_per_group):
            group, each = op.shape.uplink_words_per_group, f" in each of {shards} equal shards" if shards > 1 else ""
            raise TransportError(f"{words.size} words are not whole groups of {group}{each}, as {op.name} needs them.")
        if words.size * senders > MAX_ROUND_WORDS:
            raise TransportError(f"{words.size * senders:,} words are more than the {MAX_ROUND_WORDS:,} of a round.")

    def release(self, round_: NativeRoundState, words: int) -> None:
        """Allow to send the first ``words`` of a ``withheld`` round, and send the packets that the window admits.

        In a scattered round ``words`` are those of each shard.
        """
        with _Exclusive(self):
            round_.release(words)
            self._engine.poll()

    def poll(self) -> None:
        """Receive the waiting datagrams and send those that are due, without waiting."""
        with _Exclusive(self):
            self._engine.poll()

    def wait(self, rounds: Sequence[AnyRoundState]) -> None:
        """Send and receive until one of the rounds has its awaited chunks, or ``wake`` is called.

        Raises AggregationTimeoutError after the deadline without progress of any round, or after ``busy_s`` if the
        missing workers live; and the error of ``interrupt``.
        """
        with _Exclusive(self):
            if not self._run(rounds):
                self._wait_for_busy(rounds)

    def _wait_for_busy(self, rounds: Sequence[AnyRoundState]) -> None:
        """Wait on, after the deadline, as long as the aggregation point answers and the missing workers live."""
        begun = time.monotonic() - self._deadline_s
        answers, told = -1, False
        while True:
            error = self._timeout_error(next((one for one in rounds if not one.complete), rounds[0]))
            answers, before = self._engine.rounds.stats.pending_replies, answers
            if (
                self._peers is None
                or not isinstance(error, AggregationTimeoutError)
                or not error.missing
                or answers == before
                or time.monotonic() - begun > self._busy_s
                or not self._peers.are_alive(error.missing)
            ):
                raise error
            if not told:
                long_wait.log_busy(error, self._busy_s)
                told = True
            if self._run(rounds):
                return

    def _run(self, rounds: Sequence[AnyRoundState]) -> bool:
        """Run the engine until one of the rounds has its awaited chunks; return False after the deadline."""
        begun = time.monotonic()
        in_time = self._engine.run(rounds, min(self._deadline_s, long_wait.LOG_WAIT_S))
        in_time = in_time or long_wait.run_on(self._engine, rounds, self._deadline_s)
        self._waited_s += time.monotonic() - begun
        return in_time

    def wake(self) -> None:
        """Make ``wait`` return, or the next one not wait; callable from any thread."""
        self._engine.wake()

    def finish(self, round_: AnyRoundState) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Finish a ``complete`` round.

        Returns its accumulator words, as many as the operation makes of the uplink words, and the bitmaps of
        contributors of each packet, shape ``(packets, racks)``.
        """
        with _Exclusive(self):
            self._finish(round_)
            return round_.result(), round_.contributors()

    def _log_failed_results(self, round_: CompletedRound) -> None:
        """Name the slots whose results failed the check of a certified round, also to the controller."""
        if not round_.failed_results:
            return
        ticket, slots, total = self.ticket, set(), 0
        for chunk, (of_switches, of_server) in sorted(round_.failed_results.items()):
            slot = (round_.begin + chunk) % ticket.slots
            slots.add(slot)
            total += of_switches + of_server
            self._note_failed_chunk(round_.epoch, chunk, slot, of_switches, of_server)
        logger.warning(
            "Job %s, epoch %d: %d results of slots %s failed their check at worker %d and were not used. Check the "
            "memory of the switches and hosts on the path to %s.",
            ticket.label, round_.epoch, total, sorted(slots), ticket.worker, ticket.server_names,
        )  # fmt: skip
        if self._peers is not None:
            self._peers.report_failed_chunks()

    def _note_failed_chunk(self, epoch: int, chunk: int, slot: int, of_switches: int, of_server: int) -> None:
        number = self._failed_chunks[-1].number + 1 if self._failed_chunks else 1
        self._failed_chunks.append(FailedChunk(number, epoch, chunk, slot, of_switches, of_server))

    def _note_error(self, error: object) -> None:
        """Keep the chunk of a CertificationError for the report of the failure; let a MismatchError name an address."""
        if isinstance(error, MismatchError) and error.worker is not None and self._peers is not None:
            error.name_sender(self._peers.address_of(error.worker))
        if isinstance(error, CertificationError):
            self._note_failed_chunk(error.epoch, error.chunk, error.slot, 0, MAX_FAILED_RESULTS)

    def _finish(self, round_: AnyRoundState) -> None:
        self._log_failed_results(round_)
        self._engine.rounds.finish(round_)
        self._in_flight -= 1
        # Requests that arrived with the last result should not wait for the next round.
        self._engine.send()

    def leave(self, deadline_s: float = LEAVE_DEADLINE_S) -> bool:
        """Leave together with all other workers, then close; return True if all have left.

        A last round of no words: each worker that takes part in it has all results of the rounds before. Until it is
        complete, this worker retransmits what others still lack: for at most ``deadline_s`` after the last request, and
        never longer than the session's own deadline. Returns False if the round was not complete by then, or if the
        session had ended before. Raises MismatchError if another worker begins a round of its own instead, and
        UsedTicketError.
        """
        try:
            if self._process != os.getpid():
                return False
            with self._lock:
                if isinstance(self._failure, MismatchError):
                    raise self._failure
                if not self._usable or self._in_flight:
                    return False
                self._usable = False
                if self._opening_round is not None:
                    if not self._run_to_leave(self._opening_round, deadline_s):
                        return False
                    self._finish_opening()
                last = self._engine.start(self.ticket.ops[0], np.zeros(0, np.uint32))
                self._engine.send()
                if not self._run_to_leave(last, deadline_s):
                    return False
                self._finish(last)
            return True
        except (AggregationTimeoutError, CertificationError, ResultGoneError):
            return False
        finally:
            self.close()

    def _run_to_leave(self, round_: AnyRoundState, deadline_s: float) -> bool:
        """Run the engine until the round is complete; return False after the deadlines of ``leave``."""
        while not round_.complete:
            if not self._engine.run([round_], min(deadline_s, self._deadline_s), self._deadline_s):
                return False
        return True

    def _service(self) -> None:
        """Answer other workers and continue rounds in flight, between calls; the next call raises the errors."""
        if not self._usable:
            return
        try:
            self._engine.poll()
        except LanesumError as error:
            self._failure = error
            self._usable = False
            self._note_error(error)
        except OSError:
            return  # another thread closes the transport

    def _timeout_error(self, round_: AnyRoundState) -> LanesumError:
        return self._interruption or timeout_error(
            self._engine.rounds.ticket,
            None if round_ is self._opening_round else round_.epoch,
            self._deadline_s,
            missing=round_.missing_workers(),
            refused=round_.refused_results > 0,
            failed=bool(round_.failed_results),
            answered=round_.answered,
            obstacle=self._sockets.obstacle(),
        )

    def abandon(self, error: BaseException | None = None) -> None:
        """Allow no more rounds: this worker is out of step with the others, who are told the ``error``."""
        self._usable = False
        if error is not None and self._peers is not None:
            self._peers.report_failure(error)

    def close(self) -> None:
        """Close the sockets; idempotent."""
        self._closed_in_round |= self._usable and self._in_flight > 0
        self._usable = False
        self._service_thread.close()
        self._engine.close()
        self._sockets.close()

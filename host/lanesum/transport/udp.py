# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds over a plain UDP socket: no raw sockets, no root."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import availability
from lanesum._internal.offload import Offload, check_offload
from lanesum._internal.udp_socket import Address, is_shared_with_switch
from lanesum.aggregation.pieces import RoundPieces
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol.lanes import LaneOp
from lanesum.transport.attendant import Attendant
from lanesum.transport.choose import AnyWindow, make_rounds
from lanesum.transport.congestion import CongestionControl
from lanesum.transport.errors import (
    AggregationTimeoutError,
    MismatchError,
    ResultGoneError,
    SessionClosedError,
    TransportError,
)
from lanesum.transport.in_flight import RoundInFlight
from lanesum.transport.loop import Loop, PythonLoop
from lanesum.transport.native_loop import NativeLoop
from lanesum.transport.native_rounds import NativeRounds, NativeWindow
from lanesum.transport.path import check_path
from lanesum.transport.sockets import ServerSockets, WrapSocket
from lanesum.transport.stats import TransportStats
from lanesum.transport.ticket import JobTicket

# BMv2 holds 64 packets per egress port and drops what comes beyond.
DEFAULT_WINDOW = 64
DEFAULT_DEADLINE_S = 30.0
# A worker that lacks a result asks for it every second at least.
LEAVE_DEADLINE_S = 3.0

Overlap = Callable[[], object]

# Tickets that this process has used, by servers, job, tag and worker: rounds of a second session with the same ticket
# would carry the numbers of the first one's, and the aggregation point might answer with results that it still holds.
_used: set[tuple[tuple[Address, ...], int, int, int]] = set()
_used_lock = threading.Lock()


def _use(ticket: JobTicket) -> None:
    """Raises SessionClosedError for a ticket that was used before."""
    key = (ticket.servers, ticket.job, ticket.tag, ticket.worker)
    with _used_lock:
        if key in _used:
            raise SessionClosedError(
                f"The ticket of worker {ticket.worker} of job {ticket.job} was used already, and a ticket is good for "
                "one session.",
                "Join the job again for a new one.",
            )
        _used.add(key)


class RoundOver(Protocol):
    """A round that all results have come of."""

    def result(self) -> NDArray[np.uint32]:
        """Accumulator words, as many as the operation makes of the round's words."""

    def contributors(self) -> NDArray[np.uint32]:
        """Bitmaps of the contributors of each packet, shape ``(packets, racks)``."""


class _Driving:
    """Alone with a transport's rounds; out of step for ever when an exception leaves their state unknown.

    No generator of ``contextlib``, because every small round comes by several times.
    """

    __slots__ = ("_transport",)

    def __init__(self, transport: UdpTransport) -> None:
        self._transport = transport

    def __enter__(self) -> None:
        transport = self._transport
        transport._in_round.acquire()
        try:
            if transport._failure is not None:
                raise transport._failure
            if not transport._usable:
                raise SessionClosedError(
                    "This session is closed, or an earlier round of it failed.", "Join the job again for a new session."
                )
        except BaseException:
            transport._in_round.release()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            self._transport._usable = False
        self._transport._in_round.release()


class UdpTransport:
    """A worker's end of a job: sends rounds, one after another or a few at a time, and returns their sums.

    Args:
        ticket: the worker's place in the job.
        window: packets under way at most (never more than the job's slots).
        congestion: see ``RoundSequence``; an object of one's own makes the rounds Python's.
        pacing: see ``RoundSequence``.
        deadline_s: a round without any progress for so long raises AggregationTimeoutError.
        offload: whether the kernel is handed many packets as one (UDP GSO and GRO), which it or the device splits:
            ``"on"``, ``"off"``, or ``"auto"``: not through devices behind which a software switch may stand, which has
            to see every packet. The Python implementation sends them one by one in any case.
        wrap_socket: for tests: takes each of the sockets, and returns what is used in its place. No socket is handed to
            the compiled part then.

    Raises ConfigurationError when the local address is not this host's or its port is in use, when packets of the job
    would be fragmented on their way, or when the kernel's socket buffers do not hold a window of them;
    SessionClosedError when the ticket was used before.
    """

    def __init__(
        self,
        ticket: JobTicket,
        *,
        window: int = DEFAULT_WINDOW,
        congestion: str | CongestionControl = "aimd",
        pacing: bool = False,
        deadline_s: float = DEFAULT_DEADLINE_S,
        offload: Offload = "auto",
        wrap_socket: WrapSocket | None = None,
    ) -> None:
        if window < 1 or deadline_s <= 0:
            raise ConfigurationError(f"window = {window} and deadline_s = {deadline_s} must be positive.")
        self.ticket = ticket
        check_offload(offload)
        self._rounds = make_rounds(ticket, window=window, congestion=congestion, pacing=pacing)
        self._deadline_s = deadline_s
        self._usable = True
        self._in_flight = 0  # rounds begun and not finished
        try:
            self._sockets = ServerSockets(
                ticket.local, ticket.servers, shared=is_shared_with_switch(ticket.local), wrap_socket=wrap_socket
            )
        except OSError as error:
            raise ConfigurationError(
                f"Worker {ticket.worker} cannot send from {ticket.local[0]}:{ticket.local[1]} "
                f"to {ticket.server_names}: {error.strerror}.",
                "Check that the address belongs to this host and that no other process holds the port.",
            ) from error
        try:
            check_path(ticket, self._sockets.filenos(), window)
            _use(ticket)
            self._loop = self._make_loop(offload, kernel=wrap_socket is None)
        except Exception:
            self._sockets.close()
            raise
        self._failure: LanesumError | None = None  # what went wrong between rounds
        self._in_round = threading.Lock()
        self._attendant = Attendant(self._in_round, self._attend)

    def _make_loop(self, offload: Offload, *, kernel: bool) -> Loop:
        """``kernel``: the sockets are the kernel's own, with nothing in between."""
        native = availability().core
        if native is not None and isinstance(self._rounds, NativeRounds) and kernel:
            return NativeLoop(native, self.ticket, self._rounds, self._sockets, offload)
        return PythonLoop(self.ticket, self._rounds, self._sockets)

    @property
    def stats(self) -> TransportStats:
        """Counts since the transport was opened; a snapshot."""
        return self._rounds.stats.copy()

    @property
    def takes_pieces(self) -> bool:
        """Rounds can be made piece by piece; with a quorum a piece's sum may be over less than all workers."""
        return isinstance(self._loop, NativeLoop) and not self.ticket.quorum

    def all_reduce_words(
        self,
        op: LaneOp,
        words: NDArray[np.uint32],
        overlap: Overlap | None = None,
        pieces: RoundPieces | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """One round.

        Args:
            op: lane operation.
            words: uint32 uplink words, any number of the operation's groups; all workers of the job pass the same
                number. They must not change until the round has ended.
            overlap: called once, after the first window has been sent, or the last piece made.
            pieces: makes ``words`` and uses the result, as far as packets go and come; only where ``takes_pieces``.

        Returns:
            Accumulator words, as many as the operation makes of ``words``, and the bitmaps of contributors of each
            packet, shape ``(packets, racks)``.

        Raises:
            AggregationTimeoutError: no progress until the deadline; the transport is unusable afterwards, because
                the other workers may or may not have the round.
            MismatchError: another worker brought another operation or number of words to this round.
            ResultGoneError: a quorum went on without this worker too long ago.
            SessionClosedError: closed, or unusable after an earlier failure.
            TransportError: the operation is not one of the job's, or the words are not whole groups of it.
        """
        if pieces is None and overlap is None:
            over = self.exchange(op, words)
            return over.result(), over.contributors()
        try:
            round_ = self.begin_round(op, words, pieces)
            with _Driving(self):
                self._loop.send()
            while round_.encoding:
                self.encode(round_)
                while round_.ready:
                    self.decode(round_)
            if overlap is not None:
                self.attend()
                overlap()
            while not round_.finished:
                self.wait([round_])
                while round_.ready:
                    self.decode(round_)
            return self.finish(round_)
        except BaseException:
            self._give_up()
            raise

    def exchange(self, op: LaneOp, words: NDArray[np.uint32]) -> RoundOver:
        """``all_reduce_words`` where that is all: the quickest way for a small round, which is one call of the compiled
        part if no other is under way and nothing goes wrong."""
        try:
            if self._in_flight or not isinstance(self._loop, NativeLoop):
                round_ = self.begin_round(op, words)
                with _Driving(self):
                    self._loop.send()
            else:
                self._check_round(op, words)
                with _Driving(self):
                    in_time, window = self._loop.exchange(op, words, self._deadline_s)
                    if not isinstance(window, NativeWindow):
                        over: RoundOver = window
                        return over
                    self._in_flight += 1
                    if not in_time:
                        raise self._timeout_error(window)
                round_ = RoundInFlight(window, None)
            self._wait_for(round_.window)
            return round_.window
        except BaseException:
            self._give_up()
            raise

    def gather(
        self, vector: NDArray[np.float32], divisor: float
    ) -> tuple[NDArray[np.float32], RoundOver | None] | None:
        """The sum of all workers' vectors over ``divisor``, from one round in which they come side by side.

        In float64, in the order of the workers, then rounded to float32, as ``fixed`` has it for few values, in the
        quickest way. Where one call of the compiled part was not enough, the round, which is over, comes with
        it, and the sum is still to be made of that. None where another way has to be taken, and nothing was sent:
        rounds are under way, or are not the compiled part's, or a value is not finite.
        """
        loop, ticket = self._loop, self.ticket
        if self._in_flight or not isinstance(loop, NativeLoop) or ticket.quorum or LaneOp.ADD32 not in ticket.ops:
            return None
        try:
            with _Driving(self):
                gathered = loop.gather(vector, ticket.worker, ticket.workers, divisor, self._deadline_s)
                if gathered is None:
                    return None
                in_time, window, values = gathered
                if window is None:
                    return values, None
                self._in_flight += 1
                if not in_time:
                    raise self._timeout_error(window)
            self._wait_for(window)
            return values, window
        except BaseException:
            self._give_up()
            raise

    def _wait_for(self, window: AnyWindow) -> None:
        """Until a round that is under way alone has ended, and then end it."""
        round_ = RoundInFlight(window, None)
        while not round_.finished:
            self.wait([round_])
        with _Driving(self):
            self._end(window)

    def _give_up(self) -> None:
        """After an exception in the middle of a call that is a whole round."""
        if self._in_flight:  # and nobody knows of it any more
            self.abandon()

    @property
    def can_begin(self) -> bool:
        """There is room for one more round; with a quorum one is under way at a time."""
        return self._rounds.can_start

    def begin_round(self, op: LaneOp, words: NDArray[np.uint32], pieces: RoundPieces | None = None) -> RoundInFlight:
        """Start the next round, to be sent by whichever of the calls below comes next; only where ``can_begin``.

        All workers of a job begin the same rounds in the same order. Several may be under way at the same time, where
        each has all its pieces ``encode``d before the next one begins; each is ``finish``ed, in any order. Between
        calls a thread of the transport's own keeps packets going, less quickly than ``wait`` does.

        ``words``, ``pieces`` and what is raised are as of ``all_reduce_words``; ``words`` must not change until
        ``finish``.
        """
        self._check_round(op, words)
        with _Driving(self):
            if pieces is None:
                window: AnyWindow = self._rounds.start(op, words)
            else:
                assert isinstance(self._rounds, NativeRounds)
                window = self._rounds.start(op, words, withheld=True)
            self._in_flight += 1
            return RoundInFlight(window, pieces)

    def _check_round(self, op: LaneOp, words: NDArray[np.uint32]) -> None:
        if op not in self.ticket.ops:
            allowed = ", ".join(one.name for one in self.ticket.ops)
            raise TransportError(f"Job {self.ticket.job} was not admitted for {op.name}; it has {allowed}.")
        if words.size % op.shape.uplink_words_per_group:
            group = op.shape.uplink_words_per_group
            raise TransportError(f"{words.size} words are not whole groups of {group}, as {op.name} needs them.")

    def encode(self, round_: RoundInFlight) -> None:
        """Make the next piece of a round that is ``encoding``, and send what there is room for."""
        with _Driving(self):
            round_.encode()
            self._loop.attend()

    def decode(self, round_: RoundInFlight) -> None:
        """Use the next piece of a round that is ``ready``."""
        with _Driving(self):
            round_.decode()

    def attend(self) -> None:
        """Take what has come and send what there is room for, without waiting."""
        with _Driving(self):
            self._loop.attend()

    def wait(self, rounds: Sequence[RoundInFlight]) -> None:
        """Send and receive until something can be done for one of the rounds, which are under way, or ``wake``.

        Raises AggregationTimeoutError after the deadline without progress of any round.
        """
        with _Driving(self):
            if not self._loop.run([one.wanted for one in rounds], self._deadline_s):
                waits = (one.window for one in rounds if not one.window.finished)
                raise self._timeout_error(next(waits, rounds[0].window))

    def wake(self) -> None:
        """Have ``wait`` come back, or the next one not wait; from any thread."""
        self._loop.wake()

    def finish(self, round_: RoundInFlight) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """What a ``finished`` round came to, as ``all_reduce_words`` returns it."""
        with _Driving(self):
            self._end(round_.window)
            return round_.result()

    def _end(self, window: Any) -> None:
        """``window`` is of ``_rounds``' own kind."""
        self._rounds.finish(window)
        self._in_flight -= 1
        # What others asked for together with the last result should not wait for the next round.
        self._loop.send()

    def leave(self, deadline_s: float = LEAVE_DEADLINE_S) -> bool:
        """Say goodbye together with all other workers, then close; True when everybody has.

        A last round of no words: whoever takes part in it has all results of the rounds before. Until it is through,
        this worker sends again what others still lack, for at most ``deadline_s`` after the last time anybody asked
        and never longer than the session's own deadline. False when it was not through by then, or when the session
        had ended before. Raises MismatchError when another worker goes on with a round of its own instead.
        """
        try:
            with self._in_round:
                if isinstance(self._failure, MismatchError):
                    raise self._failure
                if not self._usable or self._in_flight:
                    return False
                self._usable = False
                window = self._rounds.start(self.ticket.ops[0], np.zeros(0, np.uint32))
                self._loop.send()
                while not window.finished:
                    patience_s = min(deadline_s, self._deadline_s)
                    if not self._loop.run([(window, window.chunks)], patience_s, self._deadline_s):
                        return False
                self._end(window)
            return True
        except (AggregationTimeoutError, ResultGoneError):
            return False
        finally:
            self.close()

    def _attend(self) -> None:
        """Between calls: answer who still lacks a result, and keep rounds under way going. What goes wrong is the next
        call's to raise."""
        if not self._usable:
            return
        try:
            self._loop.attend()
        except LanesumError as error:
            self._failure = error
            self._usable = False
        except OSError:
            return  # closed meanwhile

    def _timeout_error(self, window: AnyWindow) -> AggregationTimeoutError:
        ticket = self.ticket
        missing = window.missing_workers()
        what = (
            f"Job {ticket.job}, round {window.epoch}: no progress for {self._deadline_s:g} s at worker {ticket.worker}"
        )
        alike = ""
        if len(ticket.servers) > 1:
            alike = f" All workers need the same servers in the same order; this one has {ticket.server_names}."
        if missing:
            names = ", ".join(map(str, missing))
            return AggregationTimeoutError(
                f"{what}; still missing: worker {names}.", f"Look at the logs of the workers named.{alike}", missing
            )
        if window.strangers:
            return AggregationTimeoutError(
                f"{what}; results came that name other contributors than the job's {ticket.workers} workers.",
                "The aggregation point holds another membership of this job: admit the job again.",
                (),
            )
        if window.answered:
            return AggregationTimeoutError(
                f"{what}, although packets came back before.", f"Check the path to the switch and its drops.{alike}", ()
            )
        return AggregationTimeoutError(
            f"{what}; nothing ever came back from {ticket.server_names}.",
            "Check that the switch runs, that the job is admitted there with this worker's address, and that no "
            "worker has joined it anew since.",
            (),
        )

    def abandon(self) -> None:
        """No more rounds: this worker is out of step with the others."""
        self._usable = False

    def close(self) -> None:
        """Give the sockets back; idempotent."""
        self._usable = False
        self._attendant.close()
        self._loop.close()
        self._sockets.close()

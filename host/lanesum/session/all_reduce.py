# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One all-reduce from its submission to its result, its observers, and the times of the phases of a session."""

from __future__ import annotations

import collections
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import (
    Aggregate,
    Codec,
    CodecContext,
    CodecError,
    Members,
    Result,
    Round,
    RoundGroup,
    Steps,
    UnencodableError,
    is_tensor,
)
from lanesum.codecs.shards import own_shard, steps_of
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import MAX_ROUND_WORDS
from lanesum.session.lengths import AppendedLengths, append_lengths
from lanesum.transport import JobTicket
from lanesum.transport.native_engine import AnyRoundState, NativeRoundState

if TYPE_CHECKING:
    import torch

    from lanesum.gpu.staging import Staging, StreamEvent

#: The kind of vector that the caller passed, and gets back.
V = TypeVar("V", "NDArray[Any]", "torch.Tensor")
#: Returns a range for the trace of a profiler, or None if no profiler runs.
OpenRange = Callable[[str], AbstractContextManager[object] | None]


class PhaseTimer:
    """Context manager that adds up the seconds between its entries and exits.

    It is entered at every step of an all-reduce, so it is one object instead of a ``contextlib`` generator.
    """

    __slots__ = ("_name", "_phases", "_range", "begin", "seconds")

    def __init__(self, name: str, phases: SessionPhases) -> None:
        self.seconds = 0.0
        self._name = name
        self._phases = phases
        self._range: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        self._range = self._phases.open_range(self._name)
        if self._range is not None:
            self._range.__enter__()
        self.begin = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds += self._phases.add_spans(self.begin, self._name) - self.begin
        if self._range is not None:
            self._range.__exit__(None, None, None)


class SessionPhases:
    """Phases of one session, and their spans while a trace is recorded.

    All phases but ``wait`` are those of the thread that advances the all-reduces, so their times never overlap and add
    up to at most the wall-clock time. The network phase is the time in which nothing was left but to send and receive
    packets.

    Attributes:
        encode: computing the uplink words, and residuals.
        send: beginning a round: sending its first packets.
        network: waiting for results, and moving packets meanwhile.
        decode: computing the mean from the sums.
        wait: the thread that needs the results waits for them.
        open_range: called at every entry, with ``lanesum::encode`` and so on.
        spans: names, begins, ends by ``time.perf_counter``, and steps, while a trace is recorded; else None.
        step: number of the step of DDP, or of a synchronous all-reduce; the same at all workers.
    """

    def __init__(self) -> None:
        self.open_range: OpenRange = lambda _: None
        self.spans: collections.deque[tuple[str, float, float, int]] | None = None
        self.step = 0
        names = ("encode", "send", "network", "decode", "wait")
        self.encode, self.send, self.network, self.decode, self.wait = (
            PhaseTimer(f"lanesum::{x}", self) for x in names
        )

    def add_spans(self, begin: float, *names: str) -> float:
        """Add spans that end now, if a trace is recorded; return the time."""
        now = time.perf_counter()
        if (spans := self.spans) is not None:  # another thread ends the trace
            spans.extend((name, begin, now, self.step) for name in names)
        return now


class Driver(Protocol):
    """Advances the all-reduces of a session."""

    def wait(self, all_reduce: AllReduce[Any]) -> bool:
        """Advance all of them until this one is done; return False if ``Session.wake`` interrupted the wait."""

    def progress(self) -> None:
        """Advance all of them as far as no wait is needed."""


@dataclass(slots=True)
class StartedRound:
    """A round that was started, and what the scheduler still has to do for it.

    Attributes:
        overlap: work of the codec that does not need the result; None once it is done.
        lengths: the vector lengths behind the round's own words, if any.
        begin: time of the start, by ``time.perf_counter``.
        rest: words of its parts that are not started; see ``divided``.
        workers: number of workers of the job.
        flights: its parts in flight, in order.
        result: accumulator words and bitmaps of contributors; None until the round is complete.
    """

    round: Round
    overlap: Callable[[], object] | None
    lengths: AppendedLengths | None
    begin: float
    rest: collections.deque[NDArray[np.uint32]]
    workers: int
    flights: collections.deque[AnyRoundState] = field(default_factory=collections.deque)
    result: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None
    _parts: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = field(default_factory=list)

    def add_result(self, words: NDArray[np.uint32], contributors: NDArray[np.uint32]) -> None:
        """Store the result of the next part; that of the last part completes ``result``."""
        self._parts.append((words, contributors))
        if not self.rest and not self.flights:
            all_words, bitmaps = zip(*self._parts, strict=True)
            self.result = _joined(all_words, self.workers if self.round.gathered else 1), _joined(bitmaps)

    @property
    def encoding(self) -> bool:
        """True while pieces of the words are still to be encoded."""
        pieces = self.round.pieces
        return pieces is not None and pieces.encoded < len(pieces)

    @property
    def ready(self) -> bool:
        """True if the result of a piece has arrived, and the piece is not decoded yet."""
        pieces = self.round.pieces
        if pieces is None or pieces.decoded == len(pieces) or not self.flights:
            return False
        return self.flights[0].done_chunks >= self.flights[0].awaited_chunks

    def decode_piece(self) -> None:
        """Decode the next piece, and wait for the one after it from now on."""
        pieces, flight = self.round.pieces, cast(NativeRoundState, self.flights[0])
        assert pieces is not None
        pieces.decode_up_to(pieces.needed, flight.arriving())
        if pieces.decoded < len(pieces):
            flight.await_words(pieces.needed)
        else:
            flight.awaited_chunks = flight.chunks


def _joined(parts: tuple[NDArray[np.uint32], ...], shards: int = 1) -> NDArray[np.uint32]:
    if len(parts) == 1:
        return parts[0]
    if shards == 1:
        return np.concatenate(parts)
    return np.concatenate([part.reshape(shards, -1) for part in parts], axis=1).reshape(-1)


def divided(words: NDArray[np.uint32], round_: Round, ticket: JobTicket) -> collections.deque[NDArray[np.uint32]]:
    """Return the words of the rounds on the network that make up a round: one, or as few as its size allows.

    All but the last have whole packets, of each shard of a scattered or gathered round. So their results follow each
    other.
    """
    workers = ticket.workers
    if words.size * (workers if round_.gathered else 1) <= MAX_ROUND_WORDS:
        return collections.deque([words])
    shards = words.reshape(workers if round_.scattered else 1, -1)
    packet_words = round_.op.shape.uplink_words(ticket.data_words(round_.op))
    in_turn = workers if round_.scattered or round_.gathered else 1
    size = MAX_ROUND_WORDS // (in_turn * packet_words) * packet_words
    begins = range(0, shards.shape[1], size)
    return collections.deque(shards[:, begin : begin + size].reshape(-1) for begin in begins)


@dataclass(slots=True, eq=False)
class AllReduce(Generic[V]):
    """An all-reduce in flight; :meth:`lanesum.session.Session.all_reduce_async` makes it.

    Callers use ``done``, ``wait``, ``result`` and ``codec_result``, from one thread at a time. A session is not safe
    for concurrent calls either. The attributes are for the driver.

    Attributes:
        shape: of the result.
        steps: the codec's generator of rounds.
        ready: event that is complete once the vector is computed; None for a vector that exists already.
        staging: the device of the result; None for the host.
        description: of the vector, compared between the workers; empty for none.
        completed: the codec's result, once the all-reduce has succeeded.
        cause: the error of a vector that is not finite, in whose place zeros are sent.
        begun: the codec was asked for its first round.
        made: rounds that the codec has yielded and that are to be started.
        started: rounds whose results the codec waits for.
        grouped: these rounds are one ``RoundGroup``.
        lengths_sent: a round has carried the length of the vector, or the first group of rounds had no room for it.
        last_checks: of the rounds that the codec has yielded last, whether they are known to be its last.
    """

    driver: Driver
    shape: tuple[int, ...]
    codec: Codec
    vector: Any
    context: CodecContext
    steps: Steps
    size: int
    names: tuple[str, ...]
    ready: StreamEvent | None = None
    staging: Staging | None = None
    description: str = ""
    completed: Result | None = None
    error: BaseException | None = None
    cause: UnencodableError | None = None
    begun: bool = False
    made: collections.deque[Round] = field(default_factory=collections.deque)
    started: list[StartedRound] = field(default_factory=list)
    grouped: bool = False
    num_rounds: int = 0
    lengths_sent: bool = False
    last_checks: list[Callable[[], bool]] = field(default_factory=list)
    _max_rounds: float | None = None

    @property
    def ended(self) -> bool:
        """True once there is a result or an error."""
        return self.completed is not None or self.error is not None

    def done(self) -> bool:
        """Return True if the all-reduce has succeeded or failed; advance it first as far as no wait is needed."""
        if not self.ended:
            self.driver.progress()
        return self.ended

    def wait(self) -> bool:
        """Advance all all-reduces in flight until this one is done; return False if ``Session.wake`` interrupted it."""
        return self.driver.wait(self)

    def result(self) -> V:
        """Wait for the sum or mean, and return it in the shape of the vector; of a reduce-scatter, of a shard.

        Raises LanesumError: the exceptions of :meth:`lanesum.session.Session.all_reduce`.
        """
        return cast(V, self.codec_result().values.reshape(self.shape))

    def codec_result(self) -> Result:
        """Wait as ``result`` does, and return the codec's result: flat values, and the residual if it was asked for.

        Values and residual on a device are ready for work that the calling thread launches in its current stream.
        """
        while not self.wait():
            pass
        if self.error is not None:
            raise self.error
        result = self.completed
        assert result is not None
        if self.staging is not None:
            vectors = (result.values,) if result.residual is None else (result.values, result.residual)
            self.staging.hand_over(*cast("tuple[torch.Tensor, ...]", vectors))
        return result

    @property
    def max_rounds(self) -> float:
        """Number of rounds; infinity where the next all-reduce must wait for the end of this one.

        With a quorum, codecs may make other rounds than their ``shapes``. Only one round is in flight then.
        """
        if self._max_rounds is None:
            self._max_rounds = math.inf
            if self.context.complete and not self.codec.traits.depends_on_past_sums:
                with suppress(NotImplementedError):
                    self._max_rounds = len(self.codec.shapes(self.size))
        return self._max_rounds

    @property
    def made_last_round(self) -> bool:
        """True once the codec is known to make no more rounds."""
        return any(is_last() for is_last in self.last_checks)

    @property
    def all_rounds_started(self) -> bool:
        """True once rounds of the next all-reduce may start."""
        if self.made or any(one.encoding or one.rest for one in self.started):
            return False
        return self.num_rounds >= self.max_rounds or self.made_last_round

    @property
    def can_resume(self) -> bool:
        """True if all results that the codec waits for are there."""
        return bool(self.started) and not self.made and all(one.result is not None for one in self.started)

    def depends_on(self, earlier: AllReduce[Any]) -> bool:
        """Return True if the rounds depend on the sum of ``earlier``, so that it must be done first."""
        if self.codec is not earlier.codec or not self.codec.traits.depends_on_past_sums:
            return False
        return not set(self.names).isdisjoint(earlier.names)

    def take(self, made: Round | RoundGroup, *, complete: bool) -> None:
        """Queue the rounds that the codec has yielded; ``complete``: every sum is over all workers."""
        self.grouped = isinstance(made, RoundGroup)
        self.check_rounds(len(made.rounds))
        self.made.extend(made.rounds)
        if complete:
            self.last_checks = [round_.last for round_ in made.rounds]

    def check_rounds(self, more: int) -> None:
        """Raise CodecError if the codec must not make as many ``more`` rounds."""
        if self.made_last_round:
            raise CodecError(f"Codec {self.codec.name} makes a round after one that it marked as its last.")
        if self.num_rounds + more > self.max_rounds:
            # Later all-reduces may have started rounds of these numbers.
            raise CodecError(
                f"Codec {self.codec.name} makes more than the {self.max_rounds:g} rounds of its shapes.",
                "Return every round from `shapes`.",
            )

    def count_round(self, round_: Round, ticket: JobTicket) -> tuple[NDArray[np.uint32], AppendedLengths | None]:
        """Count a round that starts now; return its words, with the vector lengths behind them if they have room."""
        self.num_rounds += 1
        if self.lengths_sent:
            return round_.words, None
        words, lengths = append_lengths(
            self.codec, self.size, round_, ticket, not_finite=self.context.not_finite, description=self.description
        )
        self.lengths_sent = lengths is not None
        return words, lengths

    def start_again(self, cause: UnencodableError) -> None:
        """Make new steps for zeros in place of a vector that is not finite."""
        self.cause = cause
        self.context = replace(self.context, not_finite=True, error_feedback=None)
        zeros = self._filled(0.0)
        if is_tensor(zeros):
            from lanesum.codecs.tensors import make_steps  # PyTorch is imported already

            self.steps = make_steps(self.codec, zeros, self.context)[0]
        else:
            self.steps = steps_of(self.codec, zeros, self.context)

    def not_finite_result(self) -> Result:
        """Return NaN, the result of all workers if the vector of one is not finite."""
        result = Result(self._filled(math.nan), not_finite=True)
        return own_shard(result, self.context) if self.context.scattered else result

    def _filled(self, value: float) -> Any:
        if not is_tensor(self.vector):
            return np.full_like(self.vector, value)
        with nullcontext() if self.staging is None else self.staging.stream():
            return self.vector.new_full(self.vector.shape, value)


@dataclass(frozen=True, slots=True)
class ObservedRound:
    """A completed round: this worker's words and the result.

    Attributes:
        aggregate: the result as the codec gets it: accumulator words, and the number of contributors of each.
        contributors: uint32 bitmaps of the contributors, shape ``(packets, racks)``; one column with one level.
    """

    codec: Codec
    round: Round
    aggregate: Aggregate
    contributors: NDArray[np.uint32]

    @property
    def words(self) -> NDArray[np.uint32]:
        """The accumulator words."""
        return self.aggregate.words


RoundObserver = Callable[[ObservedRound], None]


def make_aggregate(
    ticket: JobTicket, op: LaneOp, words: NDArray[np.uint32], contributors: NDArray[np.uint32]
) -> Aggregate:
    """Return the accumulator ``words`` of a round with their contributors.

    Args:
        ticket: names the workers of the job and their racks.
        contributors: uint32 bitmaps, shape ``(packets, racks)``.

    Returns:
        An aggregate with one number of contributors where every packet contains all workers, which is always so
        without a quorum. Otherwise it has one number for each word, and the members of each sum.
    """
    if not ticket.quorum or (contributors == np.array(ticket.rack_members, np.uint32)).all():
        return Aggregate(words, ticket.workers)
    bitmaps, set_of_packet = np.unique(contributors, axis=0, return_inverse=True)
    places = np.array(ticket.places or [(0, worker) for worker in range(ticket.workers)], np.uint32)
    sets = (bitmaps[:, places[:, 0]] >> places[:, 1] & np.uint32(1)).astype(np.bool_)
    set_of_word = np.repeat(set_of_packet.reshape(-1), ticket.data_words(op))[: words.size]
    counts = sets.sum(axis=1, dtype=np.int64)[set_of_word]
    return Aggregate(words, counts, sets[set_of_word, ticket.worker], Members(sets, set_of_word))

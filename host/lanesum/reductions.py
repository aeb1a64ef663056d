# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces under way at the same time: whose turn it is to encode, to start a round, to decode.

Rounds have no names in the network but their numbers, so all workers have to start the same ones in the same order,
whatever their timing: every round of an all-reduce before any of the next. The next one's first round starts as soon as
the last round of the one before has been started, and all its words are made. So its norms travel behind the codes of
the one before, and it is encoded while those are on their way and come back. A codec whose rounds depend on sums says
of its rounds, as soon as it can tell, that none comes after them.

Everything happens in the thread of whoever waits, piece by piece, and what is oldest first.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, Codec, CodecError, Result, Round, RoundGroup, Steps, Words
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.protocol.lanes import LaneOp
from lanesum.transport import JobTicket, UdpTransport
from lanesum.transport.errors import SessionClosedError
from lanesum.transport.in_flight import RoundInFlight

# Bitmaps of who is in each packet's sum; seldom asked for.
Contributors = Callable[[], NDArray[np.uint32]]
# What a round came to: codec, round, accumulator words, and who is in them. Returns what the codec gets.
Aggregated = Callable[[Codec, Round, NDArray[np.uint32], Contributors], Aggregate]
# Compares the number of values with the other workers': own, largest, and inverse of the smallest.
CompareSizes = Callable[[int, int, int], None]


@dataclass(slots=True)
class _Started:
    """A round under way, and what is compared in it besides.

    Attributes:
        came: what it came to, as ``UdpTransport.finish`` says it; None until it has ended.
    """

    round: Round
    flight: RoundInFlight
    overlap: Callable[[], object] | None
    compared: _Lengths | None
    came: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None


@dataclass(slots=True, eq=False)
class Reduction:
    """One all-reduce.

    Attributes:
        result: what it came to.
        error: or why it did not.
    """

    codec: Codec
    steps: Steps
    size: int | None  # values of the vector, until they have been compared with the other workers'
    keys: frozenset[str]  # names of the vector and its parameters
    expected: float  # rounds that it takes, if that is known
    arrived: Callable[[], bool] | None = None  # whether the vector is there; beginning waits for it otherwise
    result: Result | None = None
    error: BaseException | None = None
    begun: bool = False
    made: collections.deque[Round] = field(default_factory=collections.deque)  # rounds to be started
    grouped: bool = False
    last: list[Callable[[], bool]] = field(default_factory=list)  # of the rounds that were yielded last
    started: list[_Started] = field(default_factory=list)  # rounds that the codec waits for
    rounds: int = 0  # started so far

    @property
    def ended(self) -> bool:
        return self.result is not None or self.error is not None

    @property
    def out_of_the_way(self) -> bool:
        """The next one's rounds may start."""
        if self.made or any(one.flight.encoding for one in self.started):
            return False
        return self.rounds >= self.expected or self.was_last

    @property
    def was_last(self) -> bool:
        """The codec is known to make no more rounds."""
        return any(last() for last in self.last)

    @property
    def resumable(self) -> bool:
        """All rounds that the codec waits for are through."""
        return bool(self.started) and not self.made and all(one.came is not None for one in self.started)

    def depends_on(self, before: Reduction) -> bool:
        """Its rounds depend on a sum that has to be there: workers would make different ones otherwise."""
        dependent = self.codec.traits.depends_on_past_sums
        return dependent and self.codec is before.codec and not self.keys.isdisjoint(before.keys)


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The number of values as compared in a round: the own one, and in how many words behind the round's own."""

    size: int
    words: int


def _with_size(reduction: Reduction, round_: Round, ticket: JobTicket) -> tuple[Words, _Lengths | None]:
    """The words of a round, and behind them the number of values, if the round is the one to compare it."""
    words, compared, size = round_.words, None, reduction.size
    if size is not None and round_.pieces is None:
        if round_.op is LaneOp.MAX:
            # The largest of the complements tells the smallest length. In most rounds both fit into the padding.
            lengths = np.array([size, ~size], np.int64).astype(np.uint32)
        elif round_.op is LaneOp.ADD32 and reduction.codec.traits.packs_values:
            lengths = np.zeros(ticket.workers, np.uint32)
            lengths[ticket.worker] = size % (1 << 32)
        else:
            lengths = np.empty(0, np.uint32)
        if lengths.size:
            words, compared = np.concatenate((words, lengths)), _Lengths(size, lengths.size)
    reduction.size = None  # compared once
    return words, compared


def _known(contributors: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return contributors


def _first(contributors: Contributors, packets: int) -> NDArray[np.uint32]:
    return contributors()[:packets]


class Reductions:
    """The all-reduces of one session, in the order in which they were submitted.

    Args:
        transport: carries the rounds.
        aggregated: called for every round, when it is through.
        compare: called once for an all-reduce whose first round has room for the number of values.
    """

    def __init__(self, transport: UdpTransport, aggregated: Aggregated, compare: CompareSizes) -> None:
        self._transport = transport
        self._aggregated = aggregated
        self._compare = compare
        self._running: collections.deque[Reduction] = collections.deque()

    def __len__(self) -> int:
        return len(self._running)

    def submit(
        self,
        codec: Codec,
        steps: Steps,
        size: int,
        keys: Iterable[str],
        arrived: Callable[[], bool] | None = None,
    ) -> Reduction:
        """Put an all-reduce behind the others, and begin it as far as that goes. ``keys``: what is summed, by name;
        ``arrived``: whether its first step would not wait for a device, None where it never does."""
        reduction = Reduction(codec, steps, size, frozenset(keys), self._expected(codec, size), arrived)
        self._running.append(reduction)
        self._guard(self._begin_all)
        return reduction

    def reduce(self, codec: Codec, steps: Steps, size: int, keys: Iterable[str]) -> Result:
        """An all-reduce from beginning to end, whatever ``UdpTransport.wake`` says. Raises what it ends with."""
        alone = not self._running
        expected = math.inf if alone else self._expected(codec, size)
        reduction = Reduction(codec, steps, size, frozenset(keys), expected)
        self._running.append(reduction)
        if alone:
            self._guard(self._go_straight, reduction, size)
        if not reduction.ended:
            while not self.drive(reduction):
                pass
        if reduction.error is not None:
            raise reduction.error
        assert reduction.result is not None
        return reduction.result

    def gather(self, vector: NDArray[np.float32], divisor: float) -> NDArray[np.float32] | None:
        """See ``UdpTransport.gather``; None also while others are under way."""
        if self._running:
            return None
        try:
            gathered = self._transport.gather(vector, divisor)
            if gathered is None:
                return None
            values, over = gathered
            if over is not None:
                kernels(few=True).sum_rows(over.result().view(np.float32), divisor, values)
            return values
        except BaseException:
            self._transport.abandon()
            raise

    def _go_straight(self, reduction: Reduction, size: int) -> None:
        """One plain round after another, as far as that goes, with nobody else whose turn it might be: what ``drive``
        would do as well, in fewer steps."""
        reduction.begun = True
        codec, send, exchange = reduction.codec, reduction.steps.send, self._transport.exchange
        complete = not self._transport.ticket.quorum
        reply: Aggregate | None = None
        try:
            while True:
                made = send(reply)
                if isinstance(made, RoundGroup) or made.pieces is not None or made.overlap is not None:
                    break
                if len(self._running) > 1:  # submitted meanwhile, by an observer
                    break
                if reduction.rounds:
                    reduction.expected = self._expected(codec, size)
                    self._check_rounds(reduction, 1)
                reduction.rounds += 1
                if complete:
                    reduction.last = [made.last]
                words, compared = _with_size(reduction, made, self._transport.ticket)
                over = exchange(made.op, words)
                reply = self._aggregate(codec, made, compared, over.result(), over.contributors)
        except StopIteration as stop:
            reduction.result = stop.value
            self._running.remove(reduction)
        else:
            reduction.expected = self._expected(codec, size)
            self._take(reduction, made)

    def _expected(self, codec: Codec, size: int) -> float:
        """Rounds that an all-reduce takes; infinity where that is not known, and the next one waits until it ends."""
        if self._transport.ticket.quorum:
            return math.inf  # codecs may take other rounds than they say, and one is under way at a time anyway
        if codec.traits.depends_on_past_sums:
            return math.inf  # the codec says it round by round
        try:
            return len(codec.shapes(size))
        except NotImplementedError:
            return math.inf

    def drive(self, reduction: Reduction) -> bool:
        """Work and wait until an all-reduce has ended; False when ``UdpTransport.wake`` came before.

        Errors end all of them, and are in their ``error``; what is no Exception is raised, too.
        """

        def work() -> None:
            while not reduction.ended and self._step():
                pass

        while not reduction.ended:
            self._guard(work)
            if not reduction.ended and not self._guard(self._wait):
                return reduction.ended
        return True

    def progress(self) -> None:
        """Do what can be done without waiting."""

        def work() -> None:
            self._transport.attend()
            while self._running and self._step(patient=False):
                pass

        if self._running:
            self._guard(work)

    def finish_all(self) -> None:
        """Work and wait until none is under way."""
        while self._running:
            self.drive(self._running[-1])

    def fail(self, error: BaseException) -> None:
        """End all of them."""
        while self._running:
            reduction = self._running.popleft()
            reduction.error = error
            reduction.steps.close()

    def _guard(self, work: Callable[..., bool | None], *arguments: Any) -> bool | None:
        try:
            return work(*arguments)
        except BaseException as error:
            # The others wait for these all-reduces: were the next one to take their place, sums would mix the two.
            self._transport.abandon()
            if isinstance(error, Exception):
                self.fail(error)
                return None
            self.fail(SessionClosedError("This session ended in the middle of an all-reduce.", "Join the job again."))
            raise

    def _wait(self) -> bool:
        """Until there is something to do; False when only somebody has called ``wake``."""
        if not self._running:
            return False
        # Also those that have ended since the last step, by the attendant's hand: to wait for these takes no time.
        waiting = [one.flight for reduction in self._running for one in reduction.started if one.came is None]
        assert waiting  # or nothing but a deadline would end it
        self._transport.wait(waiting)
        return any(one.finished or one.ready for one in waiting)

    def _step(self, *, patient: bool = True) -> bool:
        """One piece of work, the oldest first; False when only packets can bring more, or, to those who are not
        ``patient``, a device."""
        return self._decode() or self._start() or self._encode() or self._begin_next(patient)

    def _decode(self) -> bool:
        for reduction in self._running:
            for one in reduction.started:
                if one.flight.ready:
                    self._transport.decode(one.flight)
                    self._transport.attend()
                    return True
                if one.came is None and one.flight.finished:
                    # One by one: of a codec's rounds that begin together there may be more than can be under way.
                    one.came = self._transport.finish(one.flight)
                    return True
            if reduction.resumable:
                self._resume(reduction)
                return True
        return False

    def _start(self) -> bool:
        """Start the next round, if there is one and it is its turn."""
        for reduction in self._running:
            if any(one.flight.encoding for one in reduction.started):
                return False
            if reduction.made:
                if not self._transport.can_begin:
                    return False
                self._start_round(reduction, reduction.made.popleft())
                return True
            if not reduction.out_of_the_way:
                return False
        return False

    def _start_round(self, reduction: Reduction, round_: Round) -> None:
        reduction.rounds += 1
        words, compared = _with_size(reduction, round_, self._transport.ticket)
        flight = self._transport.begin_round(round_.op, words, round_.pieces)
        reduction.started.append(_Started(round_, flight, round_.overlap, compared))

    def _encode(self) -> bool:
        for reduction in self._running:
            for one in reduction.started:
                if one.flight.encoding:
                    self._transport.encode(one.flight)
                    return True
                if one.overlap is not None:
                    self._transport.attend()
                    one.overlap()
                    one.overlap = None
                    return True
        return False

    def _begin_next(self, patient: bool) -> bool:
        for number, reduction in enumerate(self._running):
            if not reduction.begun:
                if any(reduction.depends_on(before) for before in itertools.islice(self._running, number)):
                    return False
                if reduction.arrived is not None and not reduction.arrived() and not (patient and number == 0):
                    return False  # packets of those before it are not kept waiting for a device
                reduction.begun = True
                if len(self._running) > 1:
                    self._transport.attend()  # what was started before is on its way meanwhile
                self._advance(reduction, functools.partial(next, reduction.steps))
                return True
        return False

    def _begin_all(self) -> None:
        """What a submission may do at once: begin, and put on their way the rounds that need no sum."""
        while self._start() or self._begin_next(patient=False):
            pass
        self._transport.attend()

    def _resume(self, reduction: Reduction) -> None:
        aggregates = []
        for one in reduction.started:
            assert one.came is not None
            words, contributors = one.came[0], functools.partial(_known, one.came[1])
            aggregates.append(self._aggregate(reduction.codec, one.round, one.compared, words, contributors))
        reduction.started.clear()
        reply = tuple(aggregates) if reduction.grouped else aggregates[0]
        self._advance(reduction, functools.partial(reduction.steps.send, reply))

    def _aggregate(
        self,
        codec: Codec,
        round_: Round,
        compared: _Lengths | None,
        words: NDArray[np.uint32],
        contributors: Contributors,
    ) -> Aggregate:
        """``compared``: what ``_with_size`` has put behind the words."""
        if compared is not None:
            lengths = words[-compared.words :]
            if round_.op is LaneOp.MAX:
                self._compare(compared.size, *lengths.tolist())
            else:
                self._compare(compared.size, int(lengths.max()), ~int(lengths.min()) % (1 << 32))
            words = words[: -compared.words]
            packets = -(-words.size // self._transport.ticket.accumulator_words)
            contributors = functools.partial(_first, contributors, max(1, packets))
        return self._aggregated(codec, round_, words, contributors)

    def _advance(self, reduction: Reduction, step: Callable[[], Round | RoundGroup]) -> None:
        try:
            made = step()
        except StopIteration as stop:
            reduction.result = stop.value
            self._running.remove(reduction)
            return
        self._take(reduction, made)

    def _take(self, reduction: Reduction, made: Round | RoundGroup) -> None:
        """What a codec wants to have started."""
        reduction.grouped = isinstance(made, RoundGroup)
        rounds = made.rounds if isinstance(made, RoundGroup) else (made,)
        self._check_rounds(reduction, len(rounds))
        reduction.made.extend(rounds)
        if not self._transport.ticket.quorum:
            reduction.last = [round_.last for round_ in rounds]

    def _check_rounds(self, reduction: Reduction, more: int) -> None:
        if reduction.was_last:
            raise CodecError(f"Codec {reduction.codec.name} makes a round after one that it said was its last.")
        if reduction.rounds + more > reduction.expected:
            # Others' rounds may have taken their numbers.
            raise CodecError(
                f"Codec {reduction.codec.name} makes more than the {reduction.expected:g} rounds of its shapes.",
                "Let `shapes` name every round.",
            )

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Schedule concurrent all-reduces: encode, start rounds and decode in turn.

The network identifies a round by its number alone. So all workers must start the same rounds in the same order,
whatever their timing: every round of an all-reduce before any round of the next one. The next all-reduce may start its
first round as soon as the last round of the one before is started and completely encoded. So its norms travel behind
the codes of the one before, and it is encoded while these are in flight. A codec whose rounds depend on sums marks its
last round as soon as it can tell.

All work is done in the thread that waits, in small steps, the oldest all-reduce first.
"""

from __future__ import annotations

import collections
import functools
import itertools
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs.base import Aggregate, Codec, NotFiniteError, Result, Round, RoundGroup, UnencodableError
from lanesum.codecs.kernels.dispatch import kernels
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns
from lanesum.protocol.spec import MAX_ROUND_WORDS
from lanesum.session.all_reduce import (
    AllReduce,
    ObservedRound,
    RoundObserver,
    SessionPhases,
    StartedRound,
    divided,
    make_aggregate,
)
from lanesum.session.lengths import AppendedLengths
from lanesum.transport import UdpTransport
from lanesum.transport.errors import SessionClosedError
from lanesum.transport.native_engine import NativeRoundState

P = ParamSpec("P")
logger = logging.getLogger(__name__)


class AllReduceScheduler:
    """Queue of the all-reduces of one session, in the order of their submission.

    Args:
        raise_not_finite: raise NotFiniteError on all workers if a vector of one is not finite, instead of returning
            NaN.

    Attributes:
        phases: times of the steps; of all-reduces that ``run`` and ``gather`` complete in one call only the spans.
    """

    def __init__(
        self, transport: UdpTransport, observer: RoundObserver | None = None, *, raise_not_finite: bool = False
    ) -> None:
        self.phases = SessionPhases()
        self._transport = transport
        self._raise_not_finite = raise_not_finite
        self._ticket = transport.ticket
        self._observer = observer
        self._queue: collections.deque[AllReduce[Any]] = collections.deque()

    def submit(self, all_reduce: AllReduce[Any]) -> None:
        """Append an all-reduce to the queue, and advance the queue as far as no wait is needed."""
        self._queue.append(all_reduce)
        self._end_on_error(self._start_all)

    def run(self, all_reduce: AllReduce[Any]) -> Result:
        """Append an all-reduce to the queue, wait until it is done, and return its result or raise its error.

        ``UdpTransport.wake`` does not interrupt it.
        """
        self._queue.append(all_reduce)
        if len(self._queue) == 1:
            all_reduce.begun = True
            self._end_on_error(self._advance, all_reduce, functools.partial(self._run_plain_rounds, all_reduce))
        return all_reduce.codec_result()

    def gather(self, vector: NDArray[np.float32], divisor: float) -> NDArray[np.float32] | None:
        """Return the sum over all workers divided by ``divisor``; see ``UdpTransport.gather``.

        Returns None, without having sent anything, if the all-reduce needs ``run``, or others are in flight.
        """
        if self._queue:
            return None
        try:
            begin = time.perf_counter()
            workers = self._ticket.workers
            gathered = self._transport.gather(vector, divisor, workers)
            if gathered is None:
                return None
            values, completed = gathered
            if completed is not None:
                words = completed.result()
                AppendedLengths(vector.size, 0, workers).check(self._ticket, LaneOp.ADD32, words[-workers:])
                kernels().sum_rows(words[:-workers].view(np.float32), divisor, values)
            self.phases.add_spans(begin, "lanesum::network", "lanesum::round")
            return values
        except BaseException as error:
            self._transport.abandon(error)
            raise

    def wait(self, all_reduce: AllReduce[Any]) -> bool:
        """Advance all all-reduces until this one is done; return False if ``UdpTransport.wake`` interrupted the wait.

        An exception ends all of them and becomes their ``error``. One that is no ``Exception`` is raised, too.
        """

        def work() -> None:
            while not all_reduce.ended and self._step():
                pass

        while not all_reduce.ended:
            self._end_on_error(work)
            if not all_reduce.ended and not self._end_on_error(self._wait_for_packets):
                return all_reduce.ended
        return True

    def progress(self) -> None:
        """Advance all all-reduces as far as no wait is needed."""

        def work() -> None:
            self._transport.poll()
            while self._queue and self._step(may_wait=False):
                pass

        if self._queue:
            self._end_on_error(work)

    def finish_all(self) -> None:
        """Wait until all all-reduces are done."""
        while self._queue:
            self.wait(self._queue[-1])

    def _fail_all(self, error: BaseException) -> None:
        while self._queue:
            all_reduce = self._queue.popleft()
            all_reduce.error = error
            all_reduce.steps.close()

    def _end_on_error(self, work: Callable[P, bool | None], *args: P.args, **kwargs: P.kwargs) -> bool | None:
        """Return ``work(*args)``; an exception ends all all-reduces and the transport's use."""
        try:
            return work(*args, **kwargs)
        except BaseException as error:
            # The other workers wait for these all-reduces. If a later one took their place, sums would mix the two.
            self._transport.abandon(error)
            if isinstance(error, Exception):
                self._fail_all(error)
                return None
            self._fail_all(
                SessionClosedError("This session ended in the middle of an all-reduce.", "Join the job again.")
            )
            raise

    def _run_plain_rounds(self, all_reduce: AllReduce[Any]) -> Round | RoundGroup:
        """Run the rounds of the only all-reduce in the queue, one after another; return the first that needs ``_step``.

        The results are those of ``_step``, in fewer calls. Raises the exceptions of the codec's steps.
        """
        codec, send, exchange = all_reduce.codec, all_reduce.steps.send, self._transport.exchange
        add_spans, begin = self.phases.add_spans, time.perf_counter()
        reply: Aggregate | None = None
        while True:
            try:
                made = send(reply)
            except StopIteration:
                add_spans(begin, "lanesum::decode")
                raise
            begin = add_spans(begin, "lanesum::encode")
            if isinstance(made, RoundGroup) or made.pieces is not None or made.overlap is not None:
                return made
            if made.scattered or made.gathered:
                return made
            if made.words.size > MAX_ROUND_WORDS // 2:  # it may have to be divided, with the lengths behind it
                return made
            if len(self._queue) > 1:  # an observer has submitted another one
                return made
            if all_reduce.num_rounds:
                all_reduce.check_rounds(1)
            if not self._ticket.quorum:
                all_reduce.last_checks = [made.last]
            words, lengths = all_reduce.count_round(made, self._ticket)
            completed = exchange(made.op, words)
            begin = add_spans(begin, "lanesum::network", "lanesum::round")
            all_reduce.lengths_sent = True
            reply = self._aggregate(codec, made, lengths, completed.result(), completed.contributors)

    def _wait_for_packets(self) -> bool:
        """Wait until a step is possible; return False if only ``UdpTransport.wake`` ended the wait."""
        if not self._queue:
            return False
        # Some may be complete since the last step, by the transport's background thread: then the wait takes no time.
        awaited = [one for all_reduce in self._queue for one in all_reduce.started if one.result is None]
        flights = [flight for one in awaited for flight in one.flights]
        if (opening := self._transport.opening) is not None:
            flights.append(opening)
        assert flights  # else nothing but the deadline would end the wait
        with self.phases.network:
            self._transport.wait(flights)
        return any(flight.complete for flight in flights) or any(one.ready for one in awaited)

    def _step(self, *, may_wait: bool = True) -> bool:
        """Do one piece of work, for the oldest all-reduce first.

        Returns False if only packets can bring more work; without ``may_wait``, packets or a device.
        """
        return self._open() or self._decode() or self._start() or self._encode() or self._begin_next(may_wait)

    def _open(self) -> bool:
        """Open the session once its opening is complete; rounds may start then."""
        opening = self._transport.opening
        if opening is None or not opening.complete:
            return False
        self._transport.open()
        return True

    def _decode(self) -> bool:
        for all_reduce in self._queue:
            for one in all_reduce.started:
                if one.ready:
                    with self.phases.decode:
                        one.decode_piece()
                    self._transport.poll()
                    return True
                if one.flights and one.flights[0].complete:
                    # One by one: a group may have more rounds than can be in flight.
                    one.add_result(*self._transport.finish(one.flights.popleft()))
                    self.phases.add_spans(one.begin, "lanesum::round")
                    return True
            if all_reduce.can_resume:
                self._resume(all_reduce)
                return True
        return False

    def _start(self) -> bool:
        """Start the next round, if there is one and the order allows it."""
        for all_reduce in self._queue:
            if any(one.encoding for one in all_reduce.started):
                return False
            if all_reduce.started and all_reduce.started[-1].rest:
                if not self._transport.can_begin:
                    return False
                self._start_part(all_reduce.started[-1])
                return True
            if all_reduce.made:
                if not self._transport.can_begin:
                    return False
                self._start_round(all_reduce, all_reduce.made.popleft())
                return True
            if not all_reduce.all_rounds_started:
                return False
        return False

    def _start_round(self, all_reduce: AllReduce[Any], round_: Round) -> None:
        words, lengths = all_reduce.count_round(round_, self._ticket)
        if words.size > MAX_ROUND_WORDS and round_.pieces is not None:
            with self.phases.encode:
                round_.pieces.encode_all()
            round_ = replace(round_, pieces=None)
        parts = divided(words, round_, self._ticket)
        started = StartedRound(round_, round_.overlap, lengths, time.perf_counter(), parts, self._ticket.workers)
        self._start_part(started)
        if round_.pieces is not None:
            cast(NativeRoundState, started.flights[0]).await_words(round_.pieces.needed)
        all_reduce.started.append(started)

    def _start_part(self, started: StartedRound) -> None:
        round_ = started.round
        with self.phases.send:
            flight = self._transport.begin_round(
                round_.op,
                started.rest.popleft(),
                withheld=round_.pieces is not None,
                scattered=round_.scattered,
                gathered=round_.gathered,
            )
        started.flights.append(flight)

    def _encode(self) -> bool:
        for all_reduce in self._queue:
            for one in all_reduce.started:
                if one.encoding:
                    assert one.round.pieces is not None
                    with self.phases.encode:
                        words = one.round.pieces.encode_next()
                        if one.flights:  # a quorum may complete it before
                            self._transport.release(cast(NativeRoundState, one.flights[0]), words)
                    return True
                if one.overlap is not None:
                    self._transport.poll()
                    with self.phases.encode:
                        one.overlap()
                    one.overlap = None
                    return True
        return False

    def _begin_next(self, may_wait: bool) -> bool:
        """Ask the codec of the oldest all-reduce that has not begun for its first round."""
        for number, all_reduce in enumerate(self._queue):
            if not all_reduce.begun:
                if any(all_reduce.depends_on(earlier) for earlier in itertools.islice(self._queue, number)):
                    return False
                ready = all_reduce.ready is None or all_reduce.ready.query()
                if not ready and not (may_wait and number == 0):
                    return False  # packets of earlier all-reduces must not wait for a device
                all_reduce.begun = True
                if len(self._queue) > 1:
                    self._transport.poll()  # the encoding takes time, in which earlier rounds progress
                with self.phases.encode:
                    self._advance(all_reduce, functools.partial(next, all_reduce.steps))
                return True
        return False

    def _start_all(self) -> None:
        """Begin and start what a submission allows without a wait."""
        while self._open() or self._start() or self._begin_next(may_wait=False):
            pass
        self._transport.poll()

    def _resume(self, all_reduce: AllReduce[Any]) -> None:
        """Hand the aggregates to the codec, which decodes them and makes its next rounds."""
        started, all_reduce.started = all_reduce.started, []
        all_reduce.lengths_sent = True

        def step() -> Round | RoundGroup:
            aggregates = []
            for one in started:
                assert one.result is not None
                words, contributors = one.result
                known = functools.partial(np.asarray, contributors)
                aggregates.append(self._aggregate(all_reduce.codec, one.round, one.lengths, words, known))
            return all_reduce.steps.send(tuple(aggregates) if all_reduce.grouped else aggregates[0])

        # After the sums that the next rounds depend on, most of the work is encoding those rounds.
        ends = all_reduce.num_rounds >= all_reduce.max_rounds or any(one.round.last() for one in started)
        with self.phases.decode if ends else self.phases.encode:
            self._advance(all_reduce, step)

    def _aggregate(
        self,
        codec: Codec,
        round_: Round,
        lengths: AppendedLengths | None,
        words: NDArray[np.uint32],
        contributors: Callable[[], NDArray[np.uint32]],
    ) -> Aggregate:
        """Check and remove the appended ``lengths``, call the observer, and return what the codec gets."""
        if lengths is not None:
            lengths.check(self._ticket, round_.op, words[-lengths.num_words :])
            words = words[: -lengths.num_words]
        if not self._ticket.quorum and self._observer is None:
            return Aggregate(words, self._ticket.workers)
        bitmaps = contributors()
        if lengths is not None:
            bitmaps = bitmaps[: max(1, -(-words.size // self._ticket.data_words(round_.op)))]
        if round_.scattered:
            workers = self._ticket.workers
            bitmaps = bitmaps[Turns(workers, len(bitmaps) // workers).numbers()[self._ticket.worker]]
        aggregate = make_aggregate(self._ticket, round_.op, words, bitmaps)
        if self._observer is not None:
            self._observer(ObservedRound(codec, round_, aggregate, bitmaps))
        return aggregate

    def _advance(self, all_reduce: AllReduce[Any], step: Callable[[], Round | RoundGroup]) -> None:
        try:
            made = step()
        except StopIteration as stop:
            self._finish(all_reduce, stop.value)
        except UnencodableError as error:
            self._handle_not_finite(all_reduce, error)
        else:
            all_reduce.take(made, complete=not self._ticket.quorum)

    def _handle_not_finite(self, all_reduce: AllReduce[Any], error: UnencodableError) -> None:
        """Start again with zeros, before the first round; after a round, end the all-reduce, as all workers do."""
        if all_reduce.num_rounds:
            all_reduce.steps.close()
            what = (all_reduce.cause or error).what
            if self._raise_not_finite:
                raise NotFiniteError(what, "Skip the step, or lower the loss scale.") from error
            logger.warning("Worker %d gets NaN, as all others. %s", self._ticket.worker, what)
            self._finish(all_reduce, all_reduce.not_finite_result())
        elif all_reduce.cause is not None:
            raise error
        else:
            all_reduce.start_again(error)
            self._advance(all_reduce, functools.partial(next, all_reduce.steps))

    def _finish(self, all_reduce: AllReduce[Any], result: Result) -> None:
        if all_reduce.cause is not None and not result.not_finite and not self._ticket.quorum:
            raise NotFiniteError(
                f"A vector of worker {self._ticket.worker} is not finite, and codec {all_reduce.codec.name} has not "
                "told the other workers.",
                "Give the codec a first round with room for the lengths, or let it read CodecContext.not_finite.",
            )
        all_reduce.completed = result
        self._queue.remove(all_reduce)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Concurrent all-reduces: the same sums as one after another, in whatever order workers wait."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from lanesum.codecs import CodecContext, CodecError, CodecTraits, Part, Policy, Result, Round, RoundShape, Rule, Steps
from lanesum.codecs.base import Codec, NotFiniteError, UnencodableError
from lanesum.codecs.fixed import FixedPoint
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import AllReduce, ObservedRound, Session
from lanesum.session.scheduler import AllReduceScheduler
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, SessionClosedError
from lanesum_lab.baselines.thc_paper.codec import PaperTHC
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for
from tests.waiting import with_longer_deadlines

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (3000, 1, 700, 5000, 64, 2500)


def codec(name: str, workers: int) -> Codec:
    return FixedPoint(workers=workers) if name == "fixed" else PaperTHC(workers=workers, chunk=1 << 10, codes="uniform")


def vectors(worker: int) -> list[np.ndarray]:
    generator = np.random.default_rng(worker)
    return [generator.standard_normal(size).astype(np.float32) for size in SIZES]


@pytest.mark.parametrize("quorum", [0, 3])
@pytest.mark.parametrize("loss", [0.0, 0.05])
@pytest.mark.parametrize("name", ["thc", "fixed"])
def test_concurrent_all_reduces_in_any_order_sum_equally(name: str, loss: float, quorum: int) -> None:
    """Worker 0 waits for each before the next, worker 1 for the last one first, worker 2 polls ``done``."""
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, loss)) as server:
        tickets = tickets_for(server, 3, quorum=quorum)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            worker = session.ticket.worker
            given = vectors(worker)
            if worker == 0:
                return [session.all_reduce(vector) for vector in given]
            pending = [session.all_reduce_async(vector) for vector in given]
            if worker == 1:
                return [one.result() for one in reversed(pending)][::-1]
            # A worker that polls makes progress, too.
            while not all([one.done() for one in pending]):
                threading.Event().wait(1e-3)
            return [one.result() for one in pending]

        results = run_workers(tickets, work, codec=codec(name, 3))
    for of_vector in zip(*results, strict=True):
        assert of_vector[0].tobytes() == of_vector[1].tobytes() == of_vector[2].tobytes()
    for number, total in enumerate(results[0]):
        exact = np.sum([vectors(worker)[number] for worker in range(3)], axis=0, dtype=np.float64)
        error = np.square(total - exact).sum() / np.square(exact).sum()
        assert error < (1e-11 if name == "fixed" else 0.15)


def test_submit_starts_rounds_before_earlier_ones_end(server: AggregationServer) -> None:
    """They start in order. The other worker runs one all-reduce after another."""
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    begun = threading.Event()
    in_flight: list[int] = []

    def work(session: Session) -> list[np.ndarray]:
        if session.ticket.worker == 1:
            begun.wait()
            return [session.all_reduce(vector) for vector in vectors(1)[:3]]
        session._transport.open()
        pending = [session.all_reduce_async(vector) for vector in vectors(0)[:3]]
        # No result can have arrived: the other worker has not begun.
        in_flight.append(session._transport._in_flight)
        begun.set()
        return [one.result() for one in pending]

    ours, theirs = run_workers(tickets, work, codec=_OneRound())
    assert in_flight == [3]
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one.tolist() == other.tolist()
        np.testing.assert_array_equal(one, np.floor(vectors(0)[number]) + np.floor(vectors(1)[number]))


class _OneRound:
    """Sums integers in ``rounds`` rounds, while its shapes promise one."""

    name = "one-round"
    code_table = None
    traits = CodecTraits()
    workers = 2

    def describe(self) -> str:
        return self.name

    def __init__(self, rounds: int = 1) -> None:
        self.rounds = rounds

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        return (RoundShape(LaneOp.ADD32, size),)

    def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
        for _ in range(self.rounds):
            total = yield Round(LaneOp.ADD32, np.floor(x).astype(np.int32).view(np.uint32))
        return Result(total.words.view(np.int32).astype(np.float32))


def test_codec_with_more_rounds_than_shapes_raises(server: AggregationServer) -> None:
    """Later all-reduces may have started rounds of these numbers."""
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))

    def work(session: Session) -> None:
        with pytest.raises(CodecError, match="more than the 1 rounds of its shapes"):
            session.all_reduce(np.ones(3, np.float32))

    run_workers(tickets, work, codec=_OneRound(2))


class _Silent(_OneRound):
    """Sends zeros for a vector that is not finite, and does not tell the other workers."""

    def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
        if not np.isfinite(x).all() and not context.not_finite:
            raise UnencodableError("It has a NaN.")
        yield Round(LaneOp.ADD32, np.zeros(x.size, np.uint32))
        return Result(np.zeros_like(x))


def test_codec_that_hides_a_nan_raises(server: AggregationServer) -> None:
    (ticket,) = tickets_for(server, 1)
    server.aggregator.admit(ServerJob.from_tickets([ticket]))
    message = "A vector of worker 0 is not finite, and codec one-round has not told"
    with Session(ticket, codec=_Silent()) as session, pytest.raises(NotFiniteError, match=message):
        session.all_reduce(np.full(64, np.nan, np.float32))


def test_interrupt_ends_all_in_flight(server: AggregationServer) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    with Session(tickets[0], codec="fixed") as session:
        pending = session.all_reduce_async(np.ones(3, np.float32))
        with pytest.raises(KeyboardInterrupt):
            session._scheduler._end_on_error(interrupt)
        with pytest.raises(SessionClosedError, match="This session ended in the middle of an all-reduce"):
            pending.result()


def test_error_ends_all_in_flight(server: AggregationServer) -> None:
    def attempt(deadline_s: float) -> None:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        with Session(tickets[0], codec="fixed", deadline_s=deadline_s) as session:
            pending = [session.all_reduce_async(np.ones(3000, np.float32)) for _ in range(3)]
            for one in (pending[2], pending[0], pending[1]):
                with pytest.raises(AggregationTimeoutError, match="worker 1") as caught:
                    one.result()
                assert one.done() and caught.value.missing == (1,)
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(3, np.float32))

    with_longer_deadlines(attempt)


def test_vector_that_cannot_be_encoded_ends_session(server: AggregationServer) -> None:
    (ticket,) = tickets_for(server, 1)
    server.aggregator.admit(ServerJob.from_tickets([ticket]))
    with Session(ticket, codec=codec("thc", 1), non_finite="raise") as session:
        good = session.all_reduce_async(np.ones(30, np.float32))
        bad = session.all_reduce_async(np.full(30, np.nan, np.float32))
        with pytest.raises(CodecError, match="element 0 is nan, and 30 of 30 elements are not finite"):
            bad.result()
        assert good.done()
        with pytest.raises(ConfigurationError):
            session.all_reduce_async(np.ones(3, np.int32))


def test_mismatch_in_second_all_reduce_raises_everywhere(server: AggregationServer) -> None:
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))

    def work(session: Session) -> np.ndarray:
        sizes = (500, 600 + session.ticket.worker, 700)
        pending = [session.all_reduce_async(np.ones(size, np.float32)) for size in sizes]
        return pending[2].result()

    for outcome in run_workers(tickets, work, errors=True, codec=_OneRound()):
        assert isinstance(outcome, MismatchError) and "602 words" in str(outcome) and "603 words" in str(outcome)


def test_wait_for_rounds_that_ended_before_returns(server: AggregationServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport's background thread receives packets, too, so no round may be left to wait for."""
    wait = AllReduceScheduler._wait_for_packets

    def wait_when_all_has_come(self: AllReduceScheduler) -> bool:
        started = [one for all_reduce in self._queue for one in all_reduce.started]
        while not all([one.ready or all([flight.complete for flight in one.flights]) for one in started]):
            threading.Event().wait(1e-3)
        return wait(self)

    monkeypatch.setattr(AllReduceScheduler, "_wait_for_packets", wait_when_all_has_come)
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))

    def work(session: Session) -> list[float]:
        pending = [session.all_reduce_async(np.ones(5000, np.float32)) for _ in range(2)]
        return [float(one.result()[0]) for one in pending]

    assert run_workers(tickets, work, codec="fixed", deadline_s=200.0) == [[2.0, 2.0]] * 2


@pytest.mark.parametrize(("codecs", "quorum"), [(12, 0), (2, 2)])
def test_group_larger_than_rounds_in_flight_completes(server: AggregationServer, codecs: int, quorum: int) -> None:
    """At most eight rounds are in flight, and one with a quorum."""
    tickets = tickets_for(server, 2, quorum=quorum)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    parts = tuple(Part(f"p{number}", 100 * number, 100 * (number + 1)) for number in range(codecs))

    def work(session: Session) -> list[float]:
        policy = Policy(workers=2, rules=[Rule(FixedPoint(workers=2), names=part.key) for part in parts])
        vector = np.repeat(np.arange(codecs, dtype=np.float32), 100)
        values = session.all_reduce_async(vector, codec=policy, parts=parts).result()
        return [float(values[part.start]) for part in parts]

    expected = [2.0 * number for number in range(codecs)]
    assert run_workers(tickets, work, deadline_s=200.0) == [expected] * 2


def test_wake_from_other_thread_interrupts_wait(server: AggregationServer) -> None:
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    woken: list[bool] = []
    with Session(tickets[0], codec="fixed") as session:
        pending = session.all_reduce_async(np.ones(3, np.float32))
        waiter = threading.Thread(target=lambda: woken.append(pending.wait()))
        waiter.start()
        session.wake()
        waiter.join()
        assert woken == [False] and not pending.done()
        session.wake()
        assert not pending.wait()


def test_leave_finishes_all_reduces_in_flight(server: AggregationServer) -> None:
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))

    def work(session: Session) -> tuple[bool, float]:
        pending = session.all_reduce_async(np.ones(5000, np.float32))
        return session.leave(deadline_s=200.0), float(pending.result()[0])

    assert run_workers(tickets, work, codec="fixed") == [(True, 2.0), (True, 2.0)]


def test_close_ends_all_reduces_in_flight(server: AggregationServer) -> None:
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    with Session(tickets[0], codec="fixed") as session:
        pending = session.all_reduce_async(np.ones(3, np.float32))
        session.close()
        with pytest.raises(SessionClosedError):
            pending.result()


def test_observer_gets_every_round_once(server: AggregationServer) -> None:
    tickets = tickets_for(server, 2)
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    seen: list[ObservedRound] = []
    lock = threading.Lock()

    def observe(observed: ObservedRound) -> None:
        with lock:
            seen.append(observed)

    def work(session: Session) -> list[float]:
        pending: list[AllReduce] = [session.all_reduce_async(np.full(3000, n, np.float32)) for n in range(4)]
        order = list(range(4))
        random.Random(session.ticket.worker).shuffle(order)
        for number in order:
            pending[number].result()
        return [float(one.result()[0]) for one in pending]

    assert run_workers(tickets, work, codec="fixed", observer=observe) == [[0, 2, 4, 6]] * 2
    assert len(seen) == 2 * 4 * 2

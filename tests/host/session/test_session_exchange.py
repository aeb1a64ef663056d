# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds that run from beginning to end in one call: the same results as step by step."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np
import pytest

from lanesum.codecs import CodecContext, CodecTraits, Result, Round, RoundGroup, RoundShape, Steps
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer
from lanesum.session import ObservedRound, Session
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from lanesum.transport.errors import AggregationTimeoutError, SessionClosedError
from tests.host.session.workers import run_workers
from tests.host.transport.loopback import (
    FOREVER_S,
    HOST,
    admitted,
    interrupted_when_sending,
    tickets,
    wait_until_sending,
)

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (1, 0, 63, 64, 65, 1000, 5000)


def in_one_call(transport: UdpTransport, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    over = transport.exchange(LaneOp.ADD32, words)
    return over.result(), over.contributors()


def step_by_step(transport: UdpTransport, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    round_ = transport.begin_round(LaneOp.ADD32, words)
    transport.poll()
    while not round_.complete:
        transport.wait([round_])
    return transport.finish(round_)


@pytest.mark.parametrize("quorum", [0, 2])
def test_exchange_and_steps_have_same_results_and_counts(server: AggregationServer, quorum: int) -> None:
    ways: list[Callable[[UdpTransport, np.ndarray], tuple[np.ndarray, np.ndarray]]] = [in_one_call, step_by_step]
    given = [[np.random.default_rng([w, size]).integers(0, 2**32, size, np.uint32) for size in SIZES] for w in (0, 1)]
    with ExitStack() as cleanup:
        transports = [
            cleanup.enter_context(closing(UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S))))
            for ticket in admitted(server, 2, quorum=quorum)
        ]
        with ThreadPoolExecutor(2) as pool:
            came = list(
                pool.map(lambda way, to, words: [way(to, one) for one in words], ways, transports, given, timeout=None)
            )
        for one, other, mine, theirs in zip(*came, *given, strict=True):
            assert one[0].tolist() == other[0].tolist() == (mine + theirs).tolist()
            assert one[1].tolist() == other[1].tolist() == [[3]] * max(1, -(-mine.size // 64))
        for transport in transports:
            assert transport._in_flight == 0 and transport.stats.wait_us > 0
        counts = [transport.stats.counts() for transport in transports]
        # A late worker may cause retransmissions of the other one.
        for name in ("rounds", "foreign_packets", "conflicts", "partial_results"):
            assert counts[0][name] == counts[1][name] == (len(SIZES) if name == "rounds" else 0)
        first_sends = [one["packets_sent"] - one["retransmissions"] for one in counts]
        assert first_sends == [sum(max(1, -(-size // 64)) for size in SIZES)] * 2


def test_wake_during_exchange_changes_nothing(server: AggregationServer) -> None:
    words = np.arange(1000, dtype=np.uint32)
    one, other = (UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S)) for ticket in admitted(server, 2))
    with closing(one), closing(other), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(in_one_call, one, words)
        wait_until_sending(one)
        one.wake()
        assert in_one_call(other, words)[0].tolist() == (2 * words).tolist()
        assert waiting.result()[0].tolist() == (2 * words).tolist()
        one.wake()  # no wait to interrupt; the next round must not end at once
        waiting = pool.submit(in_one_call, one, words)
        assert in_one_call(other, words)[0].tolist() == (2 * words).tolist()
        assert waiting.result()[0].tolist() == (2 * words).tolist()


@pytest.mark.parametrize("deadline_s", [0.01, 0.12])
def test_exchange_without_progress_raises_after_deadline(server: AggregationServer, deadline_s: float) -> None:
    """Deadlines shorter and longer than the interval at which the native extension checks for signals."""
    transport, other = (UdpTransport(ticket) for ticket in admitted(server, 2))
    with closing(transport), closing(other), ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(in_one_call, other, np.ones(3, np.uint32))
        in_one_call(transport, np.ones(3, np.uint32))
        theirs.result()
        transport._deadline_s = deadline_s
        with pytest.raises(AggregationTimeoutError, match=f"round 1: no progress for {deadline_s:g} s"):
            in_one_call(transport, np.ones(3, np.uint32))
        with pytest.raises(SessionClosedError):
            in_one_call(transport, np.ones(3, np.uint32))


def test_exchange_beside_earlier_round_keeps_order(server: AggregationServer) -> None:
    """The earlier round stays in flight and is finished after the exchange."""
    words = np.arange(500, dtype=np.uint32)
    one, other = (UdpTransport(ticket, SessionOptions(deadline_s=FOREVER_S)) for ticket in admitted(server, 2))
    with closing(one), closing(other), ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(lambda: [in_one_call(other, factor * words)[0] for factor in (1, 3)])
        before = one.begin_round(LaneOp.ADD32, words)
        over = one.exchange(LaneOp.ADD32, 3 * words)
        while not before.complete:
            one.wait([before])
        mine = [one.finish(before)[0], over.result()]
        for ours, of_other, factor in zip(mine, theirs.result(), (1, 3), strict=True):
            assert ours.tolist() == of_other.tolist() == (2 * factor * words).tolist()
        assert one._in_flight == 0 and one.stats.rounds == 2


def test_signal_during_all_reduce_ends_session() -> None:
    session = Session(tickets((HOST, 9), 2)[0], codec="fixed", deadline_s=FOREVER_S)
    with interrupted_when_sending(session._transport):
        session.all_reduce(np.ones(10, np.float32))
    with pytest.raises(SessionClosedError, match="This session is closed, or an earlier round of it failed"):
        session.all_reduce(np.ones(10, np.float32))
    session.close()


class _Rounds:
    """Sums integers in consecutive rounds, some of which are not plain; each doubles the sum before it."""

    name = "rounds"
    code_table = None
    traits = CodecTraits()
    workers = 2

    def describe(self) -> str:
        return self.name

    def __init__(self, kinds: str) -> None:
        self.kinds = kinds

    def shapes(self, size: int) -> tuple[RoundShape, ...]:
        return (RoundShape(LaneOp.ADD32, size),) * (len(self.kinds) + self.kinds.count("g"))

    def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
        words = x.astype(np.int32).view(np.uint32)
        for kind in self.kinds:
            called: list[bool] = []
            overlap = None if kind != "o" else lambda called=called: called.append(True)
            one = Round(LaneOp.ADD32, words, overlap)
            if kind == "g":
                words = (yield RoundGroup((one, one)))[1].words
            else:
                words = (yield one).words
            assert len(called) <= 1
        return Result(words.view(np.int32).astype(np.float32))


@pytest.mark.parametrize("kinds", ["p", "ppp", "o", "pop", "pgp", "g"])
def test_run_alone_and_submitted_have_same_sums(server: AggregationServer, kinds: str) -> None:
    """Worker 0 runs plain rounds directly; worker 1 submits the same all-reduces."""
    given = [np.arange(300, dtype=np.float32), np.ones(7, np.float32)]

    def work(session: Session) -> list[np.ndarray]:
        if session.ticket.worker == 0:
            return [session.all_reduce(one) for one in given]
        return [one.result() for one in [session.all_reduce_async(one) for one in given]]

    for came in run_workers(admitted(server, 2), work, codec=_Rounds(kinds), deadline_s=FOREVER_S):
        for total, one in zip(came, given, strict=True):
            assert total.tolist() == (one * 2 ** len(kinds)).tolist()


def test_submission_by_observer_keeps_order_of_rounds(server: AggregationServer) -> None:
    """The observer of the first round submits. The order is that of a worker that submits both at once."""
    given = [np.arange(300, dtype=np.float32), np.ones(7, np.float32)]

    def work(ticket: JobTicket) -> list[np.ndarray]:
        pending = []

        def watch(finished: ObservedRound) -> None:
            if not pending:
                pending.append(session.all_reduce_async(given[1]))

        observer = watch if ticket.worker == 0 else None
        with Session(ticket, codec=_Rounds("ppp"), observer=observer, deadline_s=FOREVER_S) as session:
            if ticket.worker == 0:
                first = session.all_reduce(given[0])
                return [first, pending[0].result()]
            return [one.result() for one in [session.all_reduce_async(one) for one in given]]

    with ThreadPoolExecutor(2) as pool:
        for came in pool.map(work, admitted(server, 2)):
            for total, one in zip(came, given, strict=True):
                assert total.tolist() == (one * 8).tolist()

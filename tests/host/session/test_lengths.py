# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the vectors' lengths between workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import CodecContext, CodecError, CodecTraits, ErrorFeedback, Result, Round, RoundGroup, Steps
from lanesum.errors import LanesumError
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import ObservedRound, Session
from lanesum.transport import UdpTransport
from lanesum.transport.errors import MismatchError
from tests.host.session.workers import LOCALHOST, run_workers, tickets_for
from tests.waiting import with_longer_deadlines

pytestmark = pytest.mark.usefixtures("implementation")


class _LargestAndSum:
    """Computes the largest integer and the sums in one group of rounds, in full packets."""

    name = "largest-and-sum"
    code_table = None
    traits = CodecTraits()
    workers = 2

    def describe(self) -> str:
        return self.name

    def shapes(self, size: int) -> Any:
        raise NotImplementedError

    def all_reduce(self, x: np.ndarray, context: CodecContext) -> Steps:
        words = np.zeros(-(-x.size // 64) * 64, np.uint32)
        words[: x.size] = x
        largest, sums = yield RoundGroup((Round(LaneOp.MAX, words.max(keepdims=True)), Round(LaneOp.ADD32, words)))
        return Result(np.append(sums.words[: x.size], largest.words).astype(np.float32))


def test_group_of_rounds_returns_one_aggregate_for_each() -> None:
    seen: list[ObservedRound] = []
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            handle = session.all_reduce_async(np.arange(300, dtype=np.float32) + session.ticket.worker)
            return handle.codec_result().values

        results = run_workers(tickets, work, codec=_LargestAndSum(), observer=seen.append)
    for result in results:
        assert result.tolist() == [*(2 * i + 1 for i in range(300)), 300]
    assert sorted(observed.round.op for observed in seen) == [LaneOp.ADD32, LaneOp.ADD32, LaneOp.MAX, LaneOp.MAX]


def test_lengths_differing_in_first_round_of_group_raise() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            return session.all_reduce(np.ones(30 + session.ticket.worker, np.float32))

        outcomes = run_workers(tickets, work, errors=True, codec=_LargestAndSum())
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError) and "the workers reduce vectors of 30 to 31 values" in str(outcome)


# Some of these become equally many words, and the sums of three workers alone would not show the difference.
@pytest.mark.parametrize("sizes", [(3, 4), (5000, 5001), (31, 32, 30)])
@pytest.mark.parametrize(
    ("name", "before"),
    [(name, 0) for name in codecs.names() if not name.startswith("lgc")]
    + [(name, 2) for name in ("auto", "sketch", "topk", "union")],
)
def test_lengths_that_differ_raise_with_every_codec(name: str, before: int, sizes: tuple[int, ...]) -> None:
    """Also with codecs that have reduced vectors of each length before, and with error feedback around them."""
    workers = len(sizes)
    table = codecs.get(name, workers=workers).code_table

    def work(session: Session) -> np.ndarray:
        codec = codecs.get(name, workers=workers)
        wrapped = codec if codec.traits.keeps_error_feedback or before else ErrorFeedback(codec)
        session.codec = session.resolve_codec(wrapped)
        for size in sizes * before:
            assert session.all_reduce(np.ones(size, np.float32), name="t").size == size
        return session.all_reduce(np.ones(sizes[session.ticket.worker], np.float32), name="t")

    def attempt(deadline_s: float) -> None:
        with AggregationServer((LOCALHOST, 0)) as server:
            tickets = tickets_for(server, workers, code_table=None if table is None else table.tobytes())
            server.aggregator.admit(ServerJob.from_tickets(tickets))
            outcomes = run_workers(tickets, work, errors=True, codec="fixed", deadline_s=2 * deadline_s)
        assert all(isinstance(outcome, LanesumError) for outcome in outcomes), outcomes
        # Codecs with records of earlier vectors may find the difference themselves.
        told = MismatchError if not before else (MismatchError, CodecError)
        assert any(isinstance(outcome, told) for outcome in outcomes), outcomes

    with_longer_deadlines(attempt)


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("name", ["fixed", "thc"])
def test_descriptions_are_compared_without_further_rounds(name: str, size: int) -> None:
    table = codecs.get(name, workers=2).code_table

    def work(session: Session) -> tuple[list[int], str]:
        rounds = [session.stats.rounds]
        for description in ("", "SUM of float32"):
            session.all_reduce_async(np.ones(size, np.float32), description=description).result()
            rounds.append(session.stats.rounds)
        with pytest.raises(MismatchError) as failed:
            session.all_reduce_async(np.ones(size, np.float32), description=f"{session.ticket.worker}").result()
        return np.diff(rounds).tolist(), str(failed.value)

    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2, code_table=None if table is None else table.tobytes())
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        outcomes = run_workers(tickets, work, codec=name)
    for worker, (rounds, text) in enumerate(outcomes):
        assert len(set(rounds)) == 1, rounds
        assert f"different tensors of {size:,} values; worker {worker} itself has {worker}." in text


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("name", ["fixed", "thc"])
def test_vector_without_description_sums_with_described_ones(name: str, size: int) -> None:
    """Also where the worker without one gathers few values in one call; a difference of the others reaches it, too."""
    table = codecs.get(name, workers=3).code_table

    def work(session: Session) -> tuple[list[float], int, str]:
        worker, sums = session.ticket.worker, []

        def sum_of_ones(descriptions: Sequence[str]) -> None:
            ones = np.ones(size, np.float32)
            if worker == 2:
                sums.append(session.all_reduce(ones, name="t"))
            else:
                described = descriptions[worker % len(descriptions)]
                sums.append(session.all_reduce_async(ones, name="t", description=described).result())

        sum_of_ones(["SUM"])
        sum_of_ones([""])
        rounds = session.stats.rounds
        with pytest.raises(MismatchError) as failed:
            sum_of_ones(["SUM", "AVG"])
        return [float(one.mean()) for one in sums], rounds, str(failed.value)

    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3, code_table=None if table is None else table.tobytes())
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        outcomes = run_workers(tickets, work, codec=name)
    assert len({(*sums, rounds) for sums, rounds, _ in outcomes}) == 1, outcomes
    for (_, _, text), own in zip(outcomes, ("SUM", "AVG", "no description"), strict=True):
        assert f"the workers reduce different tensors of {size:,} values; worker " in text
        assert f"itself has {own}." in text


@pytest.mark.parametrize("name", ["sketch", "topk", "union"])
def test_rounds_in_pieces_and_others_have_equal_words(name: str) -> None:
    """The first worker alone encodes rounds in pieces; codecs divide them from the second all-reduce on."""

    def supports_withheld(transport: UdpTransport) -> bool:
        return supported.fget(transport) and transport.ticket.worker == 0

    def work(session: Session) -> list[bytes]:
        ones = np.ones(50_000, np.float32)
        return [session.all_reduce(ones, name="t").tobytes() for _ in range(3)]

    supported: Any = UdpTransport.supports_withheld
    with (
        mock.patch.object(UdpTransport, "supports_withheld", property(supports_withheld)),
        AggregationServer((LOCALHOST, 0)) as server,
    ):
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        first, second = run_workers(tickets, work, codec=name)
    assert first == second

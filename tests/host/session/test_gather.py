# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of few values take a short cut, which nobody can tell from the long way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from lanesum.codecs import CodecError
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.session.scheduler import AllReduceScheduler
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, SessionClosedError
from tests.host.session.test_session import run_workers
from tests.host.transport.test_loop import FOREVER_S, HOST, tickets, wait_until_sending

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (1, 31, 32, 1000, 1024)


@pytest.fixture
def server() -> Iterator[AggregationServer]:
    with AggregationServer((HOST, 0)) as server:
        yield server


def admitted(server: AggregationServer, workers: int, **fields: Any) -> list[JobTicket]:
    made = tickets(server.address, workers, **fields)
    server.admit(ServerJob.from_tickets(made))
    return made


def vector(worker: int, size: int) -> np.ndarray:
    return np.random.default_rng([worker, size]).normal(size=size).astype(np.float32) * np.float32(10.0**worker)


@contextmanager
def short_cuts() -> Iterator[list[bool]]:
    """For each all-reduce that tried it, whether one took it."""
    taken: list[bool] = []
    way = AllReduceScheduler.gather

    def watched(self: AllReduceScheduler, *arguments: Any) -> Any:
        values = way(self, *arguments)
        taken.append(values is not None)
        return values

    with mock.patch.object(AllReduceScheduler, "gather", watched):
        yield taken


@pytest.mark.parametrize("average", [False, True])
def test_it_has_the_bits_of_the_long_way(server: AggregationServer, average: bool) -> None:
    """Workers that take it, and one that does not because somebody observes it, sum the same rounds."""
    three = admitted(server, 2)

    def work(session: Session) -> list[bytes]:
        vectors = [vector(session.ticket.worker, size) for size in SIZES]
        sums = [session.all_reduce(one.reshape(1, -1), average=average) for one in vectors]
        assert [one.shape for one in sums] == [(1, size) for size in SIZES]
        assert session._num_all_reduces == len(SIZES) and session.stats.rounds == len(SIZES)
        return [one.tobytes() for one in sums]

    with short_cuts() as taken:
        outcomes: dict[int, list[bytes]] = {}

        def one(ticket: JobTicket) -> None:
            observer = None if ticket.worker else lambda _: None
            with Session(ticket, codec="fixed", observer=observer, deadline_s=FOREVER_S) as session:
                outcomes[ticket.worker] = work(session)

        threads = [threading.Thread(target=one, args=(ticket,)) for ticket in three]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes[0] == outcomes[1]
    expected = [(vector(0, size).astype(np.float64) + vector(1, size)) / (2 if average else 1) for size in SIZES]
    assert outcomes[0] == [one.astype(np.float32).tobytes() for one in expected]
    assert len(taken) == len(SIZES) and len(set(taken)) == 1


def test_compiled_workers_take_it(server: AggregationServer, implementation: str) -> None:
    with short_cuts() as taken:
        run_workers(admitted(server, 2), lambda session: session.all_reduce(vector(0, 100)), codec="fixed")
    assert taken == [implementation == "native"] * 2


@pytest.mark.parametrize(
    "given",
    [
        np.zeros(1025, np.float32),
        np.zeros(0, np.float32),
        np.zeros(8, np.float64),
        np.zeros((8, 8), np.float32)[:, ::2],
        np.zeros(8, ">f4"),
    ],
)
def test_others_do_not(server: AggregationServer, given: np.ndarray) -> None:
    with short_cuts() as taken:
        for sums in run_workers(admitted(server, 2), lambda session: session.all_reduce(given), codec="fixed"):
            assert sums.shape == given.shape and not sums.any()
    assert taken == []


def test_a_quorum_takes_the_long_way(server: AggregationServer) -> None:
    with short_cuts() as taken:
        for sums in run_workers(
            admitted(server, 2, quorum=2), lambda session: session.all_reduce(np.ones(8, np.float32)), codec="fixed"
        ):
            assert (sums == 2).all()
    assert taken == [False, False]


def test_a_late_worker_is_waited_for(server: AggregationServer) -> None:
    """Longer than one call of the compiled part lasts."""

    def work(session: Session) -> np.ndarray:
        session.all_reduce(np.zeros(1, np.float32))
        if session.ticket.worker:
            time.sleep(0.2)
        return session.all_reduce(vector(session.ticket.worker, 100))

    first, second = run_workers(admitted(server, 2), work, codec="fixed")
    expected = (vector(0, 100).astype(np.float64) + vector(1, 100)).astype(np.float32)
    assert first.tobytes() == second.tobytes() == expected.tobytes()


def test_after_one_in_flight(server: AggregationServer) -> None:
    """What was submitted before comes before it."""

    def work(session: Session) -> tuple[np.ndarray, np.ndarray]:
        pending = session.all_reduce_async(np.full(3000, 2, np.float32))
        return session.all_reduce(np.ones(8, np.float32)), pending.result()

    for few, many in run_workers(admitted(server, 2), work, codec="fixed"):
        assert (few == 2).all() and many == pytest.approx(4)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_as_everywhere(server: AggregationServer, wrong: float) -> None:
    (ticket,) = admitted(server, 1)
    with Session(ticket, codec="fixed") as session:
        values = np.ones(40, np.float32)
        values[33] = wrong
        with pytest.raises(CodecError, match="bias"):
            session.all_reduce(values, name="bias")
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))


def test_vectors_of_different_lengths_are_told(server: AggregationServer) -> None:
    outcomes = run_workers(
        admitted(server, 2),
        lambda session: session.all_reduce(np.ones(100 + session.ticket.worker, np.float32)),
        codec="fixed",
        errors=True,
    )
    assert [type(one) for one in outcomes] == [MismatchError] * 2


@pytest.mark.parametrize("deadline_s", [0.01, 0.12])
def test_its_deadline(server: AggregationServer, deadline_s: float) -> None:
    ticket, _ = admitted(server, 2)
    with Session(ticket, codec="fixed", deadline_s=deadline_s) as session:
        with pytest.raises(AggregationTimeoutError, match=f"no progress for {deadline_s:g} s"):
            session.all_reduce(np.ones(8, np.float32))
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))


def test_an_interrupt_ends_the_session(server: AggregationServer) -> None:
    ticket, _ = admitted(server, 2)
    with Session(ticket, codec="fixed", deadline_s=FOREVER_S) as session:

        def interrupt() -> None:
            wait_until_sending(session._transport)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.all_reduce(np.ones(8, np.float32))
        thread.join()
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))

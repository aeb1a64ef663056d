# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-reduces of few values use ``UdpTransport.gather``: the same rounds and bits as the codec's steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from lanesum.codecs import CodecError
from lanesum.server import AggregationServer
from lanesum.session import Session
from lanesum.session.scheduler import AllReduceScheduler
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, SessionClosedError
from tests.host.session.workers import run_workers
from tests.host.transport.loopback import FOREVER_S, admitted, interrupted_when_sending

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (1, 31, 32, 1000, 1024)


def vector(worker: int, size: int) -> np.ndarray:
    return np.random.default_rng([worker, size]).normal(size=size).astype(np.float32) * np.float32(10.0**worker)


@contextmanager
def gather_attempts() -> Iterator[list[bool]]:
    """Record, for each all-reduce that tried to gather, whether it did."""
    taken: list[bool] = []
    gather = AllReduceScheduler.gather

    def watched(self: AllReduceScheduler, *arguments: Any) -> Any:
        values = gather(self, *arguments)
        taken.append(values is not None)
        return values

    with mock.patch.object(AllReduceScheduler, "gather", watched):
        yield taken


@pytest.mark.parametrize("average", [False, True])
def test_gather_has_bits_of_codec_steps(server: AggregationServer, average: bool) -> None:
    """A worker that gathers and one that does not, because it has an observer, sum the same rounds."""
    three = admitted(server, 2)

    def work(session: Session) -> list[bytes]:
        vectors = [vector(session.ticket.worker, size) for size in SIZES]
        sums = [session.all_reduce(one.reshape(1, -1), average=average) for one in vectors]
        assert [one.shape for one in sums] == [(1, size) for size in SIZES]
        assert session._num_all_reduces == len(SIZES) and session.stats.rounds == len(SIZES)
        assert session.stats.wait_us > 0
        return [one.tobytes() for one in sums]

    with gather_attempts() as taken:
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


def test_small_all_reduce_gathers_with_native_extension(server: AggregationServer, implementation: str) -> None:
    with gather_attempts() as taken:
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
def test_other_arrays_do_not_gather(server: AggregationServer, given: np.ndarray) -> None:
    with gather_attempts() as taken:
        for sums in run_workers(admitted(server, 2), lambda session: session.all_reduce(given), codec="fixed"):
            assert sums.shape == given.shape and not sums.any()
    assert taken == []


def test_job_with_quorum_does_not_gather(server: AggregationServer) -> None:
    with gather_attempts() as taken:
        for sums in run_workers(
            admitted(server, 2, quorum=2), lambda session: session.all_reduce(np.ones(8, np.float32)), codec="fixed"
        ):
            assert (sums == 2).all()
    assert taken == [False, False]


def test_gather_waits_for_late_worker(server: AggregationServer) -> None:
    """The worker is later than one call of the native extension lasts."""

    def work(session: Session) -> np.ndarray:
        session.all_reduce(np.zeros(1, np.float32))
        if session.ticket.worker:
            time.sleep(0.2)
        return session.all_reduce(vector(session.ticket.worker, 100))

    first, second = run_workers(admitted(server, 2), work, codec="fixed")
    expected = (vector(0, 100).astype(np.float64) + vector(1, 100)).astype(np.float32)
    assert first.tobytes() == second.tobytes() == expected.tobytes()


def test_small_all_reduce_after_large_one_keeps_order(server: AggregationServer) -> None:
    def work(session: Session) -> tuple[np.ndarray, np.ndarray]:
        pending = session.all_reduce_async(np.full(3000, 2, np.float32))
        return session.all_reduce(np.ones(8, np.float32)), pending.result()

    for few, many in run_workers(admitted(server, 2), work, codec="fixed"):
        assert (few == 2).all() and many == pytest.approx(4)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_gather_of_non_finite_value_raises(server: AggregationServer, wrong: float) -> None:
    (ticket,) = admitted(server, 1)
    with Session(ticket, codec="fixed", non_finite="raise") as session:
        values = np.ones(40, np.float32)
        values[33] = wrong
        with pytest.raises(CodecError, match="bias"):
            session.all_reduce(values, name="bias")
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))


def test_gather_of_different_lengths_raises(server: AggregationServer) -> None:
    outcomes = run_workers(
        admitted(server, 2),
        lambda session: session.all_reduce(np.ones(100 + session.ticket.worker, np.float32)),
        codec="fixed",
        errors=True,
    )
    assert [type(one) for one in outcomes] == [MismatchError] * 2


@pytest.mark.parametrize("deadline_s", [0.01, 0.12])
def test_gather_without_progress_raises_after_deadline(server: AggregationServer, deadline_s: float) -> None:
    ticket, _ = admitted(server, 2)
    with Session(ticket, codec="fixed", deadline_s=deadline_s) as session:
        with pytest.raises(AggregationTimeoutError, match=f"no progress for {deadline_s:g} s"):
            session.all_reduce(np.ones(8, np.float32))
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))


def test_interrupt_during_gather_ends_session(server: AggregationServer) -> None:
    ticket, _ = admitted(server, 2)
    with Session(ticket, codec="fixed", deadline_s=FOREVER_S) as session:
        with interrupted_when_sending(session._transport):
            session.all_reduce(np.ones(8, np.float32))
        with pytest.raises(SessionClosedError):
            session.all_reduce(np.ones(8, np.float32))

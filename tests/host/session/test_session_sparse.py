# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse codecs over UDP, with and without loss: exact sums, and errors for unsuitable jobs and tensors."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import CodecError, Rule
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import ObservedRound, Session
from lanesum.transport.errors import MismatchError
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

SIZES = (20_000, 1, 3001)


def sparse(worker: int, size: int, number: int) -> np.ndarray:
    generator = np.random.default_rng((worker, size, number))
    return (generator.integers(-1000, 1000, size) * (generator.random(size) < 0.01)).astype(np.float32)


@pytest.mark.parametrize("codec", ["sketch", "union", "auto"])
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_sparse_sums_over_network_are_exact(codec: str, loss: float) -> None:
    seen: list[ObservedRound] = []
    with AggregationServer((LOCALHOST, 0), loss=random_loss(1, loss)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            worker = session.ticket.worker
            return [session.all_reduce(sparse(worker, n, r), name=f"{n}") for r in range(3) for n in SIZES]

        results = run_workers(tickets, work, codec=codec, observer=seen.append)
    for number, (r, n) in enumerate((r, n) for r in range(3) for n in SIZES):
        expected = sum(sparse(worker, n, r) for worker in range(3))
        for result in results:
            assert (result[number] == expected).all()
    sketches = [one for one in seen if one.round.label == "cells"]
    assert all(one.round.op is LaneOp.ADD32 for one in sketches)
    assert bool(sketches) is (codec != "union")


@pytest.mark.parametrize("codec", ["sketch", "auto", "topk", "policy"])
def test_all_reduces_of_one_tensor_run_in_order(codec: str) -> None:
    """Each depends on the sum of the one before, so it begins after that one has ended, on all workers."""
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            vectors = [sparse(session.ticket.worker, 20_000, number % 3) for number in range(6)]
            options = {"density": 1.0} if codec == "topk" else {}
            if codec == "policy":
                options = {"rules": (Rule("sketch"),)}
            one = codecs.get(codec, workers=2, **options)
            pending = [session.all_reduce_async(x, name="t", codec=one) for x in vectors]
            return [each.result() for each in pending]

        results = run_workers(tickets, work, codec="fixed")
    for number in range(6):
        expected = sum(sparse(worker, 20_000, number % 3) for worker in range(2))
        assert all((result[number] == expected).all() for result in results)


def test_scalars_and_empty_arrays_keep_shape() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            inputs = (np.float32(2.5), np.zeros((0, 3), np.float32), np.ones((2, 50, 30), np.float16))
            return [session.all_reduce(np.asarray(one)) for one in inputs]

        for result in run_workers(tickets, work, codec="sketch"):
            assert result[0].shape == () and result[0] == 5
            assert result[1].shape == (0, 3)
            assert result[2].shape == (2, 50, 30) and (result[2] == 2).all()


def test_lengths_that_differ_raise() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        # Both indexes have equally many words: only the compared lengths show the difference.
        outcomes = run_workers(
            tickets,
            lambda session: session.all_reduce(np.ones(4001 + session.ticket.worker, np.float32)),
            errors=True,
            codec="sketch",
        )
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError) and "4,001 to 4,002 values" in str(outcome)


def test_non_finite_value_is_named() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        bad = np.array([0, np.nan] * 2000, np.float32)
        with pytest.raises(CodecError, match="'layer1': element 1 is nan"):
            run_workers(
                tickets, lambda session: session.all_reduce(bad, name="layer1"), codec="auto", non_finite="raise"
            )


@pytest.mark.parametrize("codec", ["sketch", "union", "auto"])
def test_job_with_quorum_is_refused(codec: str) -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3, quorum=2)
        with pytest.raises(ConfigurationError, match=f"Codec {codec} needs every worker"):
            Session(tickets[0], codec=codec)

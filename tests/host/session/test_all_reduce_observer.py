# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Aggregates of jobs with a quorum: contributors of each word, as codecs and observers get them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from lanesum.codecs import THC, Result
from lanesum.protocol import Header, Kind, LaneOp
from lanesum.protocol.spec import OPENING
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import ObservedRound, Session
from lanesum.session.all_reduce import make_aggregate
from lanesum.transport import JobTicket
from tests.host.session.workers import LOCALHOST, LossySocket, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")


def test_quorum_omits_late_worker_and_keeps_its_residual() -> None:
    """The mean is over the quorum. The whole vector of the late worker stays in its residual."""
    vectors = [np.random.default_rng(worker).normal(size=500).astype(np.float32) for worker in range(3)]
    with AggregationServer((LOCALHOST, 0)) as server:
        wide = THC(workers=3, lanes=16)
        for tag, codec, tolerance in ((1, "fixed", 1e-5), (2, "thc-uniform", 0.7), (3, wide, 0.5)):
            tickets = tickets_for(server, 3, quorum=2, tag=tag)
            server.aggregator.admit(ServerJob.from_tickets(tickets))
            rounds: list[ObservedRound] = []

            done = threading.Barrier(3)

            def work(session: Session, done: threading.Barrier = done, rounds: list[ObservedRound] = rounds) -> Result:
                is_late = session.ticket.worker == 2
                if is_late:
                    session._scheduler._observer = rounds.append
                    done.wait(30)
                handle = session.all_reduce_async(vectors[session.ticket.worker], average=True, keep_residual=True)
                result = handle.codec_result()
                if not is_late:
                    done.wait(30)
                return result

            *early, late = run_workers(tickets, work, codec=codec)
            for result in (*early, late):
                np.testing.assert_allclose(result.values, (vectors[0] + vectors[1]) / 2, atol=tolerance)
                assert result.values.tobytes() == late.values.tobytes()
            assert late.residual is not None
            np.testing.assert_array_equal(late.residual, vectors[2])
            for observed in rounds:
                assert (observed.contributors == 0b011).all() and observed.contributors.shape[1] == 1
                assert (observed.aggregate.contributors == 2).all() and not np.any(observed.aggregate.included)


def test_quorum_divides_each_word_by_its_contributors() -> None:
    """Different workers complete different packets: every element is divided by the number in its packet."""
    vectors = [np.full(640, 3 - worker, np.float32) for worker in range(3)]
    rounds: list[ObservedRound] = []
    decided: set[tuple[int, int]] = set()

    def watch(incoming: bool, address: tuple[str, int], datagram: bytes) -> bool:
        header = Header.unpack(datagram)
        if not incoming and header.kind == Kind.RESULT:
            decided.add((header.epoch, header.chunk))
        return False

    with AggregationServer((LOCALHOST, 0), loss=watch) as server:
        tickets = tickets_for(server, 3, quorum=2, slots=64)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> Result:
            session._scheduler._observer = rounds.append if session.ticket.worker == 2 else None
            handle = session.all_reduce_async(vectors[session.ticket.worker], average=True, keep_residual=True)
            return handle.codec_result()

        def lost(header: Header) -> bool:
            """Lose odd packets of worker 0 and even ones of worker 2 until their results are decided."""
            late = (header.epoch, header.chunk) in decided
            planned = (header.fan_in_workers, header.chunk % 2) in ((0, 1), (2, 0))
            return planned and not late and header.spare != OPENING

        results = run_workers(tickets, work, codec="fixed", wrap_socket=lambda sock: LossySocket(sock, 0, 0.0, lost))
    values = rounds[-1]
    assert values.contributors[:, 0].tolist() == [0b011, 0b110] * 5
    members = values.aggregate.members
    assert members is not None
    assert members.sets[members.of_word[[0, 63, 64, 639]]].tolist() == [[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]
    expected = np.where(np.arange(640) // 64 % 2, 1.5, 2.5)
    for worker, result in enumerate(results):
        np.testing.assert_allclose(result.values, expected, rtol=1e-6)
        left_out = expected == {0: 1.5, 1: 0, 2: 2.5}[worker]
        assert result.residual is not None
        np.testing.assert_array_equal(result.residual[left_out], vectors[worker][left_out])
        assert (np.abs(result.residual[~left_out]) < 1e-6).all()


def test_make_aggregate_with_racks_names_workers_by_number() -> None:
    places = ((1, 0), (0, 3), (1, 2))
    ticket = JobTicket(job=1, tag=1, worker=2, workers=3, slots=8, accumulator_words=4, places=places, quorum=1)
    words = np.arange(10, dtype=np.uint32)
    found = make_aggregate(
        ticket, LaneOp.ADD32, words, np.array([[0b1000, 0b101], [0, 0b100], [0b1000, 0b1]], np.uint32)
    )
    assert found.members is not None
    assert found.members.sets[found.members.of_word].tolist() == [[1, 1, 1]] * 4 + [[0, 0, 1]] * 4 + [[1, 1, 0]] * 2
    assert np.array(found.contributors).tolist() == [3] * 4 + [1] * 4 + [2] * 2
    assert np.array(found.included).tolist() == [True] * 8 + [False] * 2
    complete = make_aggregate(ticket, LaneOp.ADD32, words, np.array([[0b1000, 0b101]] * 3, np.uint32))
    assert (complete.contributors, complete.included, complete.members) == (3, True, None)

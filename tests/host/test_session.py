# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions over UDP against the Python aggregation server, with and without loss."""

from __future__ import annotations

import dataclasses
import random
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanesum.codecs import CodecError
from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.server import AggregationServer, ServerJob
from lanesum.server.udp import Loss
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, SessionClosedError, TransportError

LOCALHOST = "127.0.0.1"


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((LOCALHOST, 0))
        port: int = probe.getsockname()[1]
        return port


def tickets_for(server: AggregationServer, workers: int, **fields: Any) -> list[JobTicket]:
    ports = [free_udp_port() for _ in range(workers)]
    return [
        JobTicket(
            **{"job": 7, "tag": 0xC0FFEE, "slots": 16, "seed": 5, **fields},
            worker=worker,
            workers=workers,
            server=server.address,
            local=(LOCALHOST, port),
        )
        for worker, port in enumerate(ports)
    ]


def run_workers(tickets: list[JobTicket], work: Callable[[Session], Any], **options: Any) -> list[Any]:
    """``work`` in one thread per worker; the first exception is raised here."""
    outcomes: list[Any] = [None] * len(tickets)

    def one(index: int) -> None:
        try:
            with Session(tickets[index], **options) as session:
                outcomes[index] = work(session)
        except BaseException as error:  # handed to the test
            outcomes[index] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(tickets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes


def random_loss(seed: int, share: float) -> Loss:
    generator = random.Random(seed)
    return lambda _incoming, _address, _datagram: generator.random() < share


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_sum_is_exact_over_many_rounds(workers: int, loss: float) -> None:
    """Integers that fixed point represents exactly: the sum must be exact, round after round, under loss."""
    with AggregationServer((LOCALHOST, 0), loss=random_loss(1, loss)) as server:
        tickets = tickets_for(server, workers)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[np.ndarray]:
            generator = np.random.default_rng(session.ticket.worker)
            sizes = (1, 1000, 64 * 40, 3)
            return [session.all_reduce(generator.integers(-100, 100, n).astype(np.float32)) for n in sizes]

        results = run_workers(tickets, work, codec="fixed")
    generators = [np.random.default_rng(worker) for worker in range(workers)]
    for index, n in enumerate((1, 1000, 64 * 40, 3)):
        expected = sum(generator.integers(-100, 100, n) for generator in generators)
        for result in results:
            np.testing.assert_allclose(result[index], expected, atol=1e-4)
            assert result[index].tobytes() == results[0][index].tobytes()


def test_retransmissions_are_counted_and_duplicates_ignored() -> None:
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, 0.2)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> int:
            session.all_reduce(np.ones(64 * 100, np.float32))
            return session.stats.retransmissions

        assert sum(run_workers(tickets, work, codec="fixed")) > 0


def test_missing_worker_is_named() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        with pytest.raises(AggregationTimeoutError, match="still missing: worker 1") as caught:
            run_workers(
                [tickets[0], tickets[2]], lambda s: s.all_reduce(np.ones(8, np.float32)), codec="fixed", deadline_s=1.0
            )
    assert caught.value.missing == (1,)


def test_silence_says_so_and_ends_the_session() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)  # never admitted: the server refuses silently
        with Session(ticket, codec="fixed", deadline_s=0.5) as session:
            with pytest.raises(AggregationTimeoutError, match="nothing ever came back") as caught:
                session.all_reduce(np.ones(8, np.float32))
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(8, np.float32))
    assert caught.value.missing == ()
    assert server.aggregator.refused["not a member"] > 0


def test_results_over_others_are_not_taken_and_named_in_the_error() -> None:
    """A switch with an older membership completes too early: the worker must not take that for the sum."""
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        alone = dataclasses.replace(tickets[0], workers=1)
        server.aggregator.admit(ServerJob.from_tickets([alone]))
        with Session(tickets[0], codec="fixed", deadline_s=0.5) as session:
            with pytest.raises(AggregationTimeoutError, match="other contributors than the job's 2 workers"):
                session.all_reduce(np.ones(8, np.float32))
            assert session.stats.foreign_packets > 0


def test_foreign_packets_are_counted_and_change_nothing() -> None:
    """Garbage, another epoch and another tag reach the worker's socket before the real result."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        words = np.full(64, 99, np.uint32)
        header = Header(kind=Kind.RESULT, job=ticket.job, tag=ticket.tag, op=LaneOp.MAX, workers=1)
        strays = [
            b"short",
            Packet(dataclasses.replace(header, tag=1), words).pack(),
            Packet(dataclasses.replace(header, epoch=5), words).pack(),
            Packet(dataclasses.replace(header, version=1), words).pack(),
            Packet(dataclasses.replace(header, chunk=3), words).pack(),
            Packet(dataclasses.replace(header), words[:10]).pack(),
        ]
        with Session(ticket, codec="fixed") as session:
            for stray in strays:  # from the server's own address, as the connected socket demands
                server._socket.sendto(stray, ticket.local)
            result = session.all_reduce(np.full(100, 3, np.float32))
            assert session.stats.foreign_packets >= len(strays)
        np.testing.assert_allclose(result, 3, rtol=1e-6)


def test_bad_arrays_and_addresses_are_refused() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        with Session(ticket, codec="fixed") as session, pytest.raises(ConfigurationError, match="int64"):
            session.all_reduce(np.ones(3, np.int64))
        with pytest.raises(ConfigurationError, match="cannot send from"):
            Session(dataclasses.replace(ticket, local=("192.0.2.1", 0)), codec="fixed")
        with pytest.raises(ConfigurationError, match="cannot bind"):
            AggregationServer(server.address)
        with pytest.raises(ConfigurationError, match="worker = 4"):
            dataclasses.replace(ticket, worker=4)


def test_ticket_survives_json() -> None:
    ticket = JobTicket(
        job=1, tag=2, worker=0, workers=4, slots=8, ops=(LaneOp.MAX, LaneOp.EXPAND8), code_table=bytes(range(16))
    )
    assert JobTicket.from_json(ticket.to_json()) == ticket
    with pytest.raises(ConfigurationError, match="Not a job ticket"):
        JobTicket.from_json("{}")


def test_a_codec_whose_table_the_switch_does_not_hold_is_refused() -> None:
    """The sums would be of other numbers than the codec means, and look like any others."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        with pytest.raises(ConfigurationError, match="admitted with no code table"):
            Session(ticket, codec="thc")
        other = dataclasses.replace(ticket, code_table=bytes(range(16)))
        with pytest.raises(ConfigurationError, match=r"admitted with table \[0, 1, 2"):
            Session(other, codec="thc")
        with Session(ticket, codec="thc-uniform") as session, pytest.raises(ConfigurationError, match="no code table"):
            session.all_reduce(np.ones(8, np.float32), codec="thc")


def test_a_ticket_is_good_for_one_session() -> None:
    """A second session's first round has the numbers of the first one's: the old result must not come back as new."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed") as session:
            session.all_reduce(np.ones(8, np.float32))
        with pytest.raises(SessionClosedError, match="used already"):
            Session(ticket, codec="fixed")


def test_a_vector_that_cannot_be_encoded_ends_the_session() -> None:
    """Else the next all-reduce would take the place of this one, for which the other workers wait."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed") as session:
            with pytest.raises(CodecError, match="nan"):
                session.all_reduce(np.array([1, np.nan], np.float32))
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(2, np.float32))


def test_rounds_begin_at_the_ticket_s_epoch_and_wrap() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2, epoch=0xFFFFFFFE)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[float]:
            return [float(session.all_reduce(np.full(3, i, np.float32))[0]) for i in range(1, 6)]

        for sums in run_workers(tickets, work, codec="fixed"):
            np.testing.assert_allclose(sums, [2, 4, 6, 8, 10], rtol=1e-6)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions over UDP against the Python aggregation server, with and without loss."""

from __future__ import annotations

import dataclasses
import pickle
import socket
import threading

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import THC, CodecError
from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, SessionClosedError
from tests.host.session.workers import LOCALHOST, LossySocket, random_loss, run_workers, tickets_for
from tests.waiting import wait_until, with_longer_deadlines

pytestmark = pytest.mark.usefixtures("implementation")


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_sum_is_exact_over_many_rounds(workers: int, loss: float) -> None:
    """Fixed point represents the integers exactly, so the sum must be exact in every round, under loss."""
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


@pytest.mark.parametrize("codec", ["fixed", "thc-uniform"])
def test_returned_sum_does_not_change_later(codec: str) -> None:
    """Memory of large arrays is used again, but not while the caller holds the sum or a view of it."""
    size = (1 << 20) + 5
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 1, accumulator_words=256, slots=64)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[tuple[bytes, np.ndarray]]:
            generator = np.random.default_rng(1)
            sums = []
            for _ in range(4):
                result = session.all_reduce(generator.normal(size=size).astype(np.float32))
                sums.append((result.tobytes(), result[3:]))
            return sums

        ((*sums,),) = run_workers(tickets, work, codec=codec)
    assert all(bits[12:] == view.tobytes() for bits, view in sums)
    assert len({bits for bits, _ in sums}) == len(sums)


def test_retransmissions_are_counted_and_duplicates_ignored() -> None:
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, 0.2)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> int:
            session.all_reduce(np.ones(64 * 100, np.float32))
            return session.stats.retransmissions

        assert sum(run_workers(tickets, work, codec="fixed")) > 0


def test_timeout_names_missing_worker() -> None:
    def attempt(deadline_s: float) -> None:
        with AggregationServer((LOCALHOST, 0)) as server:
            tickets = tickets_for(server, 3)
            server.aggregator.admit(ServerJob.from_tickets(tickets))
            present = [tickets[0], tickets[2]]
            for error in run_workers(
                present,
                lambda s: s.all_reduce(np.ones(8, np.float32)),
                errors=True,
                codec="fixed",
                deadline_s=deadline_s,
            ):
                assert isinstance(error, AggregationTimeoutError)
                assert "still missing: worker 1" in str(error) and error.missing == (1,)

    with_longer_deadlines(attempt)


def test_timeout_without_any_answer_ends_session() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)  # never admitted: the server refuses silently
        with Session(ticket, codec="fixed", deadline_s=0.5) as session:
            with pytest.raises(AggregationTimeoutError, match="no answer ever arrived") as caught:
                session.all_reduce(np.ones(8, np.float32))
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(8, np.float32))
        assert caught.value.missing == ()
        wait_until(lambda: server.aggregator.refused["not a member"] > 0)


def test_result_of_other_contributors_is_refused_and_reported() -> None:
    """A switch with an older membership completes too early: the worker must not accept that as the sum."""

    def attempt(deadline_s: float) -> None:
        with AggregationServer((LOCALHOST, 0)) as server:
            tickets = tickets_for(server, 2)
            alone = dataclasses.replace(tickets[0], workers=1)
            server.aggregator.admit(ServerJob.from_tickets([alone]))
            with Session(tickets[0], codec="fixed", deadline_s=deadline_s) as session:
                with pytest.raises(AggregationTimeoutError, match="other contributors than the job's 2 workers"):
                    session.all_reduce(np.ones(8, np.float32))
                assert session.stats.foreign_packets > 0

    with_longer_deadlines(attempt)


def test_foreign_packets_are_counted_and_ignored() -> None:
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
                server._sockets[0].sendto(stray, ticket.local)
            result = session.all_reduce(np.full(100, 3, np.float32))
            assert session.stats.foreign_packets >= len(strays)
        np.testing.assert_allclose(result, 3, rtol=1e-6)


def test_invalid_arrays_and_addresses_are_refused() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        with Session(ticket, codec="fixed") as session, pytest.raises(ConfigurationError, match="int64"):
            session.all_reduce(np.ones(3, np.int64))
        with pytest.raises(ConfigurationError, match="Codec fixed was built for 1 workers; the job has 2"):
            Session(dataclasses.replace(ticket, workers=2), codec=codecs.get("fixed", workers=1))
        with pytest.raises(ConfigurationError, match="cannot send from"):
            Session(dataclasses.replace(ticket, local=("192.0.2.1", 0)), codec="fixed")
        with pytest.raises(ConfigurationError, match="cannot bind"):
            AggregationServer(server.address)
        with pytest.raises(ConfigurationError, match="worker = 4"):
            dataclasses.replace(ticket, worker=4)


def test_ticket_to_json_and_back_is_unchanged() -> None:
    ticket = JobTicket(
        job=1, tag=2, worker=0, workers=4, slots=8, ops=(LaneOp.MAX, LaneOp.EXPAND8), code_table=bytes(range(16))
    )
    assert JobTicket.from_json(ticket.to_json()) == ticket
    with pytest.raises(ConfigurationError, match="Invalid job ticket"):
        JobTicket.from_json("{}")


def test_codec_with_table_other_than_job_is_refused() -> None:
    """The switch would add other numbers than the codec sent, and the sums would not show it."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        with pytest.raises(ConfigurationError, match="admitted with no code table"):
            Session(ticket, codec="thc-paper")
        with pytest.raises(ConfigurationError, match="admitted with no code table"):
            Session(ticket, codec=THC(workers=1))
        other = dataclasses.replace(ticket, code_table=bytes(range(16)))
        with pytest.raises(ConfigurationError, match=r"Codec thc sums by table .*, but job \d was admitted with table"):
            Session(other, codec="thc")
        with Session(ticket, codec="thc-uniform") as session, pytest.raises(ConfigurationError, match="no code table"):
            session.all_reduce(np.ones(8, np.float32), codec="thc-paper")


def test_thc_in_job_without_table_uses_none() -> None:
    vector = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="thc") as session:
            assert isinstance(session.codec, THC) and session.codec.op is LaneOp.EXPAND8
            got = session.all_reduce(vector)
    assert np.square(got - vector).sum() < 0.013 * np.square(vector).sum()


def test_second_session_with_same_ticket_is_refused() -> None:
    """Rounds of a second session would have the numbers of the first one, and get its old results."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed") as session:
            session.all_reduce(np.ones(8, np.float32))
        with pytest.raises(SessionClosedError, match="was used already: a ticket is valid for one session"):
            Session(ticket, codec="fixed")


def test_non_finite_vector_ends_session_that_raises() -> None:
    """Otherwise the next all-reduce would replace this one, for which the other workers wait."""
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="fixed", non_finite="raise") as session:
            with pytest.raises(CodecError, match="nan"):
                session.all_reduce(np.array([1, np.nan], np.float32))
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(2, np.float32))


def test_rounds_start_at_ticket_epoch_and_wrap() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2, epoch=0xFFFFFFFE)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[float]:
            return [float(session.all_reduce(np.full(3, i, np.float32))[0]) for i in range(1, 6)]

        for sums in run_workers(tickets, work, codec="fixed"):
            np.testing.assert_allclose(sums, [2, 4, 6, 8, 10], rtol=1e-6)


def test_loss_at_worker_sockets_changes_nothing() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))
        sums = run_workers(
            tickets,
            lambda session: session.all_reduce(np.arange(64 * 50, dtype=np.float32)),
            codec="fixed",
            wrap_socket=lambda sock: LossySocket(sock, sock.fileno(), 0.1),
        )
    for result in sums:
        np.testing.assert_allclose(result, 3 * np.arange(64 * 50), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("at", [5, 70, 150])
def test_server_restart_during_rounds_changes_nothing(at: int) -> None:
    """The server loses all sums and results. Answers are lost, too, so some workers lack results that others have."""
    handled = 0
    lossy = random_loss(at, 0.1)

    def restart(incoming: bool, address: tuple[str, int], datagram: bytes) -> bool:
        nonlocal handled
        handled += incoming
        if incoming and handled == at:
            with server.lock:
                server.aggregator.remove(7)
                server.aggregator.admit(ServerJob.from_tickets(tickets))
        return lossy(incoming, address, datagram)

    with AggregationServer((LOCALHOST, 0), loss=restart) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            for number in range(6):
                last = session.all_reduce(np.full(900, number, np.float32))
            assert session.leave(deadline_s=200.0)
            return last

        for result in run_workers(tickets, work, codec="fixed"):
            np.testing.assert_allclose(result, 10, rtol=1e-6)
    assert handled > at


def test_worker_at_barrier_retransmits_for_other_worker() -> None:
    """One worker has its result and waits at a barrier. The other lacks it, and the server has restarted."""
    barrier = threading.Barrier(2)
    lost = False

    def lose_one_result(incoming: bool, address: tuple[str, int], datagram: bytes) -> bool:
        nonlocal lost
        header = Header.unpack(datagram)
        if lost or address != tickets[1].local or (header.kind, header.op) != (Kind.RESULT, LaneOp.ADD32):
            return False
        lost = True
        with server.lock:
            server.aggregator.remove(7)
            server.aggregator.admit(ServerJob.from_tickets(tickets))
        return True

    with AggregationServer((LOCALHOST, 0), loss=lose_one_result) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            result = session.all_reduce(np.full(10, 1, np.float32))
            barrier.wait(timeout=200)
            return result

        for result in run_workers(tickets, work, codec="fixed", deadline_s=200):
            np.testing.assert_allclose(result, 2, rtol=1e-6)
    assert lost


def test_mismatch_of_one_worker_raises_on_all() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> None:
            session.all_reduce(np.ones(10, np.float32))
            session.all_reduce(np.ones(8 if session.ticket.worker == 1 else 9000, np.float32))

        outcomes = run_workers(tickets, work, errors=True, codec="fixed")
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError)
        assert {str(outcome.brought), str(outcome.expected)} == {"27 words for ADD32", "13 words for MAX"}
        copy = pickle.loads(pickle.dumps(outcome))
        assert (str(copy), copy.worker, copy.brought, copy.expected) == (
            str(outcome), outcome.worker, outcome.brought, outcome.expected,
        )  # fmt: skip


def test_leave_returns_together_or_after_deadline() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> tuple[bool, bool]:
            session.all_reduce(np.ones(10, np.float32))
            return session.leave(deadline_s=200.0), session.leave()

        assert run_workers(tickets, work, codec="fixed") == [(True, False)] * 3
        alone = tickets_for(server, 2, job=8)
        server.aggregator.admit(ServerJob.from_tickets(alone))
        with Session(alone[0], codec="fixed") as session:
            assert not session.leave(deadline_s=0.2)
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(10, np.float32))


def test_leave_while_other_continues_raises_on_both() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> object:
            return session.leave() if session.ticket.worker == 0 else session.all_reduce(np.ones(10, np.float32))

        for outcome in run_workers(tickets, work, errors=True, codec="fixed"):
            assert isinstance(outcome, MismatchError)
            assert "0 words for" in str(outcome) and "22 words for ADD32" in str(outcome)


def test_sockets_set_ecn_capable_transport() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        wrapped: list[LossySocket] = []

        def wrap(sock: socket.socket) -> LossySocket:
            wrapped.append(LossySocket(sock, 0, 0.0))
            return wrapped[-1]

        with Session(ticket, codec="fixed", wrap_socket=wrap, congestion="fixed", window=3) as session:
            assert session.describe() == "fixed workers=1 block=1024 gathered=2048"
            assert wrapped[0].getsockopt(socket.IPPROTO_IP, socket.IP_TOS) & 3 == 2
        with pytest.raises(ConfigurationError, match="no congestion control"):
            Session(dataclasses.replace(ticket, tag=1), codec="fixed", congestion="none")

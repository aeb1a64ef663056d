# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sessions over UDP against the Python aggregation server, with and without loss."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import pickle
import random
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import THC, CodecContext, CodecError, CodecTraits, ErrorFeedback, Result, Round, RoundGroup, Steps
from lanesum.errors import ConfigurationError, LanesumError
from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.server import AggregationServer, ServerJob
from lanesum.server.udp import Loss
from lanesum.session import ObservedRound, Session
from lanesum.session.observer import make_aggregate
from lanesum.transport import JobTicket
from lanesum.transport.errors import AggregationTimeoutError, MismatchError, SessionClosedError

pytestmark = pytest.mark.usefixtures("implementation")

LOCALHOST = "127.0.0.1"
# A port may be given to another server again, and a ticket is good once.
TAGS = itertools.count(0xC0FFEE)


def free_udp_ports(count: int) -> list[int]:
    """All different: one that was given back might be the next one found."""
    with contextlib.ExitStack() as held:
        ports = []
        for _ in range(count):
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            probe.bind((LOCALHOST, 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


def tickets_for(server: AggregationServer, workers: int, **fields: Any) -> list[JobTicket]:
    ports = free_udp_ports(workers)
    tag = next(TAGS)
    return [
        JobTicket(
            **{"job": 7, "tag": tag, "slots": 16, "seed": 5, **fields},
            worker=worker,
            workers=workers,
            servers=(server.address,),
            local=(LOCALHOST, port),
        )
        for worker, port in enumerate(ports)
    ]


class LossySocket:
    """A socket that loses a share of what it sends, of what it receives, or what ``lost`` says."""

    def __init__(self, sock: socket.socket, seed: int, share: float, lost: Callable[[Header], bool] | None = None):
        self._socket = sock
        self._random = random.Random(seed)
        self._share = share
        self._lost = lost
        self.fileno, self.close, self.getsockopt = sock.fileno, sock.close, sock.getsockopt

    def send(self, data: Any) -> int:
        if self._random.random() < self._share or (self._lost is not None and self._lost(Header.unpack(data))):
            return len(data)
        return self._socket.send(data)

    def recv_into(self, buffer: bytearray) -> int:
        while True:
            size = self._socket.recv_into(buffer)
            if self._random.random() >= self._share:
                return size


def run_workers(
    tickets: list[JobTicket], work: Callable[[Session], Any], *, errors: bool = False, **options: Any
) -> list[Any]:
    """``work`` in one thread per worker; the first exception is raised here, unless ``errors`` are results."""
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
        if isinstance(outcome, BaseException) and not errors:
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


@pytest.mark.parametrize("codec", ["fixed", "thc-uniform"])
def test_a_sum_stays_as_it_was_handed_out(codec: str) -> None:
    """Large arrays lie in memory that is used again, but not while somebody has the sum, or a view of it."""
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
                server._sockets[0].sendto(stray, ticket.local)
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
            Session(ticket, codec="thc-paper")
        with pytest.raises(ConfigurationError, match="admitted with no code table"):
            Session(ticket, codec=THC(workers=1))
        other = dataclasses.replace(ticket, code_table=bytes(range(16)))
        with pytest.raises(ConfigurationError, match=r"admitted with table \[0, 1, 2"):
            Session(other, codec="thc")
        with Session(ticket, codec="thc-uniform") as session, pytest.raises(ConfigurationError, match="no code table"):
            session.all_reduce(np.ones(8, np.float32), codec="thc-paper")


def test_by_name_thc_is_one_without_a_table_where_the_job_has_none() -> None:
    vector = np.random.default_rng(1).normal(size=5000).astype(np.float32)
    with AggregationServer((LOCALHOST, 0)) as server:
        (ticket,) = tickets_for(server, 1)
        server.aggregator.admit(ServerJob.from_tickets([ticket]))
        with Session(ticket, codec="thc") as session:
            assert isinstance(session.codec, THC) and session.codec.op is LaneOp.EXPAND8
            got = session.all_reduce(vector)
    assert np.square(got - vector).sum() < 0.013 * np.square(vector).sum()


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


def test_lost_datagrams_at_the_workers_sockets_change_nothing() -> None:
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
def test_a_server_that_starts_anew_is_not_noticed(at: int) -> None:
    """It loses all sums and results in the middle; with lost answers, some of them were not heard by everybody."""
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
            assert session.leave()
            return last

        for result in run_workers(tickets, work, codec="fixed"):
            np.testing.assert_allclose(result, 10, rtol=1e-6)
    assert handled > at


def test_a_worker_that_waits_elsewhere_still_helps() -> None:
    """One worker has its result and waits for the other at a barrier; the other lacks it, and the server forgot it."""
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
            barrier.wait(timeout=30)
            return result

        for result in run_workers(tickets, work, codec="fixed", deadline_s=10):
            np.testing.assert_allclose(result, 2, rtol=1e-6)
    assert lost


def test_a_mismatch_is_told_to_every_worker() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> None:
            session.all_reduce(np.ones(10, np.float32))
            session.all_reduce(np.ones(8 if session.ticket.worker == 1 else 9000, np.float32))

        outcomes = run_workers(tickets, work, errors=True, codec="fixed")
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError)
        assert {str(outcome.brought), str(outcome.expected)} == {"24 words for ADD32", "11 words for MAX"}
        copy = pickle.loads(pickle.dumps(outcome))
        assert (str(copy), copy.worker, copy.brought, copy.expected) == (
            str(outcome), outcome.worker, outcome.brought, outcome.expected,
        )  # fmt: skip


def test_a_late_worker_s_gradient_is_not_in_the_mean_and_stays_in_its_memory() -> None:
    """The quorum has gone on; its mean is over those who were there, and the late worker has said nothing yet."""
    vectors = [np.random.default_rng(worker).normal(size=500).astype(np.float32) for worker in range(3)]
    with AggregationServer((LOCALHOST, 0)) as server:
        wide = THC(workers=3, lanes=16)
        for tag, codec, tolerance in ((1, "fixed", 1e-5), (2, "thc-uniform", 0.7), (3, wide, 0.5)):
            tickets = tickets_for(server, 3, quorum=2, tag=tag)
            server.aggregator.admit(ServerJob.from_tickets(tickets))
            rounds: list[ObservedRound] = []

            def work(session: Session) -> Result:
                return session.all_reduce_result(vectors[session.ticket.worker], average=True, keep_residual=True)

            early = run_workers(tickets[:2], work, codec=codec)
            (late,) = run_workers(tickets[2:], work, codec=codec, observer=rounds.append)
            for result in (*early, late):
                np.testing.assert_allclose(result.values, (vectors[0] + vectors[1]) / 2, atol=tolerance)
                assert result.values.tobytes() == late.values.tobytes()
            assert late.residual is not None
            np.testing.assert_array_equal(late.residual, vectors[2])
            for finished in rounds:
                assert (finished.contributors == 0b011).all() and finished.contributors.shape[1] == 1
                assert (finished.aggregate.contributors == 2).all() and not np.any(finished.aggregate.included)


def test_each_part_of_a_vector_has_its_own_mean() -> None:
    """Packets are completed by different workers: every element is divided by those that are in it."""
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
            return session.all_reduce_result(vectors[session.ticket.worker], average=True, keep_residual=True)

        def lost(header: Header) -> bool:
            """Worker 0 does not get through with odd packets, worker 2 not with even ones, until it is too late."""
            late = (header.epoch, header.chunk) in decided
            return (header.fan_in_workers, header.chunk % 2) in ((0, 1), (2, 0)) and not late

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


def test_who_is_in_a_sum_is_told_by_worker_not_by_place() -> None:
    places = ((1, 0), (0, 3), (1, 2))
    ticket = JobTicket(job=1, tag=1, worker=2, workers=3, slots=8, accumulator_words=4, places=places, quorum=1)
    words = np.arange(10, dtype=np.uint32)
    found = make_aggregate(ticket, words, np.array([[0b1000, 0b101], [0, 0b100], [0b1000, 0b1]], np.uint32))
    assert found.members is not None
    assert found.members.sets[found.members.of_word].tolist() == [[1, 1, 1]] * 4 + [[0, 0, 1]] * 4 + [[1, 1, 0]] * 2
    assert np.array(found.contributors).tolist() == [3] * 4 + [1] * 4 + [2] * 2
    assert np.array(found.included).tolist() == [True] * 8 + [False] * 2
    everybody = make_aggregate(ticket, words, np.array([[0b1000, 0b101]] * 3, np.uint32))
    assert (everybody.contributors, everybody.included, everybody.members) == (3, True, None)


def test_workers_leave_together_or_after_a_short_wait() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 3)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> tuple[bool, bool]:
            session.all_reduce(np.ones(10, np.float32))
            return session.leave(), session.leave()

        assert run_workers(tickets, work, codec="fixed") == [(True, False)] * 3
        alone = tickets_for(server, 2, job=8)
        server.aggregator.admit(ServerJob.from_tickets(alone))
        with Session(alone[0], codec="fixed") as session:
            assert not session.leave(deadline_s=0.2)
            with pytest.raises(SessionClosedError):
                session.all_reduce(np.ones(10, np.float32))


def test_leaving_while_another_goes_on_is_told_to_both() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> object:
            return session.leave() if session.ticket.worker == 0 else session.all_reduce(np.ones(10, np.float32))

        for outcome in run_workers(tickets, work, errors=True, codec="fixed"):
            assert isinstance(outcome, MismatchError)
            assert "0 words for" in str(outcome) and "20 words for ADD32" in str(outcome)


def test_sockets_tell_queues_that_they_may_mark() -> None:
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


class _LargestAndSum:
    """Asks for the largest whole number and for the sums in one group, in whole packets."""

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


def test_a_group_of_rounds_has_an_aggregate_for_each() -> None:
    seen: list[ObservedRound] = []
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            return session.all_reduce_result(np.arange(300, dtype=np.float32) + session.ticket.worker).values

        results = run_workers(tickets, work, codec=_LargestAndSum(), observer=seen.append)
    for result in results:
        assert result.tolist() == [*(2 * i + 1 for i in range(300)), 300]
    assert sorted(finished.round.op for finished in seen) == [LaneOp.ADD32, LaneOp.ADD32, LaneOp.MAX, LaneOp.MAX]


def test_lengths_are_compared_in_the_first_round_of_a_group() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, 2)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            return session.all_reduce(np.ones(30 + session.ticket.worker, np.float32))

        outcomes = run_workers(tickets, work, errors=True, codec=_LargestAndSum())
    for outcome in outcomes:
        assert isinstance(outcome, MismatchError) and "30 to 31 values" in str(outcome)


# Some of these become as many words, and where three workers have them, sums alone would not tell.
@pytest.mark.parametrize("sizes", [(3, 4), (5000, 5001), (31, 32, 30)])
@pytest.mark.parametrize(
    ("name", "before"),
    [(name, 0) for name in codecs.names() if not name.startswith("lgc")]
    + [(name, 2) for name in ("auto", "sketch", "topk", "union")],
)
def test_no_codec_sums_vectors_of_different_lengths(name: str, before: int, sizes: tuple[int, ...]) -> None:
    """Not even where it remembers vectors of each of these lengths. Error feedback around it makes no difference."""
    workers = len(sizes)
    table = codecs.get(name, workers=workers).code_table
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = tickets_for(server, workers, code_table=None if table is None else table.tobytes())
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> np.ndarray:
            codec = codecs.get(name, workers=workers)
            wrapped = codec if codec.traits.keeps_error_feedback or before else ErrorFeedback(codec)
            session.codec = session.resolve_codec(wrapped)
            for size in sizes * before:
                assert session.all_reduce(np.ones(size, np.float32), name="t").size == size
            return session.all_reduce(np.ones(sizes[session.ticket.worker], np.float32), name="t")

        outcomes = run_workers(tickets, work, errors=True, codec="fixed", deadline_s=2.0)
    assert all(isinstance(outcome, LanesumError) for outcome in outcomes), outcomes
    told = MismatchError if not before else (MismatchError, CodecError)  # one by what they remember
    assert any(isinstance(outcome, told) for outcome in outcomes), outcomes

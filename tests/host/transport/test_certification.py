# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Certified sums: a wrong bit behind all checksums never becomes a result."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import socket
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.errors import ConfigurationError
from lanesum.protocol import Flag, Header, Kind, LaneOp
from lanesum.protocol.lanes import Combine, carried_by
from lanesum.protocol.spec import CERTIFIED, HEADER_BYTES
from lanesum.server import AggregationServer, Aggregator, ServerJob
from lanesum.transport import JobTicket, UdpTransport
from lanesum.transport.certification import check_modulus
from lanesum.transport.constants import MAX_FAILED_RESULTS, MIN_PTO_S
from lanesum.transport.errors import CertificationError, MismatchError, TransportError, timeout_error
from lanesum.transport.native_engine import make_round_sequence
from lanesum.transport.options import SessionOptions
from tests.flips.memory import flip_served_job
from tests.host.transport.loopback import admitted
from tests.host.transport.virtual_job import PATH_S, VirtualJob, check_sums, expected, random_plans, ticket
from tests.simulator.wire import flipped

pytestmark = pytest.mark.usefixtures("implementation")

WORDS = 16
SEED = 0x1234567890ABCDEF
CERTIFIABLE = tuple(op for op in carried_by(WORDS) if not op.shape.lookup)


def plans(seed: int, workers: int, op: LaneOp, packets: int = 6) -> list[list[tuple[LaneOp, Any]]]:
    """Return two rounds of an operation for every worker."""
    size = ticket(workers=workers, accumulator_words=WORDS, certified=True).data_words(op)
    words = op.shape.uplink_words(size) * packets - op.shape.uplink_words_per_group
    return random_plans(seed, workers, [words, words], (op,))


def certified_job(job_plans: Any, **options: Any) -> VirtualJob:
    return VirtualJob(job_plans, certified=True, **{"seed": SEED, "accumulator_words": WORDS, **options})


class OneFlip:
    """Flips one bit of the packets' words or headers: of the ``number``-th packet of its kind."""

    def __init__(self, seed: int, kind: Kind, number: int, *, header: bool) -> None:
        self._bits = random.Random(seed)
        self._kind = kind
        self._left = number
        self._header = header
        self.done = False

    def __call__(self, _sends: bool, datagram: bytes) -> bytes:
        if self.done or Header.unpack(datagram).kind != self._kind:
            return datagram
        self._left -= 1
        if self._left > 0:
            return datagram
        self.done = True
        first, end = (0, HEADER_BYTES) if self._header else (HEADER_BYTES, len(datagram))
        return flipped(datagram, self._bits.randrange(8 * first, 8 * end))


def check_sums_or_errors(job: VirtualJob) -> None:
    """Check that no worker has a wrong sum. Rounds that ended in an error have none."""
    for worker in job.workers:
        for number, words in enumerate(worker.results):
            op = worker.plan[number][0]
            exact = expected(op, [one.plan[number][1] for one in job.workers])
            np.testing.assert_array_equal(words, exact)


@pytest.mark.parametrize("op", CERTIFIABLE, ids=lambda op: op.name)
@pytest.mark.parametrize("switch", [False, True], ids=["server", "switch"])
def test_certified_job_on_lossy_network_has_exact_sums(op: LaneOp, switch: bool) -> None:
    job = certified_job(plans(3, 3, op), loss=0.05, duplicates=0.1, jitter_s=1e-3, switch=switch)
    job.run()
    check_sums(job)
    assert all(worker.stats.failed_results == 0 < worker.stats.chunks for worker in job.workers)


@pytest.mark.parametrize("places", [(), ((0, 0), (0, 1), (1, 0))], ids=["one level", "two levels"])
@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX], ids=lambda op: op.name)
def test_certified_job_with_quorum_agrees(op: LaneOp, places: tuple[tuple[int, int], ...]) -> None:
    """The late worker is in no result, and its secret is in no check."""
    job = certified_job(plans(3, 3, op), starts={2: 40 * PATH_S}, quorum=2, places=places)
    job.run()
    check_sums(job)
    assert all(worker.stats.partial_results > 0 for worker in job.workers)
    assert all(worker.stats.failed_results == 0 for worker in job.workers)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    op=st.sampled_from(CERTIFIABLE),
    kind=st.sampled_from([Kind.CONTRIBUTION, Kind.RESULT]),
    number=st.integers(1, 30),
    switch=st.booleans(),
    workers=st.integers(1, 4),
)
def test_flipped_bit_of_words_never_becomes_result(
    seed: int, op: LaneOp, kind: Kind, number: int, switch: bool, workers: int
) -> None:
    """On a switch's path the sum is taken again past it. The server sums again where all workers refuse its sum."""
    flip = OneFlip(seed, kind, number, header=False)
    job = certified_job(plans(seed, workers, op), flip=flip, switch=switch)
    job.run()
    check_sums(job)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    op=st.sampled_from([LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.OR]),
    kind=st.sampled_from([Kind.CONTRIBUTION, Kind.RESULT]),
    number=st.integers(1, 30),
    switch=st.booleans(),
)
def test_flipped_bit_of_header_never_becomes_result(
    seed: int, op: LaneOp, kind: Kind, number: int, switch: bool
) -> None:
    """A flipped bit may end the job: by a conflict of sizes, or because a chunk never completes."""
    job = certified_job(plans(seed, 3, op), flip=OneFlip(seed, kind, number, header=True), switch=switch)
    job.run(until=40.0)
    check_sums_or_errors(job)
    assert all(worker.error is None or isinstance(worker.error, TransportError) for worker in job.workers)


def wrong_memory(job: VirtualJob, point: Aggregator, rng: random.Random) -> bool:
    """Flip a bit of a partial sum or of a kept result; return False if there is none."""
    return flip_served_job(point._served[job.tickets[0].job], rng)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    op=st.sampled_from(CERTIFIABLE),
    when=st.floats(0, 30 * PATH_S),
    at_server=st.booleans(),
)
def test_flipped_bit_of_memory_never_becomes_result(seed: int, op: LaneOp, when: float, at_server: bool) -> None:
    job = certified_job(plans(seed, 3, op), starts={2: 3 * PATH_S}, loss=0.05, switch=not at_server)
    point = job.server if at_server or job.switch is None else job.switch
    job.at(when, functools.partial(wrong_memory, job, point, random.Random(seed)))
    job.run()
    check_sums(job)


class WrongSums:
    """Changes words of some contributions to chunk 0 of the second round, the first times that they are sent."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, sends: bool, datagram: bytes) -> bytes:
        header = Header.unpack(datagram)
        if not sends or (header.epoch, header.chunk) != (1, 0) or not self.times:
            return datagram
        self.times -= 1
        return flipped(datagram, 8 * HEADER_BYTES + 3)


@pytest.mark.parametrize("starts", [{}, {2: 300 * PATH_S}], ids=["together", "late"])
@pytest.mark.parametrize("workers", [1, 3])
def test_wrong_sum_of_server_is_taken_again(workers: int, starts: dict[int, float]) -> None:
    """Twice; the late worker asks again after the others, whose requests wait for it."""
    job = certified_job(plans(1, workers, LaneOp.ADD32), flip=WrongSums(2), starts=starts if workers > 2 else {})
    job.run()
    check_sums(job)
    assert all(1 <= worker.stats.failed_results < MAX_FAILED_RESULTS for worker in job.workers)


def test_wrong_sum_of_rack_is_taken_again() -> None:
    """Racks without an upper switch: the server has added the partial sum of a rack."""
    places = ((0, 0), (0, 1), (1, 0))
    tickets = [ticket(worker, accumulator_words=32, certified=True, workers=3, places=places) for worker in range(3)]
    server = Aggregator()
    server.admit(ServerJob.from_tickets(tickets, on_switches=True))
    rounds = [make_round_sequence(one) for one in tickets]
    words = [np.full(31, worker, np.uint32) for worker in range(3)]
    states = [one.start(LaneOp.ADD32, given) for one, given in zip(rounds, words, strict=True)]
    sent = [bytes(one.due(0.0)[0]) for one in rounds]
    payloads = [np.frombuffer(one[HEADER_BYTES:], ">u4").astype(np.uint32) for one in sent]
    header = Header.unpack(sent[1])
    aggregate = dataclasses.replace(header, flags=Flag.UPPER, workers=3, fan_in_workers=2, words=32)
    partial = (payloads[0] + payloads[1]) ^ np.uint32(1 << 9)
    answers = server.handle(tickets[1].local, aggregate.pack() + partial.astype(">u4").tobytes())
    queue = [*answers, *server.handle(tickets[2].local, sent[2])]
    by_address = {one.local: number for number, one in enumerate(tickets)}
    now = 0.0
    while not all(state.complete for state in states):
        for receiver, datagram in queue:
            rounds[by_address[receiver]].receive(datagram, now)
        now += 0.01
        due = [(one.local, bytes(data)) for one, of in zip(tickets, rounds, strict=True) for data in of.due(now)]
        queue = [answer for sender, datagram in due for answer in server.handle(sender, datagram)]
        assert now < 10.0
    assert all(one.stats.failed_results for one in rounds)
    for state in states:
        np.testing.assert_array_equal(state.result(), np.full(31, 3))


def test_owner_gets_its_sum_after_wrong_ones() -> None:
    """The others have used no words of a scattered chunk, and contribute again, twice."""
    tickets = [ticket(worker, accumulator_words=32, certified=True, workers=3) for worker in range(3)]
    server = Aggregator()
    server.admit(ServerJob.from_tickets(tickets))
    rounds = [make_round_sequence(one) for one in tickets]
    states = [
        one.start(LaneOp.ADD32, np.full(3 * 31, 1 + one.ticket.worker, np.uint32), scattered=True) for one in rounds
    ]
    by_address = {one.local: number for number, one in enumerate(tickets)}
    now, flips = 0.0, 2
    while not all(state.complete for state in states):
        now += 0.01
        due = [(one.local, bytes(data)) for one, of in zip(tickets, rounds, strict=True) for data in of.due(now)]
        for sender, datagram in due:
            if flips and Header.unpack(datagram).chunk == 1 and sender == tickets[2].local:
                datagram, flips = flipped(datagram, 8 * HEADER_BYTES + 3), flips - 1
            for receiver, answer in server.handle(sender, datagram):
                rounds[by_address[receiver]].receive(answer, now)
        assert now < 10.0
    assert [one.stats.failed_results for one in rounds] == [0, 2, 0]
    for state in states:
        np.testing.assert_array_equal(state.result(), np.full(31, 6))


def test_sum_that_one_worker_refuses_stays() -> None:
    """Other workers may use it: a member that refuses a sum and brings other words changes nothing."""
    tickets = [ticket(worker, accumulator_words=8, workers=2) for worker in range(2)]
    server = Aggregator()
    server.admit(ServerJob.from_tickets(tickets))
    rounds = [make_round_sequence(one) for one in tickets]
    sent = []
    for one in rounds:
        one.start(LaneOp.ADD32, np.arange(8, dtype=np.uint32))
        sent.append(bytes(one.due(0.0)[0]))
    server.handle(tickets[0].local, sent[0])
    results = [made for _, made in server.handle(tickets[1].local, sent[1])]
    refused = dataclasses.replace(Header.unpack(sent[0]), flags=Flag.BYPASS | Flag.OVERFLOW).pack() + bytes(32)
    for _ in range(3):
        ((receiver, replay),) = server.handle(tickets[0].local, refused)
        assert receiver == tickets[0].local and replay[HEADER_BYTES:] == results[0][HEADER_BYTES:]


def test_wrong_sum_of_switch_is_taken_again() -> None:
    """Every sum of the switch is wrong: the server makes them all, and each failure is counted."""
    flips = 0

    def flip(sends: bool, datagram: bytes) -> bytes:
        nonlocal flips
        header = Header.unpack(datagram)
        if sends or header.kind != Kind.RESULT or header.flags & Flag.BYPASS:
            return datagram
        flips += 1
        return flipped(datagram, 8 * HEADER_BYTES)

    job = certified_job(plans(1, 2, LaneOp.EXPAND8), flip=flip, switch=True)
    job.run()
    check_sums(job)
    assert flips == sum(worker.stats.failed_results for worker in job.workers)
    for worker in job.workers:
        assert worker.stats.server_results == worker.stats.chunks > 0
        assert worker.stats.bypasses >= worker.stats.chunks
    assert job.now < MIN_PTO_S  # no timer had to run out


def test_wrong_memory_of_server_names_its_address() -> None:
    def flip(sends: bool, datagram: bytes) -> bytes:
        return datagram if sends else flipped(datagram, 8 * HEADER_BYTES + 3)

    job = certified_job(plans(1, 2, LaneOp.ADD32), flip=flip)
    job.run()
    for worker in job.workers:
        assert isinstance(worker.error, CertificationError)
        assert "127.0.0.1:19539 fail their check at worker" in str(worker.error)
        assert "Join the job again. If this error returns, check the memory and the network card" in str(worker.error)
        assert worker.stats.failed_results >= MAX_FAILED_RESULTS
        assert worker.results == []


@pytest.mark.parametrize(("wrong", "slot"), [(1, 0), (2, 1)], ids=["opening", "round"])
def test_session_logs_slots_of_failed_results(caplog: pytest.LogCaptureFixture, wrong: int, slot: int) -> None:
    """One result of the server has a wrong bit: that of the opening, or the next one."""

    class OneWrongBit:
        def __init__(self, sock: socket.socket) -> None:
            self.send, self.fileno, self.close, self.getsockopt = sock.send, sock.fileno, sock.close, sock.getsockopt
            self._sock = sock
            self._results = 0

        def recv_into(self, buffer: bytearray) -> int:
            size = self._sock.recv_into(buffer)
            header = Header.unpack(buffer)
            self._results += header.kind == Kind.RESULT
            if self._results == wrong and header.kind == Kind.RESULT:
                buffer[HEADER_BYTES] ^= 1
            return size

    with AggregationServer(("127.0.0.1", 0)) as server:
        (own,) = admitted(server, 1, certified=True)
        transport = UdpTransport(own, SessionOptions(wrap_socket=OneWrongBit))
        words = np.arange(7, dtype=np.uint32)
        np.testing.assert_array_equal(transport.exchange(LaneOp.ADD32, words).result(), words)
        transport.close()
        (failed,) = transport.failed_chunks
        assert (failed.number, failed.slot, failed.of_switches, failed.of_server) == (1, slot, 0, 1)
    assert f"1 results of slots [{slot}] failed their check at worker 0" in caplog.text


def test_timeout_names_failed_checks() -> None:
    error = timeout_error(ticket(), 3, 2.0, missing=(), refused=False, answered=True, failed=True)
    assert "results arrived and failed their check" in str(error) and "memory of switches" in str(error)


def two_rounds(op: LaneOp, words: Any) -> tuple[Any, list[bytes]]:
    """Return the rounds of worker 0, and the results of both rounds of two workers, which it has not received."""
    tickets = [ticket(worker, accumulator_words=WORDS, certified=True, seed=SEED, slots=64) for worker in range(2)]
    rounds = [make_round_sequence(one) for one in tickets]
    for one in rounds:
        for _ in range(2):
            one.start(op, words)
    server = Aggregator()
    server.admit(ServerJob.from_tickets(tickets))
    results: list[bytes] = []
    for one, sequence in zip(tickets, rounds, strict=True):
        for datagram in sequence.due(0.0):
            results += [made for to, made in server.handle(one.local, bytes(datagram)) if to == tickets[0].local]
    return rounds[0], results


def test_result_of_other_chunk_or_round_fails() -> None:
    """Words that are right for one chunk fail as those of another one, even if all words are zeros."""
    rounds, results = two_rounds(LaneOp.ADD32, np.zeros(60, np.uint32))
    places = [(Header.unpack(made).epoch, Header.unpack(made).chunk) for made in results]
    assert places == [(epoch, chunk) for epoch in range(2) for chunk in range(4)]
    for other in range(1, 8):
        assert not rounds.receive(results[0][:HEADER_BYTES] + results[other][HEADER_BYTES:], 0.0)
    assert rounds.stats.failed_results == 7
    assert all(rounds.receive(one, 0.0) for one in results)


@pytest.mark.parametrize(
    ("op", "first", "second"),
    [
        pytest.param(LaneOp.ADD32, 0, 1, id="two words of a sum"),
        pytest.param(LaneOp.MAX, WORDS - 2, WORDS - 1, id="words of two contributors"),
    ],
)
def test_result_with_exchanged_words_fails(op: LaneOp, first: int, second: int) -> None:
    rounds, results = two_rounds(op, np.arange(7, dtype=np.uint32))
    words = np.frombuffer(results[0][HEADER_BYTES:], ">u4").copy()
    words[[first, second]] = words[[second, first]]
    assert not rounds.receive(results[0][:HEADER_BYTES] + words.tobytes(), 0.0)
    words[first] = words[second]
    assert not rounds.receive(results[0][:HEADER_BYTES] + words.tobytes(), 0.0)
    assert rounds.receive(results[0], 0.0)


def as_of_switch(result: bytes) -> bytes:
    """Return the result as of a switch: the worker asks for another one as often as it fails."""
    header = Header.unpack(result)
    return dataclasses.replace(header, flags=header.flags & ~Flag.BYPASS).pack() + result[HEADER_BYTES:]


EXACT = tuple(op for op in CERTIFIABLE if op.shape.combine is Combine.ADD and op.shape.max_exact_contributions > 1)


@pytest.mark.parametrize("op", EXACT, ids=lambda op: op.name)
def test_wrong_high_bits_of_two_words_fail(op: LaneOp) -> None:
    """Modulo 2^32 the products of two wrong bits 31 cancel always, and of two bits 30 half of the time."""
    rounds, results = two_rounds(op, np.arange(5 * op.shape.uplink_words_per_group, dtype=np.uint32))
    size = ticket(accumulator_words=WORDS, certified=True).data_words(op)
    result = as_of_switch(results[0])
    for bit in (31, 30, 23, 15, 7):
        for first, second in itertools.combinations(range(size), 2):
            words = np.frombuffer(result[HEADER_BYTES:], ">u4").copy()
            words[[first, second]] ^= np.uint32(1 << bit)
            assert not rounds.receive(result[:HEADER_BYTES] + words.tobytes(), 0.0)
    assert rounds.stats.failed_results == 5 * size * (size - 1) // 2
    assert rounds.receive(result, 0.0)


def test_wrong_highest_bit_of_one_word_fails() -> None:
    """Modulo 2^32 an even factor would cancel it."""
    rounds, results = two_rounds(LaneOp.ADD32, np.arange(7, dtype=np.uint32))
    result = as_of_switch(results[0])
    for word in range(ticket(accumulator_words=WORDS, certified=True).data_words(LaneOp.ADD32)):
        words = np.frombuffer(result[HEADER_BYTES:], ">u4").copy()
        words[word] ^= np.uint32(1 << 31)
        assert not rounds.receive(result[:HEADER_BYTES] + words.tobytes(), 0.0)
    assert rounds.receive(result, 0.0)


@pytest.mark.parametrize("op", [LaneOp.ADD32, LaneOp.EXPAND8], ids=lambda op: op.name)
def test_check_words_of_result_add_up(op: LaneOp) -> None:
    """A wrong check word fails, by any bit that a receiver uses: here of the word without a shift."""
    rounds, results = two_rounds(op, np.arange(7, dtype=np.uint32))
    size, result = ticket(accumulator_words=WORDS, certified=True).data_words(op), as_of_switch(results[0])
    for bit in range(32):
        words = np.frombuffer(result[HEADER_BYTES:], ">u4").copy()
        words[size] ^= np.uint32(1 << bit)
        assert not rounds.receive(result[:HEADER_BYTES] + words.tobytes(), 0.0)
    assert rounds.receive(result, 0.0)


def test_modulus_is_largest_prime_whose_sum_fits() -> None:
    sympy = pytest.importorskip("sympy")
    for workers in (1, 2, 3, 4, 5, 17, 36, 257, 1024):
        prime = check_modulus(LaneOp.EXPAND16, workers)
        assert prime == sympy.prevprime((1 << 32 >> (workers - 1).bit_length()) + 1)
        assert workers * prime <= 1 << 32 < 4 * workers * prime


@pytest.mark.parametrize(
    ("op", "max_workers"),
    [
        (LaneOp.ADD32, 1),
        (LaneOp.ADD8X4, 1),
        (LaneOp.EXPAND8, 17),
        (LaneOp.EXPAND5TO8, 8),
        (LaneOp.EXPAND3TO8, 36),
        (LaneOp.EXPAND8TO16, 257),
        (LaneOp.EXPAND16, 1024),
    ],
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_modulus_is_prime_while_no_lane_overflows(op: LaneOp, max_workers: int) -> None:
    assert check_modulus(op, max_workers) != 1 << 32
    assert max_workers == 1024 or check_modulus(op, max_workers + 1) == 1 << 32


@pytest.mark.parametrize("workers", [8, 9, 17, 18])
def test_many_workers_with_largest_codes_pass(workers: int) -> None:
    """Lanes are full with 17 workers for EXPAND8 and 8 for EXPAND5TO8, and check words are modulo 2^32 above."""
    for op in (LaneOp.EXPAND8, LaneOp.EXPAND5TO8):
        words = np.full(8 * op.shape.uplink_words_per_group, 0xFFFFFFFF, np.uint32)
        job = certified_job([[(op, words)]] * workers, accumulator_words=2 * WORDS)
        job.run()
        check_sums(job)
        assert all(worker.stats.failed_results == 0 for worker in job.workers)


@pytest.mark.parametrize("odd", [0, 1])
def test_worker_without_certification_is_refused(odd: int) -> None:
    """Its rounds have another size, so all workers get an error that names the difference."""
    job = certified_job(plans(1, 2, LaneOp.ADD32))
    plain = ticket(odd, accumulator_words=WORDS)
    job.workers[odd].rounds = make_round_sequence(plain)
    job.run()
    for worker in job.workers:
        assert isinstance(worker.error, MismatchError)
        assert "certified words for ADD32" in str(worker.error) and "89 words for ADD32" in str(worker.error)
        assert worker.results == []


def test_contribution_has_the_mark_of_certified_rounds() -> None:
    rounds = make_round_sequence(ticket(accumulator_words=WORDS, certified=True))
    rounds.start(LaneOp.ADD32, np.zeros(5, np.uint32))
    assert [Header.unpack(one).racks for one in rounds.due(0.0)] == [CERTIFIED | 5]


@pytest.mark.parametrize(
    ("op", "workers", "why"),
    [
        (LaneOp.TABLE8, 2, "TABLE8 cannot be certified: it looks codes up in a table"),
        (LaneOp.MAX, 15, "MAX cannot be certified: packets of 16 words have no room"),
        (LaneOp.OR, 16, "have no room for the check words of 16 workers"),
    ],
)
def test_ticket_operation_without_check_words_is_refused(op: LaneOp, workers: int, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        ticket(workers=workers, accumulator_words=WORDS, certified=True, ops=(op,))


def test_ticket_without_operations_names_certified_ones() -> None:
    assert LaneOp.TABLE8 not in ticket(accumulator_words=WORDS, certified=True).ops


def test_opening_without_check_words_is_refused() -> None:
    """The opening needs OR, which a job may leave out."""
    for ops in ((), (LaneOp.ADD32,)):
        with pytest.raises(ConfigurationError, match="OR cannot be certified: packets of 16 words have no room"):
            ticket(workers=15, accumulator_words=WORDS, certified=True, ops=ops)


def test_ticket_certified_survives_json() -> None:
    one = ticket(accumulator_words=WORDS, certified=True)
    assert JobTicket.from_json(one.to_json()) == one
    assert "certified" not in ticket().to_json()

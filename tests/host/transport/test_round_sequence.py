# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Contributions of a worker, and its reaction to each kind of answer."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import Flag, Header, Kind, LaneOp
from lanesum.protocol.spec import FIRST_OWNER, HEADER_BYTES, SCATTERED
from lanesum.transport import JobTicket
from lanesum.transport.constants import MIN_PTO_S
from lanesum.transport.errors import MismatchError, ResultGoneError, RoundSize
from lanesum.transport.native_engine import AnyRoundSequence, AnyRoundState, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

ALL = 0b11
LATER = 1.0
# Two racks: workers 0 and 1 at bits 0 and 1 of rack 0, workers 2 and 3 at bits 0 and 5 of rack 2.
PLACES = ((0, 0), (0, 1), (2, 0), (2, 5))


def words(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint32)


def begin(to: JobTicket, count: int = 4) -> tuple[AnyRoundSequence, AnyRoundState]:
    """Return rounds with one of ``count`` words in flight, sent at time 0 as far as slots admit."""
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, words(count))
    rounds.due(0.0)
    return rounds, round_


def complete(rounds: AnyRoundSequence, round_: AnyRoundState, to: JobTicket, epoch: int = 0) -> None:
    """Deliver all results and finish the round."""
    chunk = 0
    while not round_.complete:
        rounds.due(0.0)
        assert rounds.receive(answer(to, workers=ALL, epoch=epoch, chunk=chunk), 0.0)
        chunk += 1
    rounds.finish(round_)


def test_contributions_carry_round_size_and_sender() -> None:
    to = ticket(3, 4, places=PLACES, slots=2, epoch=9)
    rounds = make_round_sequence(to)
    rounds.start(LaneOp.MAX, words(5))
    headers = read(rounds.due(0.0))
    common = {"job": 7, "tag": 0xC0FFEE, "epoch": 9, "op": LaneOp.MAX, "words": 2}
    sender = {"workers": 1 << 5, "racks": 5, "fan_in_workers": 3, "fan_in_racks": 0}
    assert headers == [Header(**common, **sender, chunk=0, slot=0), Header(**common, **sender, chunk=1, slot=1)]


def test_worker_number_beyond_a_byte_is_cut() -> None:
    places = tuple((rack, bit) for rack in range(10) for bit in range(30))
    rounds = make_round_sequence(ticket(299, 300, places=places))
    rounds.start(LaneOp.ADD32, words(1))
    (header,) = read(rounds.due(0.0))
    assert (header.workers, header.fan_in_workers) == (1 << 29, 299 & 0xFF)


def test_round_without_words_has_one_packet() -> None:
    """No worker finishes it before all have begun it; ``UdpTransport.leave`` relies on that."""
    to = ticket()
    rounds, round_ = begin(to, 0)
    assert not round_.complete and round_.chunks == 1
    assert rounds.receive(answer(to, workers=ALL), 0.0)
    assert round_.complete and round_.result().size == 0


@pytest.mark.parametrize(
    ("fields", "trailer", "taken"),
    [
        ({"workers": 0b111}, [], [0b111]),
        ({"flags": Flag.BYPASS, "workers": 0b111}, [], [0b111]),
        ({"workers": 0b011}, [], None),
        ({"workers": 0b1111}, [], None),
        ({"workers": 0, "racks": 1}, [], None),
        ({"workers": 0b111}, [0], None),
        ({"flags": Flag.PARTIAL, "workers": 0b101}, [], [0b101]),
        ({"flags": Flag.PARTIAL, "workers": 0b111}, [], [0b111]),
        ({"flags": Flag.PARTIAL, "workers": 0b100}, [], None),
        ({"flags": Flag.PARTIAL, "workers": 0b1001}, [], None),
        ({"flags": Flag.PARTIAL, "workers": 0b101}, [5], None),
    ],
)
def test_results_of_one_level(fields: dict[str, int], trailer: list[int], taken: list[int] | None) -> None:
    to = ticket(0, 3, quorum=2)
    rounds, round_ = begin(to, 2)
    assert rounds.receive(answer(to, payload=[8, 9, *trailer], **fields), 0.0) == (taken is not None)
    if taken is None:
        assert rounds.stats.foreign_packets == round_.refused_results == 1
        return
    assert round_.contributors().tolist() == [taken]
    assert round_.result().tolist() == [8, 9]
    assert rounds.stats.partial_results == (Flag.PARTIAL in Flag(fields.get("flags", 0)))
    assert rounds.stats.server_results == (Flag.BYPASS in Flag(fields.get("flags", 0)))
    assert rounds.stats.chunks == 1


@pytest.mark.parametrize(
    ("fields", "trailer", "taken"),
    [
        ({"racks": 0b101}, [], [0b11, 0, 0b100001]),
        ({"racks": 0b001}, [], None),
        ({"racks": 0b111}, [], None),
        ({"racks": 0, "workers": 0b1111}, [], None),
        ({"racks": 0b101, "flags": Flag.PARTIAL}, [0b10, 0, 0b100001], [0b10, 0, 0b100001]),
        ({"racks": 0b100, "flags": Flag.PARTIAL}, [0, 0, 0b100001], None),  # too few
        ({"racks": 0b101, "flags": Flag.PARTIAL}, [0b11, 0b1, 0b000001], None),  # rack 1 has no workers
        ({"racks": 0b101, "flags": Flag.PARTIAL}, [0b11, 0, 0b000010], None),  # no worker at that bit
        ({"racks": 0b001, "flags": Flag.PARTIAL}, [0b11, 0, 0b000001], None),  # racks and bitmaps differ
        ({"racks": 0b101, "flags": Flag.PARTIAL}, [0b11, 0], None),
        ({"racks": 0b101, "flags": Flag.PARTIAL}, [], None),
    ],
)
def test_results_of_two_levels(fields: dict[str, int], trailer: list[int], taken: list[int] | None) -> None:
    to = ticket(0, 4, places=PLACES, quorum=3)
    rounds, round_ = begin(to, 2)
    assert rounds.receive(answer(to, payload=[8, 9, *trailer], **fields), 0.0) == (taken is not None)
    if taken is not None:
        assert round_.contributors().tolist() == [taken]
        assert round_.result().tolist() == [8, 9]


@pytest.mark.parametrize(
    ("fields", "payload", "taken"),
    [
        ({"workers": 0b111, "chunk": 3}, [], True),
        ({"workers": 0b111, "chunk": 3}, [8, 9], True),
        ({"workers": 0b111, "chunk": 3}, [8], False),
        ({"workers": 0b011, "chunk": 3}, [], False),
        ({"workers": 0b011, "chunk": 3, "flags": Flag.PARTIAL}, [], True),
        ({"workers": 0b001, "chunk": 3, "flags": Flag.PARTIAL}, [], False),
        ({"workers": 0b111, "chunk": 0}, [], False),  # its own
        ({"workers": 0b111, "chunk": 1}, [], False),
        ({"workers": 0b111, "chunk": 0}, [8, 9], True),
    ],
)
def test_header_only_results_are_for_chunks_of_others(fields: dict[str, int], payload: list[int], taken: bool) -> None:
    to = ticket(0, 3, quorum=2, slots=8)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, words(12), scattered=True)
    rounds.due(0.0)
    assert round_.chunks == 6
    assert rounds.receive(answer(to, payload=payload, **fields), 0.0) == taken
    assert (round_.refused_results, round_.is_done(fields["chunk"])) == (int(not taken), taken)


def test_header_only_result_names_contributors_of_racks() -> None:
    to = ticket(0, 4, places=PLACES, quorum=3)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, words(8), scattered=True)
    rounds.due(0.0)
    fields = {"chunk": 1, "racks": 0b101, "flags": Flag.PARTIAL}
    assert not rounds.receive(answer(to, payload=[0b10, 0], **fields), 0.0)
    assert rounds.receive(answer(to, payload=[0b10, 0, 0b100001], **fields), 0.0)
    assert round_.contributors()[1].tolist() == [0b10, 0, 0b100001]


def test_header_only_result_of_plain_round_is_refused() -> None:
    to = ticket()
    rounds, round_ = begin(to)
    assert not rounds.receive(answer(to, payload=[], workers=ALL), 0.0)
    assert round_.refused_results == 1


def test_scattered_round_sends_shards_in_turn() -> None:
    to = ticket(1, 2, slots=8)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, words(6), scattered=True)
    sent = [bytes(datagram) for datagram in rounds.due(0.0)]
    payloads = [np.frombuffer(datagram[HEADER_BYTES:], ">u4").tolist() for datagram in sent]
    assert payloads == [[0, 1], [2, 0], [3, 4], [5, 0]]
    assert {Header.unpack(datagram).racks for datagram in sent} == {6 | SCATTERED}
    assert [Header.unpack(datagram).spare for datagram in sent] == [FIRST_OWNER] * 2 + [FIRST_OWNER + 1] * 2
    for chunk, payload in enumerate(([], [], [8, 9], [7, 0])):
        assert rounds.receive(answer(to, payload=payload, workers=ALL, chunk=chunk), 0.0)
    assert round_.result().tolist() == [8, 9, 7]
    rounds.finish(round_)
    rounds.receive(answer(to, Kind.PENDING, chunk=2, workers=1), LATER)
    (again,) = rounds.due(LATER)
    assert bytes(again[HEADER_BYTES:]) == sent[2][HEADER_BYTES:]
    assert Header.unpack(again).spare == FIRST_OWNER + 1


def test_partial_result_without_quorum_is_refused() -> None:
    to = ticket()
    rounds, _ = begin(to)
    assert not rounds.receive(answer(to, flags=Flag.PARTIAL, workers=ALL), 0.0)
    assert rounds.stats.foreign_packets == 1


def test_results_of_unsent_chunks_need_quorum_and_turn() -> None:
    """A quorum may be faster. But a result with this worker is impossible, and slots keep their order."""
    to = ticket(0, 3, quorum=2, slots=2)
    rounds, round_ = begin(to, 10)
    partial = {"flags": Flag.PARTIAL}
    assert not rounds.receive(answer(to, chunk=2, workers=0b110, **partial), 0.0)  # before chunk 0's
    assert rounds.receive(answer(to, chunk=0, workers=0b110, **partial), 0.0)
    assert not rounds.receive(answer(to, chunk=2, workers=0b011, **partial), 0.0)
    assert not rounds.receive(answer(to, chunk=2, workers=0b111), 0.0)
    assert rounds.receive(answer(to, chunk=2, workers=0b110, **partial), 0.0)
    assert read(rounds.due(0.0)) == []  # chunk 3 waits for chunk 1
    assert rounds.receive(answer(to, chunk=1, workers=0b111), 0.0)
    assert [header.chunk for header in read(rounds.due(0.0))] == [3, 4]
    assert round_.contributors()[:, 0].tolist() == [0b110, 0b111, 0b110, 0, 0]


def test_foreign_packets_are_counted_and_ignored() -> None:
    to = ticket()
    rounds, round_ = begin(to)
    foreign = [
        b"short",
        answer(to, workers=ALL, version=1),
        answer(to, workers=ALL, epoch=1),
        answer(to, workers=ALL, chunk=2),
        answer(to, workers=ALL, op=LaneOp.MAX),
        answer(to, workers=ALL, payload=[1]),
        answer(to, Kind.PENDING, payload=[1]),
        answer(to, Kind.CONFLICT, payload=[1]),
        answer(to, Kind.CONTRIBUTION, workers=ALL, payload=[1, 2]),
        answer(ticket(job=8), workers=ALL),
        answer(ticket(tag=8), Kind.CONFLICT),
    ]
    for datagram in foreign:
        assert not rounds.receive(datagram, 0.0)
    assert rounds.stats.foreign_packets == rounds.stats.packets_received == len(foreign)
    assert rounds.receive(answer(to, workers=ALL), 0.0)
    assert not rounds.receive(answer(to, workers=ALL), 0.0)
    assert rounds.stats.duplicate_results == 1 and not round_.complete


def test_pending_answer_requests_own_contribution_at_limited_rate() -> None:
    to = ticket(worker=1)
    rounds, _ = begin(to)
    request = answer(to, Kind.PENDING, workers=0b01, chunk=1)
    rounds.receive(request, MIN_PTO_S / 2)  # the first one may still be in flight
    assert rounds.due(MIN_PTO_S / 2) == []
    rounds.receive(answer(to, Kind.PENDING, workers=0b10, chunk=1), MIN_PTO_S)
    assert rounds.due(MIN_PTO_S) == []  # this worker's contribution has arrived
    rounds.receive(request, MIN_PTO_S)
    rounds.receive(request, MIN_PTO_S)
    assert rounds.next_timeout(MIN_PTO_S) == 0.0
    (header,) = read(rounds.due(MIN_PTO_S))
    assert (header.chunk, header.flags) == (1, Flag.RETRANSMISSION)
    rounds.receive(request, MIN_PTO_S)
    assert rounds.due(MIN_PTO_S) == []
    assert (rounds.stats.answered_pendings, rounds.stats.pending_replies) == (1, 5)


def test_retransmission_that_waits_for_peer_is_told_apart() -> None:
    """A pending answer with this contribution tells that the retransmissions before and after it repair no loss."""
    to = ticket(worker=1)
    rounds, _ = begin(to)
    waits = answer(to, Kind.PENDING, workers=0b10)
    rounds.receive(waits, MIN_PTO_S)
    assert rounds.stats.peer_retransmissions == 0
    for count in (1, 2):
        (header,) = read(rounds.due(count * LATER))
        assert (header.chunk, rounds.stats.retransmissions) == (0, count)
        assert rounds.stats.peer_retransmissions == count
    rounds.receive(answer(to, Kind.PENDING, workers=0b01), 3 * LATER)
    assert len(rounds.due(3 * LATER)) == 1
    assert (rounds.stats.retransmissions, rounds.stats.peer_retransmissions) == (3, 2)


def test_pending_answer_counts_one_retransmission_as_waiting() -> None:
    to = ticket(worker=1)
    rounds, _ = begin(to)
    assert len(rounds.due(LATER)) == 1
    assert rounds.stats.retransmission_causes() == {"peer_late": 0, "needless": 0, "lost": 1}
    waits = answer(to, Kind.PENDING, workers=0b10)
    rounds.receive(waits, LATER)
    rounds.receive(waits, LATER)
    assert rounds.stats.retransmission_causes() == {"peer_late": 1, "needless": 0, "lost": 0}
    rounds.stats.duplicate_results = 5  # of retransmissions of other workers
    assert rounds.stats.retransmission_causes() == {"peer_late": 1, "needless": 0, "lost": 0}


def test_result_after_that_of_later_packet_is_reordered() -> None:
    to = ticket(worker=1)
    rounds, _ = begin(to, 8)
    for chunk, reordered in ((0, 0), (2, 0), (1, 1)):
        rounds.receive(answer(to, workers=ALL, chunk=chunk), 0.0)
        assert rounds.stats.reordered_results == reordered
    assert len(rounds.due(LATER)) == 1
    rounds.receive(answer(to, workers=ALL, chunk=3), LATER)
    assert (rounds.stats.reordered_results, rounds.stats.retransmissions) == (1, 1)


def test_pending_answer_of_server_requests_bypass() -> None:
    to = ticket(worker=1)
    rounds, _ = begin(to)
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=1, flags=Flag.BYPASS), MIN_PTO_S)
    (header,) = read(rounds.due(MIN_PTO_S))
    assert header.flags == Flag.RETRANSMISSION | Flag.BYPASS
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=1), 2 * MIN_PTO_S)
    (header,) = read(rounds.due(2 * MIN_PTO_S))
    assert header.flags == Flag.RETRANSMISSION


def test_late_request_from_other_point_moves_all_chunks() -> None:
    """Contributions of one chunk that took two ways are no loss: those of its neighbours did the same."""
    to = ticket(worker=1)
    rounds, _ = begin(to, 8)
    for chunk in range(4):  # too recent to distinguish it from a loss: one by one
        rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=chunk, flags=Flag.BYPASS), MIN_PTO_S)
        assert [header.chunk for header in read(rounds.due(MIN_PTO_S))] == [chunk]
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=2), LATER)
    headers = read(rounds.due(LATER))
    assert sorted(header.chunk for header in headers) == [0, 1, 2, 3]
    assert {header.flags for header in headers} == {Flag.RETRANSMISSION}
    # And not twice: the retransmissions have arrived, or are in flight.
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=2), LATER + MIN_PTO_S / 2)
    assert rounds.due(LATER + MIN_PTO_S / 2) == []


def test_request_from_other_point_is_served_at_once() -> None:
    """The server requests it just after the worker's own timer has sent it to the switch."""
    to = ticket(worker=1)
    rounds, _ = begin(to, 2)
    assert [header.flags for header in read(rounds.due(LATER))] == [Flag.RETRANSMISSION]
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, flags=Flag.BYPASS), LATER)
    assert [header.flags for header in read(rounds.due(LATER))] == [Flag.RETRANSMISSION | Flag.BYPASS]


def test_completed_chunk_is_retransmitted_on_request() -> None:
    """In the round in flight and from earlier ones, byte for byte as it was sent."""
    to = ticket(worker=1)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, words(4))
    first = [bytes(datagram) for datagram in rounds.due(0.0)]
    rounds.receive(answer(to, workers=ALL, chunk=0), 1e-3)
    request = answer(to, Kind.PENDING, workers=0b01, chunk=0)
    for now in (LATER, 2 * LATER):
        rounds.receive(request, now)
        rounds.receive(request, now)
        assert [(h.chunk, h.flags) for h in read(rounds.due(now))][-1] == (0, Flag.RETRANSMISSION)
        rounds.receive(request, now)
        assert rounds.due(now) == []
    rounds.receive(answer(to, workers=ALL, chunk=1), 2 * LATER)
    rounds.finish(round_)
    rounds.start(LaneOp.ADD32, words(4))
    rounds.due(2 * LATER)
    rounds.receive(request, 3 * LATER)
    retransmitted = bytearray(rounds.due(3 * LATER)[-1])
    assert Header.unpack(retransmitted).flags == Flag.RETRANSMISSION
    retransmitted[1] = 0
    assert bytes(retransmitted) == first[0]
    assert rounds.stats.answered_pendings == 3


def test_requests_for_unknown_or_unsent_chunks_are_ignored() -> None:
    to = ticket(worker=1, slots=1)
    rounds, _ = begin(to)
    for epoch, chunk in ((0, 1), (0, 9), (1, 0), (5, 0), (0xFFFFFFFF, 0)):
        rounds.receive(answer(to, Kind.PENDING, workers=0b01, epoch=epoch, chunk=chunk), 0.05)
    assert rounds.due(0.05) == []
    assert rounds.stats.pending_replies == 5


@pytest.mark.parametrize("counts", [(30,), (6, 6, 6), (2, 2, 2, 2, 2, 2), (30, 2), (2, 30, 4)])
def test_retransmit_buffer_keeps_last_two_turns(counts: tuple[int, ...]) -> None:
    to = ticket(worker=1, slots=2)
    rounds = make_round_sequence(to)
    positions = []
    for epoch, count in enumerate(counts):
        complete(rounds, rounds.start(LaneOp.ADD32, words(count)), to, epoch)
        positions += [(epoch, chunk) for chunk in range(count // 2)]
    for epoch, chunk in positions:
        rounds.receive(answer(to, Kind.PENDING, workers=0b01, epoch=epoch, chunk=chunk), LATER)
    answered = [(header.epoch, header.chunk) for header in read(rounds.due(LATER))]
    assert set(positions[-4:]) <= set(answered)
    # Rounds are dropped as a whole, except for a long one, which is cut.
    assert len(answered) < 4 + max(2, min(4, max(counts) // 2))


def test_request_before_last_result_is_served_after_finish() -> None:
    to = ticket(worker=1)
    rounds, round_ = begin(to)
    rounds.receive(answer(to, workers=ALL, chunk=0), LATER)
    rounds.receive(answer(to, Kind.PENDING, workers=0b01, chunk=0, flags=Flag.BYPASS), LATER)
    rounds.receive(answer(to, workers=ALL, chunk=1), LATER)
    rounds.finish(round_)
    assert rounds.next_timeout(LATER) == 0.0
    assert [(h.chunk, h.flags) for h in read(rounds.due(LATER))] == [(0, Flag.RETRANSMISSION | Flag.BYPASS)]
    assert rounds.next_timeout(LATER) is None


def test_missing_workers_with_one_level() -> None:
    to = ticket(0, 4)
    rounds, _ = begin(to)
    assert rounds.missing_workers() == () and not rounds.answered
    rounds.receive(answer(to, Kind.PENDING, workers=0b0101, chunk=0), 0.0)
    assert rounds.missing_workers() == (1, 3) and rounds.answered
    rounds.receive(answer(to, Kind.PENDING, workers=0b0111, chunk=0), 0.0)
    assert rounds.missing_workers() == (3,)
    rounds.receive(answer(to, workers=0b1111, chunk=0), 0.0)
    assert rounds.missing_workers() == ()


def test_missing_workers_with_two_levels() -> None:
    """Reports about another rack name only the rack; those about the own rack name workers."""
    to = ticket(0, 4, places=PLACES)
    rounds, _ = begin(to)

    def report(**fields: int) -> tuple[int, ...]:
        rounds.receive(answer(to, Kind.PENDING, **fields), 0.0)
        return rounds.missing_workers()

    assert report(flags=Flag.UPPER, racks=0) == (0, 1, 2, 3)
    assert report(flags=Flag.UPPER, racks=0b100) == (0, 1)
    assert report(workers=0b01) == (1,)
    assert report(flags=Flag.UPPER, racks=0b000) == (1, 2, 3)
    assert report(flags=Flag.UPPER, racks=0b001) == (2, 3)
    assert report(flags=Flag.BYPASS, workers=0b10, racks=0b100) == (0,)
    assert report(flags=Flag.BYPASS, workers=0b11, racks=0b001) == (2, 3)


def test_upper_switch_requests_whole_racks() -> None:
    """All workers of a missing rack retransmit; its switch sums again, or sends its sum up again."""
    to = ticket(3, 4, places=PLACES)
    rounds, _ = begin(to)
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.UPPER, racks=0b100, chunk=1), MIN_PTO_S)
    assert rounds.due(MIN_PTO_S) == []
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.UPPER, racks=0b001, chunk=1), MIN_PTO_S)
    assert [(h.chunk, h.flags) for h in read(rounds.due(MIN_PTO_S))] == [(1, Flag.RETRANSMISSION)]
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.BYPASS, racks=0b001, workers=0b1, chunk=0), MIN_PTO_S)
    assert [(h.chunk, h.flags) for h in read(rounds.due(MIN_PTO_S))] == [(0, Flag.RETRANSMISSION | Flag.BYPASS)]


def test_gone_result_raises_only_where_it_is_missing() -> None:
    to = ticket(0, 3, quorum=2)
    rounds, round_ = begin(to, 2)
    gone = answer(to, Kind.PENDING, flags=Flag.GONE)
    with pytest.raises(ResultGoneError, match="round 0: worker 0 is too late"):
        rounds.receive(gone, LATER)
    rounds.receive(answer(to, workers=0b111), LATER)
    rounds.receive(gone, LATER)
    rounds.finish(round_)
    rounds.receive(gone, LATER)
    assert rounds.due(LATER) == []


def test_gone_answer_without_quorum_is_ignored() -> None:
    """No aggregation point sends it to such a job: an attacker does, to end the session."""
    to = ticket(0, 3)
    rounds, round_ = begin(to, 2)
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.GONE), LATER)
    assert rounds.stats.pending_replies == 1
    assert rounds.receive(answer(to, workers=0b111), LATER)
    rounds.finish(round_)


def test_conflict_names_worker_and_both_sizes() -> None:
    to = ticket(0, 3)
    rounds, _ = begin(to, 4)
    fields = {"op": LaneOp.MAX, "racks": 4, "workers": 12, "fan_in_workers": 2, "fan_in_racks": 99}
    with pytest.raises(MismatchError) as caught:
        rounds.receive(answer(to, Kind.CONFLICT, **fields), 0.0)
    error = caught.value
    assert (error.worker, error.brought, error.expected) == (2, RoundSize(99, 12), RoundSize(LaneOp.MAX, 4))
    assert error.what == (
        "Job 7, round 0: worker 2 brought 12 words for operation 99, others 4 words for MAX; "
        "worker 0 itself has 4 words for ADD32."
    )
    assert rounds.stats.conflicts == 1


def test_final_datagrams_belong_to_last_conflict() -> None:
    to = ticket(0, 3)
    rounds, _ = begin(to, 4)
    assert rounds.final_datagrams() == []
    for epoch, chunks in ((0, [1]), (1, [])):
        with pytest.raises(MismatchError):
            rounds.receive(answer(to, Kind.CONFLICT, epoch=epoch, chunk=1), 0.0)
        assert [(header.chunk, header.flags) for header in read(rounds.final_datagrams())] == [
            (chunk, Flag.RETRANSMISSION | Flag.BYPASS) for chunk in chunks
        ]
    assert rounds.stats.conflicts == 2 and rounds.stats.answered_pendings == 1


def test_conflict_with_ambiguous_sender_names_no_worker() -> None:
    to = ticket(0, 4, places=PLACES)
    rounds, _ = begin(to)
    with pytest.raises(MismatchError, match="another rack brought") as caught:
        rounds.receive(answer(to, Kind.CONFLICT, flags=Flag.UPPER, fan_in_workers=1), 0.0)
    assert caught.value.worker is None
    many = ticket(0, 300, places=tuple((rack, bit) for rack in range(10) for bit in range(30)))
    rounds, _ = begin(many)
    with pytest.raises(MismatchError, match="worker 3 or 259 brought") as caught:
        rounds.receive(answer(many, Kind.CONFLICT, fan_in_workers=3), 0.0)
    assert caught.value.worker is None
    with pytest.raises(MismatchError, match="worker 80 brought") as caught:
        rounds.receive(answer(many, Kind.CONFLICT, fan_in_workers=80), 0.0)
    assert caught.value.worker == 80

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Refused packets: counted by reason, not answered, and without effect on any sum (INV-4, INV-5)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lanesum.aggregation.slots import ChunkOrder, Owner, order_of
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import HEADER_DTYPE, Header, Packet
from lanesum.protocol.spec import (
    CERTIFIED,
    FIRST_OWNER,
    GATHERED,
    HEADER,
    HEADER_BYTES,
    MAX_RACKS,
    MAX_WORDS,
    SCATTERED,
    Flag,
    Kind,
)
from lanesum.server import MemberIndex, ServerJob
from lanesum.server.aggregator import Refusal
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.quorum_results import ChunkId, QuorumResultCache
from lanesum.server.served_job import ServedJob
from tests.host.server.contributions import ROUND_WORDS, Workers, flat, racks, served

pytestmark = pytest.mark.usefixtures("implementation")

UPPER = Flag.UPPER


def refused(workers: Workers, datagram: bytes, *, worker: int = 0) -> dict[str, int]:
    """Return the reasons after a datagram that gets no answer; the chunk then completes as if it had not arrived."""
    assert workers.handle(worker, datagram) == []
    reasons = dict(workers.aggregator.refused)
    complete(workers, chunk=3)
    return reasons


def complete(workers: Workers, **how: Any) -> None:
    answers = [workers.send(worker, **how) for worker in range(len(workers.job.members))]
    assert not any(answers[:-1])
    assert workers.check(answers[-1][0]) == workers.members.all_workers


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (slice(1), Refusal.MALFORMED),
        (slice(HEADER_BYTES - 1), Refusal.MALFORMED),
        (slice(HEADER_BYTES), Refusal.MALFORMED),
        (slice(-1), Refusal.MALFORMED),
    ],
)
def test_handle_truncated_datagram_is_malformed(cut: slice, reason: Refusal) -> None:
    workers = Workers(served(flat(3)))
    assert refused(workers, workers.packet(0, chunk=3)[cut]) == {reason: 1}


def test_handle_empty_datagram_counts_nothing() -> None:
    """A worker sends one at a deadline, to test its socket."""
    assert refused(Workers(served(flat(3))), b"") == {}


@pytest.mark.parametrize("more", [1, 4, 65000])
def test_handle_oversized_datagram_is_malformed(more: int) -> None:
    workers = Workers(served(flat(3)))
    assert refused(workers, workers.packet(0, chunk=3) + bytes(more)) == {Refusal.MALFORMED: 1}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 1}, Refusal.VERSION),
        ({"version": 15}, Refusal.VERSION),
        ({"kind": Kind.RESULT}, Refusal.KIND),
        ({"kind": Kind.PENDING}, Refusal.KIND),
        ({"kind": 0}, Refusal.KIND),
        ({"job": 8}, Refusal.MEMBER),
        ({"tag": 0xBAD}, Refusal.TAG),
        ({"slot": 4}, Refusal.SLOT),
        ({"op": LaneOp.OR}, Refusal.OPERATION),
        ({"op": 200}, Refusal.OPERATION),
        ({"op": LaneOp.EXPAND8}, Refusal.SIZE),
        ({"flags": UPPER, "workers": 0b001}, Refusal.FORGED),
        ({"racks": 9 | SCATTERED, "spare": FIRST_OWNER + 3}, Refusal.OWNER),
        ({"racks": 9 | SCATTERED, "spare": FIRST_OWNER + 1}, Refusal.OWNER),
    ],
)
def test_handle_wrong_field_is_refused_by_reason(fields: dict[str, int], reason: Refusal) -> None:
    workers = Workers(served(flat(3), ops=(LaneOp.ADD32, LaneOp.EXPAND8)))
    header = dataclasses.replace(Packet.unpack(workers.packet(0, chunk=3)).header, **fields)
    assert refused(workers, Packet(header, workers.words(0, 3)).pack()) == {reason: 1}


@pytest.mark.parametrize("words", [0, 1, 3, 5, 1000])
def test_handle_wrong_word_count_is_refused(words: int) -> None:
    workers = Workers(served(flat(3)))
    header = Packet.unpack(workers.packet(0, chunk=3)).header
    assert refused(workers, Packet(header, np.ones(words, np.uint32)).pack()) == {Refusal.SIZE: 1}


def test_handle_unknown_sender_is_refused() -> None:
    workers = Workers(served(flat(3)))
    ip, port = workers.members.addresses[0]
    for sender in ((ip, port + 1), ("192.0.2.1", port)):
        assert workers.aggregator.handle(sender, workers.packet(0)) == []
    assert workers.aggregator.refused == {Refusal.MEMBER: 2}


@pytest.mark.parametrize(
    "fields",
    [
        {"workers": 0},
        {"workers": 0b111},  # bit 0 has no worker: bits begin at 3
        {"workers": 1 << 31},
        {"workers": 0b11000 | 1 << 31},
        {"workers": 0b10000},  # without the sender
        {"workers": 0, "fan_in_racks": 1},
        {"workers": 0b100, "fan_in_racks": 1},  # there are two racks
        {"workers": 0b10, "fan_in_racks": 1},  # without the sender's rack
    ],
)
def test_handle_impossible_bitmap_is_refused(fields: dict[str, int]) -> None:
    workers = Workers(served(racks(2, 2), on_switches=True))
    assert workers.members.indices[0] == MemberIndex(0, 0, 3)
    datagram = workers.aggregate(0b0001, chunk=3, **fields)
    assert refused(workers, datagram) == {Refusal.BITMAP: 1}


def test_handle_narrow_aggregate_is_refused() -> None:
    workers = Workers(served(racks(2, 2), on_switches=True))
    header = Packet.unpack(workers.aggregate(0b0001, op=LaneOp.EXPAND8)).header
    narrow = Packet(header, workers.words(0, op=LaneOp.EXPAND8)).pack()
    assert refused(workers, narrow) == {Refusal.SIZE: 1}


def test_entries_and_results_are_bounded() -> None:
    """There are at most two entries for each slot, however many chunks are begun."""
    workers = Workers(served(flat(5), quorum=4, on_switches=True, kept_results=10))
    job = served_in_python(workers)
    for epoch in range(40):
        for chunk in range(8):
            workers.send(epoch % 5, chunk=chunk, epoch=epoch)
            workers.send((epoch + 1) % 5, chunk=chunk, epoch=epoch)
            if epoch % 2:
                for worker in range(5):
                    workers.send(worker, chunk=chunk, epoch=epoch)
    assert job is not None and len(job._slots) == 8
    assert job._results is not None and len(job._results) == 10


FIELDS = {field.name: st.integers(0, (1 << field.bits) - 1) for field in HEADER if field.name != "words"}
changes = st.dictionaries(st.sampled_from(sorted(FIELDS)), st.none(), max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)
datagrams = st.one_of(
    st.binary(max_size=HEADER_DTYPE.itemsize + 40),
    st.tuples(st.integers(0, 3), st.integers(0, 15), changes),
    st.tuples(st.integers(0, 3), st.integers(0, 15), changes, st.integers(1, 15)),
)


@settings(deadline=None)
@given(
    arriving=st.lists(st.tuples(st.integers(0, 4), datagrams), max_size=40),
    two_levels=st.booleans(),
    quorum=st.integers(0, 4),
)
def test_handle_random_packets_keeps_later_chunk_exact(arriving: list, two_levels: bool, quorum: int) -> None:
    members = racks(2, 2) if two_levels else flat(4)
    workers = Workers(served(members, on_switches=True, quorum=quorum, kept_results=3))
    for sender, what in arriving:
        if isinstance(what, tuple):
            worker, chunk, fields, *set_of = what
            if set_of:
                rack = workers.members.workers_in_racks(1 << workers.members.indices[worker].rack) or 0
                what = workers.aggregate(set_of[0] & rack or rack, chunk)
            else:
                what = workers.packet(worker, chunk)
            packet = Packet.unpack(what)
            what = Packet(dataclasses.replace(packet.header, **fields), packet.payload).pack()
        address = ("192.0.2.9", 1) if sender == 4 else workers.members.addresses[sender]
        for receiver, answer in workers.aggregator.handle(address, what):
            assert receiver in members
            Packet.unpack(answer)
    # The packets may have named any epoch. A later chunk is one that is newer than all of them.
    job = served_in_python(workers)
    results = None if job is None else job._results
    owner = _owner(workers, job)
    epochs = [(begun + 1) % (1 << 32) for begun in (owner.epoch, *(one.epoch for one in _chunks_in(results)))]
    epoch = next((one for one in epochs if _is_open(Header(epoch=one, chunk=2), owner, results)), None)
    assume(epoch is not None)
    answers_seen = {}
    for worker in range(4):
        for answer in workers.send(worker, chunk=2, epoch=epoch).values():
            assert answer.header.kind == Kind.RESULT
            answers_seen[answer.pack()] = answer
    assert len(answers_seen) == 1
    assert workers.check(next(iter(answers_seen.values()))).bit_count() == (quorum or 4)


def served_in_python(workers: Workers) -> ServedJob | None:
    aggregator = workers.aggregator
    python = aggregator._quorum_jobs if isinstance(aggregator, NativeAggregator) else aggregator
    return python._served.get(workers.job.job)


def _owner(workers: Workers, job: ServedJob | None) -> Owner:
    """Return the owner of the entry of chunk 2."""
    if job is not None:
        entry = job._slots._entries.get((2, 0))
        return Owner(0, 0, 0, 0, 0) if entry is None else entry.owner
    return Owner(0, 0, 0, *(workers.aggregator.core.owner(workers.job.job, 2, 0) or (0, 0)))


def _chunks_in(results: QuorumResultCache | None) -> list[ChunkId]:
    if results is None:
        return []
    return [*results._results, *([results._horizon] if results._horizon is not None else [])]


def _is_open(header: Header, owner: Owner, results: QuorumResultCache | None) -> bool:
    order = order_of(dataclasses.replace(header, job=owner.job, tag=owner.tag), owner)
    return order is ChunkOrder.NEWER and (results is None or not (results.find(header) or results.is_evicted(header)))


BAD_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"job": 1 << 16}, "job = 65536"),
    ({"tag": -1}, "tag = -1"),
    ({"slots": 0}, "slots = 0"),
    ({"quorum": 4}, "quorum = 4"),
    ({"kept_results": 0}, "kept_results = 0"),
    ({"accumulator_words": 1}, "accumulator_words = 1"),
    ({"accumulator_words": MAX_WORDS - MAX_RACKS + 1}, "accumulator_words = 16337: expected 2 to 16336"),
    (
        {"accumulator_words": 5, "ops": (LaneOp.EXPAND8,)},
        r"EXPAND8 sums whole groups of 2 words, which do not fill packets of 5",
    ),
    ({"code_table": b"short"}, "code table of 5 bytes: expected 16 bytes"),
    ({"members": {}}, "Job 7 at the server: it has no members"),
    ({"members": {("10.0.0.1", 1): MemberIndex(1, 0, 1)}}, "workers are not numbered 0 to 0"),
    (
        {"members": {("10.0.0.1", 1): MemberIndex(0, 0, 1), ("10.0.0.2", 1): MemberIndex(1, 0, 1)}},
        "two workers have the same rack and bit",
    ),
    ({"members": {("10.0.0.1", 1): MemberIndex(0, 32, 0)}}, "racks and bits go beyond 32 x 32"),
    ({"members": {("10.0.0.1", 0): MemberIndex(0, 0, 0)}}, r"no worker can send from port 0 of 10\.0\.0\.1"),
    ({"members": {("w1", 5000): MemberIndex(0, 0, 0)}}, "no IPv4 address"),
    ({"members": {("10.0.0.1", n + 1): MemberIndex(n, 0, n) for n in range(33)}}, "beyond 32 x 32"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_JOBS, ids=[message for _, message in BAD_JOBS])
def test_server_job_with_invalid_value_raises(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        served(**{"members": flat(3), **fields})


def test_server_job_survives_json() -> None:
    job = served(racks(2, 1), quorum=2, on_switches=True, kept_results=7, ops=(LaneOp.MAX,))
    assert ServerJob.from_json(job.to_json()) == job
    assert ServerJob.from_json(served(flat(2), code_table=None).to_json()).code_table is None


@pytest.mark.parametrize("text", ["", "5", "[]", "{}", "null", '{"job": 1}', "[" * 100_000])
def test_from_json_of_other_text_raises(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Not a job for the server"):
        ServerJob.from_json(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"slots": 4', '"slots": 4.5'),
        ('"slots": 4', '"slots": Infinity'),
        ('"slots": 4', '"slots": true'),
        ('"on_switches": false', '"on_switches": 0'),
        ('"code_table": "', '"code_table": "x'),
        ('"ops": [0', '"ops": [99'),
        ("5000, 0, 0, 0]", "5000, 0, 0]"),
        ('"job": 7', '"colour": 7, "job": 7'),
    ],
)
def test_from_json_with_wrong_value_raises(old: str, new: str) -> None:
    text = served(flat(2)).to_json()
    assert old in text
    with pytest.raises(ConfigurationError, match="Not a job for the server"):
        ServerJob.from_json(text.replace(old, new))


def gathered(workers: Workers, worker: int, *, words: bool, marks: int = 0, **fields: Any) -> bytes:
    """Return a contribution to chunk 2 of a gathered round, which belongs to worker 1."""
    packet = Packet.unpack(workers.packet(worker, chunk=2, racks=ROUND_WORDS | GATHERED | marks, **fields))
    return Packet(packet.header, packet.payload if words else packet.payload[:0]).pack()


@pytest.mark.parametrize(
    ("worker", "words", "op", "reason"),
    [
        (0, True, LaneOp.ADD32, Refusal.SIZE),
        (1, False, LaneOp.ADD32, Refusal.SIZE),
        (1, True, LaneOp.EXPAND8, Refusal.OPERATION),
        (0, False, LaneOp.TABLE8, Refusal.OPERATION),
    ],
)
def test_gathered_words_are_of_owner_alone(worker: int, words: bool, op: LaneOp, reason: Refusal) -> None:
    workers = Workers(served(flat(3), ops=(LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.TABLE8)))
    assert refused(workers, gathered(workers, worker, words=words, op=op), worker=worker) == {reason: 1}


def test_quorum_gathers_nothing() -> None:
    workers = Workers(served(flat(3), quorum=2))
    assert workers.handle(1, gathered(workers, 1, words=True)) == []
    assert workers.aggregator.refused == {Refusal.OPERATION: 1}


@pytest.mark.parametrize("certified", [0, CERTIFIED])
@pytest.mark.parametrize("members", [flat(3), racks(2, 1)])
def test_gathered_result_has_words_of_owner(members: dict[Any, MemberIndex], certified: int) -> None:
    workers = Workers(served(members))
    own = workers.words(1, chunk=2).tolist()
    assert workers.send(0, gathered(workers, 0, words=False, marks=certified)) == {}
    assert workers.send(1, gathered(workers, 1, words=True, marks=certified)) == {}
    results = workers.send(2, gathered(workers, 2, words=False, marks=certified))
    results |= {3: workers.send(1, gathered(workers, 1, words=True, marks=certified))[1]}  # a replay
    for receiver, result in results.items():
        expected = own if certified or receiver in (0, 2) else []
        assert (result.header.kind, result.payload.tolist()) == (Kind.RESULT, expected), receiver
    assert sorted(results) == [0, 1, 2, 3]

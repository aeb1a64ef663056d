# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the server must not take: refused by name, without an answer, and without a trace in anybody's sum."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lanesum.aggregation.slots import Order, Owner, order_of
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import HEADER_DTYPE, Header, Packet
from lanesum.protocol.spec import HEADER, HEADER_BYTES, Flag, Kind
from lanesum.server import Place, ServerJob
from lanesum.server.aggregator import Refusal
from lanesum.server.history import Chunk, History
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.served import ServedJob
from tests.host.server.contributions import Workers, flat, racks, served

pytestmark = pytest.mark.usefixtures("implementation")

UPPER = Flag.UPPER


def refused(workers: Workers, datagram: bytes, *, worker: int = 0) -> dict[str, int]:
    """Reasons, after a datagram that must not be answered; the chunk is then completed as if nothing had been."""
    assert workers.handle(worker, datagram) == []
    reasons = dict(workers.aggregator.refused)
    complete(workers, chunk=3)
    return reasons


def complete(workers: Workers, **how: Any) -> None:
    everybody = range(len(workers.job.members))
    answers = [workers.send(worker, **how) for worker in everybody]
    assert not any(answers[:-1])
    assert workers.check(answers[-1][0]) == workers.roster.everybody


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (slice(0), Refusal.MALFORMED),
        (slice(HEADER_BYTES - 1), Refusal.MALFORMED),
        (slice(HEADER_BYTES), Refusal.MALFORMED),
        (slice(-1), Refusal.MALFORMED),
    ],
)
def test_truncated(cut: slice, reason: Refusal) -> None:
    workers = Workers(served(flat(3)))
    assert refused(workers, workers.packet(0, chunk=3)[cut]) == {reason: 1}


@pytest.mark.parametrize("more", [1, 4, 65000])
def test_oversized(more: int) -> None:
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
    ],
)
def test_fields(fields: dict[str, int], reason: Refusal) -> None:
    workers = Workers(served(flat(3), ops=(LaneOp.ADD32, LaneOp.EXPAND8)))
    header = dataclasses.replace(Packet.unpack(workers.packet(0, chunk=3)).header, **fields)
    assert refused(workers, Packet(header, workers.words(0, 3)).pack()) == {reason: 1}


@pytest.mark.parametrize("words", [0, 1, 3, 5, 1000])
def test_word_count(words: int) -> None:
    workers = Workers(served(flat(3)))
    header = Packet.unpack(workers.packet(0, chunk=3)).header
    assert refused(workers, Packet(header, np.ones(words, np.uint32)).pack()) == {Refusal.SIZE: 1}


def test_strangers() -> None:
    workers = Workers(served(flat(3)))
    ip, port = workers.roster.addresses[0]
    for sender in ((ip, port + 1), ("192.0.2.1", port)):
        assert workers.aggregator.handle(sender, workers.packet(0)) == []
    assert workers.aggregator.refused == {Refusal.MEMBER: 2}


@pytest.mark.parametrize(
    "fields",
    [
        {"workers": 0},
        {"workers": 0b111},  # bit 0 is nobody's: bits begin at 3
        {"workers": 1 << 31},
        {"workers": 0b11000 | 1 << 31},
        {"workers": 0b10000},  # without the worker whose address it bears
        {"workers": 0, "fan_in_racks": 1},
        {"workers": 0b100, "fan_in_racks": 1},  # there are two racks
        {"workers": 0b10, "fan_in_racks": 1},  # not the sender's
    ],
)
def test_impossible_bitmaps(fields: dict[str, int]) -> None:
    workers = Workers(served(racks(2, 2), on_switches=True))
    assert workers.roster.places[0] == Place(0, 0, 3)
    datagram = workers.aggregate(0b0001, chunk=3, **fields)
    assert refused(workers, datagram) == {Refusal.BITMAP: 1}


def test_aggregates_are_wide() -> None:
    workers = Workers(served(racks(2, 2), on_switches=True))
    header = Packet.unpack(workers.aggregate(0b0001, op=LaneOp.EXPAND8)).header
    narrow = Packet(header, workers.words(0, op=LaneOp.EXPAND8)).pack()
    assert refused(workers, narrow) == {Refusal.SIZE: 1}


def test_memory_is_bounded() -> None:
    """Entries for two turns of the slots, however many chunks are begun; a piece for each worker."""
    workers = Workers(served(flat(5), quorum=4, on_switches=True, history=10))
    job = served_in_python(workers)
    for epoch in range(40):
        for chunk in range(8):
            workers.send(epoch % 5, chunk=chunk, epoch=epoch)
            workers.send((epoch + 1) % 5, chunk=chunk, epoch=epoch)
            if epoch % 2:
                for worker in range(5):
                    workers.send(worker, chunk=chunk, epoch=epoch)
    assert job is not None and len(job._ledger) == 8
    assert job._history is not None and len(job._history) == 10


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
def test_nothing_is_fatal_and_a_later_chunk_is_exact(arriving: list, two_levels: bool, quorum: int) -> None:
    members = racks(2, 2) if two_levels else flat(4)
    workers = Workers(served(members, on_switches=True, quorum=quorum, history=3))
    for sender, what in arriving:
        if isinstance(what, tuple):
            worker, chunk, fields, *set_of = what
            if set_of:
                rack = workers.roster.workers_in_racks(1 << workers.roster.places[worker].rack) or 0
                what = workers.aggregate(set_of[0] & rack or rack, chunk)
            else:
                what = workers.packet(worker, chunk)
            packet = Packet.unpack(what)
            what = Packet(dataclasses.replace(packet.header, **fields), packet.payload).pack()
        address = ("192.0.2.9", 1) if sender == 4 else workers.roster.addresses[sender]
        for receiver, answer in workers.aggregator.handle(address, what):
            assert receiver in members
            Packet.unpack(answer)
    # Members may have begun any round: a later chunk is one that is newer than what they said.
    job = served_in_python(workers)
    history = None if job is None else job._history
    owner = _owner(workers, job)
    epochs = [(begun + 1) % (1 << 32) for begun in (owner.epoch, *(one.epoch for one in _decided(history)))]
    epoch = next((one for one in epochs if _is_open(Header(epoch=one, chunk=2), owner, history)), None)
    assume(epoch is not None)
    results = {}
    for worker in range(4):
        for answer in workers.send(worker, chunk=2, epoch=epoch).values():
            assert answer.header.kind == Kind.RESULT
            results[answer.pack()] = answer
    assert len(results) == 1
    assert workers.check(next(iter(results.values()))).bit_count() == (quorum or 4)


def served_in_python(workers: Workers) -> ServedJob | None:
    aggregator = workers.aggregator
    python = aggregator._deciding if isinstance(aggregator, NativeAggregator) else aggregator
    return python._served.get(workers.job.job)


def _owner(workers: Workers, job: ServedJob | None) -> Owner:
    """Whose the entry of chunk 2 is."""
    if job is not None:
        entry = job._ledger._entries.get((2, 0))
        return Owner(0, 0, 0, 0, 0) if entry is None else entry.owner
    return Owner(0, 0, 0, *(workers.aggregator.core.owner(workers.job.job, 2, 0) or (0, 0)))


def _decided(history: History | None) -> list[Chunk]:
    if history is None:
        return []
    return [*history._kept, *([history._horizon] if history._horizon is not None else [])]


def _is_open(header: Header, owner: Owner, history: History | None) -> bool:
    order = order_of(dataclasses.replace(header, job=owner.job, tag=owner.tag), owner)
    return order is Order.NEWER and (history is None or not (history.find(header) or history.forgot(header)))


BAD_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"job": 1 << 16}, "job = 65536"),
    ({"tag": -1}, "tag = -1"),
    ({"slots": 0}, "slots = 0"),
    ({"quorum": 4}, "quorum = 4"),
    ({"history": 0}, "history = 0"),
    ({"accumulator_words": 1}, "accumulator_words = 1"),
    (
        {"accumulator_words": 5, "ops": (LaneOp.EXPAND8,)},
        r"EXPAND8 sums whole groups of 2 words, which do not fill packets of 5",
    ),
    ({"code_table": b"short"}, "16 bytes"),
    ({"members": {}}, "no members"),
    ({"members": {("10.0.0.1", 1): Place(1, 0, 1)}}, "not numbered"),
    ({"members": {("10.0.0.1", 1): Place(0, 0, 1), ("10.0.0.2", 1): Place(1, 0, 1)}}, "same rack and bit"),
    ({"members": {("10.0.0.1", 1): Place(0, 32, 0)}}, "beyond 32 x 32"),
    ({"members": {("10.0.0.1", 0): Place(0, 0, 0)}}, "port 0"),
    ({"members": {("w1", 5000): Place(0, 0, 0)}}, "no IPv4 address"),
    ({"members": {("10.0.0.1", n + 1): Place(n, 0, n) for n in range(33)}}, "beyond 32 x 32"),
]


@pytest.mark.parametrize(("fields", "message"), BAD_JOBS, ids=[message for _, message in BAD_JOBS])
def test_jobs_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        served(**{"members": flat(3), **fields})


def test_jobs_survive_json() -> None:
    job = served(racks(2, 1), quorum=2, on_switches=True, history=7, ops=(LaneOp.MAX,))
    assert ServerJob.from_json(job.to_json()) == job
    assert ServerJob.from_json(served(flat(2), code_table=None).to_json()).code_table is None


@pytest.mark.parametrize("text", ["", "5", "[]", "{}", "null", '{"job": 1}'])
def test_texts_that_are_no_jobs(text: str) -> None:
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
def test_jobs_with_a_wrong_value(old: str, new: str) -> None:
    text = served(flat(2)).to_json()
    assert old in text
    with pytest.raises(ConfigurationError, match="Not a job for the server"):
        ServerJob.from_json(text.replace(old, new))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Both servers give the same answers to the same datagrams: bytes, order and counters."""

from __future__ import annotations

import collections
import dataclasses
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.owners import Turns, owner_mark, owner_of
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import CERTIFIED, GATHERED, HEADER, HEADER_BYTES, NONCE_WORDS, OPENING, SCATTERED, Flag
from lanesum.server import Aggregator, MemberIndex, ServerDecision, ServerJob
from lanesum.server.member_table import MemberTable
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.served_job import Refusal

WORDS = 8
ADD32_AND_LOOKUP = tuple(op for op in LaneOp if op is LaneOp.ADD32 or op.shape.lookup)
UNKNOWN_SENDER = ("192.0.2.9", 5000)
CODE_TABLE = bytes(range(3, 19))
EPOCHS = 1 << 32
REFUSED = Flag.OVERFLOW | Flag.BYPASS | Flag.RETRANSMISSION
FLAGS = (0, 0, Flag.RETRANSMISSION, Flag.COLLISION, Flag.ECN, Flag.BYPASS | Flag.RETRANSMISSION, Flag.PARTIAL, REFUSED)


def make_job(rng: random.Random, number: int) -> ServerJob:
    workers = rng.choice((1, 2, 3, 5, 9))
    racks = [rng.choice((0, 1, 3)) for _ in range(workers)] if rng.random() < 0.5 else None
    members = {}
    for worker in rng.sample(range(workers), workers):  # the order of the members has no meaning
        index = MemberIndex(worker, 0, worker)
        if racks is not None:
            index = MemberIndex(worker, racks[worker], (racks[:worker].count(racks[worker]) * 5 + 3) % 32)
        members[f"10.0.{number}.{worker + 1}", 5000 + worker % 2] = index
    return ServerJob(
        job=number,
        tag=rng.choice((0, 0xC0FFEE)),
        members=members,
        slots=rng.choice((1, 2, 3)),
        ops=rng.choice((tuple(LaneOp), ADD32_AND_LOOKUP)),
        code_table=rng.choice((None, CODE_TABLE)),
        accumulator_words=WORDS,
        quorum=rng.choice((0, 0, 0, 1, workers)),
        on_switches=rng.random() < 0.6,
        kept_results=4,
    )


class Traffic:
    """Datagrams for a job: contributions and aggregates around a position that advances.

    Args:
        rng: random number generator.
        invalid: share of datagrams that have an error.
        job: the job.
    """

    def __init__(self, rng: random.Random, invalid: float, job: ServerJob) -> None:
        self.job = job
        self._rng = rng
        self._invalid = invalid
        self._position = 0.0
        self._first_epoch = rng.choice((0, 1, EPOCHS - 1, EPOCHS // 2 - 1))
        self._key = rng.getrandbits(32)

    def next(self) -> tuple[Address, bytes, bool]:
        """Return sender, datagram and congestion."""
        rng, job, members = self._rng, self.job, MemberTable(self.job)
        self._position += rng.random() / (2 + len(job.members))
        position = max(0, int(self._position) + rng.choice((0, 0, 0, 0, 1, -1, -2 * job.slots)))
        epoch = (self._first_epoch + position // 4) % EPOCHS
        worker = rng.randrange(len(members.addresses))
        generator = np.random.default_rng((self._key, position))
        op = LaneOp(generator.choice(np.array(job.ops)))
        round_words = int(
            generator.choice((40, 4000)) | generator.choice((0, SCATTERED, GATHERED, GATHERED | CERTIFIED))
        )
        turns = Turns.of_round(op, round_words, WORDS, len(members.addresses))
        chunk, owner = position, owner_of(position, round_words, turns)
        mark = owner_mark(owner, round_words)
        spare = rng.choice((mark, mark, mark, mark, 2, OPENING))
        if spare == OPENING:
            chunk, op = position % (1 + NONCE_WORDS * len(members.addresses) // WORDS), LaneOp.OR
        if rng.random() < self._invalid:
            op, round_words = rng.choice(list(LaneOp)), rng.choice((40, 44, 40 | SCATTERED, 40 | GATHERED))
        words = generator.integers(0, EPOCHS, (len(members.addresses), op.shape.uplink_words(WORDS)), np.uint32)
        payload = words[worker]
        if round_words & GATHERED and spare != OPENING:  # the owner of a chunk alone has words
            words[np.arange(len(words)) != owner] = 0
            payload = words[worker] if worker == owner or rng.random() < self._invalid else words[worker][:0]
        named, fan_in_racks, flags = 1 << members.indices[worker].bit, 0, rng.choice(FLAGS)
        if rng.random() < (0.4 if job.on_switches else self._invalid):
            workers = rng.getrandbits(len(members.addresses)) | 1 << worker
            if members.two_levels and rng.random() < 0.3:
                named, fan_in_racks = members.contributing_racks(workers), 1
                workers = members.workers_in_racks(named) or 0
            else:
                rack = members.indices[worker].rack
                named = members.bitmap(rack, workers)
                workers = members.workers_at(rack, named) or 0
            # The aggregate is a correct sum, so every way to merge it gives the same total.
            rows = [expand(op, one, job.code_table) for number, one in enumerate(words) if workers >> number & 1]
            reduce: Any = {LaneOp.OR: np.bitwise_or, LaneOp.MAX: np.maximum}.get(op, np.add)
            payload, flags = reduce.reduce(rows, dtype=np.uint32), flags | Flag.UPPER
        header = Header(
            flags=flags, job=job.job, tag=job.tag, epoch=epoch, chunk=chunk, op=op, spare=spare, workers=named,
            slot=position % job.slots, shadow=position // job.slots % 2, racks=round_words,
            fan_in_workers=worker, fan_in_racks=fan_in_racks,
        )  # fmt: skip
        return self._spoil(members.addresses[worker], Packet(header, payload).pack())

    def _spoil(self, sender: Address, datagram: bytes) -> tuple[Address, bytes, bool]:
        rng = self._rng
        if rng.random() < self._invalid:
            field = rng.choice(HEADER)
            value = rng.choice((0, 1, rng.getrandbits(field.bits)))
            datagram = dataclasses.replace(Header.unpack(datagram), **{field.name: value}).pack() + datagram[32:]
        if rng.random() < self._invalid:
            datagram = rng.choice((datagram[: rng.randrange(len(datagram))], datagram + bytes(rng.choice((1, 4)))))
        if rng.random() < self._invalid:
            sender = rng.choice((UNKNOWN_SENDER, (sender[0], sender[1] ^ 1), ("10.0.1.1", 5000)))
        if rng.random() < self._invalid / 4:
            datagram = rng.randbytes(rng.randrange(HEADER_BYTES + 20))
        return sender, datagram, rng.random() < 0.1


def run_both(native: ModuleType, seed: int, events: int, invalid: float) -> collections.Counter[str]:
    """Compare both servers; return the native decisions and refusals by name."""
    rng = random.Random(seed)
    python, compiled = Aggregator(), NativeAggregator(native)
    traffic = [Traffic(rng, invalid, make_job(rng, number)) for number in range(2)]
    for one in traffic:
        _admit(python, compiled, one.job)
    for _ in range(events):
        one = rng.choice(traffic)
        if rng.random() < invalid / 10:
            _change(python, compiled, rng, one)
        sender, datagram, congested = one.next()
        expected = python.handle(sender, datagram, congested=congested)
        assert compiled.handle(sender, datagram, congested=congested) == expected
    assert compiled.decisions == python.decisions
    assert compiled.refused == python.refused
    counted = collections.Counter({**compiled.core.decisions(), **compiled.core.refused()})
    for server in (python, compiled):
        server.close()
        assert server.jobs == {}
    return counted


def _admit(python: Aggregator, compiled: NativeAggregator, job: ServerJob) -> None:
    python.admit(job)
    compiled.admit(job)
    assert list(compiled.jobs.items()) == list(python.jobs.items())


def _change(python: Aggregator, compiled: NativeAggregator, rng: random.Random, traffic: Traffic) -> None:
    change = rng.choice(("remove", "switches", "incarnation"))
    if change == "remove":
        python.remove(traffic.job.job)
        compiled.remove(traffic.job.job)
        return
    if change == "incarnation":
        traffic.job = dataclasses.replace(make_job(rng, traffic.job.job), tag=rng.getrandbits(32))
    else:
        traffic.job = dataclasses.replace(traffic.job, on_switches=not traffic.job.on_switches)
    _admit(python, compiled, traffic.job)


@settings(deadline=None)
@given(seed=st.integers(0, 1 << 32), events=st.integers(1, 300), invalid=st.sampled_from((0.0, 0.01, 0.05, 0.3)))
def test_both_servers_give_the_same_answers(native: ModuleType, seed: int, events: int, invalid: float) -> None:
    run_both(native, seed, events, invalid)


@pytest.mark.long
def test_traffic_reaches_every_decision_and_refusal(native: ModuleType) -> None:
    counted: collections.Counter[str] = collections.Counter()
    for seed in range(40):
        counted += run_both(native, seed, 300, 0.05)
    names = {decision.value for decision in ServerDecision} | {refusal.value for refusal in Refusal}
    # Only jobs with a quorum have late results and a journal.
    assert set(counted) == names - {ServerDecision.REPORT_GONE.value, Refusal.JOURNAL.value}

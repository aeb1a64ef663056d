# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Both servers get the same datagrams, and have to say the same: bytes, order, counters."""

from __future__ import annotations

import collections
import dataclasses
import random
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER, HEADER_BYTES, Flag
from lanesum.server import Aggregator, Decision, Place, ServerJob
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.roster import Roster
from lanesum.server.served import Refusal

WORDS = 8
STRANGER = ("192.0.2.9", 5000)
CODE_TABLE = bytes(range(3, 19))
EPOCHS = 1 << 32
FLAGS = (0, 0, 0, Flag.RETRANSMISSION, Flag.COLLISION, Flag.ECN, Flag.BYPASS | Flag.RETRANSMISSION, Flag.PARTIAL)


def make_job(dice: random.Random, number: int) -> ServerJob:
    workers = dice.choice((1, 2, 3, 5, 9))
    racks = [dice.choice((0, 1, 3)) for _ in range(workers)] if dice.random() < 0.5 else None
    members = {}
    for worker in dice.sample(range(workers), workers):  # the numbers decide, not the order
        place = Place.in_one_level(worker)
        if racks is not None:
            place = Place(worker, racks[worker], (racks[:worker].count(racks[worker]) * 5 + 3) % 32)
        members[f"10.0.{number}.{worker + 1}", 5000 + worker % 2] = place
    return ServerJob(
        job=number,
        tag=dice.choice((0, 0xC0FFEE)),
        members=members,
        slots=dice.choice((1, 2, 3)),
        ops=dice.choice((tuple(LaneOp), (LaneOp.ADD32, LaneOp.TABLE8))),
        code_table=dice.choice((None, CODE_TABLE)),
        accumulator_words=WORDS,
        quorum=dice.choice((0, 0, 0, 1, workers)),
        on_switches=dice.random() < 0.6,
        history=4,
    )


class Traffic:
    """What arrives for a job: contributions around a position that moves on, of workers and of switches for some.

    Args:
        dice: chance.
        strange: share of datagrams that something is wrong with.
    """

    def __init__(self, dice: random.Random, strange: float, job: ServerJob) -> None:
        self.job = job
        self._dice = dice
        self._strange = strange
        self._position = 0.0
        self._first_epoch = dice.choice((0, 1, EPOCHS - 1, EPOCHS // 2 - 1))
        self._key = dice.getrandbits(32)

    def next(self) -> tuple[Address, bytes, bool]:
        """Sender, datagram, congestion."""
        dice, job, roster = self._dice, self.job, Roster(self.job)
        self._position += dice.random() / (2 + len(job.members))
        position = max(0, int(self._position) + dice.choice((0, 0, 0, 0, 1, -1, -2 * job.slots)))
        epoch = (self._first_epoch + position // 4) % EPOCHS
        worker = dice.randrange(len(roster.addresses))
        rng = np.random.default_rng((self._key, position))
        op = LaneOp(rng.choice(np.array(job.ops)))
        round_words = 40
        if dice.random() < self._strange:
            op, round_words = dice.choice(list(LaneOp)), dice.choice((40, 44))
        words = rng.integers(0, EPOCHS, (len(roster.addresses), op.shape.uplink_words(WORDS)), np.uint32)
        payload, named, fan_in_racks, flags = words[worker], 1 << roster.places[worker].bit, 0, dice.choice(FLAGS)
        if dice.random() < (0.4 if job.on_switches else self._strange):
            there = dice.getrandbits(len(roster.addresses)) | 1 << worker
            if roster.two_levels and dice.random() < 0.3:
                named, fan_in_racks = roster.touched_racks(there), 1
                there = roster.workers_in_racks(named) or 0
            else:
                rack = roster.places[worker].rack
                named = roster.bitmap(rack, there)
                there = roster.workers_at(rack, named) or 0
            # The sums are right, so it does not matter how they come together.
            rows = [expand(op, one, job.code_table) for number, one in enumerate(words) if there >> number & 1]
            reduce: Any = {LaneOp.OR: np.bitwise_or, LaneOp.MAX: np.maximum}.get(op, np.add)
            payload, flags = reduce.reduce(rows, dtype=np.uint32), flags | Flag.UPPER
        header = Header(
            flags=flags, job=job.job, tag=job.tag, epoch=epoch, chunk=position, op=op, workers=named,
            slot=position % job.slots, shadow=position // job.slots % 2, racks=round_words,
            fan_in_workers=worker, fan_in_racks=fan_in_racks,
        )  # fmt: skip
        return self._spoil(roster.addresses[worker], Packet(header, payload).pack())

    def _spoil(self, sender: Address, datagram: bytes) -> tuple[Address, bytes, bool]:
        dice = self._dice
        if dice.random() < self._strange:
            field = dice.choice(HEADER)
            value = dice.choice((0, 1, dice.getrandbits(field.bits)))
            datagram = dataclasses.replace(Header.unpack(datagram), **{field.name: value}).pack() + datagram[32:]
        if dice.random() < self._strange:
            datagram = dice.choice((datagram[: dice.randrange(len(datagram))], datagram + bytes(dice.choice((1, 4)))))
        if dice.random() < self._strange:
            sender = dice.choice((STRANGER, (sender[0], sender[1] ^ 1), ("10.0.1.1", 5000)))
        if dice.random() < self._strange / 4:
            datagram = dice.randbytes(dice.randrange(HEADER_BYTES + 20))
        return sender, datagram, dice.random() < 0.1


def run_both(native: ModuleType, seed: int, events: int, strange: float) -> collections.Counter[str]:
    """What was done, by name, by the jobs that are served in C++."""
    dice = random.Random(seed)
    python, compiled = Aggregator(), NativeAggregator(native)
    traffic = [Traffic(dice, strange, make_job(dice, number)) for number in range(2)]
    for one in traffic:
        _admit(python, compiled, one.job)
    for _ in range(events):
        one = dice.choice(traffic)
        if dice.random() < strange / 10:
            _change(python, compiled, dice, one)
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


def _change(python: Aggregator, compiled: NativeAggregator, dice: random.Random, traffic: Traffic) -> None:
    what = dice.choice(("remove", "switches", "incarnation"))
    if what == "remove":
        python.remove(traffic.job.job)
        compiled.remove(traffic.job.job)
        return
    if what == "incarnation":
        traffic.job = dataclasses.replace(make_job(dice, traffic.job.job), tag=dice.getrandbits(32))
    else:
        traffic.job = dataclasses.replace(traffic.job, on_switches=not traffic.job.on_switches)
    _admit(python, compiled, traffic.job)


@settings(deadline=None)
@given(seed=st.integers(0, 1 << 32), events=st.integers(1, 300), strange=st.sampled_from((0.0, 0.01, 0.05, 0.3)))
def test_both_say_the_same(native: ModuleType, seed: int, events: int, strange: float) -> None:
    run_both(native, seed, events, strange)


def test_everything_that_can_be_said_is(native: ModuleType) -> None:
    counted: collections.Counter[str] = collections.Counter()
    for seed in range(40):
        counted += run_both(native, seed, 300, 0.05)
    names = {decision.value for decision in Decision} | {refusal.value for refusal in Refusal}
    # Only a quorum has late results and a journal.
    assert set(counted) == names - {Decision.REPORT_GONE.value, Refusal.JOURNAL.value}

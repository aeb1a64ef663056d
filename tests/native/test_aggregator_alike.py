# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Both servers get the same datagrams, and have to say the same: bytes, order, counters."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum.aggregation.combine import expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import HEADER, Flag
from lanesum.server import Aggregator, Place, ServerJob
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.server.roster import Roster
from lanesum.udp_socket import Address

WORDS = 4
MOST_WORKERS = 6
STRANGER = ("192.0.2.9", 5000)
CODE_TABLE = bytes(range(3, 19))


def address(job: int, worker: int) -> Address:
    return f"10.0.{job}.{worker + 1}", 5000 + worker % 2


@st.composite
def jobs(draw: st.DrawFn, number: int) -> ServerJob:
    workers = draw(st.integers(1, MOST_WORKERS))
    racks = draw(st.lists(st.integers(0, 3), min_size=workers, max_size=workers)) if draw(st.booleans()) else None
    members = {}
    order = draw(st.permutations(range(workers)))  # of admission: the numbers decide, not this
    for worker in order:
        if racks is None:
            place = Place.in_one_level(worker)
        else:
            place = Place(worker, racks[worker], (racks[:worker].count(racks[worker]) * 5 + 3) % 32)
        members[address(number, worker)] = place
    return ServerJob(
        job=number,
        tag=draw(st.sampled_from((0, 0xC0FFEE))),
        members=members,
        slots=draw(st.integers(1, 3)),
        ops=draw(st.sampled_from((tuple(LaneOp), (LaneOp.ADD32, LaneOp.TABLE8)))),
        code_table=draw(st.sampled_from((None, CODE_TABLE))),
        accumulator_words=WORDS,
        quorum=draw(st.sampled_from((0, 0, 0, 1, workers))),
        on_switches=draw(st.booleans()),
        history=4,
    )


@dataclasses.dataclass(frozen=True)
class Contribution:
    """What a worker, or a switch in its name, may send; ``aggregate`` chooses whose sum it says it is."""

    job: int
    worker: int
    position: int
    epoch: int
    op: LaneOp
    aggregate: int
    upper_switch: bool
    flags: int
    round_words: int
    congested: bool


contributions = st.builds(
    Contribution,
    job=st.integers(0, 1),
    worker=st.integers(0, MOST_WORKERS - 1),
    position=st.integers(0, 7),
    epoch=st.sampled_from((0, 0, 0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)),
    op=st.sampled_from((LaneOp.ADD32, *LaneOp)),
    aggregate=st.one_of(st.just(0), st.integers(0, (1 << MOST_WORKERS) - 1)),
    upper_switch=st.booleans(),
    flags=st.sampled_from((0, Flag.RESEND, Flag.COLLISION, Flag.ECN, Flag.BYPASS | Flag.RESEND, Flag.PARTIAL)),
    round_words=st.sampled_from((40, 40, 40, 44)),
    congested=st.booleans(),
)
fields = {field.name: st.integers(0, (1 << field.bits) - 1) for field in HEADER}
mutations = st.dictionaries(st.sampled_from(sorted(fields)), st.none(), max_size=2).flatmap(
    lambda names: st.fixed_dictionaries({name: fields[name] for name in names})
)
sizes = st.sampled_from((0, 0, 0, 0, -1, 1, -4, 4, -40))  # bytes less or more
steps = st.one_of(
    st.tuples(contributions, mutations, sizes),
    st.tuples(contributions, st.just({}), st.just(0)),
    st.tuples(contributions, st.just({}), st.just(0)),
    st.binary(max_size=60),
    st.sampled_from(("remove", "admit", "switch")),
)


def made(job: ServerJob, what: Contribution) -> tuple[Address, bytes, bool]:
    """Sender, datagram, congestion. The sums are right, so that it does not matter how they come together."""
    roster = Roster(job)
    worker = what.worker % len(roster.addresses)
    rng = np.random.default_rng((what.position, what.epoch, what.op))
    words = rng.integers(0, 1 << 32, (len(roster.addresses), what.op.shape.uplink_words(WORDS)), np.uint32)
    payload, workers, fan_in_racks, flags = words[worker], 1 << roster.places[worker].bit, 0, what.flags
    if what.aggregate:
        rack = roster.places[worker].rack
        there = what.aggregate & roster.everybody | 1 << worker
        if what.upper_switch and roster.two_levels:
            workers, fan_in_racks = roster.touched_racks(there), 1
            there = roster.workers_in_racks(workers) or 0
        else:
            workers = roster.bitmap(rack, there)
            there = roster.workers_at(rack, workers) or 0
        rows = [expand(what.op, one, job.code_table) for number, one in enumerate(words) if there >> number & 1]
        reduce: Any = {LaneOp.OR: np.bitwise_or, LaneOp.MAX: np.maximum}.get(what.op, np.add)
        payload, flags = reduce.reduce(rows, dtype=np.uint32), flags | Flag.UPPER
    header = Header(
        flags=flags, job=job.job, tag=job.tag, epoch=what.epoch, chunk=what.position, op=what.op, workers=workers,
        slot=what.position % job.slots, shadow=what.position // job.slots % 2, racks=what.round_words,
        fan_in_workers=worker, fan_in_racks=fan_in_racks,
    )  # fmt: skip
    return roster.addresses[worker], Packet(header, payload).pack(), what.congested


@settings(deadline=None, max_examples=300)
@given(
    first=jobs(0), second=jobs(1), senders=st.lists(st.integers(0, 9), min_size=60, max_size=60),
    events=st.lists(steps, max_size=60),
)  # fmt: skip
def test_both_say_the_same(
    native: ModuleType, first: ServerJob, second: ServerJob, senders: list[int], events: list[Any]
) -> None:
    python, compiled = Aggregator(), NativeAggregator(native)
    both = (python, compiled)
    admitted = [first, second]
    for server in both:
        for job in admitted:
            server.admit(job)
    for event, stray in zip(events, senders, strict=False):
        if isinstance(event, str):
            admitted[0] = _change(both, event, admitted[0])
            continue
        if isinstance(event, bytes):
            sender, datagram, congested = address(0, 0), event, False
        else:
            what, changed, size = event
            sender, datagram, congested = made(admitted[what.job], what)
            packet = Packet.unpack(datagram)
            packed = dataclasses.replace(packet.header, **changed).pack() + datagram[32:]
            datagram = packed + bytes(size) if size > 0 else packed[: len(packed) + size]
        if stray == 0:
            sender = STRANGER
        elif stray == 1:
            sender = address(1, 0)
        expected = python.handle(sender, datagram, congested=congested)
        assert compiled.handle(sender, datagram, congested=congested) == expected
    assert compiled.decisions == python.decisions
    assert compiled.refused == python.refused
    assert list(compiled.jobs.items()) == list(python.jobs.items())
    for server in both:
        server.close()
        assert server.jobs == {}


def _change(both: tuple[Aggregator, NativeAggregator], event: str, job: ServerJob) -> ServerJob:
    if event == "switch":
        job = dataclasses.replace(job, on_switches=not job.on_switches)
    for server in both:
        if event == "remove":
            server.remove(job.job)
        else:
            server.admit(job)
    return job

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random packets of random jobs in random roles: frames and counts are those of the reference, byte for byte.

::

    workers 0-5, racks -- 0-5 +--------+ 8-- uplink: answers of an upper switch
    with any flags            | switch |
                              +--------+ 7-- server

The tests assert nothing about sums: any packet may meet any state, and both switches must make the same decision.
"""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanesum.protocol import Kind, LaneOp
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import Role, SwitchJob
from tests.reference.switch import PortFrame

from .jobs import Job, Place
from .oracle import uplink_words
from .star import NON_MEMBER, SLOT_DECISIONS, Star, rack
from .test_malformed import patched

pytestmark = pytest.mark.long


_ROLES = (
    Role(0), Role.SHARED, Role.ASCEND, Role.ASCEND | Role.SHARED, Role.ASCEND | Role.QUORUM, Role.UPPER,
    Role.UPPER | Role.ASCEND, Role.UPPER | Role.SHARED,
)  # fmt: skip
_EPOCHS = (0, 1, 2, 0xFFFFFFFF, 0x80000000)
_PACKETS = 60
_ADD32_AND_LOOKUP = tuple(op for op in LaneOp if op is LaneOp.ADD32 or op.shape.lookup)
# A quarter of the packets have no flag: the switch sums those.
_FLAGS = (
    *[0] * 5, Flag.RETRANSMISSION, Flag.COLLISION, Flag.ECN, Flag.UPPER, Flag.BYPASS, Flag.PARTIAL, Flag.GONE,
)  # fmt: skip
# Where the test sets the clock, leases end between packets; in real time they never end, so that both agree.
_LEASE, _NEVER = 3, 0xFFFF


class Traffic:
    """Jobs on overlapping slots, and packets of their members, most of them well formed.

    ``agreeing``: members of a job agree about their rounds, damage never passes a checksum, and no lease is as long as
    BMv2's time takes to wrap.
    """

    def __init__(self, star: Star, rng: random.Random, *, agreeing: bool = False) -> None:
        self.star = star
        self.agreeing = agreeing
        self.rng = rng
        lease = _NEVER if star.target.clock is None else _LEASE
        self.jobs: list[Job] = []
        ops = star.target.ops
        for _ in range(rng.choice((1, 2, 3))):
            role = rng.choice(_ROLES)
            members = rng.choice((1, 2, 3, 4))
            threshold = rng.randrange(members + 1) if role & Role.QUORUM else 0
            self.jobs.append(
                star.admit(
                    [rack(bit) for bit in range(members)] if role & Role.UPPER else members,
                    role=role,
                    slot_base=rng.randrange(2),
                    slot_count=rng.choice((1, 2)),
                    threshold=threshold,
                    ops=tuple(op for op in rng.choice((tuple(LaneOp), _ADD32_AND_LOOKUP)) if op in ops),
                    uplinks=rng.choice(((), (NON_MEMBER.port,))),
                    lease=lease,
                )
            )

    def packet(self) -> PortFrame:
        rng = self.rng
        job = rng.choice(self.jobs)
        worker = rng.randrange(len(job.members))
        member = job.members[worker]
        op = rng.choice(job.switch_job.ops if rng.random() < 0.9 else tuple(LaneOp))
        round_words = 7 if rng.random() < 0.95 else 8
        place = Place(
            rng.choice(_EPOCHS), rng.randrange(2), rng.randrange(2), rng.randrange(2), op, round_words
        )  # fmt: skip
        if self.agreeing:
            ops = job.switch_job.ops
            place = dataclasses.replace(place, op=ops[(place.epoch + place.chunk) % len(ops)], round_words=7)
        op = place.op
        flags = rng.choice(_FLAGS) | (Flag.UPPER if member.aggregate and rng.random() < 0.9 else 0)
        kind = Kind.CONTRIBUTION if rng.random() < 0.9 else rng.choice(tuple(Kind))
        wide = flags & Flag.UPPER
        size = self.star.accumulator_words if wide else uplink_words(op, self.star.accumulator_words)
        words = job.words(rng.randrange(1 << 30))[0]
        words = words[: size if rng.random() < 0.97 else size // 2]
        port, frame = job.contribution(
            worker,
            words,
            place,
            host=rng.randrange(len(member.hosts)),
            checksum=rng.random() < 0.5,
            flags=flags,
            kind=kind,
        )
        return self._spoil(port, frame)

    def _spoil(self, port: int, frame: bytes) -> PortFrame:
        """Change port, ECN mark, TTL or a bit of some packets."""
        rng, chance = self.rng, self.rng.random()
        if chance < 0.05:
            port = rng.choice((0, 1, NON_MEMBER.port))
        elif chance < 0.1:
            frame = patched(frame, 15, bytes([rng.randrange(4)]))
        elif chance < 0.13:
            frame = patched(frame, 22, bytes([rng.randrange(3)]))
        elif chance < 0.17:
            at = rng.randrange(14, 34 if self.agreeing else len(frame))
            fix = rng.random() < 0.5 and not self.agreeing
            frame = patched(frame, at, bytes([frame[at] ^ 1 << rng.randrange(8)]), fix_checksum=fix)
        elif chance < 0.25:
            port = NON_MEMBER.port
            answer = rng.choice((Kind.RESULT, Kind.PENDING, Kind.CONFLICT))
            frame = patched(frame, 42, bytes([frame[42] & 0xF0 | answer, frame[43] | Flag.UPPER]), fix_checksum=False)
            # From the server's side: an address that the controller does not list.
            frame = patched(frame, 26, b"\x0a\x63\x00\x01")
        return port, frame

    def disturb(self) -> None:
        """Change the state between packets: time, jobs, marks."""
        rng, star = self.rng, self.star
        chance = rng.random()
        if chance < 0.3 and star.target.clock is not None:
            star.target.clock.advance(rng.choice((1, 2, 4, 8 if self.agreeing else 0x10000 - 2)))
        elif chance < 0.35:
            star.set_congestion(rng.randrange(8), rng.choice((None, 0)))
        elif chance < 0.4:
            number = rng.randrange(len(self.jobs))
            old = self.jobs[number].switch_job
            self.jobs[number] = star.modify(self.jobs[number], self._changed(old))

    def _changed(self, old: SwitchJob) -> SwitchJob:
        rng = self.rng
        return dataclasses.replace(
            old,
            slot_base=rng.randrange(2),
            slot_count=rng.choice((1, 2)),
            role=rng.choice([role for role in _ROLES if role & Role.UPPER == old.role & Role.UPPER]),
            threshold=rng.randrange(len(old.members) + 1),
        )


@pytest.mark.offered("one_pass")
def test_random_packets_give_the_frames_of_the_reference(star: Star) -> None:
    """Each example has a few jobs and sixty packets; in the end every decision of the slots was made."""
    runs = 0

    @settings(
        max_examples=2 * star.target.num_schedules,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.integers(0, 1 << 64))
    def check(seed: int) -> None:
        nonlocal runs
        star.clean_up()
        traffic = Traffic(star, random.Random(seed))
        for _ in range(_PACKETS):
            star.exchange(*traffic.packet())
            traffic.disturb()
        star.all_decisions()
        runs += 1

    check()
    assert runs >= 2 * star.target.num_schedules
    decided = star.all_decisions()
    if star.target.num_schedules >= 40:
        assert set(SLOT_DECISIONS) <= set(decided), set(SLOT_DECISIONS) - set(decided)
        for name in ("descend_or_route", "mark_answer", "drop_forged", "drop_spoofed", "drop_corrupt", "not_a_member"):
            assert decided[name], name

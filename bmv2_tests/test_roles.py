# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One switch in every role: rack switch, upper switch, switch of a quorum, with slots shared between jobs."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from lanesum.protocol import Header, LaneOp
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import Role
from lanesum_switch.frames import UdpFrame

from .oracle import aggregate
from .star import ALL_OPS, FIRST, SERVER, Place, Star, rack, routed, worker_host

FOR_EVER = 0xFFFF  # ticks: the largest age of 16 bits


# Rack switch: complete sums ascend.


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_complete_sum_of_a_rack_ascends(star: Star, op: LaneOp) -> None:
    """One contribution on behalf of all workers, widened, with a checksum; the workers get no answer yet."""
    job = star.admit(3, role=Role.ASCEND)
    words = job.words(1, op)
    place = Place(op=op)
    assert star.contribute(job, 0, words[0], place) == []
    assert star.contribute(job, 2, words[2], place) == []
    assert star.contribute(job, 1, words[1], place) == job.ascended(1, aggregate(op, words), place)
    assert star.all_decisions()["forwarded"] == 1


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_duplicate_after_completion_ascends_again(star: Star, op: LaneOp) -> None:
    """The upper switch may lack the sum, or the answer may be lost: a second aggregate resolves both."""
    job = star.admit(2, role=Role.ASCEND)
    words = job.words(2, op)
    place = Place(op=op)
    total = aggregate(op, words)
    star.contribute(job, 0, words[0], place)
    star.contribute(job, 1, words[1], place)
    for worker in (0, 1, 1):
        again = star.contribute(job, worker, words[worker], place, flags=Flag.RETRANSMISSION)
        assert again == job.ascended(worker, total, place, flags=Flag.RETRANSMISSION)
    assert star.slot_decisions() == {"claim": 1, "contribute_and_complete": 1, "ascend_again": 3}


def test_incomplete_sum_of_a_rack_does_not_ascend(star: Star) -> None:
    job = star.admit(3, role=Role.ASCEND)
    words = job.words(3)
    star.contribute(job, 1, words[1])
    assert star.contribute(job, 1, words[1]) == job.pending([1])


def test_rack_of_one_worker_ascends_at_once(star: Star) -> None:
    job = star.admit(1, role=Role.ASCEND)
    words = job.words(4)
    assert star.contribute(job, 0, words[0]) == job.ascended(0, words[0])
    assert star.slot_decisions() == {"claim_and_complete": 1}


def test_aggregate_with_an_expired_ttl_is_dropped(star: Star) -> None:
    """It keeps the TTL of the completing contribution, so a loop of switches ends."""
    job = star.admit(1, role=Role.ASCEND)
    port, frame = job.contribution(0, job.words(5)[0])
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    assert star.exchange(port, dataclasses.replace(datagram, ttl=1).pack()) == []
    assert star.decisions()["drop_expired"] == 1


# Upper switch: members are racks.


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_aggregates_are_added_without_widening(star: Star, op: LaneOp) -> None:
    """Accumulator words whatever the operation: the rack switch has widened the codes."""
    job = star.admit([rack(0), rack(1), rack(2, port=4)], role=Role.UPPER)
    rng = np.random.default_rng(6)
    words = [rng.integers(0, 80, star.accumulator_words, dtype=np.uint32) * 0x01010101 for _ in range(3)]
    plain = op if op in (LaneOp.OR, LaneOp.MAX) else LaneOp.ADD32
    total = aggregate(plain, words)
    place = Place(op=op)
    assert star.contribute(job, 2, words[2], place) == []
    assert star.contribute(job, 2, words[2], place, host=1) == job.pending([2], place)
    assert star.contribute(job, 0, words[0], place, host=2) == []
    assert star.contribute(job, 1, words[1], place, host=1) == job.result(total, place)
    assert star.contribute(job, 0, words[0], place, host=1) == job.replay(0, total, place, host=1)


def test_aggregate_from_any_worker_counts_its_rack_once(star: Star) -> None:
    """Whichever worker completed the sum of the rack."""
    job = star.admit([rack(0, port=2), rack(1, port=3)], role=Role.UPPER)
    words = job.words(7)
    star.contribute(job, 0, words[0], host=0)
    for host in (1, 2, 0):
        assert star.contribute(job, 0, words[0], host=host) == job.pending([0])
    assert star.contribute(job, 1, words[1], host=2) == job.result(aggregate(LaneOp.ADD32, words))


def test_racks_and_workers_in_one_job_are_summed(star: Star) -> None:
    """A worker attached to the upper switch has a bit of its own, and sends ordinary contributions."""
    direct = dataclasses.replace(rack(1), hosts=(worker_host(1),), aggregate=False)
    job = star.admit([rack(0), direct], role=Role.UPPER)
    codes = np.full(star.accumulator_words // 2, 0x12345678, np.uint32)
    wide = np.full(star.accumulator_words, 0x01020304, np.uint32)
    place = Place(op=LaneOp.EXPAND8)
    assert star.contribute(job, 0, wide, place) == []
    total = wide + aggregate(LaneOp.EXPAND8, [codes])
    assert star.contribute(job, 1, codes, place) == job.result(total, place)


def test_contribution_of_a_racks_worker_is_routed(star: Star) -> None:
    """A contribution that passed its rack switch is for the server: only the sum of a rack counts for it."""
    job = star.admit([rack(0), rack(1)], role=Role.UPPER)
    port, frame = job.contribution(0, job.words(8)[0], flags=0)
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"aggregate": 1, "not_a_member": 1}


def test_upper_switch_below_another_names_racks(star: Star) -> None:
    job = star.admit([rack(0), rack(1)], role=Role.UPPER | Role.ASCEND)
    words = job.words(9)
    star.contribute(job, 0, words[0])
    ((port, frame),) = star.contribute(job, 1, words[1])
    assert [(port, frame)] == job.ascended(1, aggregate(LaneOp.ADD32, words))
    header = Header.unpack(frame[42:])
    assert (header.workers, header.fan_in_workers, header.fan_in_racks) == (0b11, 0, 2)


# Contributions that pass the switch.


@pytest.mark.parametrize("flag", [Flag.BYPASS, Flag.PARTIAL, Flag.BYPASS | Flag.RETRANSMISSION | Flag.ECN])
@pytest.mark.parametrize("words", [64, 7], ids=["of our size", "of another"])
def test_contributions_with_bypass_and_partial_are_routed(star: Star, flag: Flag, words: int) -> None:
    """A worker without progress sends BYPASS; a PARTIAL sum lacks members and must not count for all."""
    job = star.admit(2)
    contribution = job.words(10)[0]
    star.contribute(job, 0, contribution)
    port, frame = job.contribution(1, contribution[:words], flags=flag)
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"aggregate": 1, "accept": 1, "claim": 1, "route_past": 1}


# A quorum.


def test_quorum_ascends_and_late_workers_are_routed(star: Star) -> None:
    """Three of four: PARTIAL, so that no upper switch takes it for all; the fourth goes to the server."""
    job = star.admit(4, role=Role.ASCEND | Role.QUORUM, threshold=3)
    words = job.words(11)
    star.contribute(job, 3, words[3])
    star.contribute(job, 0, words[0])
    total = aggregate(LaneOp.ADD32, [words[worker] for worker in (0, 1, 3)])
    up = star.contribute(job, 1, words[1])
    assert up == job.ascended(1, total, bitmap=0b1011, flags=Flag.PARTIAL)
    port, late = job.contribution(2, words[2])
    assert star.exchange(port, late) == routed(late, SERVER)
    again = star.contribute(job, 3, words[3])
    assert again == job.ascended(3, total, bitmap=0b1011, flags=Flag.PARTIAL | Flag.RETRANSMISSION)
    assert star.slot_decisions() == {
        "claim": 1, "contribute": 1, "contribute_and_complete": 1, "pass_late": 1, "ascend_again": 1,
    }  # fmt: skip


def test_late_packets_of_a_quorum_are_routed(star: Star) -> None:
    """The server has the decision, or has evicted it."""
    job = star.admit(3, role=Role.ASCEND | Role.QUORUM, threshold=2)
    words = job.words(12)
    star.contribute(job, 0, words[0], Place(5))
    port, late = job.contribution(1, words[1], Place(4))
    assert star.exchange(port, late) == routed(late, SERVER)
    assert star.slot_decisions() == {"claim": 1, "pass_late": 1}


def test_quorum_of_all_members_is_not_partial(star: Star) -> None:
    """Two levels: the rack switch waits for all its workers, the server decides."""
    job = star.admit(2, role=Role.ASCEND | Role.QUORUM)
    words = job.words(13)
    star.contribute(job, 0, words[0])
    assert star.contribute(job, 1, words[1]) == job.ascended(1, aggregate(LaneOp.ADD32, words))


# Slots shared between jobs.


def collided(frame: bytes) -> bytes:
    """Return the frame with the flag and, where there was one, a right UDP checksum."""
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    payload = bytearray(datagram.payload)
    payload[1] |= Flag.COLLISION
    return datagram.with_payload(bytes(payload)).pack(checksum=frame[40:42] != bytes(2))


@pytest.mark.parametrize("checksum", [False, True], ids=["without", "with checksum"])
@pytest.mark.parametrize("flags", [0, Flag.COLLISION | Flag.RETRANSMISSION])
def test_entry_of_another_job_is_a_collision(star: Star, checksum: bool, flags: int) -> None:
    """The second job's packets go to the server with the reason; the first job's sum is not disturbed."""
    # Entries that an earlier test left unfinished would be leased forever, too.
    before = star.admit(1)
    star.contribute(before, 0, before.words(13)[0])
    star.clean_up()
    first = star.admit([0, 1], role=Role.SHARED, lease=FOR_EVER)
    second = star.admit([2, 3], role=Role.SHARED, lease=FOR_EVER)
    a, b = first.words(14), second.words(15)
    star.contribute(first, 0, a[0])
    for worker in (0, 1):
        port, frame = second.contribution(worker, b[worker], checksum=checksum, flags=flags)
        assert star.exchange(port, frame) == routed(collided(frame), SERVER)
    assert star.contribute(first, 1, a[1]) == first.result(aggregate(LaneOp.ADD32, a))
    # A complete entry may be overwritten: a worker without the result gets pending, and it is summed again.
    star.contribute(second, 0, b[0])
    assert star.contribute(second, 1, b[1]) == second.result(aggregate(LaneOp.ADD32, b))
    assert star.slot_decisions() == {
        "claim_and_complete": 1, "claim": 2, "contribute_and_complete": 2, "collide": 2,
    }  # fmt: skip


def test_exclusive_slots_are_claimed_at_once(star: Star) -> None:
    """A job with exclusive slots overwrites the entries of a removed one."""
    dead = star.admit([0, 1], role=Role.SHARED, lease=FOR_EVER)
    star.contribute(dead, 0, dead.words(16)[0])
    heir = star.admit([2, 3])
    words = heir.words(17)
    assert star.contribute(heir, 0, words[0]) == []
    assert star.contribute(heir, 1, words[1]) == heir.result(aggregate(LaneOp.ADD32, words))


def test_lease_ends_without_contributions(star: Star) -> None:
    """After so many ticks without a contribution another job may claim the entry; contributions renew the lease."""
    if star.target.clock is None:
        pytest.skip("needs a clock that the test sets; see the next test")
    clock = star.target.clock
    first = star.admit([0, 1, 2], role=Role.SHARED, lease=100)
    second = star.admit([3], role=Role.SHARED, lease=100)
    a, b = first.words(18), second.words(19)
    port, frame = second.contribution(0, b[0])
    star.contribute(first, 0, a[0])
    clock.advance(100)
    assert star.exchange(port, frame) == routed(collided(frame), SERVER)
    star.contribute(first, 1, a[1])
    clock.advance(100)
    assert star.contribute(first, 1, a[1]) == first.pending([0, 1]), "a duplicate is no progress"
    assert star.exchange(port, frame) == routed(collided(frame), SERVER)
    clock.advance(1)
    assert star.exchange(port, frame) == second.result(b[0])
    assert star.slot_decisions() == {
        "claim": 1, "contribute": 1, "collide": 2, "report_pending": 1, "claim_and_complete": 1,
    }  # fmt: skip


def test_age_across_the_wrap_of_time_is_right(star: Star) -> None:
    """Ticks have 16 or 28 bits. Ages across the wrap are right; an abandoned entry looks recent once in 67 seconds (or
    three days).
    """
    if star.target.clock is None:
        pytest.skip("needs a clock that the test sets")
    clock = star.target.clock
    ticks_there = star.target.slot_table.TICKS
    clock.advance(-(clock.microseconds() // 1024) % ticks_there + ticks_there - 0x10)
    first = star.admit([0, 1], role=Role.SHARED, lease=50)
    second = star.admit([3], role=Role.SHARED, lease=50)
    star.contribute(first, 0, first.words(20)[0])
    port, frame = second.contribution(0, second.words(21)[0])
    for ticks, fresh in ((50, True), (ticks_there - 50, True), (50, True)):
        clock.advance(ticks)
        assert (star.exchange(port, frame) == routed(collided(frame), SERVER)) is fresh
    clock.advance(1)
    assert star.exchange(port, frame) == second.result(second.words(21)[0])


def test_lease_of_one_tick_ends_in_real_time(star: Star) -> None:
    """On every target, with its own clock."""
    if star.target.stopped:
        pytest.skip(f"time stands still on {star.target.name}")
    first = star.admit([0, 1], role=Role.SHARED, lease=1)
    second = star.admit([3], role=Role.SHARED, lease=1)
    star.contribute(first, 0, first.words(22)[0])
    if star.target.clock is None:
        time.sleep(0.05)  # 49 ticks; later does not matter
    else:
        star.target.clock.advance(2)
    words = second.words(23)
    assert star.contribute(second, 0, words[0]) == second.result(words[0])


# Flags of contributions in results.


@pytest.mark.parametrize("flag", [Flag.ECN, Flag.COLLISION, Flag.RETRANSMISSION, Flag.ECN | Flag.COLLISION])
@pytest.mark.parametrize("marked", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("role", [Role(0), Role.ASCEND], ids=["result", "aggregate"])
def test_result_has_the_flags_of_all_contributions(star: Star, flag: Flag, marked: int, role: Role) -> None:
    job = star.admit(3, role=role)
    words = job.words(24)
    total = aggregate(LaneOp.ADD32, words)
    for worker in (0, 1, 2):
        out = star.contribute(job, worker, words[worker], flags=flag if worker == marked else 0)
    assert out == (job.ascended(2, total, flags=flag) if role else job.result(total, flags=flag))
    again = star.contribute(job, 0, words[0])
    if role:
        assert again == job.ascended(0, total, flags=flag | Flag.RETRANSMISSION)
    else:
        assert again == job.replay(0, total, flags=flag)
    # The next chunk in the same entry starts without them.
    for worker in (0, 1, 2):
        out = star.contribute(job, worker, words[worker], Place(1))
    assert out == (job.ascended(2, total, Place(1)) if role else job.result(total, Place(1)))


def test_congestion_in_the_ip_header_sets_the_flag(star: Star) -> None:
    """A router's mark (RFC 3168) comes back as the flag; the answers keep the IPv4 header's ECN field."""
    job = star.admit(2)
    words = job.words(25)
    for mark, flag in ((1, 0), (2, 0), (3, Flag.ECN)):
        place = Place(mark)
        star.contribute(job, 0, words[0], place)
        port, frame = job.contribution(1, words[1], place)
        data = bytearray(frame)
        data[15] |= mark
        data[24:26] = (int.from_bytes(data[24:26], "big") - mark).to_bytes(2, "big")
        answers = star.exchange(port, bytes(data))
        assert {answer[15] & 3 for _, answer in answers} == {mark}
        assert {Header.unpack(answer[42:]).flags for _, answer in answers} == {flag}


# Disagreement about a round.


@pytest.mark.parametrize("complete", [False, True], ids=["incomplete", "complete"])
@pytest.mark.parametrize("role", [Role(0), Role.ASCEND], ids=["one level", "rack switch"])
def test_rounds_of_different_length_are_a_conflict(star: Star, complete: bool, role: Role) -> None:
    """Every worker is told both lengths, also the one that was right."""
    job = star.admit(3, role=role)
    words = job.words(26)
    other = dataclasses.replace(FIRST, round_words=99)
    for worker in range(3 if complete else 2):
        star.contribute(job, worker, words[worker])
    answers = star.contribute(job, 2, words[2], other, fan_in_workers=0xE7)
    assert answers == job.conflict(0xE7, other, FIRST)
    assert len(answers) == 3
    assert star.slot_decisions()["report_conflict"] == 1


def test_conflict_between_racks_has_the_flag_of_racks(star: Star) -> None:
    """With UPPER, the rack switches hand it down to all workers."""
    job = star.admit([rack(0), rack(1)], role=Role.UPPER)
    words = job.words(27)
    star.contribute(job, 0, words[0])
    other = Place(op=LaneOp.EXPAND8, round_words=5)
    answers = star.contribute(job, 1, words[1], other, fan_in_workers=3)
    assert answers == job.conflict(3, other, FIRST)
    assert {Header.unpack(answer[42:]).flags for _, answer in answers} == {Flag.UPPER}


def test_newer_round_of_another_length_is_no_conflict(star: Star) -> None:
    job = star.admit(2)
    words = job.words(28)
    for epoch in range(4):
        place = Place(epoch, round_words=epoch * 100)
        star.contribute(job, 0, words[0], place)
        assert star.contribute(job, 1, words[1], place) == job.result(aggregate(LaneOp.ADD32, words), place)

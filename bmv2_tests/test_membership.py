# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Only a member, on its own port and address and with the job's tag, reaches the registers of a job (INV-5).

::

    worker 0 --0 +--------+ 8-- non-member
    worker 1 --1 | switch |
                 +--------+ 7-- server       packets of non-members are routed to it, as other traffic
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from lanesum.protocol import LaneOp
from lanesum_switch.frames import UdpFrame

from .oracle import Words, aggregate
from .star import FIRST, NON_MEMBER, SERVER, Job, Place, Star, routed, worker_host

Forgery = Callable[[Job, Words], tuple[int, bytes]]


def from_other_host(job: Job, words: Words, **changes: object) -> bytes:
    _, frame = job.contribution(1, words)
    datagram = UdpFrame.unpack(frame)
    assert datagram is not None
    return dataclasses.replace(datagram, **changes).pack()  # type: ignore[arg-type]


def non_member(job: Job, words: Words) -> tuple[int, bytes]:
    """Job and tag are right, host and port are the non-member's."""
    return NON_MEMBER.port, from_other_host(job, words, source_mac=NON_MEMBER.mac, source_ip=NON_MEMBER.ip)


def wrong_port(job: Job, words: Words) -> tuple[int, bytes]:
    """A copy of worker 1's packet, from the non-member's port."""
    return NON_MEMBER.port, job.contribution(1, words)[1]


def port_of_another_member(job: Job, words: Words) -> tuple[int, bytes]:
    """Worker 0 uses worker 1's address."""
    return job.members[0].host.port, job.contribution(1, words)[1]


def unknown_address(job: Job, words: Words) -> tuple[int, bytes]:
    """On the member's port, from an address that the controller does not list."""
    host = worker_host(6)
    return job.members[1].host.port, from_other_host(job, words, source_mac=host.mac, source_ip=host.ip)


def wrong_source(job: Job, words: Words) -> tuple[int, bytes]:
    return job.members[1].host.port, from_other_host(job, words, source_ip=NON_MEMBER.ip)


def wrong_tag(job: Job, words: Words) -> tuple[int, bytes]:
    return job.contribution(1, words, tag=job.switch_job.tag ^ 1)


def tag_zero(job: Job, words: Words) -> tuple[int, bytes]:
    return job.contribution(1, words, tag=0)


def wrong_job(job: Job, words: Words) -> tuple[int, bytes]:
    return job.contribution(1, words, job=job.switch_job.job ^ 0x8000)


def other_process(job: Job, words: Words) -> tuple[int, bytes]:
    """Another process on worker 1's host, with the right tag."""
    return job.members[1].host.port, from_other_host(job, words, source_port=job.members[1].udp_port + 1)


def worker_of_no_job(job: Job, words: Words) -> tuple[int, bytes]:
    host = worker_host(4)
    return host.port, from_other_host(job, words, source_mac=host.mac, source_ip=host.ip)


@pytest.mark.parametrize(
    "forge",
    [
        non_member, unknown_address, wrong_tag, tag_zero, wrong_job, worker_of_no_job, other_process,
    ],
    ids=lambda forge: forge.__name__,
)  # fmt: skip
def test_packets_of_non_members_touch_no_register(star: Star, forge: Forgery) -> None:
    """Before, during and after a chunk."""
    job = star.admit(2)
    words = job.words(1)
    total = aggregate(LaneOp.ADD32, words)
    port, forged = forge(job, job.words(2)[1])
    to_server = routed(forged, SERVER)

    assert star.exchange(port, forged) == to_server
    assert star.contribute(job, 0, words[0]) == []
    assert star.exchange(port, forged) == to_server
    assert star.contribute(job, 1, words[1]) == job.result(total)
    assert star.exchange(port, forged) == to_server
    assert star.contribute(job, 1, words[1]) == job.replay(1, total)
    assert star.slot_decisions() == {"claim": 1, "contribute_and_complete": 1, "replay": 1}
    assert star.decisions()["aggregate"] == 6, "they were contributions, by their looks"
    assert star.decisions()["accept"] == star.decisions()["not_a_member"] == 3


@pytest.mark.parametrize(
    "forge", [wrong_port, port_of_another_member, wrong_source], ids=lambda forge: forge.__name__
)  # fmt: skip
def test_spoofed_addresses_are_dropped(star: Star, forge: Forgery) -> None:
    """Packets with another host's address do not reach the server either."""
    job = star.admit(2)
    words = job.words(1)
    star.contribute(job, 0, words[0])
    assert star.exchange(*forge(job, job.words(2)[1])) == []
    assert star.decisions() == {"aggregate": 2, "accept": 1, "claim": 1, "drop_spoofed": 1}
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


@pytest.mark.parametrize("slot", [4, 5, 1023, 0x7FFF])
def test_slot_out_of_range_is_routed(star: Star, slot: int) -> None:
    job = star.admit(2, slot_count=4)
    words = job.words(3)
    star.contribute(job, 0, words[0])
    port, frame = job.contribution(1, words[1], Place(slot=slot))
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"aggregate": 2, "accept": 1, "claim": 1, "refuse_slot": 1}
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))


@pytest.mark.parametrize("op", [LaneOp.OR, LaneOp.EXPAND8, LaneOp.TABLE8], ids=lambda op: op.name)
def test_operation_not_allowed_is_routed(star: Star, op: LaneOp) -> None:
    """Unchanged: codes are not widened on the way to the server."""
    job = star.admit(2, ops=(LaneOp.ADD32, LaneOp.MAX))
    words = job.words(4)
    star.contribute(job, 0, words[0])
    port, frame = job.contribution(1, job.words(5, op)[1], Place(op=op))
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"aggregate": 2, "accept": 1, "claim": 1, "refuse_op": 1}
    assert star.contribute(job, 1, words[1]) == job.result(aggregate(LaneOp.ADD32, words))
    assert star.contribute(job, 1, job.words(6, LaneOp.MAX)[1], Place(1, op=LaneOp.MAX)) == []


def test_slot_is_checked_before_the_operation(star: Star) -> None:
    job = star.admit(1, slot_count=4, ops=(LaneOp.ADD32,))
    port, frame = job.contribution(0, job.words(7, LaneOp.OR)[0], Place(slot=4, op=LaneOp.OR))
    assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.decisions() == {"aggregate": 1, "refuse_slot": 1}


def test_address_in_two_jobs_is_member_of_each(star: Star) -> None:
    """Job and tag determine the member: worker 0 of one job is worker 1 of the other."""
    first = star.admit([0, 1], slot_base=0)
    second = star.admit([2, 0], slot_base=4)
    a, b = first.words(8), second.words(9)
    assert star.contribute(second, 1, b[1]) == []
    assert star.contribute(first, 0, a[0]) == []
    assert star.contribute(second, 0, b[0]) == second.result(aggregate(LaneOp.ADD32, b), FIRST)
    assert star.contribute(first, 1, a[1]) == first.result(aggregate(LaneOp.ADD32, a), FIRST)


def test_tag_of_another_job_is_routed(star: Star) -> None:
    """A member of one job with the other job's tag, or number, is a member of neither."""
    first = star.admit([0, 1], slot_base=0)
    second = star.admit([0, 1], slot_base=4)
    words = first.words(10)
    for fields in ({"tag": second.switch_job.tag}, {"job": second.switch_job.job}):
        port, frame = first.contribution(0, words[0], FIRST, **fields)
        assert star.exchange(port, frame) == routed(frame, SERVER)
    assert star.slot_decisions() == {}

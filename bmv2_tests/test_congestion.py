# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packets that leave a long queue are marked: answers by their flag, others by their IPv4 header (RFC 3168).

Depth 0 marks all packets on every target. Only a target in the test process has a queue of a chosen length.
"""

from __future__ import annotations

import pytest

from lanesum.protocol import Header, Kind, LaneOp
from lanesum.protocol.spec import Flag
from lanesum_fabric.program.switch_job import Role
from lanesum_switch.frames import internet_checksum

from .oracle import aggregate
from .star import FIRST, NON_MEMBER, SERVER, Place, Star, routed
from .test_malformed import patched
from .test_origin import ping
from .test_udp_checksums import verified


def with_ecn(frame: bytes, ecn: int) -> bytes:
    return patched(frame, 15, bytes([frame[15] & ~3 | ecn]))


@pytest.mark.parametrize("role", [Role(0), Role.ASCEND], ids=["one level", "rack switch"])
def test_answers_on_a_congested_port_are_marked(star: Star, role: Role) -> None:
    """Only the copies on that port; with right checksums."""
    job = star.admit(3, role=role)
    words = job.words(1)
    star.set_congestion(1, 0)
    star.contribute(job, 0, words[0])
    copies = star.contribute(job, 0, words[0])
    assert [Header.unpack(frame[42:]).flags for _, frame in copies] == [
        Flag.RETRANSMISSION, Flag.RETRANSMISSION | Flag.ECN, Flag.RETRANSMISSION,
    ]  # fmt: skip
    assert all(verified(frame) for _, frame in copies)
    star.contribute(job, 1, words[1])
    star.contribute(job, 2, words[2])
    replay = star.contribute(job, 1, words[1])
    if not role:
        assert replay == job.replay(1, aggregate(LaneOp.ADD32, words), flags=Flag.ECN)
        assert star.decisions()["mark_answer"] == 3
    else:
        assert star.decisions()["mark_answer"] == 1


@pytest.mark.parametrize("kind", [Kind.RESULT, Kind.PENDING, Kind.CONFLICT], ids=lambda kind: kind.name)
@pytest.mark.parametrize("flags", [0, Flag.ECN | Flag.RETRANSMISSION])
@pytest.mark.parametrize("checksum", [False, True])
def test_routed_answers_on_a_congested_port_are_marked(star: Star, kind: Kind, flags: int, checksum: bool) -> None:
    """The server's answers: their checksum is updated, where there is one."""
    job = star.admit(1)
    star.set_congestion(SERVER.port, 0)
    port, frame = job.contribution(0, job.words(2)[0], kind=kind, flags=flags, checksum=checksum)
    marked = job.contribution(0, job.words(2)[0], kind=kind, flags=flags | Flag.ECN, checksum=checksum)[1]
    assert star.exchange(port, frame) == routed(marked, SERVER)
    assert star.decisions() == {"route": 1, "mark_answer": 1}


@pytest.mark.parametrize("ecn", [0, 1, 2, 3])
def test_other_packets_are_marked_if_ecn_capable(star: Star, ecn: int) -> None:
    """Only packets whose senders support ECN."""
    star.set_congestion(SERVER.port, 0)
    frame = with_ecn(ping(NON_MEMBER), ecn)
    ((_, hop),) = star.exchange(NON_MEMBER.port, frame)
    assert hop[15] & 3 == (3 if ecn in (1, 2) else ecn)
    assert internet_checksum(hop[14:34]) == 0
    assert hop[34:] == frame[34:]
    assert star.decisions().get("mark_packet", 0) == (ecn in (1, 2))


def test_contributions_are_marked_in_the_ip_header(star: Star) -> None:
    """A sum of a rack switch too: its flag stands for its contributions, its IPv4 header for the packet itself."""
    job = star.admit(1, role=Role.ASCEND)
    star.set_congestion(SERVER.port, 0)
    port, frame = job.contribution(0, job.words(3)[0])
    ((_, up),) = star.exchange(port, with_ecn(frame, 2))
    assert (up[15] & 3, Header.unpack(up[42:]).flags) == (3, Flag.UPPER)
    assert internet_checksum(up[14:34]) == 0
    assert verified(up)
    ((_, past),) = star.exchange(port, with_ecn(job.contribution(0, job.words(3)[0], tag=1)[1], 1))
    assert (past[15] & 3, Header.unpack(past[42:]).flags) == (3, 0)


def test_queue_at_the_threshold_is_congested(star: Star) -> None:
    """From the given depth on."""
    depths = star.target.queue_depth.depths
    if star.target.clock is None:
        pytest.skip("the queues of this target are its own")
    job = star.admit(1)
    star.set_congestion(0, 20)
    try:
        for epoch, (depth, flag) in enumerate([(0, 0), (19, 0), (20, Flag.ECN), (1 << 30, Flag.ECN), (3, 0)]):
            depths.update({0: depth, 1: 50})
            words = job.words(epoch)[0]
            assert star.contribute(job, 0, words, Place(epoch)) == job.result(words, Place(epoch), flags=flag)
    finally:
        depths.clear()


def test_set_congestion_to_none_ends_marking(star: Star) -> None:
    job = star.admit(1)
    words = job.words(4)[0]
    star.set_congestion(0, 0)
    star.set_congestion(0, None)
    assert star.contribute(job, 0, words, FIRST) == job.result(words)
    star.set_congestion(0, (1 << 19) - 1)
    assert star.contribute(job, 0, words, FIRST) == job.replay(0, words)

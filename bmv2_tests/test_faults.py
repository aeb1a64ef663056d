# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The fault tables lose about the share that was asked for, on the port that was named, and change nothing else."""

from __future__ import annotations

import pytest

from lanesum.protocol import Kind, LaneOp, Packet
from lanesum.protocol.frames import UdpFrame
from lanesum_control.model import SWITCH_MAC

from .oracle import aggregate
from .star import SERVER, STRANGER, Star, routed, worker_host

FRAMES = 600
tables = pytest.mark.offered("faults")


def numbered(number: int) -> bytes:
    payload = number.to_bytes(4, "big") * 8
    return UdpFrame(STRANGER.mac, SWITCH_MAC, STRANGER.ip, SERVER.ip, 5000, 5001, payload).pack()


@tables
@pytest.mark.parametrize("ingress", [True, False], ids=["ingress", "egress"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_share_of_losses(star: Star, ingress: bool, share: float) -> None:
    """Five standard deviations of the binomial; what survives is in order and untouched."""
    star.set_fault(STRANGER.port if ingress else SERVER.port, ingress=ingress, share=share)
    sent = [numbered(number) for number in range(FRAMES)]
    out = star.target.exchange_all([(STRANGER.port, frame) for frame in sent])
    expected = [hop for frame in sent for hop in routed(frame, SERVER)]
    survivors = iter(expected)
    assert all(frame in survivors for frame in out), "a frame that was never sent, twice, or out of order"
    tolerance = 5 * (share * (1 - share) / FRAMES) ** 0.5
    assert abs(1 - len(out) / FRAMES - share) < tolerance


@tables
@pytest.mark.parametrize("ingress", [True, False], ids=["ingress", "egress"])
def test_everything_and_nothing(star: Star, ingress: bool) -> None:
    """Share 1 loses all, share 0 ends it; a second setting replaces the first."""
    port = STRANGER.port if ingress else SERVER.port
    for share, survivors in ((1.0, []), (0.0, routed(numbered(1), SERVER)), (0.5, None), (1.0, [])):
        star.set_fault(port, ingress=ingress, share=share)
        if survivors is not None:
            assert star.exchange(STRANGER.port, numbered(1)) == survivors


@tables
def test_other_ports_and_the_other_direction_are_spared(star: Star) -> None:
    star.set_fault(STRANGER.port, ingress=False, share=1.0)
    star.set_fault(SERVER.port, ingress=True, share=1.0)
    assert star.exchange(STRANGER.port, numbered(1)) == routed(numbered(1), SERVER)
    host = worker_host(2)
    for source, destination in ((host, SERVER), (STRANGER, host)):
        frame = UdpFrame(source.mac, SWITCH_MAC, source.ip, destination.ip, 1, 2, b"x").pack()
        assert star.exchange(source.port, frame) == routed(frame, destination)


@tables
def test_lost_packets_reach_no_counter_and_no_register(star: Star) -> None:
    job = star.admit(2)
    words = job.words(1)
    star.set_fault(0, ingress=True, share=1.0)
    assert star.contribute(job, 0, words[0]) == []
    assert star.decisions() == {}
    star.set_fault(0, ingress=True, share=0.0)
    assert star.contribute(job, 1, words[1]) == []
    assert star.contribute(job, 0, words[0]) == job.result(aggregate(LaneOp.ADD32, words))


def test_sums_stay_exact_at_thirty_per_cent_loss(star: Star) -> None:
    """Each worker sends until it has the result; both directions of both ports lose packets.

    The dice differ from the twin's, so this looks at the target alone.
    """
    job = star.admit(2)
    words = job.words(2)
    total = aggregate(LaneOp.ADD32, words)
    for port in (0, 1):
        for ingress in (True, False):
            star.set_fault(port, ingress=ingress, share=0.3)
    served: set[int] = set()
    for _ in range(200):
        for worker in (0, 1):
            for port, frame in star.deliver(*job.contribution(worker, words[worker])):
                datagram = UdpFrame.unpack(frame)
                assert datagram is not None
                packet = Packet.unpack(datagram.payload)
                if packet.header.kind == Kind.RESULT:
                    assert (packet.payload == total).all()
                    assert packet.header.workers == job.everybody
                    served.add(port)
        if served == {0, 1}:
            return
    raise AssertionError(f"only ports {served} ever got the result")

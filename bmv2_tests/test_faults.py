# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fault tables of the test builds: they lose the configured share of a port's packets, and change nothing else."""

from __future__ import annotations

import pytest

from lanesum.protocol import LaneOp
from lanesum_fabric.program.switch_job import SWITCH_MAC
from lanesum_switch.frames import UdpFrame

from .oracle import aggregate
from .star import NON_MEMBER, SERVER, Star, routed, worker_host
from .targets import FAULT_TARGETS, REFERENCE

FRAMES = 600
pytestmark = pytest.mark.parametrize("running_star", (REFERENCE, *FAULT_TARGETS), indirect=True, scope="session")


def numbered(number: int) -> bytes:
    payload = number.to_bytes(4, "big") * 8
    return UdpFrame(NON_MEMBER.mac, SWITCH_MAC, NON_MEMBER.ip, SERVER.ip, 5000, 5001, payload).pack()


@pytest.mark.parametrize("ingress", [True, False], ids=["ingress", "egress"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_fault_table_loses_the_configured_share(star: Star, ingress: bool, share: float) -> None:
    """Within five standard deviations of the binomial distribution; other packets leave in order and unchanged."""
    star.set_fault(NON_MEMBER.port if ingress else SERVER.port, ingress=ingress, share=share)
    sent = [numbered(number) for number in range(FRAMES)]
    out = star.target.exchange_all([(NON_MEMBER.port, frame) for frame in sent])
    expected = [hop for frame in sent for hop in routed(frame, SERVER)]
    expected_frames = iter(expected)
    assert all(frame in expected_frames for frame in out), "a frame that was never sent, twice, or out of order"
    tolerance = 5 * (share * (1 - share) / FRAMES) ** 0.5
    assert abs(1 - len(out) / FRAMES - share) < tolerance


@pytest.mark.parametrize("ingress", [True, False], ids=["ingress", "egress"])
def test_fault_table_with_share_1_and_0(star: Star, ingress: bool) -> None:
    """Share 1 loses all packets, share 0 none; a second setting replaces the first."""
    port = NON_MEMBER.port if ingress else SERVER.port
    for share, expected in ((1.0, []), (0.0, routed(numbered(1), SERVER)), (0.5, None), (1.0, [])):
        star.set_fault(port, ingress=ingress, share=share)
        if expected is not None:
            assert star.exchange(NON_MEMBER.port, numbered(1)) == expected


def test_fault_table_spares_other_ports_and_directions(star: Star) -> None:
    star.set_fault(NON_MEMBER.port, ingress=False, share=1.0)
    star.set_fault(SERVER.port, ingress=True, share=1.0)
    assert star.exchange(NON_MEMBER.port, numbered(1)) == routed(numbered(1), SERVER)
    host = worker_host(2)
    for source, destination in ((host, SERVER), (NON_MEMBER, host)):
        frame = UdpFrame(source.mac, SWITCH_MAC, source.ip, destination.ip, 1, 2, b"x").pack()
        assert star.exchange(source.port, frame) == routed(frame, destination)


def test_lost_packet_reaches_no_counter_and_no_register(star: Star) -> None:
    job = star.admit(2)
    words = job.words(1)
    star.set_fault(0, ingress=True, share=1.0)
    assert star.contribute(job, 0, words[0]) == []
    assert star.decisions() == {}
    star.set_fault(0, ingress=True, share=0.0)
    assert star.contribute(job, 1, words[1]) == []
    assert star.contribute(job, 0, words[0]) == job.result(aggregate(LaneOp.ADD32, words))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The retransmission timer of a round, in virtual time."""

from __future__ import annotations

import dataclasses

import numpy as np

from lanesum.protocol import Header, Kind, LaneOp, Packet
from lanesum.transport import JobTicket, RoundWindow, TransportStats
from lanesum.transport.rtt import INITIAL_RTO_S, RttEstimator

CHUNKS = 20


def test_late_worker_costs_one_probe_not_one_per_packet() -> None:
    """All chunks wait for a worker that is late by two timeouts; then the results come, one by one."""
    ticket = JobTicket(job=1, tag=2, worker=0, workers=2, slots=64)
    stats = TransportStats()
    words = np.zeros(CHUNKS * ticket.accumulator_words, np.uint32)
    window = RoundWindow(
        ticket, LaneOp.ADD32, words, epoch=0, position=0, rtt=RttEstimator(), stats=stats, window=CHUNKS
    )
    assert window.due(0.0) == list(range(CHUNKS))
    assert window.due(INITIAL_RTO_S) == [0]  # the probe
    assert window.due(2 * INITIAL_RTO_S) == []
    payload = np.zeros(ticket.accumulator_words, np.uint32)
    for chunk in range(CHUNKS):
        now = 2.5 * INITIAL_RTO_S + chunk * 1e-4
        header = Header(
            kind=Kind.RESULT, job=1, tag=2, op=LaneOp.ADD32, workers=3, chunk=chunk, words=ticket.accumulator_words
        )
        assert window.receive(Packet(header, payload).pack(), now)
        assert window.due(now) == []
    assert window.finished
    assert stats.retransmissions == 1


def test_a_slow_aggregation_point_causes_no_retransmissions() -> None:
    """A full window takes longer than the timeout to come back, but it does come back, one by one."""
    ticket = JobTicket(job=1, tag=2, worker=0, workers=1, slots=64, server=("127.0.0.1", 1), local=("127.0.0.1", 0))
    rtt, stats = RttEstimator(), TransportStats()
    rtt.sample(0.001)
    window = RoundWindow(
        ticket, LaneOp.ADD32, np.zeros(64 * 64, np.uint32), epoch=0, position=0, rtt=rtt, stats=stats, window=64
    )
    assert window.due(0.0) == list(range(64))
    header = Header(kind=Kind.RESULT, job=1, tag=2, op=LaneOp.ADD32, workers=1)
    for chunk in range(64):
        now = 0.01 * (chunk + 1)
        assert window.due(now) == []
        assert window.receive(Packet(dataclasses.replace(header, chunk=chunk), np.zeros(64, np.uint32)).pack(), now)
    assert window.finished
    assert stats.retransmissions == 0

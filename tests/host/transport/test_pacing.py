# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pacing spreads a window over a round trip, and delays no packet for longer."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.transport.native_engine import AnyRoundSequence, make_round_sequence
from lanesum.transport.pacing import Pacer
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

RTT_S = 0.1
WINDOW = 100
TICKET = ticket(0, 1, slots=1000)
WORDS = TICKET.accumulator_words


def lone(*, pacing: bool = True, slots: int = TICKET.slots) -> AnyRoundSequence:
    """Return rounds of a job of one worker."""
    return make_round_sequence(replace(TICKET, slots=slots), window=WINDOW, congestion="fixed", pacing=pacing)


def answer_all(rounds: AnyRoundSequence, datagrams: list[memoryview], now: float) -> None:
    """Answer all contributions at ``now``."""
    for header in read(datagrams):
        assert rounds.receive(answer(TICKET, workers=0b1, epoch=header.epoch, chunk=header.chunk), now)


def measure(rounds: AnyRoundSequence) -> float:
    """Measure one round trip with a burst, and return the time afterwards."""
    round_ = rounds.start(LaneOp.ADD32, np.zeros(8 * WORDS, np.uint32))
    answer_all(rounds, rounds.due(0.0), RTT_S)
    rounds.finish(round_)
    return RTT_S


def test_pacing_spreads_window_over_round_trip() -> None:
    rounds = lone()
    begin = now = measure(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    sent: list[float] = []
    while len(sent) < WINDOW:
        sent += [now] * len(rounds.due(now))
        left_s = rounds.next_timeout(now)
        assert left_s is not None
        now += left_s
    assert sent.count(begin) == 8  # the first burst
    assert 0.5 * RTT_S < sent[-1] - begin < RTT_S
    # Then one by one, and at most a window, which has no results yet.
    assert all(later - earlier < 2 * RTT_S / WINDOW for earlier, later in itertools.pairwise(sent))
    assert rounds.due(sent[-1]) == []


def test_no_pacing_sends_window_at_once() -> None:
    rounds = lone(pacing=False)
    now = measure(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    assert len(rounds.due(now)) == WINDOW


def test_late_timer_releases_credit_of_its_delay() -> None:
    """The credit of a millisecond, with 100 packets in 10 ms, is more than a burst."""
    rounds = lone()
    round_ = rounds.start(LaneOp.ADD32, np.zeros(8 * WORDS, np.uint32))
    answer_all(rounds, rounds.due(0.0), 0.01)
    rounds.finish(round_)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    rounds.due(0.01)
    assert len(rounds.due(0.0108)) == 10
    # But less than the credit of a long time.
    assert len(rounds.due(0.04)) == 12


def test_first_chunk_without_result_needs_no_credit() -> None:
    """All other workers may wait for it."""
    rounds = lone(slots=1)
    now = measure_with_one_packet(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(30 * WORDS, np.uint32))
    for _ in range(30):  # all at the same time, without credit
        (datagram,) = rounds.due(now)
        answer_all(rounds, [datagram], now)


def measure_with_one_packet(rounds: AnyRoundSequence) -> float:
    round_ = rounds.start(LaneOp.ADD32, np.zeros(WORDS, np.uint32))
    answer_all(rounds, rounds.due(0.0), RTT_S)
    rounds.finish(round_)
    return RTT_S


def test_first_chunk_behind_quorum_results_needs_no_credit() -> None:
    """A late worker has spent its credit, no round trip gives it new credit, and the quorum was faster for a while."""
    quorum = replace(TICKET, workers=2, quorum=1)
    rounds = make_round_sequence(quorum, window=WINDOW, congestion="fixed", pacing=True)
    rounds.start(LaneOp.ADD32, np.zeros(20 * WORDS, np.uint32))
    burst = read(rounds.due(0.0))
    for header in burst:
        request = answer(quorum, Kind.PENDING, flags=Flag.BYPASS, workers=0b10, chunk=header.chunk)
        assert not rounds.receive(request, RTT_S)
    assert len(rounds.due(RTT_S)) == len(burst)
    for chunk in range(2 * len(burst)):
        assert rounds.receive(answer(quorum, flags=Flag.PARTIAL, workers=0b10, chunk=chunk), 2 * RTT_S)
    assert [header.chunk for header in read(rounds.due(2 * RTT_S))] == [2 * len(burst)]


def test_unmeasured_path_gets_one_burst() -> None:
    rounds = lone()
    rounds.start(LaneOp.ADD32, np.zeros(WINDOW * WORDS, np.uint32))
    first = rounds.due(0.0)
    assert len(first) == 8 and rounds.due(10.0) != []  # the probe of the first
    answer_all(rounds, first[:1], 10.1)
    assert len(rounds.due(10.2)) > 0


def test_pacer_credit_grows_with_time() -> None:
    pacer = Pacer()
    assert pacer.credit(1.0, WINDOW) == 8 and pacer.left_s(WINDOW) == 0
    pacer.spend(8)
    assert pacer.credit(2.0, WINDOW) == 0 and pacer.left_s(WINDOW) is None
    pacer.sample(RTT_S)
    left_s = pacer.left_s(WINDOW)
    assert left_s == pytest.approx(RTT_S / WINDOW / 1.25)
    assert pacer.credit(2.0 + left_s, WINDOW) == 1
    # A longer round trip counts for an eighth.
    pacer.sample(2 * RTT_S)
    pacer.spend(1)
    assert pacer.left_s(WINDOW) == pytest.approx(1.125 * RTT_S / WINDOW / 1.25)

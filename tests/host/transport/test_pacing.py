# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Pacing spreads a window over a round trip, and holds nothing up for longer than that."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lanesum.protocol import LaneOp
from lanesum.transport.pacing import Pacer
from lanesum.transport.round_factory import AnyRoundSequence, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

RTT_S = 0.1
WINDOW = 100
TICKET = ticket(0, 1, slots=1000)
WORDS = TICKET.accumulator_words


def lone(*, pacing: bool = True, slots: int = TICKET.slots) -> AnyRoundSequence:
    """Rounds of a job of one worker."""
    return make_round_sequence(replace(TICKET, slots=slots), window=WINDOW, congestion="fixed", pacing=pacing)


def results(rounds: AnyRoundSequence, datagrams: list[memoryview], now: float) -> None:
    """All of them are answered at ``now``."""
    for header in read(datagrams):
        assert rounds.receive(answer(TICKET, workers=0b1, epoch=header.epoch, chunk=header.chunk), now)


def measured(rounds: AnyRoundSequence) -> float:
    """Have them know the round trip; the time after that."""
    window = rounds.start(LaneOp.ADD32, np.zeros(8 * WORDS, np.uint32))
    results(rounds, rounds.due(0.0), RTT_S)
    rounds.finish(window)
    return RTT_S


def test_a_window_leaves_within_a_round_trip_but_not_at_once() -> None:
    rounds = lone()
    begin = now = measured(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    sent: list[float] = []
    while len(sent) < WINDOW:
        sent += [now] * len(rounds.due(now))
        left_s = rounds.next_timeout(now)
        assert left_s is not None
        now += left_s
    assert sent.count(begin) == 8  # a burst, so that something is on its way
    assert 0.5 * RTT_S < sent[-1] - begin < RTT_S
    # One by one, and no more than a window, for which nobody has answered.
    assert all(later - earlier < 2 * RTT_S / WINDOW for earlier, later in itertools.pairwise(sent))
    assert rounds.due(sent[-1]) == []


def test_without_it_a_window_leaves_at_once() -> None:
    rounds = lone(pacing=False)
    now = measured(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    assert len(rounds.due(now)) == WINDOW


def test_what_late_timers_have_held_up_leaves_when_they_come() -> None:
    """A millisecond of a window of 100 packets in 10 ms: more than a burst."""
    rounds = lone()
    window = rounds.start(LaneOp.ADD32, np.zeros(8 * WORDS, np.uint32))
    results(rounds, rounds.due(0.0), 0.01)
    rounds.finish(window)
    rounds.start(LaneOp.ADD32, np.zeros(2 * WINDOW * WORDS, np.uint32))
    rounds.due(0.01)
    assert len(rounds.due(0.0108)) == 10
    # But not all that might have left in a long time.
    assert len(rounds.due(0.04)) == 12


def test_the_first_chunk_is_never_kept_back() -> None:
    """All others may wait for it."""
    rounds = lone(slots=1)
    now = measured_one_by_one(rounds)
    rounds.start(LaneOp.ADD32, np.zeros(30 * WORDS, np.uint32))
    for _ in range(30):  # all at the same time, for which there is no credit
        (datagram,) = rounds.due(now)
        results(rounds, [datagram], now)


def measured_one_by_one(rounds: AnyRoundSequence) -> float:
    window = rounds.start(LaneOp.ADD32, np.zeros(WORDS, np.uint32))
    results(rounds, rounds.due(0.0), RTT_S)
    rounds.finish(window)
    return RTT_S


def test_a_path_that_nobody_has_measured_gets_one_burst() -> None:
    rounds = lone()
    rounds.start(LaneOp.ADD32, np.zeros(WINDOW * WORDS, np.uint32))
    first = rounds.due(0.0)
    assert len(first) == 8 and rounds.due(10.0) != []  # the timer of the first
    results(rounds, first[:1], 10.1)
    assert len(rounds.due(10.2)) > 0


def test_credit_grows_with_time_and_is_spent() -> None:
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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""When a round sends again, in virtual time."""

from __future__ import annotations

import numpy as np
import pytest
from virtual_job import answer, read, ticket

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.transport import JobTicket
from lanesum.transport.choose import AnyRounds, make_rounds
from lanesum.transport.rtt import INITIAL_RTO_S, MAX_RTO_S, MIN_RTO_S

pytestmark = pytest.mark.usefixtures("implementation")

CHUNKS = 20


def begin(to: JobTicket, chunks: int) -> AnyRounds:
    rounds = make_rounds(to)
    rounds.start(LaneOp.ADD32, np.zeros(chunks * to.accumulator_words, np.uint32))
    return rounds


def chunks_due(rounds: AnyRounds, now: float) -> list[int]:
    return [header.chunk for header in read(rounds.due(now))]


def test_late_worker_costs_one_probe_not_one_per_packet() -> None:
    """All chunks wait for a worker that is late by two timeouts; then the results come, one by one."""
    to = ticket(slots=64)
    rounds = begin(to, CHUNKS)
    assert chunks_due(rounds, 0.0) == list(range(CHUNKS))
    assert chunks_due(rounds, INITIAL_RTO_S) == [0]  # the probe
    assert chunks_due(rounds, 2 * INITIAL_RTO_S) == []
    for chunk in range(CHUNKS):
        now = 2.5 * INITIAL_RTO_S + chunk * 1e-4
        assert rounds.receive(answer(to, workers=3, chunk=chunk), now)
        assert chunks_due(rounds, now) == []
    assert rounds.stats.retransmissions == 1


def test_a_slow_aggregation_point_causes_no_retransmissions() -> None:
    """A full window takes longer than the timeout to come back, but it does come back, one by one."""
    to = ticket(workers=1, slots=64)
    rounds = begin(to, 65)
    assert chunks_due(rounds, 0.0) == list(range(64))
    rounds.receive(answer(to, workers=1), 0.001)  # the shortest round trip
    assert chunks_due(rounds, 0.001) == [64]
    for chunk in range(1, 65):
        now = 0.01 * (chunk + 1)
        assert chunks_due(rounds, now) == []
        assert rounds.receive(answer(to, workers=1, chunk=chunk), now)
    assert rounds.stats.retransmissions == 0


def test_overtaken_packets_are_sent_again_at_once_and_then_by_a_quick_timer() -> None:
    """Nobody can be late with a chunk when a later one has its result."""
    to = ticket(slots=64)
    rounds = begin(to, CHUNKS)
    rounds.due(0.0)
    for chunk in range(1, 9):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
        assert chunks_due(rounds, 1e-3) == []
    rounds.receive(answer(to, workers=3, chunk=9), 1e-3)
    assert chunks_due(rounds, 1e-3) == [0]
    assert rounds.next_timeout(1e-3) == 8e-3  # twice four round trips, not 20 ms
    assert chunks_due(rounds, 8.9e-3) == []
    assert chunks_due(rounds, 9.1e-3) == [0]
    assert chunks_due(rounds, 9.1e-3 + 15e-3) == []
    assert chunks_due(rounds, 9.1e-3 + 17e-3) == [0]
    assert rounds.stats.bypasses == 0


def test_from_the_third_try_every_second_one_goes_past_the_switches() -> None:
    rounds = begin(ticket(), 1)
    now = 0.0
    tries = []
    for _ in range(8):
        (header,) = read(rounds.due(now))
        tries.append(header.flags)
        left_s = rounds.next_timeout(now)
        assert left_s is not None and left_s <= MAX_RTO_S
        now += left_s
    again, past = Flag.RESEND, Flag.RESEND | Flag.BYPASS
    assert tries == [0, again, past, again, past, again, past, again]
    assert rounds.stats.bypasses == 3


def test_pending_answers_keep_the_timer_short() -> None:
    """The path is alive: keep asking, at a gentle pace."""
    to = ticket()
    rounds = begin(to, 1)
    rounds.receive(answer(to, Kind.PENDING, workers=1), 0.0)
    now = 0.0
    for _ in range(8):
        rounds.due(now)
        rounds.receive(answer(to, Kind.PENDING, workers=1), now)
        left_s = rounds.next_timeout(now)
        assert left_s is not None and left_s <= 4 * INITIAL_RTO_S
        now += left_s


def test_the_timers_have_a_floor() -> None:
    to = ticket(workers=1)
    rounds = begin(to, 8)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=1), 1e-6)
    assert rounds.next_timeout(1e-6) == MIN_RTO_S


def test_slots_do_not_wait_for_one_that_repairs_a_loss() -> None:
    to = ticket(slots=16)
    rounds = begin(to, 60)
    assert chunks_due(rounds, 0.0) == list(range(16))
    for chunk in range(1, 9):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
    assert chunks_due(rounds, 1e-3) == list(range(17, 25))  # and not 16, whose slot chunk 0 still has
    for chunk in range(9, 16):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
    assert chunks_due(rounds, 1e-3) == [0, *range(25, 32)]
    rounds.receive(answer(to, workers=3, chunk=17), 2e-3)
    assert chunks_due(rounds, 2e-3) == [33]
    rounds.receive(answer(to, workers=3, chunk=0), 2e-3)
    assert chunks_due(rounds, 2e-3) == [16]


def test_at_the_end_of_a_round_fewer_packets_make_a_loss() -> None:
    """As many as usual cannot overtake the last ones; one that did is enough for the quick timer."""
    to = ticket(slots=64)
    rounds = begin(to, 3)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=3, chunk=0), 1e-3)
    assert rounds.next_timeout(1e-3) == MIN_RTO_S  # nothing overtook 1 and 2
    rounds.receive(answer(to, workers=3, chunk=2), 1e-3)
    assert rounds.next_timeout(1e-3) == 3e-3
    assert chunks_due(rounds, 3.9e-3) == []
    assert chunks_due(rounds, 4.1e-3) == [1]


def test_a_path_may_be_silent_for_long() -> None:
    """Thousands of timers, each twice as long as the one before, up to a second."""
    rounds = begin(ticket(), 1)
    now = 0.0
    for _ in range(2000):
        rounds.due(now)
        left_s = rounds.next_timeout(now)
        assert left_s is not None and 0 < left_s <= MAX_RTO_S
        now += left_s
    assert left_s == MAX_RTO_S

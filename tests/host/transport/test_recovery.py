# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""When a round sends again, in virtual time."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum.transport import JobTicket
from lanesum.transport.constants import INITIAL_PTO_S, MAX_PTO_S, MIN_PTO_S
from lanesum.transport.round_factory import AnyRoundSequence, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

CHUNKS = 20
NEAR_S, FAR_S = 1e-4, 1.5e-2  # round trips


def begin(to: JobTicket, chunks: int) -> AnyRoundSequence:
    rounds = make_round_sequence(to)
    rounds.start(LaneOp.ADD32, np.zeros(chunks * to.accumulator_words, np.uint32))
    return rounds


def chunks_due(rounds: AnyRoundSequence, now: float) -> list[int]:
    return [header.chunk for header in read(rounds.due(now))]


def test_late_worker_costs_one_probe_not_one_per_packet() -> None:
    """All chunks wait for a worker that is late by two timeouts; then the results come, one by one."""
    to = ticket(slots=64)
    rounds = begin(to, CHUNKS)
    assert chunks_due(rounds, 0.0) == list(range(CHUNKS))
    assert chunks_due(rounds, INITIAL_PTO_S) == [0]  # the probe
    assert chunks_due(rounds, 2 * INITIAL_PTO_S) == []
    for chunk in range(CHUNKS):
        now = 2.5 * INITIAL_PTO_S + chunk * 1e-4
        assert rounds.receive(answer(to, workers=3, chunk=chunk), now)
        assert chunks_due(rounds, now) == []
    assert rounds.stats.retransmissions == 1


def after_long_round_trips(
    chunks: int, round_trip_s: float = 0.2, servers: int = 1
) -> tuple[AnyRoundSequence, JobTicket, float]:
    """A round after one in which everything waited in a queue, or for a late worker: no round trip was shorter."""
    to = ticket(slots=512)
    rounds = make_round_sequence(to)
    window = rounds.start(LaneOp.ADD32, np.zeros(200 * to.accumulator_words, np.uint32))
    rounds.due(0.0)
    for chunk in range(200):
        rounds.receive(answer(to, workers=3, chunk=chunk), round_trip_s)
    rounds.finish(window)
    rounds.start(LaneOp.ADD32, np.zeros(chunks * to.accumulator_words, np.uint32))
    return rounds, to, round_trip_s


def test_a_burst_to_one_server_says_nothing_of_another() -> None:
    to = with_servers(2, slots=64)
    rounds = begin(to, 12)
    assert chunks_due(rounds, 0.0) == list(range(12))
    assert chunks_due(rounds, INITIAL_PTO_S) == [0]
    rounds.receive(answer(to, workers=3, chunk=0), INITIAL_PTO_S + 1e-3)
    # The first one left, at the other server, has a timer of its own.
    assert chunks_due(rounds, INITIAL_PTO_S + 1e-3) == [1, 2, 4]


def test_the_lost_end_of_a_burst_is_repaired_in_a_few_round_trips() -> None:
    """Nothing comes behind it that could overtake it. It took a timeout for each of its packets."""
    rounds, to, now = after_long_round_trips(100)
    assert chunks_due(rounds, now) == list(range(100))
    now += 0.2
    for chunk in range(40):
        rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk), now)
    left_s = rounds.next_timeout(now)
    assert left_s == pytest.approx(0.8)  # four round trips; so far a late worker may be the reason
    now += left_s
    sent, trips = [chunks_due(rounds, now)], 0
    while sent[-1]:
        now, trips = now + 1e-3, trips + 1
        for chunk in sent[-1]:
            rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk), now)
        if trips < 3:
            assert rounds.next_timeout(now) == 0
        sent.append(chunks_due(rounds, now))
    assert sent[:4] == [[40], [41, 42], [43, 44, 45, 46], list(range(47, 55))]
    assert trips == 6 and sorted(chunk for some in sent for chunk in some) == list(range(40, 100))


def test_a_probe_that_others_are_missing_for_proves_no_loss() -> None:
    rounds, to, now = after_long_round_trips(10)
    rounds.due(now)
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.receive(answer(to, Kind.PENDING, epoch=1, workers=1, chunk=0), now + 1e-3)
    rounds.receive(answer(to, epoch=1, workers=3, chunk=0), now + 2e-3)
    assert chunks_due(rounds, now + 2e-3) == []


def test_a_result_long_after_a_probe_proves_no_loss() -> None:
    """The pending answer may have been lost."""
    rounds, to, now = after_long_round_trips(10)
    rounds.due(now)
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.receive(answer(to, epoch=1, workers=3, chunk=0), now + 0.81)
    assert chunks_due(rounds, now + 0.81) == []


def test_what_was_sent_after_a_probe_is_not_thought_to_be_lost() -> None:
    rounds, to, now = after_long_round_trips(9)
    assert chunks_due(rounds, now) == list(range(9))
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.start(LaneOp.ADD32, np.zeros(20 * to.accumulator_words, np.uint32))
    assert chunks_due(rounds, now) == list(range(20))
    for chunk, expected in enumerate(([1, 2], [3, 4], [5, 6], [7, 8], [])):
        now += 1e-3
        rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk), now)
        assert chunks_due(rounds, now) == expected


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
        assert left_s is not None and left_s <= MAX_PTO_S
        now += left_s
    again, past = Flag.RETRANSMISSION, Flag.RETRANSMISSION | Flag.BYPASS
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
        assert left_s is not None and left_s <= 4 * INITIAL_PTO_S
        now += left_s


def test_the_timers_have_a_floor() -> None:
    to = ticket(workers=1)
    rounds = begin(to, 8)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=1), 1e-6)
    assert rounds.next_timeout(1e-6) == MIN_PTO_S


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
    assert rounds.next_timeout(1e-3) == MIN_PTO_S  # nothing overtook 1 and 2
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
        assert left_s is not None and 0 < left_s <= MAX_PTO_S
        now += left_s
    assert left_s == MAX_PTO_S


def with_servers(servers: int, **fields: Any) -> JobTicket:
    return ticket(servers=tuple((f"10.0.1.{number}", UDP_PORT) for number in range(servers)), **fields)


def test_a_far_server_is_not_taken_for_a_lossy_one() -> None:
    """Slots take turns between a near and a far server; nothing is lost, so nothing is sent again."""
    to = with_servers(2, workers=1, slots=64)
    rounds = begin(to, 1000)
    answers: list[tuple[float, int]] = []
    now = 0.0
    while True:
        for header in read(rounds.due(now)):
            heapq.heappush(answers, (now + (FAR_S if header.slot % 2 else NEAR_S), header.chunk))
        if not answers:
            break
        left_s = rounds.next_timeout(now)
        if left_s is not None and now + left_s < answers[0][0]:
            now += left_s
            continue
        now, chunk = heapq.heappop(answers)
        rounds.receive(answer(to, workers=1, chunk=chunk), now)
    assert rounds.stats.packets_sent == 1000
    assert rounds.stats.retransmissions == 0


def test_only_later_packets_to_the_same_server_make_a_loss() -> None:
    to = with_servers(3, slots=63)
    rounds = begin(to, 60)
    rounds.due(0.0)
    others = [chunk for chunk in range(60) if chunk % 3]
    same = list(range(3, 60, 3))
    for chunk in others + same[:8]:
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
        assert chunks_due(rounds, 1e-3) == []
    rounds.receive(answer(to, workers=3, chunk=same[8]), 1e-3)
    assert chunks_due(rounds, 1e-3) == [0]


def test_every_server_has_its_own_quick_timer() -> None:
    """Four round trips of the server that was asked, however quick another one is."""
    to = with_servers(2, slots=64)
    rounds = begin(to, 6)
    rounds.due(0.0)
    for chunk, when in ((4, 1e-3), (5, 4e-3)):
        rounds.receive(answer(to, workers=3, chunk=chunk), when)
    assert chunks_due(rounds, 3.9e-3) == []
    assert chunks_due(rounds, 4.1e-3) == [0, 2]
    assert chunks_due(rounds, 15.9e-3) == [0, 2]
    rounds.receive(answer(to, workers=3, chunk=0), 15.95e-3)
    rounds.receive(answer(to, workers=3, chunk=2), 15.95e-3)
    assert chunks_due(rounds, 16.1e-3) == [1, 3]


def test_results_of_other_servers_do_not_put_off_the_timer() -> None:
    """The first chunk's server is silent; what another one answers says nothing about that."""
    to = with_servers(2, slots=8)
    rounds = begin(to, 200)
    rounds.due(0.0)
    probes = []
    for chunk in range(1, 60, 2):
        now = chunk * 4e-3
        rounds.receive(answer(to, workers=3, chunk=chunk), now)
        sent = chunks_due(rounds, now)
        probes += [now] if 0 in sent else []
    assert probes
    assert min(probes) < INITIAL_PTO_S + 8e-3


def test_a_far_servers_results_are_not_asked_for_while_they_are_under_way() -> None:
    """Who asks so soon cannot have what was sent; how soon that is depends on his server."""
    to = with_servers(2, slots=64)
    rounds = begin(to, 6)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=3, chunk=0), 1e-3)
    rounds.receive(answer(to, workers=3, chunk=1), 10e-3)
    for chunk in (2, 3):  # sent at 0: long ago for both
        rounds.receive(answer(to, Kind.PENDING, workers=2, chunk=chunk), 10e-3)
    assert chunks_due(rounds, 10e-3) == [2, 3]
    for chunk in (2, 3):
        rounds.receive(answer(to, Kind.PENDING, workers=2, chunk=chunk), 12e-3)
    assert chunks_due(rounds, 12e-3) == [2]


def test_what_has_its_result_is_asked_for_at_the_pace_of_its_server_too() -> None:
    to = with_servers(2, slots=64)
    rounds = make_round_sequence(to)
    window = rounds.start(LaneOp.ADD32, np.zeros(4, np.uint32))
    rounds.due(0.0)
    for chunk, when in ((0, 1e-3), (1, 10e-3)):
        rounds.receive(answer(to, workers=3, chunk=chunk), when)
    rounds.finish(window)
    sent = []
    for now in (20e-3, 25e-3, 31e-3):
        for chunk in range(2):
            rounds.receive(answer(to, Kind.PENDING, workers=2, chunk=chunk), now)
        sent.append(chunks_due(rounds, now))
    assert sent == [[0, 1], [0], [0, 1]]


def test_the_last_packet_on_a_path_does_not_wait_for_the_long_timer() -> None:
    """Nothing can overtake it there; but nobody is late with it when a later one to another server has its result."""
    to = with_servers(2, slots=64)
    rounds = begin(to, 8)
    rounds.due(0.0)
    for chunk in range(6):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
    assert rounds.next_timeout(1e-3) == MIN_PTO_S
    rounds.receive(answer(to, workers=3, chunk=7), 1.5e-3)
    assert rounds.next_timeout(2e-3) == pytest.approx(3e-3)  # four round trips since the path's last result
    assert chunks_due(rounds, 4.9e-3) == []
    assert chunks_due(rounds, 5.1e-3) == [6]

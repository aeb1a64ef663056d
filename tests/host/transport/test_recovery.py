# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loss detection and its timers, in virtual time."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.protocol.spec import SLOT_RUN, UDP_PORT
from lanesum.transport import JobTicket
from lanesum.transport.constants import INITIAL_PTO_S, MAX_PTO_S, MIN_PTO_S, RESULTS_WITHOUT_LOSS
from lanesum.transport.native_engine import AnyRoundSequence, make_round_sequence
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


def test_late_worker_costs_one_probe() -> None:
    """All chunks wait for a worker that is late by two timeouts; then the results arrive one by one."""
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
    """Return a started round after one whose chunks all waited in a queue, or for a late worker."""
    to = ticket(slots=512)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, np.zeros(200 * to.accumulator_words, np.uint32))
    rounds.due(0.0)
    for chunk in range(200):
        rounds.receive(answer(to, workers=3, chunk=chunk), round_trip_s)
    rounds.finish(round_)
    rounds.start(LaneOp.ADD32, np.zeros(chunks * to.accumulator_words, np.uint32))
    return rounds, to, round_trip_s


def test_probes_after_lost_burst_stay_on_their_path() -> None:
    to = with_servers(2, slots=64)
    rounds = begin(to, 12)
    assert chunks_due(rounds, 0.0) == list(range(12))
    assert chunks_due(rounds, INITIAL_PTO_S) == [0]
    rounds.receive(answer(to, workers=3, chunk=0, flags=Flag.RETRANSMISSION), INITIAL_PTO_S + 1e-3)
    # Chunk 1, the first one left, belongs to the other server and has the probe timer now.
    assert chunks_due(rounds, INITIAL_PTO_S + 1e-3) == [1, 2, 4]


def test_lost_burst_end_is_repaired_in_few_rtts() -> None:
    """No later packet shows the loss. Without probes it took one timeout per packet."""
    rounds, to, now = after_long_round_trips(100)
    assert chunks_due(rounds, now) == list(range(100))
    now += 0.2
    for chunk in range(40):
        rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk), now)
    left_s = rounds.next_timeout(now)
    assert left_s == pytest.approx(0.8)  # four round trips: a late worker may be the reason
    now += left_s
    sent, trips = [chunks_due(rounds, now)], 0
    while sent[-1]:
        now, trips = now + 1e-3, trips + 1
        for chunk in sent[-1]:
            rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk, flags=Flag.RETRANSMISSION), now)
        if trips < 3:
            assert rounds.next_timeout(now) == 0
        sent.append(chunks_due(rounds, now))
    assert sent[:4] == [[40], [41, 42], [43, 44, 45, 46], list(range(47, 55))]
    assert trips == 6 and sorted(chunk for some in sent for chunk in some) == list(range(40, 100))


def test_probe_with_missing_workers_proves_no_loss() -> None:
    rounds, to, now = after_long_round_trips(10)
    rounds.due(now)
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.receive(answer(to, Kind.PENDING, epoch=1, workers=1, chunk=0), now + 1e-3)
    rounds.receive(answer(to, epoch=1, workers=3, chunk=0, flags=Flag.RETRANSMISSION), now + 2e-3)
    assert chunks_due(rounds, now + 2e-3) == []


def test_result_long_after_probe_proves_no_loss() -> None:
    """The pending answer may have been lost."""
    rounds, to, now = after_long_round_trips(10)
    rounds.due(now)
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.receive(answer(to, epoch=1, workers=3, chunk=0, flags=Flag.RETRANSMISSION), now + 0.81)
    assert chunks_due(rounds, now + 0.81) == []


def test_result_without_retransmission_proves_no_loss() -> None:
    """It is the result of the first transmissions, which arrives while the probe waits behind its own window."""
    rounds, to, now = after_long_round_trips(10)
    rounds.due(now)
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.receive(answer(to, epoch=1, workers=3, chunk=0), now + 1e-3)
    assert chunks_due(rounds, now + 1e-3) == []


def test_probe_credit_excludes_chunks_sent_after_probe() -> None:
    rounds, to, now = after_long_round_trips(9)
    assert chunks_due(rounds, now) == list(range(9))
    now += 0.8
    assert chunks_due(rounds, now) == [0]
    rounds.start(LaneOp.ADD32, np.zeros(20 * to.accumulator_words, np.uint32))
    assert chunks_due(rounds, now) == list(range(20))
    for chunk, expected in enumerate(([1, 2], [3, 4], [5, 6], [7, 8], [])):
        now += 1e-3
        rounds.receive(answer(to, epoch=1, workers=3, chunk=chunk, flags=Flag.RETRANSMISSION), now)
        assert chunks_due(rounds, now) == expected


def test_slow_aggregation_point_causes_no_retransmissions() -> None:
    """The results of a full window take longer than the timeout, but arrive one by one."""
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


def test_reordered_chunk_retransmits_at_once_then_by_time() -> None:
    """No worker is late with a chunk when a later one has its result."""
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


def test_other_shares_prove_no_loss_after_reordering() -> None:
    """Two threads of the server answer in any order, and each in order."""
    to = ticket(slots=4 * SLOT_RUN)
    rounds = begin(to, 4 * SLOT_RUN)
    first, second, third, fourth = (list(range(run * SLOT_RUN, (run + 1) * SLOT_RUN)) for run in range(4))
    assert chunks_due(rounds, 0.0) == first + second + third + fourth
    now = NEAR_S
    for chunk in second:
        rounds.receive(answer(to, workers=3, chunk=chunk), now)
    assert chunks_due(rounds, now) == first  # nothing tells yet that threads reorder results
    for chunk in first:
        rounds.receive(answer(to, workers=3, chunk=chunk), now)
    for chunk in fourth:
        rounds.receive(answer(to, workers=3, chunk=chunk), now)
    assert chunks_due(rounds, now) == []
    rounds.receive(answer(to, workers=3, chunk=third[-1]), now)
    assert chunks_due(rounds, now) == third[:7]  # more than 8 packets before a result of their share
    # The rest is suspicious only until its time threshold.
    assert chunks_due(rounds, 10 * NEAR_S) == third[:-1]


def test_repaired_loss_keeps_results_in_order() -> None:
    to = ticket(slots=4 * SLOT_RUN)
    rounds = begin(to, 4 * SLOT_RUN)
    rounds.due(0.0)
    for chunk in range(SLOT_RUN, 2 * SLOT_RUN):
        rounds.receive(answer(to, workers=3, chunk=chunk), NEAR_S)
    assert chunks_due(rounds, NEAR_S) == list(range(SLOT_RUN))
    for chunk in range(SLOT_RUN):
        rounds.receive(answer(to, workers=3, chunk=chunk, flags=Flag.RETRANSMISSION), NEAR_S)
    rounds.receive(answer(to, workers=3, chunk=4 * SLOT_RUN - 1), NEAR_S)
    assert chunks_due(rounds, NEAR_S) == list(range(2 * SLOT_RUN, 4 * SLOT_RUN - 9))


def test_every_second_probe_bypasses_switches_from_third_try() -> None:
    rounds = begin(ticket(), 1)
    now = 0.0
    tries = []
    for _ in range(8):
        (header,) = read(rounds.due(now))
        tries.append(header.flags)
        left_s = rounds.next_timeout(now)
        assert left_s is not None and left_s <= MAX_PTO_S
        now += left_s
    direct, bypass = Flag.RETRANSMISSION, Flag.RETRANSMISSION | Flag.BYPASS
    assert tries == [0, direct, bypass, direct, bypass, direct, bypass, direct]
    assert rounds.stats.bypasses == 3


def test_pending_answers_limit_probe_backoff() -> None:
    """The path is alive: probes continue at a moderate pace."""
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


def test_probe_timeout_has_minimum() -> None:
    to = ticket(workers=1)
    rounds = begin(to, 8)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=1), 1e-6)
    assert rounds.next_timeout(1e-6) == MIN_PTO_S


def test_needless_probes_lengthen_probe_timeout() -> None:
    """A result without the flag shows that its probe was needless; one with it ends this."""
    to = ticket(slots=128)
    rounds = begin(to, RESULTS_WITHOUT_LOSS + CHUNKS)
    rounds.due(0.0)
    now = NEAR_S
    for chunk in range(RESULTS_WITHOUT_LOSS):
        rounds.receive(answer(to, workers=3, chunk=chunk), now)
    rounds.due(now)
    factors = []
    for chunk, flags in enumerate([Flag(0)] * 5 + [Flag.RETRANSMISSION] + [Flag(0)] * 2, RESULTS_WITHOUT_LOSS):
        timeout_s = rounds.next_timeout(now)
        assert timeout_s is not None
        factors.append(timeout_s / MIN_PTO_S)
        now += timeout_s + 1e-6
        assert chunks_due(rounds, now) == [chunk]
        now += 20 * NEAR_S  # too late for a probe that shows a lost burst
        rounds.receive(answer(to, workers=3, chunk=chunk, flags=flags), now)
        assert chunks_due(rounds, now) == []
    assert factors == pytest.approx([1, 2, 4, 8, 16, 16, 1, 1], rel=1e-3)


def test_slots_continue_while_one_repairs_loss() -> None:
    to = ticket(slots=16)
    rounds = begin(to, 60)
    assert chunks_due(rounds, 0.0) == list(range(16))
    for chunk in range(1, 9):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
    assert chunks_due(rounds, 1e-3) == list(range(17, 25))  # and not 16: chunk 0 still has its slot
    for chunk in range(9, 16):
        rounds.receive(answer(to, workers=3, chunk=chunk), 1e-3)
    assert chunks_due(rounds, 1e-3) == [0, *range(25, 32)]
    rounds.receive(answer(to, workers=3, chunk=17), 2e-3)
    assert chunks_due(rounds, 2e-3) == [33]
    rounds.receive(answer(to, workers=3, chunk=0), 2e-3)
    assert chunks_due(rounds, 2e-3) == [16]


def test_one_later_result_suffices_at_end_of_round() -> None:
    """Too few packets follow the last ones for the reordering threshold; one result starts the time threshold."""
    to = ticket(slots=64)
    rounds = begin(to, 3)
    rounds.due(0.0)
    rounds.receive(answer(to, workers=3, chunk=0), 1e-3)
    assert rounds.next_timeout(1e-3) == MIN_PTO_S  # no later result than 1 and 2
    rounds.receive(answer(to, workers=3, chunk=2), 1e-3)
    assert rounds.next_timeout(1e-3) == 3e-3
    assert chunks_due(rounds, 3.9e-3) == []
    assert chunks_due(rounds, 4.1e-3) == [1]


def test_probe_backoff_stays_at_maximum() -> None:
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


def test_far_server_causes_no_retransmissions() -> None:
    """Slots take turns between a near and a far server, without losses."""
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


def test_reordering_threshold_counts_packets_of_one_path() -> None:
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


def test_time_threshold_is_per_path() -> None:
    """Four round trips of the chunk's server, whatever those of another one."""
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


def test_results_of_other_servers_keep_probe_timer() -> None:
    """The first chunk's server is silent, and another one answers."""
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


def test_far_server_request_for_recent_chunk_is_ignored() -> None:
    """A contribution sent within the round trip of its server may still be in flight."""
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


def test_retransmit_buffer_requests_are_limited_per_path() -> None:
    to = with_servers(2, slots=64)
    rounds = make_round_sequence(to)
    round_ = rounds.start(LaneOp.ADD32, np.zeros(4, np.uint32))
    rounds.due(0.0)
    for chunk, when in ((0, 1e-3), (1, 10e-3)):
        rounds.receive(answer(to, workers=3, chunk=chunk), when)
    rounds.finish(round_)
    sent = []
    for now in (20e-3, 25e-3, 31e-3):
        for chunk in range(2):
            rounds.receive(answer(to, Kind.PENDING, workers=2, chunk=chunk), now)
        sent.append(chunks_due(rounds, now))
    assert sent == [[0, 1], [0], [0, 1]]


def test_last_chunk_of_path_needs_no_probe_timeout() -> None:
    """No later packet of its path exists; a later result of another path shows that no worker is late."""
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


def test_requests_of_gathered_rounds_bypass_switches() -> None:
    """A pending answer without the flag asked for packets that a switch would route, or count as another round's."""
    to = ticket(slots=64)
    rounds = make_round_sequence(to)
    rounds.start(LaneOp.ADD32, np.zeros(4 * to.accumulator_words, np.uint32), gathered=True)
    sent = read(rounds.due(0.0))
    assert len(sent) > 1 and all(header.flags & Flag.BYPASS for header in sent)
    later = 2 * INITIAL_PTO_S
    rounds.due(later)
    rounds.receive(answer(to, Kind.PENDING, workers=2, chunk=1), later + NEAR_S + MIN_PTO_S)
    again = read(rounds.due(later + NEAR_S + MIN_PTO_S))
    assert 1 in [header.chunk for header in again]
    assert all(header.flags & Flag.BYPASS for header in again)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The two windows: one answers to full queues, the other to slots that other jobs hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.transport import congestion, rtt, slot_backoff
from lanesum.transport.congestion import congestion_control
from lanesum.transport.round_factory import AnyRoundSequence, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

EVERYBODY = 0b1


def parts() -> Any:
    """Where the classes of ``lanesum.transport.congestion`` are, of the implementation that is tested."""
    return availability().core or congestion


def parts_of_rtt() -> Any:
    """Where the estimator is, of the implementation that is tested."""
    return availability().core or rtt


def lone(chunks: int, window: int, congestion: str = "aimd", slots: int = 64) -> AnyRoundSequence:
    """A round of a job with one worker."""
    to = ticket(0, 1, slots=slots)
    rounds = make_round_sequence(to, window=window, congestion=congestion)
    rounds.start(LaneOp.ADD32, np.zeros(2 * chunks, np.uint32))
    return rounds


def result(chunk: int, flags: int = 0) -> bytes:
    return answer(ticket(0, 1), workers=EVERYBODY, chunk=chunk, flags=flags)


def test_marks_halve_once_per_window_and_clean_results_bring_it_back() -> None:
    rounds = lone(200, 16)
    assert len(rounds.due(0.0)) == 16
    for chunk in range(8):  # all of one window: one queue, one answer
        rounds.receive(result(chunk, Flag.ECN), 0.0)
    assert rounds.due(0.0) == []  # 8 are under way
    rounds.receive(result(8), 0.0)
    assert [header.chunk for header in read(rounds.due(0.0))] == [16]
    rounds.receive(result(16, Flag.ECN), 0.0)  # sent after the first halving
    assert rounds.due(0.0) == []
    assert rounds.stats.ecn_marks == 9
    under_way, largest = list(range(9, 16)), 0
    while under_way:
        rounds.receive(result(under_way.pop(0)), 0.0)
        under_way += [header.chunk for header in read(rounds.due(0.0))]
        largest = max(largest, len(under_way))
    assert largest == 16


def test_fixed_windows_do_not_move() -> None:
    rounds = lone(200, 16, "fixed")
    rounds.due(0.0)
    for chunk in range(16):
        rounds.receive(result(chunk, Flag.ECN), 0.0)
        assert [header.chunk for header in read(rounds.due(0.0))] == [16 + chunk]
    fixed = parts().FixedWindow(3)
    fixed.on_persistent_congestion(0, 3)
    fixed.on_packet_lost(0, 3)
    fixed.on_packet_acked(0, 3, marked=True)
    assert congestion_control("fixed", 3).congestion_window == fixed.congestion_window == 3


@pytest.mark.parametrize(("rtt_s", "left"), [(1e-3, 16), (0.1, 8)])
def test_what_is_lost_while_a_queue_stands_halves_once_per_window(rtt_s: float, left: int) -> None:
    """A wire that drops at random has no longer round trips than without a loss; a full queue has."""
    rounds = lone(400, 16)
    lost, now = 9 * 16, 0.0
    rounds.due(now)
    for chunk in range(lost):  # round trips of 1 ms, then of ``rtt_s`` for two episodes of the estimator
        now += (1e-3 if chunk < 16 else rtt_s) / 16
        rounds.receive(result(chunk), now)
        rounds.due(now)
    # Two in a row are lost, of the same window.
    again: set[int] = set()
    for later in range(lost + 2, lost + 16):
        now += rtt_s / 16
        rounds.receive(result(later), now)
        again |= {header.chunk for header in read(rounds.due(now)) if header.flags & Flag.RETRANSMISSION}
    assert again == {lost, lost + 1}
    assert rounds._link.congestion.congestion_window in (left, left + 1)  # grown since


def test_a_queue_stands_where_no_round_trip_of_late_is_short() -> None:
    estimator = parts_of_rtt().RttEstimator()
    assert not estimator.queued
    for rtt_s in [0.010] + [0.050] * 63:
        estimator.sample(rtt_s)
    for _ in range(63):
        assert not estimator.queued  # a short one in the episode before
        estimator.sample(0.050)
    estimator.sample(0.050)
    assert estimator.queued
    estimator.sample(0.021)
    assert not estimator.queued


def test_an_unknown_control_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no congestion control 'cubic'"):
        make_round_sequence(ticket(), congestion="cubic")


def test_one_packet_more_for_a_window_of_clean_results() -> None:
    control = parts().Aimd(64)
    control.on_packet_acked(0, 1, marked=True)
    assert control.congestion_window == 32
    for number in range(1, 33):
        assert control.congestion_window == 32
        control.on_packet_acked(number, number + 1, marked=False)
    assert control.congestion_window == 33


@given(st.lists(st.sampled_from(["clean", "marked", "silent", "lost"]), max_size=200), st.integers(1, 64))
def test_the_window_stays_between_one_and_its_most(events: list[str], most: int) -> None:
    control = parts().Aimd(most)
    for number, event in enumerate(events):
        if event == "silent":
            control.on_persistent_congestion(number, control.congestion_window)
        elif event == "lost":
            control.on_packet_lost(number, number + 1)
        else:
            control.on_packet_acked(number, number + 1, marked=event == "marked")
        assert 1 <= control.congestion_window <= most


def test_silence_halves_but_a_late_worker_does_not() -> None:
    """One timer without an answer is what a late worker looks like; three are a path that is dead."""
    to = ticket(0, 2, slots=64)
    silent, late = (make_round_sequence(to, window=16) for _ in range(2))
    for rounds in (silent, late):
        rounds.start(LaneOp.ADD32, np.zeros(2 * 200, np.uint32))
        now, tries = 0.0, 0
        while tries < 5:
            tries += bool(rounds.due(now))
            if rounds is late:
                rounds.receive(answer(to, Kind.PENDING, workers=0b01), now)
            left_s = rounds.next_timeout(now)
            assert left_s is not None
            now += left_s
        for chunk in range(16):
            rounds.receive(answer(to, workers=0b11, chunk=chunk), now)
    assert len(late.due(now)) == 16
    assert len(silent.due(now)) == 7  # halved twice, then one more for each clean window, of 4, 5 and 6


def test_loss_of_a_lone_packet_says_nothing_about_the_window() -> None:
    control = parts().Aimd(16)
    control.on_persistent_congestion(1, in_flight=1)
    control.on_persistent_congestion(1, in_flight=8)
    assert control.congestion_window == 16
    control.on_persistent_congestion(1, in_flight=9)
    assert control.congestion_window == 8


def turns(collisions: list[bool]) -> list[bool]:
    """Which turns of one slot go past the switches."""
    backoff = (availability().core or slot_backoff).SlotBackoff()
    bypassed = []
    for collided in collisions:
        bypassed.append(backoff.bypasses(5))
        backoff.on_result(5, collided)
    return bypassed


def test_a_slot_that_collides_is_left_alone_for_longer_each_time() -> None:
    bypassed = turns([True] * 100)
    offered = [turn for turn, past in enumerate(bypassed) if not past]
    assert offered == [0, 2, 5, 10, 19, 36, 53, 70, 87]  # 1, 2, 4, 8, 16, 16 turns in between
    assert turns([True, False, False, False]) == [False, True, False, False]
    assert turns([True, False, True, False, False, False, True, False]) == [
        False, True, False, True, True, False, False, True,
    ]  # fmt: skip


@given(st.integers(0, 2**32))
def test_all_workers_leave_the_same_slots_alone(seed: int) -> None:
    """Results in another order over the slots, lost answers, other timing: the choice is the same for every chunk."""
    generator = random.Random(seed)
    slots, chunks, workers = 3, 30, 3
    collided = [generator.random() < 0.5 for _ in range(chunks)]
    choices = []
    for worker in range(workers):
        to = ticket(worker, workers, slots=slots)
        rounds = make_round_sequence(to, window=generator.randint(1, 4))
        window = rounds.start(LaneOp.ADD32, np.zeros(2 * chunks, np.uint32))
        chosen: dict[int, bool] = {}
        now = 0.0
        while not window.complete:
            for header in read(rounds.due(now)):
                chosen.setdefault(header.chunk, bool(header.flags & Flag.BYPASS))
            waiting = [chunk for chunk in chosen if not window.is_done(chunk)]
            chunk = generator.choice(waiting)
            now += generator.random() * 0.3
            flags = Flag.COLLISION if collided[chunk] else 0
            rounds.receive(answer(to, workers=0b111, chunk=chunk, flags=flags), now)
        choices.append(chosen)
        assert rounds.stats.collisions == sum(collided)
    assert choices[0] == choices[1] == choices[2]
    assert any(choices[0].values()) or not any(collided[: chunks - slots])

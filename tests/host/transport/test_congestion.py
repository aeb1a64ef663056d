# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Congestion window and back-off of slots that other jobs hold."""

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
from lanesum.transport.native_engine import AnyRoundSequence, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

ALL = 0b1


def congestion_module() -> Any:
    """Return the module with the tested implementation of ``lanesum.transport.congestion``."""
    return availability().core or congestion


def rtt_module() -> Any:
    """Return the module with the tested implementation of the estimator."""
    return availability().core or rtt


def lone(chunks: int, window: int, congestion: str = "aimd", slots: int = 64) -> AnyRoundSequence:
    """Return rounds of a job with one worker, with one in flight."""
    to = ticket(0, 1, slots=slots)
    rounds = make_round_sequence(to, window=window, congestion=congestion)
    rounds.start(LaneOp.ADD32, np.zeros(2 * chunks, np.uint32))
    return rounds


def result(chunk: int, flags: int = 0) -> bytes:
    return answer(ticket(0, 1), workers=ALL, chunk=chunk, flags=flags)


def test_aimd_marks_halve_once_per_window_then_grow() -> None:
    rounds = lone(200, 16)
    assert len(rounds.due(0.0)) == 16
    for chunk in range(8):  # all of one window, and so of one queue
        rounds.receive(result(chunk, Flag.ECN), 0.0)
    assert rounds.due(0.0) == []  # 8 are in flight
    rounds.receive(result(8), 0.0)
    assert [header.chunk for header in read(rounds.due(0.0))] == [16]
    rounds.receive(result(16, Flag.ECN), 0.0)  # sent after the first halving
    assert rounds.due(0.0) == []
    assert rounds.stats.ecn_marks == 9
    in_flight, largest = list(range(9, 16)), 0
    while in_flight:
        rounds.receive(result(in_flight.pop(0)), 0.0)
        in_flight += [header.chunk for header in read(rounds.due(0.0))]
        largest = max(largest, len(in_flight))
    assert largest == 16


def test_fixed_window_is_constant() -> None:
    rounds = lone(200, 16, "fixed")
    rounds.due(0.0)
    for chunk in range(16):
        rounds.receive(result(chunk, Flag.ECN), 0.0)
        assert [header.chunk for header in read(rounds.due(0.0))] == [16 + chunk]
    fixed = congestion_module().FixedWindow(3)
    fixed.on_persistent_congestion(0, 3)
    fixed.on_packet_lost(0, 3)
    fixed.on_packet_acked(0, 3, marked=True)
    assert congestion_control("fixed", 3).congestion_window == fixed.congestion_window == 3


@pytest.mark.parametrize(("rtt_s", "left"), [(1e-3, 16), (0.1, 8)])
def test_aimd_loss_behind_queue_halves_once_per_window(rtt_s: float, left: int) -> None:
    """A link that drops at random has the same round trips as without losses; a full queue has longer ones."""
    rounds = lone(400, 16)
    lost, now = 9 * 16, 0.0
    rounds.due(now)
    for chunk in range(lost):  # round trips of 1 ms, then of ``rtt_s`` for two episodes of the estimator
        now += (1e-3 if chunk < 16 else rtt_s) / 16
        rounds.receive(result(chunk), now)
        rounds.due(now)
    # Two chunks in a row are lost, of the same window.
    retransmitted: set[int] = set()
    for later in range(lost + 2, lost + 16):
        now += rtt_s / 16
        rounds.receive(result(later), now)
        retransmitted |= {header.chunk for header in read(rounds.due(now)) if header.flags & Flag.RETRANSMISSION}
    assert retransmitted == {lost, lost + 1}
    assert rounds._link.congestion.congestion_window in (left, left + 1)  # grown since


def test_rtt_estimator_detects_queue_by_recent_round_trips() -> None:
    estimator = rtt_module().RttEstimator()
    assert not estimator.queued
    for rtt_s in [0.010] + [0.050] * 63:
        estimator.sample(rtt_s)
    for _ in range(63):
        assert not estimator.queued  # the episode before has a short one
        estimator.sample(0.050)
    estimator.sample(0.050)
    assert estimator.queued
    estimator.sample(0.021)
    assert not estimator.queued


def test_unknown_congestion_control_raises() -> None:
    with pytest.raises(ConfigurationError, match="no congestion control 'cubic'"):
        make_round_sequence(ticket(), congestion="cubic")


def test_aimd_grows_by_one_packet_per_window() -> None:
    control = congestion_module().Aimd(64)
    control.on_packet_acked(0, 1, marked=True)
    assert control.congestion_window == 32
    for number in range(1, 33):
        assert control.congestion_window == 32
        control.on_packet_acked(number, number + 1, marked=False)
    assert control.congestion_window == 33


@given(st.lists(st.sampled_from(["clean", "marked", "silent", "lost"]), max_size=200), st.integers(1, 64))
def test_aimd_window_stays_within_bounds(events: list[str], max_window: int) -> None:
    control = congestion_module().Aimd(max_window)
    for number, event in enumerate(events):
        if event == "silent":
            control.on_persistent_congestion(number, control.congestion_window)
        elif event == "lost":
            control.on_packet_lost(number, number + 1)
        else:
            control.on_packet_acked(number, number + 1, marked=event == "marked")
        assert 1 <= control.congestion_window <= max_window


def test_persistent_congestion_halves_but_late_worker_does_not() -> None:
    """One timeout without an answer may be a late worker; three mean a dead path."""
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
    assert len(silent.due(now)) == 7  # halved twice, then grown by clean windows of 4, 5 and 6


def test_persistent_congestion_needs_a_used_window() -> None:
    control = congestion_module().Aimd(16)
    control.on_persistent_congestion(1, in_flight=1)
    control.on_persistent_congestion(1, in_flight=8)
    assert control.congestion_window == 16
    control.on_persistent_congestion(1, in_flight=9)
    assert control.congestion_window == 8


def bypassed_turns(collisions: list[bool]) -> list[bool]:
    """Return for each turn of one slot whether it bypasses the switches."""
    backoff = (availability().core or slot_backoff).SlotBackoff()
    bypassed = []
    for collided in collisions:
        bypassed.append(backoff.bypasses(5))
        backoff.on_result(5, collided)
    return bypassed


def test_slot_backoff_doubles_up_to_its_limit() -> None:
    bypassed = bypassed_turns([True] * 100)
    offered = [turn for turn, one in enumerate(bypassed) if not one]
    assert offered == [0, 2, 5, 10, 19, 36, 53, 70, 87]  # 1, 2, 4, 8, 16, 16 turns between them
    assert bypassed_turns([True, False, False, False]) == [False, True, False, False]
    assert bypassed_turns([True, False, True, False, False, False, True, False]) == [
        False, True, False, True, True, False, False, True,
    ]  # fmt: skip


@given(st.integers(0, 2**32))
def test_slot_backoff_is_alike_at_all_workers(seed: int) -> None:
    """Results in another order over the slots and other timing do not change the choice for any chunk."""
    rng = random.Random(seed)
    slots, chunks, workers = 3, 30, 3
    collided = [rng.random() < 0.5 for _ in range(chunks)]
    choices = []
    for worker in range(workers):
        to = ticket(worker, workers, slots=slots)
        rounds = make_round_sequence(to, window=rng.randint(1, 4))
        round_ = rounds.start(LaneOp.ADD32, np.zeros(2 * chunks, np.uint32))
        chosen: dict[int, bool] = {}
        now = 0.0
        while not round_.complete:
            for header in read(rounds.due(now)):
                chosen.setdefault(header.chunk, bool(header.flags & Flag.BYPASS))
            waiting = [chunk for chunk in chosen if not round_.is_done(chunk)]
            chunk = rng.choice(waiting)
            now += rng.random() * 0.3
            flags = Flag.COLLISION if collided[chunk] else 0
            rounds.receive(answer(to, workers=0b111, chunk=chunk, flags=flags), now)
        choices.append(chosen)
        assert rounds.stats.collisions == sum(collided)
    assert choices[0] == choices[1] == choices[2]
    assert any(choices[0].values()) or not any(collided[: chunks - slots])

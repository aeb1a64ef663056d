# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Several rounds in flight: slots, timers, retransmissions and retirement."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import Kind, LaneOp
from lanesum.transport.constants import INITIAL_PTO_S, MAX_ROUNDS_IN_FLIGHT
from lanesum.transport.errors import MismatchError
from lanesum.transport.native_engine import AnyRoundSequence, AnyRoundState, make_round_sequence
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

ALL = 0b11


def start(rounds: AnyRoundSequence, chunks: int) -> AnyRoundState:
    return rounds.start(LaneOp.ADD32, np.arange(2 * chunks, dtype=np.uint32))


def due(rounds: AnyRoundSequence, now: float = 0.0) -> list[tuple[int, int]]:
    return [(header.epoch, header.chunk) for header in read(rounds.due(now))]


def test_round_takes_free_slots_after_round_before() -> None:
    """Its chunks wait for occupied slots of any round."""
    to = ticket(slots=4)
    rounds = make_round_sequence(to)
    first, second, third = start(rounds, 3), start(rounds, 2), start(rounds, 4)
    headers = read(rounds.due(0.0))
    assert [(one.epoch, one.chunk, one.slot, one.shadow) for one in headers] == [
        (0, 0, 0, 0), (0, 1, 1, 0), (0, 2, 2, 0), (1, 0, 3, 0),
    ]  # fmt: skip
    assert rounds.receive(answer(to, workers=ALL, epoch=1, chunk=0), 0.0)
    assert due(rounds) == [(2, 2)]  # position 7, in slot 3
    assert rounds.receive(answer(to, workers=ALL, epoch=0, chunk=0), 0.0)
    assert due(rounds) == [(1, 1)]
    assert not first.complete and not second.complete and not third.complete
    assert not rounds.receive(answer(to, workers=ALL, epoch=2, chunk=0), 0.0), "it was not sent: its slot is occupied"
    assert rounds.stats.foreign_packets == 1


def test_rounds_finished_in_any_order_retire_in_order() -> None:
    to = ticket(slots=8)
    rounds = make_round_sequence(to)
    first, second = start(rounds, 1), start(rounds, 1)
    rounds.due(0.0)
    assert rounds.receive(answer(to, workers=ALL, epoch=1, payload=[5, 6]), 1e-3)
    assert second.complete and second.result().tolist() == [5, 6]
    rounds.finish(second)
    assert (rounds.epoch, rounds.position, rounds.stats.rounds) == (0, 0, 1)
    # Its result is a duplicate then, and not foreign.
    assert not rounds.receive(answer(to, workers=ALL, epoch=1), 1e-3)
    assert rounds.stats.duplicate_results == 1
    assert rounds.receive(answer(to, workers=ALL, epoch=0), 1e-3)
    rounds.finish(first)
    assert (rounds.epoch, rounds.position, rounds.stats.rounds) == (2, 2, 2)
    # Another worker that lacks either result gets the contribution.
    for epoch in (0, 1):
        rounds.receive(answer(to, Kind.PENDING, workers=0b10, epoch=epoch), 1.0)
    assert due(rounds, 1.0) == [(0, 0), (1, 0)]


def test_only_first_chunk_without_result_has_probe_timer() -> None:
    to = ticket(slots=8)
    rounds = make_round_sequence(to)
    start(rounds, 1), start(rounds, 2)
    assert due(rounds) == [(0, 0), (1, 0), (1, 1)]
    assert rounds.next_timeout(0.0) == INITIAL_PTO_S
    assert due(rounds, INITIAL_PTO_S) == [(0, 0)]
    # So late that a worker was late. At once, it would have shown a loss, and of the chunks behind it, too.
    assert rounds.receive(answer(to, workers=ALL, epoch=0), 2.5 * INITIAL_PTO_S)
    assert due(rounds, 4 * INITIAL_PTO_S) == [(1, 0)]


def test_later_round_results_reveal_loss_in_earlier_one() -> None:
    """The chunk is retransmitted at once, long before its probe timeout."""
    to = ticket(slots=16)
    rounds = make_round_sequence(to)
    start(rounds, 1), start(rounds, 12)
    rounds.due(0.0)
    for chunk in range(9):
        rounds.receive(answer(to, workers=ALL, epoch=1, chunk=chunk), 1e-3)
    assert (0, 0) in due(rounds, 1e-3)


def test_congestion_window_covers_all_rounds() -> None:
    to = ticket(slots=16)
    rounds = make_round_sequence(to, window=3, congestion="fixed")
    start(rounds, 2), start(rounds, 4)
    assert due(rounds) == [(0, 0), (0, 1), (1, 0)]
    rounds.receive(answer(to, workers=ALL, epoch=1, chunk=0), 0.0)
    assert due(rounds) == [(1, 1)]


def test_conflict_names_size_of_its_round() -> None:
    to = ticket(slots=8)
    rounds = make_round_sequence(to)
    start(rounds, 1)
    rounds.start(LaneOp.ADD32, np.zeros(3, np.uint32))
    rounds.due(0.0)
    conflict = answer(
        to, Kind.CONFLICT, epoch=1, op=LaneOp.OR, racks=3, workers=3, fan_in_workers=1, fan_in_racks=LaneOp.ADD32
    )
    with pytest.raises(MismatchError, match="worker 0 itself has 3 words for ADD32"):
        rounds.receive(conflict, 0.0)
    assert [(header.epoch, header.chunk) for header in read(rounds.final_datagrams())] == [(1, 0)]


def test_rounds_in_flight_are_limited() -> None:
    for quorum, limit in ((0, MAX_ROUNDS_IN_FLIGHT), (1, 1)):
        to = ticket(slots=32, quorum=quorum)
        rounds = make_round_sequence(to)
        started = [start(rounds, 1) for _ in range(limit)]
        assert not rounds.can_start
        rounds.due(0.0)
        rounds.receive(answer(to, workers=ALL), 0.0)
        rounds.finish(started[0])
        assert rounds.can_start

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The opening of a session at a worker: its random numbers, its packets, and the epoch of the rounds after it."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.protocol.spec import NONCE_WORDS, OPENING
from lanesum.transport.errors import UsedTicketError
from lanesum.transport.native_engine import make_round_sequence
from lanesum.transport.opening import OPENING_OP, Opening
from lanesum.transport.stats import TransportStats
from tests.host.transport.virtual_job import answer, read, ticket

pytestmark = pytest.mark.usefixtures("implementation")

ALL = 0b11


def opened(*openings: Opening) -> np.ndarray:
    return np.bitwise_or.reduce([one.words for one in openings])


def test_openings_of_all_workers_give_one_epoch() -> None:
    openings = [Opening(ticket(worker, 3, epoch=0xFFFFFFF0)) for worker in range(3)]
    result = opened(*openings)
    assert np.count_nonzero(result) == 3 * NONCE_WORDS
    assert len({one.first_epoch(result) for one in openings}) == 1


def test_epochs_of_sessions_under_one_tag_differ() -> None:
    epochs = set()
    for _ in range(200):
        one, other = (Opening(ticket(worker, 2, epoch=9)) for worker in range(2))
        epochs.add(one.first_epoch(opened(one, other)))
    assert len(epochs) == 200 and 9 not in epochs


def test_opening_with_number_of_earlier_process_raises() -> None:
    earlier, later, other = Opening(ticket(0, 2)), Opening(ticket(0, 2)), Opening(ticket(1, 2))
    result = opened(earlier, other)
    with pytest.raises(
        UsedTicketError, match="ticket of worker 0 of job 7 was used already: a ticket is valid for one"
    ):
        later.first_epoch(result)
    with pytest.raises(UsedTicketError):
        later.first_epoch(np.zeros_like(result))
    assert other.first_epoch(result) == earlier.first_epoch(result)


def test_packets_of_opening_bypass_switches_and_are_kept() -> None:
    to = ticket(0, 2, slots=4, epoch=5)
    rounds = make_round_sequence(to)
    opening = rounds.start(OPENING_OP, np.array([1, 2, 0, 0], np.uint32), opening=True)
    sent = read(rounds.due(0.0)) + read(rounds.due(1.0))
    assert [(header.spare, header.epoch, header.op) for header in sent] == [(OPENING, 5, LaneOp.OR)] * len(sent)
    assert all(header.flags & Flag.BYPASS for header in sent) and len(sent) > opening.chunks
    for chunk in range(opening.chunks):
        assert rounds.receive(answer(to, workers=ALL, op=LaneOp.OR, epoch=5, chunk=chunk), 1.0)
    rounds.finish(opening)
    rounds.continue_at(0xFFFFFFFF)
    assert rounds.stats == TransportStats()
    rounds.start(LaneOp.ADD32, np.zeros(2, np.uint32))
    rounds.start(LaneOp.ADD32, np.zeros(2, np.uint32))
    assert [(header.spare, header.flags, header.epoch) for header in read(rounds.due(2.0))] == [
        (0, 0, 0xFFFFFFFF),
        (0, 0, 0),
    ]
    # Another worker lacks the opening, after a restart of the server.
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.BYPASS, workers=0b10, op=LaneOp.OR, epoch=5, chunk=0), 3.0)
    again = [header for header in read(rounds.due(3.0)) if header.epoch == 5]
    assert [(header.spare, header.chunk) for header in again] == [(OPENING, 0)]
    assert again[0].flags == Flag.RETRANSMISSION | Flag.BYPASS
    # Numbers between the opening and the first round are of no round.
    rounds.receive(answer(to, Kind.PENDING, flags=Flag.BYPASS, workers=0b10, epoch=6, chunk=0), 4.0)
    assert not [header for header in read(rounds.due(4.0)) if header.epoch == 6]

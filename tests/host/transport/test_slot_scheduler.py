# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots turn by themselves, but never so that workers wait for each other for ever, nor that a quorum runs away."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import HEADER_BYTES, Flag, Header, Kind, LaneOp
from lanesum.transport.round_factory import AnyRoundSequence, make_round_sequence
from lanesum.transport.ticket import JobTicket

pytestmark = pytest.mark.usefixtures("implementation")


def rounds_of(quorum: int = 0) -> AnyRoundSequence:
    """Two workers, two slots, two words in a packet, and a round of eight packets."""
    rounds = make_round_sequence(
        JobTicket(job=1, tag=2, worker=0, workers=2, slots=2, accumulator_words=2, quorum=quorum)
    )
    rounds.start(LaneOp.ADD32, np.arange(16, dtype=np.uint32))
    return rounds


def sent(rounds: AnyRoundSequence) -> list[int]:
    """Chunks that are sent for the first time."""
    headers = [Header.unpack(datagram) for datagram in rounds.due(0.0)]
    return [header.chunk for header in headers if not header.flags & Flag.RETRANSMISSION]


def take_result(rounds: AnyRoundSequence, chunk: int, flags: int = 0) -> None:
    header = Header(
        kind=Kind.RESULT, flags=flags, job=1, tag=2, epoch=0, chunk=chunk, op=LaneOp.ADD32, workers=3,
        fan_in_workers=2, words=2,
    )  # fmt: skip
    assert rounds.receive(header.pack() + bytes(8), 0.0)
    assert len(header.pack()) == HEADER_BYTES


def test_a_slot_goes_on_while_another_waits() -> None:
    rounds = rounds_of()
    assert sent(rounds) == [0, 1]
    for chunk in (1, 3, 5):
        take_result(rounds, chunk)
        assert sent(rounds) == [chunk + 2]


def test_with_a_quorum_slots_stay_in_step() -> None:
    rounds = rounds_of(quorum=1)
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == []
    take_result(rounds, 0)
    assert sent(rounds) == [2, 3]


def test_a_window_that_shrank_does_not_keep_back_the_first_chunk() -> None:
    rounds = rounds_of()
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == [3]
    take_result(rounds, 0, Flag.ECN)  # one packet from now on, and that one is under way
    assert sent(rounds) == [2]
    take_result(rounds, 3, Flag.ECN)
    assert sent(rounds) == []


def test_the_first_chunk_has_the_timer_not_what_was_sent_first() -> None:
    """Others may never have got to what this worker sent first; the first of all they have sent, or its result."""
    rounds = rounds_of()
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == [3]
    take_result(rounds, 0)
    assert sent(rounds) == [2]
    again = [Header.unpack(datagram) for datagram in rounds.due(1.0)]
    assert [(header.chunk, header.flags) for header in again] == [(2, Flag.RETRANSMISSION)]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots turn independently; workers never wait for each other for ever, and slots of a quorum stay in step."""

from __future__ import annotations

import numpy as np
import pytest

from lanesum.protocol import HEADER_BYTES, Flag, Header, Kind, LaneOp
from lanesum.transport.native_engine import AnyRoundSequence, make_round_sequence
from lanesum.transport.ticket import JobTicket

pytestmark = pytest.mark.usefixtures("implementation")


def started(quorum: int = 0) -> AnyRoundSequence:
    """Return rounds of two workers, two slots and two words per packet, with a round of eight packets."""
    rounds = make_round_sequence(
        JobTicket(job=1, tag=2, worker=0, workers=2, slots=2, accumulator_words=2, quorum=quorum)
    )
    rounds.start(LaneOp.ADD32, np.arange(16, dtype=np.uint32))
    return rounds


def sent(rounds: AnyRoundSequence) -> list[int]:
    """Return the chunks that are sent for the first time."""
    headers = [Header.unpack(datagram) for datagram in rounds.due(0.0)]
    return [header.chunk for header in headers if not header.flags & Flag.RETRANSMISSION]


def take_result(rounds: AnyRoundSequence, chunk: int, flags: int = 0) -> None:
    header = Header(
        kind=Kind.RESULT, flags=flags, job=1, tag=2, epoch=0, chunk=chunk, op=LaneOp.ADD32, workers=3,
        fan_in_workers=2, words=2,
    )  # fmt: skip
    assert rounds.receive(header.pack() + bytes(8), 0.0)
    assert len(header.pack()) == HEADER_BYTES


def test_slot_continues_while_another_waits() -> None:
    rounds = started()
    assert sent(rounds) == [0, 1]
    for chunk in (1, 3, 5):
        take_result(rounds, chunk)
        assert sent(rounds) == [chunk + 2]


def test_quorum_keeps_slots_in_step() -> None:
    rounds = started(quorum=1)
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == []
    take_result(rounds, 0)
    assert sent(rounds) == [2, 3]


def test_small_window_does_not_delay_first_chunk() -> None:
    rounds = started()
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == [3]
    take_result(rounds, 0, Flag.ECN)  # one packet from now on, and that one is in flight
    assert sent(rounds) == [2]
    take_result(rounds, 3, Flag.ECN)
    assert sent(rounds) == []


def test_first_chunk_without_result_has_probe_timer() -> None:
    """Other workers may not have reached the chunk sent first; they have sent the first one, or have its result."""
    rounds = started()
    assert sent(rounds) == [0, 1]
    take_result(rounds, 1)
    assert sent(rounds) == [3]
    take_result(rounds, 0)
    assert sent(rounds) == [2]
    retransmitted = [Header.unpack(datagram) for datagram in rounds.due(1.0)]
    assert [(header.chunk, header.flags) for header in retransmitted] == [(2, Flag.RETRANSMISSION)]

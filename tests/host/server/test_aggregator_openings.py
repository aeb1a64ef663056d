# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The opening of a session at the server: it needs all workers, and its result stays."""

from __future__ import annotations

from typing import Any

import pytest

from lanesum.protocol import Flag, Kind, LaneOp
from lanesum.protocol.spec import OPENING
from tests.host.server.contributions import Workers, flat, served

pytestmark = pytest.mark.usefixtures("implementation")

ALL = 0b111
FIELDS: dict[str, Any] = {"op": LaneOp.OR, "spare": OPENING}


@pytest.mark.parametrize("quorum", [0, 2])
def test_opening_needs_all_workers_and_stays(quorum: int) -> None:
    """A job of eight-word packets, whose three workers have two words each: one chunk."""
    workers = Workers(served(flat(3), quorum=quorum, slots=1, ops=(LaneOp.ADD32,)))
    assert workers.send(0, **FIELDS) == workers.send(1, **FIELDS) == {}
    opened = workers.send(2, **FIELDS)
    assert len(opened) == 3 and (opened[0].header.workers, opened[0].header.spare) == (ALL, OPENING)
    assert opened[0].payload.tolist() == workers.total(ALL, op=LaneOp.OR).tolist()
    for epoch in range(1, 20):
        for worker in range(3):
            workers.send(worker, epoch=epoch)
    later = Workers(workers.job, workers.aggregator, seed=2)  # processes with other random numbers
    ((worker, replay),) = later.send(1, **FIELDS).items()
    assert worker == 1
    assert replay.header.kind == Kind.RESULT
    assert replay.payload.tolist() == opened[0].payload.tolist()


def test_incomplete_opening_reports_who_is_missing() -> None:
    workers = Workers(served(flat(3), quorum=2))
    workers.send(0, **FIELDS)
    workers.send(2, **FIELDS)
    pending = workers.send(0, **FIELDS)
    assert {worker: answer.header.kind for worker, answer in pending.items()} == dict.fromkeys((0, 1), Kind.PENDING)
    assert pending[0].header.workers == 0b101


def test_opening_and_round_of_same_number_are_apart() -> None:
    workers = Workers(served(flat(2)))
    workers.send(0, **FIELDS)
    workers.send(0)
    assert workers.send(1)[0].payload.tolist() == workers.total(0b11).tolist()
    opened = workers.send(1, **FIELDS)
    assert opened[0].payload.tolist() == workers.total(0b11, op=LaneOp.OR).tolist()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"chunk": 1}, "slot out of range"),
        ({"chunk": (1 << 32) - 1}, "slot out of range"),
        ({"op": LaneOp.ADD32}, "operation not allowed"),
        ({"flags": Flag.UPPER}, "forged aggregate"),
    ],
)
def test_invalid_opening_is_refused(fields: dict[str, Any], reason: str) -> None:
    workers = Workers(served(flat(3), on_switches=True))
    assert workers.send(0, **FIELDS | fields) == {}
    assert dict(workers.aggregator.refused) == {reason: 1}

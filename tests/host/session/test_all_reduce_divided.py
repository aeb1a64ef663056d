# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds of more words than one round on the network may have: their sums have the bits of an undivided round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lanesum import codecs
from lanesum.codecs import fixed
from lanesum.codecs.thc import backend as thc_backend
from lanesum.protocol import Header
from lanesum.protocol.spec import CERTIFIED, OPENING, SCATTERED, Kind
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session, all_reduce, scheduler
from lanesum.transport import udp
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS = 3
BLOCK = 64
VALUES = WORKERS * BLOCK * 60
MAX_ROUND_WORDS = 400


def vector(worker: int) -> np.ndarray:
    return np.random.default_rng(worker).normal(size=VALUES).astype(np.float32)


def reduced(name: str, *, scattered: bool = False, loss: float = 0.0, **fields: Any) -> tuple[list[Any], list[int]]:
    """Return the bytes of two all-reduces at once of each worker, and the round sizes that the server received."""
    sizes: list[int] = []
    lose = random_loss(5, loss)

    def note(received: bool, address: Any, datagram: bytes) -> bool:
        header = Header.unpack(datagram)
        if header.kind == Kind.CONTRIBUTION and header.spare != OPENING:
            sizes.append(header.racks & ~(CERTIFIED | SCATTERED))
        return lose is not None and lose(received, address, datagram)

    codec = codecs.get(name, workers=WORKERS, block=BLOCK, **({"lookup": False} if "thc" in name else {}))
    with AggregationServer((LOCALHOST, 0), loss=note) as server:
        tickets = tickets_for(server, WORKERS, tag=99, accumulator_words=64, **fields)
        server.aggregator.admit(ServerJob.from_tickets(tickets))

        def work(session: Session) -> list[bytes]:
            given = vector(session.ticket.worker)
            start = session.reduce_scatter_async if scattered else session.all_reduce_async
            return [one.result().tobytes() for one in [start(given), start(given)]]

        return run_workers(tickets, work, codec=codec), sizes


def set_bound(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    for module in (all_reduce, scheduler, udp):
        monkeypatch.setattr(module, "MAX_ROUND_WORDS", words)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fixed", {}),
        ("fixed", {"loss": 0.03}),
        ("fixed", {"scattered": True}),
        ("fixed", {"certified": True}),
        ("fixed", {"quorum": WORKERS}),
        ("thc bits=3", {"certified": True, "loss": 0.03}),
        ("thc", {"scattered": True, "certified": True}),
        ("sketch", {}),
    ],
)
def test_divided_rounds_have_bits_of_undivided(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``fixed`` has more parts than rounds can be in flight."""
    expected, sizes = reduced(name, **options)
    assert max(sizes) > 2 * MAX_ROUND_WORDS
    set_bound(monkeypatch, MAX_ROUND_WORDS)
    got, sizes = reduced(name, **options)
    assert 0 < max(sizes) <= MAX_ROUND_WORDS
    assert got == expected


@pytest.mark.parametrize("name", ["fixed", "thc"])
def test_divided_rounds_in_pieces_have_bits_of_undivided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (thc_backend, fixed):
        monkeypatch.setattr(module, "_PIECE", BLOCK * 5 * WORKERS)
    expected, _ = reduced(name)
    set_bound(monkeypatch, MAX_ROUND_WORDS)
    assert reduced(name)[0] == expected

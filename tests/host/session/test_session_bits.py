# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions that change the bits of results, and conditions that do not; docs/results.md names these tests."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

WORKERS = 3
CODECS = ("fixed", "thc", "thc error=0.01", "topk", "sketch", "union")
# A vector that fixed gathers, one of less than a block, and one of many blocks with a short last one.
SIZES = (10, 3000, 70_000)

Results = list[bytes]


@functools.cache
def vector(worker: int, size: int) -> np.ndarray:
    """Return normal values, of which nine in ten are 0, so that sparse codecs take their own ways."""
    generator = np.random.default_rng((worker, size))
    return generator.normal(size=size).astype(np.float32) * (generator.random(size) < 0.1)


def one_by_one(session: Session) -> Results:
    return [session.all_reduce(vector(session.ticket.worker, size), name="t").tobytes() for size in SIZES]


def results(
    codec: str,
    *,
    seed: int = 5,
    workers: int = WORKERS,
    servers: int = 1,
    share: float = 0.0,
    work: Callable[[Session], Results] = one_by_one,
    slots: int = 16,
    **options: Any,
) -> Results:
    """Return the sums, equal on all workers."""
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(AggregationServer((LOCALHOST, 0), loss=random_loss(number, share) if share else None))
            for number in range(servers)
        ]
        tickets = [
            dataclasses.replace(ticket, servers=tuple(server.address for server in running))
            for ticket in tickets_for(running[0], workers, seed=seed, slots=slots)
        ]
        for server in running:
            server.admit(ServerJob.from_tickets(tickets))
        found = run_workers(tickets, work, codec=codec, **options)
    assert all(other == found[0] for other in found)
    return found[0]


@functools.cache
def usual(codec: str) -> Results:
    return results(codec)


def in_flight(session: Session) -> Results:
    begun = [session.all_reduce_async(vector(session.ticket.worker, size), name="t") for size in SIZES]
    return [one.result().tobytes() for one in reversed(begun)][::-1]


class Turns:
    """Lets the worker with the largest number begin each all-reduce first."""

    def __init__(self) -> None:
        self._begun = [[threading.Event() for _ in range(WORKERS + 1)] for _ in SIZES]
        for events in self._begun:
            events[WORKERS].set()

    def __call__(self, session: Session) -> Results:
        worker, found = session.ticket.worker, []
        for events, size in zip(self._begun, SIZES, strict=True):
            events[worker + 1].wait()
            begun = session.all_reduce_async(vector(worker, size), name="t")
            begun.done()  # sends the first packets
            events[worker].set()
            found.append(begun.result().tobytes())
        return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "changed",
    [
        {"servers": 3},
        {"share": 0.1},
        {"slots": 2},
        {"window": 2, "congestion": "fixed"},
        {"work": in_flight},
        {"work": Turns},
    ],
    ids=["servers", "loss", "slots", "window", "in flight", "order of arrival"],
)
def test_bits_do_not_depend_on_transport(codec: str, changed: dict[str, Any]) -> None:
    if changed.get("work") is Turns:
        changed = {"work": Turns()}
    assert results(codec, **changed) == usual(codec)


@pytest.mark.parametrize("codec", CODECS)
def test_bits_do_not_depend_on_threads_and_implementation(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = usual(codec)
    monkeypatch.setenv("LANESUM_THREADS", "3")
    assert results(codec) == expected
    monkeypatch.setenv("LANESUM_NATIVE", "off")
    assert results(codec) == expected


def halves(session: Session) -> Results:
    """Reduce the vectors in two buckets."""
    found = []
    for size in SIZES:
        parts = np.array_split(vector(session.ticket.worker, size), 2)
        found.append(b"".join(session.all_reduce(part, name="t").tobytes() for part in parts))
    return found


def other_ranks(session: Session) -> Results:
    """Give the vectors to other workers."""
    other = WORKERS - 1 - session.ticket.worker
    return [session.all_reduce(vector(other, size), name="t").tobytes() for size in SIZES]


@pytest.mark.parametrize(
    ("codec", "changed", "differs"),
    [
        ("thc", {"work": other_ranks}, True),
        ("sketch", {"work": other_ranks}, False),
        ("thc", {"seed": 6}, True),
        ("fixed", {"seed": 6}, False),
        ("sketch", {"seed": 6}, False),
        ("thc", {"work": halves}, True),
        ("fixed", {"work": halves}, True),
    ],
)
def test_bits_depend_on_seed_ranks_and_buckets(codec: str, changed: dict[str, Any], differs: bool) -> None:
    assert (results(codec, **changed) != usual(codec)) == differs


def test_bits_depend_on_codec_and_its_parameters() -> None:
    assert len({usual(codec)[-1] for codec in ("fixed", "thc", "thc error=0.01", "topk")}) == 4


def test_bits_depend_on_number_of_workers() -> None:
    """A worker whose vector is zero changes no sum, but lanes have less room for each worker."""

    def work(session: Session) -> Results:
        worker = session.ticket.worker
        return [session.all_reduce(vector(worker, SIZES[-1]) * (worker < 2), name="t").tobytes()]

    for codec in ("fixed", "thc"):
        assert results(codec, workers=2, work=work) != results(codec, workers=WORKERS, work=work)

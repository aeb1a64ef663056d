# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""All-gather over sessions and a server: each worker gets the bytes of all, and sends its own once."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
import torch

from lanesum.errors import ConfigurationError
from lanesum.protocol import Header, LaneOp
from lanesum.protocol.spec import GATHERED, HEADER_BYTES, Flag, Kind
from lanesum.server import AggregationServer, ServerJob
from lanesum.session import Session
from lanesum.session import all_reduce as all_reduce_module
from lanesum.session import scheduler as scheduler_module
from lanesum.transport import JobTicket
from lanesum.transport import udp as udp_module
from lanesum.transport.errors import MismatchError
from tests.host.session.workers import LOCALHOST, random_loss, run_workers, tickets_for

pytestmark = pytest.mark.usefixtures("implementation")

WORKERS = 3
# Bytes: none, fewer than a word, a whole packet, and many packets of which the last is padded.
SIZES = (0, 1, 4 * 64 - 8, 40_003)


def admitted(server: AggregationServer, workers: int = WORKERS, **fields: Any) -> list[JobTicket]:
    tickets = tickets_for(server, workers, **{"accumulator_words": 64, **fields})
    server.aggregator.admit(ServerJob.from_tickets(tickets))
    return tickets


def some_bytes(worker: int, size: int) -> np.ndarray:
    return np.random.default_rng((worker, size)).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize(
    ("loss", "fields"),
    [
        (0.0, {}),
        (0.05, {"slots": 4}),
        (0.05, {"certified": True}),
        (0.03, {"ops": (LaneOp.EXPAND8, LaneOp.MAX)}),
        (0.0, {"ops": (LaneOp.OR,), "certified": True}),
        (0.03, {"places": ((0, 0), (1, 0), (1, 1))}),
        (0.0, {"quorum": WORKERS}),
    ],
)
def test_all_workers_get_bytes_of_all(loss: float, fields: dict[str, Any]) -> None:
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, loss)) as server:
        tickets = admitted(server, **fields)

        def work(session: Session) -> list[np.ndarray]:
            in_flight = [session.all_gather_async(some_bytes(session.ticket.worker, size)) for size in SIZES]
            return [one.result() for one in in_flight]

        results = run_workers(tickets, work)
    for result in results:
        for size, gathered in zip(SIZES, result, strict=True):
            assert gathered.shape == (WORKERS, size) and gathered.dtype == np.uint8
            expected = np.stack([some_bytes(worker, size) for worker in range(WORKERS)])
            np.testing.assert_array_equal(gathered, expected)


@pytest.mark.parametrize("workers", [1, 2])
def test_gathered_array_keeps_type_and_shape(workers: int) -> None:
    arrays = [
        np.full((2, 3), np.nan),
        np.array(7, np.int16),
        np.array([True, False, True]),
        np.array([[1 + 2j]], np.complex64).T,
        np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2],
    ]
    tensors = [
        torch.arange(5, dtype=torch.bfloat16),
        torch.tensor([1 + 2j]).conj(),
        torch.ones((2, 0)),
        torch.arange(6).view(2, 3).T,
        torch.tensor([1.5, float("nan")], requires_grad=True),
    ]
    with AggregationServer((LOCALHOST, 0)) as server:

        def work(session: Session) -> list[Any]:
            return [session.all_gather(one) for one in (*arrays, *tensors)]

        results = run_workers(admitted(server, workers), work)
    for result in results:
        for given, gathered in zip(arrays, result, strict=False):
            assert gathered.dtype == given.dtype and gathered.tobytes() == workers * given.tobytes()
            assert gathered.shape == (workers, *given.shape) and gathered.flags.writeable
        for tensor, gathered in zip(tensors, result[len(arrays) :], strict=True):
            expected = torch.stack([tensor.detach().resolve_conj()] * workers)
            assert torch.equal(gathered.view(-1).view(torch.uint8), expected.view(-1).view(torch.uint8))
            assert (gathered.shape, gathered.dtype) == (expected.shape, tensor.dtype)


def test_all_gather_and_reduces_in_flight_keep_order() -> None:
    with AggregationServer((LOCALHOST, 0), loss=random_loss(5, 0.03)) as server:
        tickets = admitted(server, slots=8)

        def work(session: Session) -> list[Any]:
            own = session.ticket.worker
            vector = np.full(3000, own + 1, np.float32)
            begun = [
                session.all_reduce_async(vector),
                session.all_gather_async(vector),
                session.reduce_scatter_async(vector),
                session.all_gather_async(vector[:5].astype(np.float64)),
                session.all_reduce_async(vector),
            ]
            return [one.result() for one in reversed(begun)][::-1]

        results = run_workers(tickets, work)
    for summed, gathered, shard, few, again in results:
        assert (summed == 6).all() and (again == 6).all() and (shard == 6).all() and shard.size == 1000
        np.testing.assert_array_equal(gathered, np.repeat([[1], [2], [3]], 3000, axis=1))
        np.testing.assert_array_equal(few, np.repeat([[1], [2], [3]], 5, axis=1))


def test_words_go_up_once_and_down_once() -> None:
    """The owner of a chunk sends and gets no words twice; the others send a header."""
    workers, size = 4, 4 * 64 * 10 - 8
    seen: collections.Counter[tuple[bool, bool, Any]] = collections.Counter()

    def count(received: bool, address: Any, datagram: bytes) -> bool:
        header = Header.unpack(datagram)
        if received and header.racks & GATHERED:
            assert header.flags & Flag.BYPASS  # no switch consumes it
            seen[True, len(datagram) > HEADER_BYTES, address] += not header.flags & Flag.RETRANSMISSION
        elif not received and header.kind == Kind.RESULT and header.op == LaneOp.ADD32:
            seen[False, len(datagram) > HEADER_BYTES, address] += not header.flags & Flag.RETRANSMISSION
        return False

    with AggregationServer((LOCALHOST, 0), loss=count) as server:
        tickets = admitted(server, workers)
        results = run_workers(tickets, lambda session: session.all_gather(some_bytes(session.ticket.worker, size)))
    assert all(result[2].tobytes() == some_bytes(2, size).tobytes() for result in results)
    for ticket in tickets:
        assert (seen[True, True, ticket.local], seen[True, False, ticket.local]) == (10, 30)
        assert (seen[False, True, ticket.local], seen[False, False, ticket.local]) == (30, 10)


def test_large_all_gather_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (all_reduce_module, scheduler_module, udp_module):
        monkeypatch.setattr(module, "MAX_ROUND_WORDS", 64 * WORKERS * 3)
    with AggregationServer((LOCALHOST, 0), loss=random_loss(3, 0.02)) as server:
        results = run_workers(admitted(server), lambda one: one.all_gather(some_bytes(one.ticket.worker, SIZES[-1])))
    for result in results:
        for worker in range(WORKERS):
            np.testing.assert_array_equal(result[worker], some_bytes(worker, SIZES[-1]))


@pytest.mark.parametrize(
    "arrays",
    [
        (np.zeros(5, np.uint8), np.zeros(6, np.uint8)),  # as many words
        (np.zeros(5, np.uint8), np.zeros(5000, np.uint8)),
        (np.zeros(4, np.float32), np.zeros(4, np.int32)),
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)),
    ],
)
def test_unequal_arrays_raise_mismatch_everywhere(arrays: tuple[np.ndarray, np.ndarray]) -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        tickets = admitted(server)
        work = lambda session: session.all_gather(arrays[session.ticket.worker == 1])  # noqa: E731
        results = run_workers(tickets, work, errors=True, deadline_s=5.0)
    assert [type(result) for result in results] == [MismatchError] * WORKERS, results
    told = "number or meaning differ" if arrays[1].size < 5000 else "gathered words"
    assert all(told in str(result) for result in results), results


def test_all_gather_beside_all_reduce_raises_mismatch() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:

        def work(session: Session) -> Any:
            one = session.all_gather if session.ticket.worker == 1 else session.all_reduce
            return one(np.ones(4, np.float32))

        results = run_workers(admitted(server), work, errors=True, deadline_s=5.0)
    assert [type(result) for result in results] == [MismatchError] * WORKERS, results
    assert any("gathered words" in str(result) for result in results)


def test_jobs_that_cannot_gather_are_refused() -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        array = np.ones(3, np.float32)
        with Session(admitted(server, quorum=2)[0]) as session, pytest.raises(ConfigurationError, match="only 2 of 3"):
            session.all_gather(array)
        with (
            Session(admitted(server, ops=(LaneOp.EXPAND8,))[0], codec="thc") as session,
            pytest.raises(ConfigurationError, match="admitted for EXPAND8; an all-gather needs one of ADD32"),
        ):
            session.all_gather(array)
        with Session(admitted(server)[0]) as session:
            with pytest.raises(ConfigurationError, match="all_gather takes arrays of numbers, not of object"):
                session.all_gather(np.array([{}]))
            for wrong in (torch.ones(3).to_sparse(), torch.ones(3, device="meta")):
                with pytest.raises(ConfigurationError, match="all_gather takes dense tensors with values, not "):
                    session.all_gather(wrong)

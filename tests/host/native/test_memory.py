# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory bounds: measured memory stays below them, and they are not much larger."""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import Kind
from lanesum.server import Aggregator, MemberIndex, ServerJob
from lanesum.server.native_aggregator import NativeAggregator
from lanesum.transport.constants import MAX_ROUNDS_IN_FLIGHT
from lanesum.transport.errors import RoundSize
from lanesum.transport.native_rounds import NativeRoundSequence
from lanesum.transport.native_worker_loop import NativeWorkerLoop
from lanesum.transport.round_sequence import RoundSequence
from lanesum.transport.sockets import ServerSockets
from lanesum.transport.ticket import JobTicket
from lanesum.transport.worker_loop import PythonWorkerLoop
from lanesum_lab.server_memory import max_job_memory_bytes
from lanesum_lab.worker_memory import worker_memory_bounds

WORKERS = 3
WINDOW = 48


class _Mallinfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def heap() -> Callable[[], int]:
    """Return a function that measures the bytes allocated by all libraries."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("this C library has no mallinfo2 (needs glibc 2.33)")
    mallinfo2.restype = _Mallinfo2

    def measure() -> int:
        info = mallinfo2()
        return int(info.uordblks + info.hblkhd)

    before = measure()
    block = bytearray(1 << 20)
    if measure() - before < len(block):
        pytest.skip("another allocator replaces the one of the C library (a sanitizer's), without mallinfo2")
    return measure


def traced() -> int:
    """Return the peak of the bytes allocated by Python."""
    return tracemalloc.get_traced_memory()[1]


def ticket(slots: int, accumulator_words: int, servers: int = 1) -> JobTicket:
    names = tuple((f"127.0.0.{number + 1}", 9) for number in range(servers))
    return JobTicket(
        job=1, tag=2, worker=0, workers=WORKERS, slots=slots, accumulator_words=accumulator_words, servers=names
    )


def answer(rounds: Any, to: JobTicket, datagrams: list[memoryview], skip: set[int], now: float) -> None:
    all_workers = (1 << WORKERS) - 1
    payload = np.zeros(to.accumulator_words, np.uint32)
    for header in [Header.unpack(datagram) for datagram in datagrams]:
        result = Header(
            kind=Kind.RESULT, job=1, tag=2, epoch=header.epoch, chunk=header.chunk, op=header.op,
            workers=all_workers, fan_in_workers=WORKERS,
        )  # fmt: skip
        if header.chunk in skip and header.epoch == rounds.epoch:
            pending = Header(
                kind=Kind.PENDING, job=1, tag=2, epoch=header.epoch, chunk=header.chunk, op=header.op, workers=1
            )
            rounds.receive(pending.pack(), now)
        else:
            rounds.receive(Packet(result, payload).pack(), now)


def work(rounds: Any, to: JobTicket, words: list[np.ndarray[Any, Any]], earlier: int) -> list[Any]:
    """Run small rounds, which fill the history; then all rounds of ``words`` in flight, as far as they get."""
    now = 0.0
    for _ in range(earlier):
        window = rounds.start(LaneOp.ADD32, words[0][: to.accumulator_words])
        while not window.complete:
            now += 0.01
            answer(rounds, to, [memoryview(bytes(one)) for one in rounds.due(now)], set(), now)
        rounds.finish(window)
    windows = [rounds.start(LaneOp.ADD32, one) for one in words]
    skip = set(range(to.slots - 4, to.slots))  # the first round does not complete
    for _ in range(2 * sum(window.chunks for window in windows) // to.slots + 20):
        now += 0.001
        answer(rounds, to, [memoryview(bytes(one)) for one in rounds.due(now)], skip, now)
    for window in windows[1:]:
        for chunk in range(window.chunks):
            pending = Header(kind=Kind.PENDING, job=1, tag=2, epoch=window.epoch, chunk=chunk, workers=2)
            rounds.receive(pending.pack(), now)
    rounds.due(now + 1)
    assert not windows[0].complete
    return [window.result() for window in windows if window.complete]


def make(native: ModuleType | None, to: JobTicket) -> tuple[Any, Any, Any]:
    sockets = ServerSockets(("127.0.0.1", 0), to.servers, shared=False)
    if native is None:
        rounds: Any = RoundSequence(to, window=WINDOW)
        return rounds, PythonWorkerLoop(to, rounds, sockets), sockets
    rounds = NativeRoundSequence(to, window=WINDOW)
    return rounds, NativeWorkerLoop(to, rounds, sockets, "on"), sockets


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True], ids=["python", "native"])
@pytest.mark.parametrize(
    ("slots", "accumulator_words", "packets", "earlier", "slack"),
    [
        (64, 360, (1000, 1000, 300), 150, 2.0),  # rounds dominate
        (512, 64, (600,), 1100, 8.0),  # retransmit buffer and slots dominate
        (64, 32, (200,) * MAX_ROUNDS_IN_FLIGHT, 0, 8.0),
    ],
)
def test_worker_memory_is_an_upper_bound(
    request: pytest.FixtureRequest,
    compiled: bool,
    slots: int,
    accumulator_words: int,
    packets: tuple[int, ...],
    earlier: int,
    slack: float,
) -> None:
    native: ModuleType | None = request.getfixturevalue("native") if compiled else None
    measure = heap() if compiled else traced
    to = ticket(slots, accumulator_words)
    words = [np.ones(count * accumulator_words - 3, np.uint32) for count in packets]
    sizes = [RoundSize(LaneOp.ADD32, one.size) for one in words]
    bound = worker_memory_bounds(to, sizes, window=WINDOW, native=compiled)
    first = make(native, to)  # loads and caches everything that is not this worker's
    work(first[0], to, [one[: 8 * accumulator_words * slots] for one in words[:1]], 1)
    first[1].close()
    first[2].close()
    del first
    gc.collect()
    if not compiled:
        tracemalloc.start()
    try:
        before = measure()
        rounds, loop, sockets = make(native, to)
        results = work(rounds, to, words, earlier)
        gc.collect()
        needed = measure() - before
    finally:
        tracemalloc.stop()
        loop.close()
        sockets.close()
    del results
    assert needed <= bound.total, bound
    assert bound.total <= slack * needed, f"{needed} bytes are needed; the bound is {bound}"


def test_worker_memory_of_too_many_rounds_raises() -> None:
    with pytest.raises(ConfigurationError, match=r"\d+ rounds in flight: expected at most"):
        worker_memory_bounds(ticket(8, 8), [RoundSize(LaneOp.ADD32, 8)] * (MAX_ROUNDS_IN_FLIGHT + 1))


def contribute(
    server: Any, job: int, worker: int, position: int, slots: int, payload: np.ndarray[Any, Any], sender: Address
) -> None:
    header = Header(
        job=job, tag=2, op=LaneOp.ADD32, chunk=position, slot=position % slots, shadow=position // slots % 2,
        workers=1 << worker, racks=3 * slots * payload.size, fan_in_workers=worker,
    )  # fmt: skip
    assert server.handle(sender, Packet(header, payload).pack()) is not None


@pytest.mark.long
@pytest.mark.parametrize("compiled", [False, True], ids=["python", "native"])
@pytest.mark.parametrize("on_switches", [False, True])
@pytest.mark.parametrize(("slots", "accumulator_words"), [(64, 360), (256, 32)])
def test_job_memory_is_an_upper_bound(
    request: pytest.FixtureRequest, compiled: bool, on_switches: bool, slots: int, accumulator_words: int
) -> None:
    native: ModuleType | None = request.getfixturevalue("native") if compiled else None
    measure = heap() if compiled else traced
    workers = 6
    job = ServerJob(
        job=1, tag=2, slots=slots,
        members={("10.0.0.1", 5000 + worker): MemberIndex(worker, 0, worker) for worker in range(workers)},
        ops=(LaneOp.ADD32,), accumulator_words=accumulator_words, on_switches=on_switches,
    )  # fmt: skip
    bound = max_job_memory_bytes(job, native=compiled)
    payload = np.zeros(accumulator_words, np.uint32)
    gc.collect()
    if not compiled:
        tracemalloc.start()
    try:
        server: Any = Aggregator() if native is None else NativeAggregator(native)
        # The first job allocates what all jobs of a server share.
        server.admit(replace(job, job=2, members={("10.0.0.9", 9): MemberIndex(0, 0, 0)}))
        contribute(server, 2, 0, 0, slots, payload, ("10.0.0.9", 9))
        before = measure()
        server.admit(job)
        for position in range(3 * slots):
            for worker in range(workers - (position >= 2 * slots)):  # two turns with results, and one without
                contribute(server, 1, worker, position, slots, payload, ("10.0.0.1", 5000 + worker))
        gc.collect()
        needed = measure() - before
    finally:
        tracemalloc.stop()
    assert 2 * slots * accumulator_words * 4 < needed <= bound
    assert bound < 4 * needed + (256 << 10), f"{needed} bytes are needed; the bound is {bound}"


def test_job_memory_with_quorum_raises() -> None:
    members = {("10.0.0.1", 5000 + worker): MemberIndex(worker, 0, worker) for worker in range(2)}
    with pytest.raises(ConfigurationError, match="quorum"):
        max_job_memory_bytes(ServerJob(job=1, tag=2, members=members, slots=8, quorum=1))

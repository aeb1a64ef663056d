# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds in several shares of the slots: in virtual time, and on a thread and a socket for each of them."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanesum import environment
from lanesum._internal.udp_socket import open_udp_socket
from lanesum.errors import ConfigurationError
from lanesum.protocol import Kind, LaneOp
from lanesum.protocol.spec import SLOT_RUN
from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket, UdpTransport, engine
from lanesum.transport.native_engine import NativeRoundSequence
from lanesum.transport.options import SessionOptions
from tests.free_ports import LOCALHOST, free_address
from tests.host.transport.loopback import admitted, tickets
from tests.host.transport.virtual_job import VirtualJob, answer, check_sums, random_plans, read, ticket

pytestmark = pytest.mark.usefixtures("native")

OPS = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX, LaneOp.OR)
CHUNKS = 4096  # enough for helpers


@pytest.fixture(autouse=True)
def required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANESUM_NATIVE", "required")


def divided(transport: UdpTransport) -> int:
    """Return the number of threads that a transport may use."""
    rounds = transport._engine.rounds
    assert isinstance(rounds, NativeRoundSequence)
    return rounds.core.shares


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    shares=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    slots=st.integers(1, 9),
    window=st.integers(1, 8),
    loss=st.sampled_from([0.0, 0.05, 0.3]),
    duplicates=st.sampled_from([0.0, 0.3]),
    jitter_s=st.sampled_from([0.0, 2e-3]),
    switch=st.booleans(),
    restarts=st.lists(st.floats(0, 4e-3), max_size=2),
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    scattered=st.sets(st.integers(0, 5)),
    gathered=st.sets(st.integers(0, 5)),
)
def test_workers_with_any_shares_have_exact_sums(
    seed: int, shares: list[int], slots: int, window: int, restarts: list[float], sizes: list[int],
    scattered: set[int], gathered: set[int], **network: Any,
) -> None:  # fmt: skip
    """Each worker has a number of shares of its own."""
    gathered = {number for number in gathered - scattered if not OPS[number % len(OPS)].shape.widens}
    workers = len(shares)
    sizes = [size * workers if number in scattered else size for number, size in enumerate(sizes)]
    plans = random_plans(seed, workers, sizes, OPS)
    job = VirtualJob(plans, scattered=scattered, gathered=gathered, seed=seed, window=window, slots=slots, **network)
    for worker, number in zip(job.workers, shares, strict=True):
        worker.rounds = NativeRoundSequence(worker.ticket, window=window, shares=number, run_slots=1)
    for when in restarts:
        job.at(when, job.restart)
    job.run()
    check_sums(job)


def test_each_share_has_loss_detection_of_its_own() -> None:
    to = ticket(slots=6, workers=1)
    rounds = NativeRoundSequence(to, congestion="fixed", shares=3, run_slots=1)
    rounds.start(LaneOp.ADD32, np.zeros(12, np.uint32))
    # Run r is of share (r + r // 4) % 24 % 3.
    assert [header.slot for header in read(rounds.due(0.0))] == [0, 3, 5, 1, 2, 4]
    for chunk in (3, 5, 1, 4):
        rounds.receive(answer(to, workers=1, chunk=chunk), 1e-4)
    assert rounds.due(1e-4) == []
    late = read(rounds.due(0.02))  # those before a result of the same share are lost
    assert {header.chunk for header in late} == {0, 2}


def test_shares_divide_window() -> None:
    rounds = NativeRoundSequence(ticket(slots=96, workers=1), window=9, congestion="fixed", shares=3, run_slots=1)
    rounds.start(LaneOp.ADD32, np.zeros(192, np.uint32))
    assert len(rounds.due(0.0)) == 9


@pytest.mark.parametrize(("fields", "shares"), [({}, 0), ({}, 25), ({"quorum": 1}, 2)])
def test_invalid_number_of_shares_is_refused(fields: dict[str, int], shares: int) -> None:
    with pytest.raises(ValueError, match="invalid number of shares"):
        NativeRoundSequence(ticket(**fields), shares=shares)


@pytest.mark.parametrize("offload", ["on", "off"])
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("server_threads", [1, 3])
def test_workers_with_other_threads_share_rounds(
    offload: str, servers: int, server_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = (1, 2, 3)
    options = SessionOptions(offload=offload)  # type: ignore[arg-type]
    with contextlib.ExitStack() as stack:
        opened = [
            stack.enter_context(AggregationServer((LOCALHOST, 0), threads=server_threads, offload=options.offload))
            for _ in range(servers)
        ]
        addresses = tuple(server.address for server in opened)
        made = [
            dataclasses.replace(one, servers=addresses)
            for one in tickets(addresses[0], len(threads), slots=8 * SLOT_RUN * servers)
        ]
        transports = []
        for server in opened:
            server.admit(ServerJob.from_tickets(made))
        for one, number in zip(made, threads, strict=True):
            monkeypatch.setenv(environment.TRANSPORT_THREADS, str(number))
            transports.append(stack.enter_context(contextlib.closing(UdpTransport(one, options))))
        assert [divided(transport) for transport in transports] == list(threads)
        plans = random_plans(servers, len(threads), [64 * CHUNKS, 64 * 7, 64 * CHUNKS])

        def work(transport: UdpTransport) -> list[Any]:
            transport.open()
            return [transport.exchange(*planned).result() for planned in plans[transport.ticket.worker]]

        with ThreadPoolExecutor(len(threads)) as workers:
            results = list(workers.map(work, transports))
    for number in range(3):
        exact = sum(plan[number][1] for plan in plans)
        for result in results:
            np.testing.assert_array_equal(result[number], exact)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[UdpTransport, AggregationServer]]:
    """A worker with three threads that is alone in its job, and its server."""
    monkeypatch.setenv(environment.TRANSPORT_THREADS, "3")
    with AggregationServer((LOCALHOST, 0)) as server:
        (one,) = admitted(server, 1, slots=6 * SLOT_RUN)
        with contextlib.closing(UdpTransport(one)) as transport:
            transport.open()
            yield transport, server


def test_divided_sockets_refuse_other_senders(pair: tuple[UdpTransport, AggregationServer]) -> None:
    """The kernel gives them datagrams of any sender; here one with all else right."""
    transport, _ = pair
    to = dataclasses.replace(transport.ticket, epoch=transport._engine.rounds.epoch)
    forged = answer(to, Kind.CONFLICT, epoch=to.epoch, chunk=0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as intruder:
        intruder.sendto(forged, transport.ticket.local)
    words = np.arange(64 * CHUNKS, dtype=np.uint32)
    np.testing.assert_array_equal(transport.exchange(LaneOp.ADD32, words).result(), words)
    assert transport.stats.conflicts == 0


def test_divided_sockets_share_packets_by_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    with AggregationServer((LOCALHOST, 0)) as server:
        (one,) = admitted(server, 1, slots=6 * SLOT_RUN)
        with engine.ServerSockets(one.local, one.servers) as sockets:
            assert sockets.divide(3) is None
            assert (sockets.divided, len(sockets), sockets.obstacle()) == (True, 3, "")
            received = []
            for run in range(6):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    sender.sendto(answer(one, slot=run * SLOT_RUN), sockets.local)
                for number, descriptor in enumerate(sockets.filenos()):
                    with contextlib.suppress(BlockingIOError):
                        os.read(descriptor, 2000)
                        received.append(number)
            assert received == [0, 1, 2, 0, 2, 0]


def test_kernel_that_refuses_to_steer_leaves_one_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(environment.TRANSPORT_THREADS, "2")
    monkeypatch.setattr("lanesum.transport.sockets.steer", lambda *_, **__: PermissionError(1, os.strerror(1)))
    engine._warn_refused.cache_clear()
    with AggregationServer((LOCALHOST, 0)) as server:
        made = admitted(server, 2, slots=4 * SLOT_RUN)
        with contextlib.ExitStack() as stack, caplog.at_level(logging.WARNING):
            transports = [stack.enter_context(contextlib.closing(UdpTransport(one))) for one in made]
            with ThreadPoolExecutor(2) as workers:
                words = np.ones(64 * CHUNKS, np.uint32)
                rounds = list(workers.map(lambda one: one.exchange(LaneOp.ADD32, words), transports))
            assert [divided(transport) for transport in transports] == [1, 1]
        assert all(np.array_equal(round_.result(), 2 * words) for round_ in rounds)
    (record,) = [record for record in caplog.records if record.name == engine.__name__]
    assert "refuses to steer packets to the transport's 2 threads by slot: Operation not permitted" in record.message


@pytest.mark.parametrize(
    ("fields", "options", "threads"),
    [
        ({}, {}, 3),
        ({"slots": 2 * SLOT_RUN}, {}, 2),
        ({"slots": 8}, {}, 1),
        ({}, {"window": 40}, 2),
        ({"quorum": 1}, {}, 1),
        ({}, {"wrap_socket": lambda sock: sock}, 1),
    ],
)
def test_threads_of_transport_follow_job(
    fields: dict[str, Any], options: dict[str, Any], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.TRANSPORT_THREADS, "3")
    one = JobTicket(**{"job": 1, "tag": 2, "worker": 0, "workers": 1, "slots": 96, **fields})
    assert engine.transport_threads(one, SessionOptions(**options)) == threads


def test_invalid_threads_leave_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.TRANSPORT_THREADS, "many")
    (one,) = tickets((LOCALHOST, 9), 1)
    with pytest.raises(
        ConfigurationError, match="Invalid LANESUM_TRANSPORT_THREADS='many': expected an integer from 1 to 24"
    ):
        UdpTransport(one)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(one.local)


def test_connected_socket_of_switch_has_its_packets() -> None:
    """An embedded switch has sockets with a worker's address, connected to servers behind it, older or younger."""
    with contextlib.ExitStack() as stack:
        backend, server = (stack.enter_context(open_udp_socket((LOCALHOST, 0))) for _ in range(2))
        local = free_address()
        older = stack.enter_context(open_udp_socket(local, peer=backend.getsockname(), shared=True))
        sockets = stack.enter_context(engine.ServerSockets(local, [server.getsockname()], shared=True))
        assert sockets.divide(2) is None
        for number in range(4):
            backend.sendto(bytes([number]) * 100, local)
            assert older.recv(100) == bytes([number]) * 100
        older.close()
        younger = stack.enter_context(open_udp_socket(local, peer=backend.getsockname(), shared=True))
        backend.sendto(b"late", local)
        assert younger.recv(100) == b"late"
        server.sendto(bytes(100), local)
        assert os.read(sockets.filenos()[0], 200) == bytes(100)


def test_fork_of_divided_session_leaves_threads_to_parent(pair: tuple[UdpTransport, AggregationServer]) -> None:
    transport, _ = pair
    words = np.arange(64 * CHUNKS, dtype=np.uint32)
    transport.exchange(LaneOp.ADD32, words)  # its helpers are there
    child = os.fork()
    if child == 0:
        transport.close()
        del transport
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(transport.exchange(LaneOp.ADD32, words).result(), words)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steering of packets to the threads of a server."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.protocol.packet import Packet
from lanesum.protocol.spec import SLOT_RUN
from lanesum.server import AggregationServer, ServerJob, steering
from lanesum.transport import JobTicket, UdpTransport
from lanesum.transport.options import SessionOptions
from tests.host.server.test_udp import LOCALHOST, sockets
from tests.host.transport.loopback import tickets

THREADS = 4
WORKERS = 4


@pytest.fixture(autouse=True)
def native_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Require the native server: Python has one thread."""
    if availability().core is None:
        pytest.skip(availability().reason)
    monkeypatch.setenv("LANESUM_NATIVE", "required")


def test_threads_share_packets_of_four_workers_equally() -> None:
    chunks = 4 * THREADS * SLOT_RUN
    with AggregationServer((LOCALHOST, 0), threads=THREADS) as server, sockets(WORKERS, slots=chunks // 2) as job:
        server.admit(job.job)
        for chunk in range(chunks):
            for worker in range(WORKERS):
                job.send(server.address, worker, chunk)
            for worker in range(WORKERS):
                assert job.workers.check(Packet.unpack(job.receive(worker))) == 0b1111
        status = server.status()
        assert status.received == [WORKERS * chunks // THREADS] * THREADS
        assert (status.steered_by, status.refused) == ("slot", {})


@pytest.mark.parametrize("servers", [1, 2])
def test_joined_rounds_are_exact_over_all_threads(servers: int) -> None:
    """A joined message reaches the thread of its first packet, and may have packets of others."""
    slots, chunks = 512 * servers, 2048 * servers
    with contextlib.ExitStack() as stack:
        opened = [
            stack.enter_context(AggregationServer((LOCALHOST, 0), threads=THREADS, offload="on"))
            for _ in range(servers)
        ]
        addresses = tuple(server.address for server in opened)
        made = [
            dataclasses.replace(ticket, servers=addresses) for ticket in tickets(addresses[0], WORKERS, slots=slots)
        ]
        for server in opened:
            server.admit(ServerJob.from_tickets(made))

        def work(ticket: JobTicket) -> None:
            with contextlib.closing(UdpTransport(ticket, SessionOptions(offload="on"))) as transport:
                transport.open()
                total = transport.exchange(LaneOp.ADD32, np.ones(64 * chunks, np.uint32)).result()
                assert np.array_equal(total, np.full(64 * chunks, WORKERS))

        with ThreadPoolExecutor(WORKERS) as workers:
            list(workers.map(work, made))  # raises what a worker raises
        for server in opened:
            received = server.status().received
            assert sum(received) >= WORKERS * chunks // servers
            assert min(received) > 0


def test_refused_program_is_logged_once_and_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(steering.steering, "steer", lambda *_: PermissionError(1, os.strerror(1)))
    with AggregationServer((LOCALHOST, 0), threads=2) as server, sockets(2, servers=2) as job:
        with caplog.at_level(logging.WARNING):
            server.admit(job.job)
        for worker in range(2):
            job.send(server.address, worker, 0)
        assert job.workers.check(Packet.unpack(job.receive(0))) == 0b11
        assert server.status().steered_by == "sender"
    (record,) = [record for record in caplog.records if record.name == steering.__name__]
    assert "refuses to steer packets to the server's 2 threads by slot: Operation not permitted" in record.message


def test_server_of_one_thread_is_not_steered() -> None:
    with AggregationServer((LOCALHOST, 0), threads=1) as server, sockets(1) as job:
        server.admit(job.job)
        job.send(server.address, 0, 0)
        job.receive(0)
        status = server.status()
        assert (status.received, status.steered_by) == ([1], "none")


def test_job_of_too_many_servers_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="servers = 257: expected 1 to 256"), sockets(1, servers=257):
        pass

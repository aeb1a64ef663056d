# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Selection of a server's thread by the slot of a packet."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import MAX_SLOTS, SLOT_RUN, SLOT_SHARES
from lanesum.server import AggregationServer, ServerJob, steering
from lanesum.server.loops import open_server_sockets
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


@pytest.fixture
def steered() -> Iterator[list[socket.socket]]:
    """Three sockets at one address, of which the kernel selects one by slot."""
    opened = open_server_sockets((LOCALHOST, 0), 3)
    assert steering.steer(opened) is None
    yield opened
    for sock in opened:
        sock.close()


def receiver_of(datagram: bytes, opened: list[socket.socket]) -> int:
    """Send a datagram from a new socket, and return the index of the socket that receives it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(datagram, opened[0].getsockname())
        (readable,), _, _ = select.select(opened, [], [])
    assert readable.recv(100) == datagram
    return opened.index(readable)


@pytest.mark.parametrize("servers", [1, 3, 256])
def test_steered_packet_reaches_socket_of_its_slot(steered: list[socket.socket], servers: int) -> None:
    assert steering.steer(steered, servers) is None
    for job in (0, 1, 7, 0xFFFF):
        for slot in (0, SLOT_RUN - 1, SLOT_RUN, 1000, MAX_SLOTS - 1):
            # All other fields are ones: the program must not read them.
            others = {"shadow": 1, "op": 255, "flags": 255, "tag": 2**32 - 1, "chunk": 2**32 - 1, "spare": 255}
            header = Header(job=job, slot=slot, **others)
            run = slot // (SLOT_RUN * servers)
            assert receiver_of(header.pack(), steered) == (job + (run + run // 4) % SLOT_SHARES) % 3


@pytest.mark.parametrize("size", [0, 1, 16, 19])
def test_datagram_without_slot_reaches_first_socket(steered: list[socket.socket], size: int) -> None:
    assert receiver_of(b"\xff" * size, steered) == 0


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
    monkeypatch.setattr(steering, "steer", lambda *_: PermissionError(1, os.strerror(1)))
    with AggregationServer((LOCALHOST, 0), threads=2) as server, sockets(2, servers=2) as job:
        with caplog.at_level(logging.WARNING):
            server.admit(job.job)
        for worker in range(2):
            job.send(server.address, worker, 0)
        assert job.workers.check(Packet.unpack(job.receive(0))) == 0b11
        assert server.status().steered_by == "sender"
    (record,) = [record for record in caplog.records if record.name == steering.__name__]
    assert "refuses to steer packets to the server's 2 threads by slot: Operation not permitted" in record.message


def test_kernel_refusal_is_returned() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as alone:
        alone.bind((LOCALHOST, 0))
        refused = steering.steer([alone] * 2)  # not bound with SO_REUSEPORT
    assert isinstance(refused, OSError)


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

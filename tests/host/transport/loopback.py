# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tickets of jobs on loopback, and signals to rounds in flight."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket, UdpTransport
from tests.free_ports import free_address

HOST = "127.0.0.1"
FOREVER_S = 1e6


def tickets(server: tuple[str, int], workers: int, **fields: Any) -> list[JobTicket]:
    tag = secrets.randbits(32)
    return [
        JobTicket(
            **{"job": 1, "slots": 8, "accumulator_words": 64, **fields},
            tag=tag, worker=worker, workers=workers, servers=(server,), local=free_address(),
        )
        for worker in range(workers)
    ]  # fmt: skip


def admitted(server: AggregationServer, workers: int, **fields: Any) -> list[JobTicket]:
    made = tickets(server.address, workers, **fields)
    server.admit(ServerJob.from_tickets(made))
    return made


def wait_until_sending(transport: UdpTransport, packets: int = 1, ended: threading.Event | None = None) -> None:
    """Wait for that number of packets, or until ``ended``; the first packet opens the session."""
    ended = ended or threading.Event()
    while transport.stats.packets_sent < packets and not ended.wait(0.001):
        pass


@contextlib.contextmanager
def interrupted_when_sending(transport: UdpTransport) -> Iterator[None]:
    """Send SIGINT to this process when the transport has sent a packet; expect KeyboardInterrupt.

    If the body raises another exception, that one fails the test, and the signal does not end the test run.
    """
    ended = threading.Event()

    def interrupt() -> None:
        wait_until_sending(transport, ended=ended)
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    def raise_in_body(*_: object) -> None:
        if not ended.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, raise_in_body)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, before)

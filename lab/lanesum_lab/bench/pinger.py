# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Agent process of one worker (argument SOCKET) that times many short rounds, or a few long ones.

The first task is a ``PingerSetup``. The module ``echo`` is the peer for round trips.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address
from lanesum.codecs import get
from lanesum.protocol.lanes import LaneOp
from lanesum.session import Session
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from lanesum.transport.latency import LatencyHistogram
from lanesum_lab.bench.agents import serve
from lanesum_lab.bench.errors import BenchError

ALL_REDUCE, ROUND, ALONE = "all-reduce", "round", "alone"
_DEADLINE_S = 60.0
_TRY_S = 0.2
_TRIES = 50


@dataclass(frozen=True, slots=True)
class PingerSetup:
    """``tickets`` of the jobs: ``ALL_REDUCE`` and ``ROUND`` have all workers, ``ALONE`` this worker only."""

    tickets: dict[str, JobTicket]
    window: int


@dataclass(frozen=True, slots=True)
class Pings:
    """Task: ``count`` all-reduces or rounds (by the name of the job) of ``values`` values in sequence."""

    job: str
    values: int
    count: int


@dataclass(frozen=True, slots=True)
class Echoes:
    """Task: send ``burst`` datagrams of ``size`` bytes to ``peer``, ``count`` times; wait for all echoes in between."""

    peer: Address
    size: int
    count: int
    burst: int = 1


@dataclass(frozen=True, slots=True)
class Flow:
    """Task: ``rounds`` rounds of ``chunks`` full packets in a job other than ``ALL_REDUCE``."""

    job: str
    chunks: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Flowed:
    """Counters of the worker during a flow, and its processor time."""

    seconds: float
    cpu_s: float
    sent: int
    received: int
    retransmissions: int
    latency: LatencyHistogram


class Pinger:
    """Carries out tasks."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._transports: dict[str, UdpTransport] = {}

    def work(self, task: PingerSetup | Pings | Echoes | Flow) -> list[float] | Flowed | None:
        """Return the seconds of every round trip, or the result of a ``Flow``."""
        match task:
            case PingerSetup():
                self._start(task)
                return None
            case Pings():
                return self._all_reduces(task) if task.job == ALL_REDUCE else self._rounds(task)
            case Echoes():
                return _echoes(task)
            case Flow():
                return self._flow(task)

    def _start(self, setup: PingerSetup) -> None:
        ticket = setup.tickets[ALL_REDUCE]
        codec = get("fixed", workers=ticket.workers)
        self._session = Session(ticket, codec=codec, window=setup.window, deadline_s=_DEADLINE_S)
        for job in (ROUND, ALONE):
            self._transports[job] = UdpTransport(
                setup.tickets[job], SessionOptions(window=setup.window, deadline_s=_DEADLINE_S)
            )

    def _all_reduces(self, task: Pings) -> list[float]:
        assert self._session is not None
        session = self._session
        # Small integers: their sum is exact.
        values = np.arange(task.values, dtype=np.float32) % 100
        values[0] = 100
        session.all_reduce(values)  # waits for all workers to begin
        taken = []
        for _ in range(task.count):
            begin = time.perf_counter()
            result = session.all_reduce(values)
            taken.append(time.perf_counter() - begin)
        if not np.allclose(result, session.ticket.workers * values, rtol=1e-5, atol=1e-5):
            raise BenchError("An all-reduce of small vectors has a wrong sum.")
        return taken

    def _rounds(self, task: Pings) -> list[float]:
        transport = self._transports[ROUND]
        words = np.arange(task.values, dtype=np.uint32)
        transport.exchange(LaneOp.ADD32, words)
        taken = []
        for _ in range(task.count):
            begin = time.perf_counter()
            sums = transport.exchange(LaneOp.ADD32, words).result()
            taken.append(time.perf_counter() - begin)
        _check(sums, words, transport.ticket.workers)
        return taken

    def _flow(self, task: Flow) -> Flowed:
        transport = self._transports[task.job]
        words = np.arange(task.chunks * transport.ticket.accumulator_words, dtype=np.uint32)
        before = transport.stats
        cpu, begin = time.process_time(), time.perf_counter()
        for _ in range(task.rounds):
            sums = transport.exchange(LaneOp.ADD32, words).result()
        taken, used = time.perf_counter() - begin, time.process_time() - cpu
        _check(sums, words, transport.ticket.workers)
        did = transport.stats - before
        return Flowed(taken, used, did.packets_sent, did.packets_received, did.retransmissions, did.latency)

    def close(self) -> None:
        """Release all resources."""
        if self._session is not None:
            self._session.close()
        for transport in self._transports.values():
            transport.close()


def _check(sums: NDArray[np.uint32], words: NDArray[np.uint32], workers: int) -> None:
    if not np.array_equal(sums, words * np.uint32(workers)):
        raise BenchError("A round has a wrong sum.")


def _echoes(task: Echoes) -> list[float]:
    datagram = bytes(task.size)
    taken = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(task.peer)
        sock.settimeout(_TRY_S)
        for _ in range(_TRIES):  # the other end may not be ready yet
            try:
                sock.send(datagram)
                sock.recv(MAX_DATAGRAM_BYTES)
                break
            except (TimeoutError, ConnectionRefusedError):
                time.sleep(_TRY_S)
        sock.settimeout(_DEADLINE_S)
        buffer = bytearray(MAX_DATAGRAM_BYTES)
        for _ in range(task.count):
            begin = time.perf_counter()
            for _ in range(task.burst):
                sock.send(datagram)
            for _ in range(task.burst):
                sock.recv_into(buffer)
            taken.append(time.perf_counter() - begin)
    return taken


def main(arguments: list[str]) -> None:
    """Work until the benchmark closes the connection."""
    pinger = Pinger()
    try:
        serve(arguments[0], pinger.work)
    finally:
        pinger.close()

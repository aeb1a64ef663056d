# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers and a server of each implementation as processes, to measure transport and server."""

from __future__ import annotations

import contextlib
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.native import VARIABLE, availability
from lanesum._internal.udp_socket import MAX_DATAGRAM_BYTES, Address
from lanesum.codecs import get
from lanesum.launch.supervisor import Child
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS, UDP_PORT
from lanesum.server.jobs import ServerJob
from lanesum.session import Session
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from lanesum.transport.latency import LatencyHistogram
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.figures import BenchError
from lanesum_lab.bench.places import HUB, Place, make_tickets, worker_nodes
from lanesum_lab.processor_time import processor_s
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.targets.embedded import lanesum_command

ECHO_PORT = UDP_PORT + 9
WINDOW = 64  # packets in flight of a worker, at most
WORDS = FULL_ACCUMULATOR_WORDS  # of a packet
_START_S = 120.0
ALL_REDUCE, ROUND, ALONE = "all-reduce", "round", "alone"
_DEADLINE_S = 60.0
_TRY_S = 0.2
_TRIES = 50


@dataclass(frozen=True, slots=True)
class Flowed:
    """Counters of the worker during a flow, and its processor time."""

    seconds: float
    cpu_s: float
    sent: int
    received: int
    retransmissions: int
    latency: LatencyHistogram


def _check(sums: NDArray[np.uint32], words: NDArray[np.uint32], workers: int) -> None:
    if not np.array_equal(sums, words * np.uint32(workers)):
        raise BenchError("A round has a wrong sum.")


class Pinger:
    """Worker that times many short rounds, or a few long ones, in a process of its own.

    ``tickets``: of the jobs; ``ALL_REDUCE`` and ``ROUND`` have all workers, ``ALONE`` this worker only.
    """

    def __init__(self, tickets: dict[str, JobTicket]) -> None:
        ticket = tickets[ALL_REDUCE]
        codec = get("fixed", workers=ticket.workers)
        self._session = Session(ticket, codec=codec, window=WINDOW, deadline_s=_DEADLINE_S)
        self._transports = {
            job: UdpTransport(tickets[job], SessionOptions(window=WINDOW, deadline_s=_DEADLINE_S))
            for job in (ROUND, ALONE)
        }

    def all_reduces(self, values: int, count: int) -> list[float]:
        """Return the seconds of each of ``count`` all-reduces of ``values`` values in sequence."""
        # Small integers: their sum is exact.
        vector = np.arange(values, dtype=np.float32) % 100
        vector[0] = 100
        self._session.all_reduce(vector)  # waits for all workers to begin
        taken = []
        for _ in range(count):
            begin = time.perf_counter()
            result = self._session.all_reduce(vector)
            taken.append(time.perf_counter() - begin)
        if not np.allclose(result, self._session.ticket.workers * vector, rtol=1e-5, atol=1e-5):
            raise BenchError("An all-reduce of small vectors has a wrong sum.")
        return taken

    def rounds(self, values: int, count: int) -> list[float]:
        """Return the seconds of each of ``count`` rounds of ``values`` words in sequence."""
        transport = self._transports[ROUND]
        words = np.arange(values, dtype=np.uint32)
        transport.exchange(LaneOp.ADD32, words)
        taken = []
        for _ in range(count):
            begin = time.perf_counter()
            sums = transport.exchange(LaneOp.ADD32, words).result()
            taken.append(time.perf_counter() - begin)
        _check(sums, words, transport.ticket.workers)
        return taken

    def flow(self, job: str, chunks: int, rounds: int) -> Flowed:
        """Run ``rounds`` rounds of ``chunks`` full packets in a job other than ``ALL_REDUCE``."""
        transport = self._transports[job]
        words = np.arange(chunks * transport.ticket.accumulator_words, dtype=np.uint32)
        before = transport.stats
        cpu, begin = time.process_time(), time.perf_counter()
        for _ in range(rounds):
            sums = transport.exchange(LaneOp.ADD32, words).result()
        taken, used = time.perf_counter() - begin, time.process_time() - cpu
        _check(sums, words, transport.ticket.workers)
        did = transport.stats - before
        return Flowed(taken, used, did.packets_sent, did.packets_received, did.retransmissions, did.latency)

    def echoes(self, peer: Address, size: int, count: int, burst: int = 1) -> list[float]:
        """Send ``burst`` datagrams of ``size`` bytes to ``peer``, ``count`` times; wait for all echoes in between."""
        datagram = bytes(size)
        taken = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(peer)
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
            for _ in range(count):
                begin = time.perf_counter()
                for _ in range(burst):
                    sock.send(datagram)
                for _ in range(burst):
                    sock.recv_into(buffer)
                taken.append(time.perf_counter() - begin)
        return taken

    def close(self) -> None:
        """Release all resources."""
        self._session.close()
        for transport in self._transports.values():
            transport.close()


def implementations(left_out: dict[str, str]) -> dict[str, str]:
    """Return the implementations that this machine permits, with their values of ``LANESUM_NATIVE``."""
    native = availability()
    if native.core is None:
        left_out["native"] = native.reason
        return {"Python": "off"}
    return {"Python": "off", "native": "required"}


class Pingers:
    """Workers and a server of one implementation at a location."""

    def __init__(
        self, name: str, number: int, place: Place, supervisor: RunSupervisor, folder: Path, native: str
    ) -> None:
        self.name = name
        self._number = number
        self._place = place
        self._agents = Agents(supervisor, folder, place.command)
        self._supervisor = supervisor
        self._environment = {VARIABLE: native, "OMP_NUM_THREADS": "1"}
        self._control = f"unix:{folder / f'{name}-server.sock'}"
        self._server: Child | None = None
        self.workers = [""]

    def start(self, workers: int) -> None:
        """Start all processes. Raises ProcessFailedError, BenchError."""
        nodes = worker_nodes(workers)
        port = UDP_PORT + self._number
        server = lanesum_command("server", "--listen", f"{self._place.address(HUB)}:{port}", "--control", self._control)
        self._server = self._supervisor.start(
            f"{self.name}-server", self._place.command(HUB, server), environment=self._environment
        )
        self.workers = [f"{self.name}-{node}" for node in nodes]
        for agent, node in zip(self.workers, nodes, strict=True):
            self._agents.start(agent, node, self._environment)
        self._supervisor.wait_ready(self._server, _START_S)
        addresses = [self._place.address(node) for node in nodes]
        setups: list[dict[str, Any]] = [{} for _ in nodes]
        jobs: list[tuple[str, Sequence[int]]] = [(ALL_REDUCE, range(len(nodes))), (ROUND, range(len(nodes)))]
        jobs += [(ALONE, [worker]) for worker in range(len(nodes))]
        for number, (job, members) in enumerate(jobs):
            tickets = make_tickets(
                100 * self._number + number,
                get("fixed", workers=len(members)),
                [addresses[worker] for worker in members],
                [(self._place.address(HUB), port)],
                accumulator_words=WORDS,
                slots=WINDOW,
            )
            RemoteServer(self._control).admit(ServerJob.from_tickets(tickets))
            for worker, ticket in zip(members, tickets, strict=True):
                setups[worker][job] = ticket
        self._agents.make({agent: partial(Pinger, one) for agent, one in zip(self.workers, setups, strict=True)})

    def times(self, call: Callable[..., list[float]], *, together: bool = True) -> list[float]:
        """Call a method of ``Pinger`` that times round trips; return the first worker's seconds.

        ``together``: at all workers at the same time, not at the first one alone.
        """
        agents = self.workers if together else self.workers[:1]
        answers: dict[str, list[float]] = self._agents.ask(dict.fromkeys(agents, call))
        return answers[self.workers[0]]

    def flow(self, job: str, chunks: int, seconds: float) -> tuple[list[Flowed], float]:
        """Run long rounds for about ``seconds``, at the first worker in ``ALONE``, at all of them in ``ROUND``.

        Returns the counters of each worker, and the processor time of the server in seconds.
        """
        agents = self.workers[:1] if job == ALONE else self.workers
        trial: dict[str, Flowed] = self._agents.ask(
            dict.fromkeys(agents, partial(Pinger.flow, job=job, chunks=chunks, rounds=1))
        )
        rounds = max(1, round(seconds / max(one.seconds for one in trial.values())))
        before = self._server_cpu()
        answers: dict[str, Flowed] = self._agents.ask(
            dict.fromkeys(agents, partial(Pinger.flow, job=job, chunks=chunks, rounds=rounds))
        )
        return list(answers.values()), self._server_cpu() - before

    def _server_cpu(self) -> float:
        assert self._server is not None
        return processor_s(self._server.process.pid)

    def close(self) -> None:
        """End the processes; idempotent."""
        self._agents.close()


@contextlib.contextmanager
def pingers(place: Place, workers: int, names: dict[str, str], *, echo: bool = False) -> Iterator[list[Pingers]]:
    """Start one set for each of the ``implementations``; with ``echo``, also an echo process at the hub."""
    with contextlib.ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="lanesum-")))
        supervisor = cleanup.enter_context(RunSupervisor(folder / "logs"))
        if echo:
            answerer = [sys.executable, "-m", "lanesum_lab.bench.datagrams", place.address(HUB), str(ECHO_PORT)]
            supervisor.start("echo", place.command(HUB, answerer))
        kinds = []
        for number, (name, native) in enumerate(names.items()):
            kind = Pingers(name, number, place, supervisor, folder, native)
            cleanup.callback(kind.close)
            kind.start(workers)
            kinds.append(kind)
        yield kinds

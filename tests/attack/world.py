# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""An honest job at a switch of the conformance suite, with real workers, the real server and simulated time.

::

    victim's workers --0,1,2 +--------+ 6-- no member of anything
    another job's    --3,4   | switch |
    a former member  --5     +--------+ 7-- aggregation server

Every frame goes through the switch under test and the reference switch, which must agree.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bmv2_tests.oracle import aggregate, random_words
from bmv2_tests.star import SERVER, Job, Star
from bmv2_tests.target import Clock
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import ETHERNET_BYTES, IPV4_BYTES, UDP_PORT
from lanesum.server import Aggregator, ServerJob
from lanesum.transport import JobTicket, RoundSequence, RoundState
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort
from lanesum_switch.frames import UdpFrame, internet_checksum, ipv4_int, ipv4_text, udp_checksum
from tests.attack.attacker import CapturedTraffic, Host
from tests.reference.switch import PortFrame

Words = NDArray[np.uint32]
Round = tuple[LaneOp, list[Words]]  # the words of every worker

CHUNKS = 6  # of a round; more than the slots, so that they are used again
_TICK_S = 1024e-6
_NEVER_S = 3600.0


def tickets_of(job: Job, *, workers: Sequence[int] | None = None, quorum: int = 0) -> tuple[JobTicket, ...]:
    """Return the tickets of a job's workers. ``workers``: members that the job has; None for all."""
    members = job.members if workers is None else [job.members[worker] for worker in workers]
    one = job.switch_job
    return tuple(
        JobTicket(
            job=one.job,
            tag=one.tag,
            worker=number,
            workers=len(members),
            slots=one.slot_count,
            accumulator_words=job.accumulator_words,
            servers=((ipv4_text(SERVER.ip), UDP_PORT),),
            local=(ipv4_text(member.host.ip), member.udp_port),
            ops=one.ops,
            code_table=one.code_table,
            quorum=quorum,
        )
        for number, member in enumerate(members)
    )


def random_rounds(
    tickets: Sequence[JobTicket], number: int, seed: int, ops: Sequence[LaneOp] = (LaneOp.ADD32,)
) -> list[Round]:
    rng = np.random.default_rng(seed)
    rounds: list[Round] = []
    size = CHUNKS * tickets[0].accumulator_words
    for index in range(number):
        op = ops[index % len(ops)]
        rounds.append((op, [random_words(rng, op, size, len(tickets)) for _ in tickets]))
    return rounds


def host_of(host: HostPort, udp_port: int = UDP_PORT) -> Host:
    return Host(host.mac, host.ip, udp_port)


def taken_by(frame: bytes, host: Host) -> UdpFrame | None:
    """Return the datagram that the kernel of ``host`` delivers to the socket; None if it drops the frame."""
    datagram = UdpFrame.unpack(frame)
    if datagram is None or datagram.destination_mac != host.mac:
        return None
    if (datagram.destination_ip, datagram.destination_port) != (host.ip, host.udp_port):
        return None
    end = ETHERNET_BYTES + int.from_bytes(frame[16:18], "big")
    whole = frame[ETHERNET_BYTES + IPV4_BYTES : end]
    if internet_checksum(frame[ETHERNET_BYTES : ETHERNET_BYTES + IPV4_BYTES]) != 0:
        return None
    if whole[6:8] != bytes(2) and udp_checksum(datagram.source_ip, datagram.destination_ip, whole) != 0xFFFF:
        return None
    return datagram


class Worker:
    """Honest worker: the loop of ``UdpTransport`` without a socket."""

    def __init__(self, ticket: JobTicket, host: HostPort, server: HostPort) -> None:
        self._server = server
        self.ticket = ticket
        self.port = host.port
        self.host = host_of(host, ticket.local[1])
        self.rounds = RoundSequence(ticket)
        self.round: RoundState | None = None
        self.results: list[Words] = []
        self.contributors: list[Words] = []
        self.received: list[bytes] = []  # all datagrams that its socket received

    def receive(self, frame: bytes, now: float) -> None:
        datagram = taken_by(frame, self.host)
        # A connected socket receives only packets from the server.
        if datagram is None or (datagram.source_ip, datagram.source_port) != (self._server.ip, UDP_PORT):
            return
        self.received.append(datagram.payload)
        self.rounds.receive(datagram.payload, now)

    def due(self, now: float, checksum: bool) -> list[PortFrame]:
        host = self.host
        return [
            (
                self.port,
                UdpFrame(
                    host.mac, SWITCH_MAC, host.ip, self._server.ip, host.udp_port, UDP_PORT, bytes(datagram)
                ).pack(checksum=checksum),
            )
            for datagram in self.rounds.due(now)
        ]  # fmt: skip


class Network(Protocol):
    """Carries frames. ``clock``: simulated time; None for real time."""

    @property
    def clock(self) -> Clock | None: ...

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send a frame into a port; return the frames that leave at the hosts' ports."""


class OneSwitch:
    """A switch of the conformance suite with its reference switch."""

    def __init__(self, star: Star) -> None:
        self.exchange = star.exchange
        self.clock = star.target.clock


# Called before every honest frame: sends the frames of the attackers.
Intrude = Callable[["World"], None]


class World:
    """Runs rounds of a job; afterwards the workers hold the results.

    Args:
        network: the switch or switches that the job was admitted to.
        tickets: tickets of the job's workers.
        hosts: hosts of the workers.
        jobs: all jobs that the server serves.
        loss: share of honest frames that are lost before and after the switch.
        seed: seed of loss and order; an intruder has a generator of its own.
        server: host of the aggregation server.
    """

    def __init__(
        self,
        network: Network,
        tickets: Sequence[JobTicket],
        hosts: Sequence[HostPort],
        jobs: Sequence[ServerJob],
        *,
        loss: float = 0.0,
        seed: int = 0,
        server: HostPort = SERVER,
    ) -> None:
        self.network = network
        self._server = server
        self.workers = [Worker(ticket, host, server) for ticket, host in zip(tickets, hosts, strict=True)]
        self.aggregator = Aggregator()
        for job in jobs:
            self.aggregator.admit(job)
        self.traffic = CapturedTraffic(tuple(tickets), tuple(host.mac for host in hosts), server.mac, SWITCH_MAC)
        self.attack_at_server = 0  # datagrams of attackers that reached the server's socket
        self.now = 0.0
        self._ticks = 0
        self._loss = loss
        self._rng = random.Random(seed)

    def run(self, rounds: Sequence[Round], intrude: Intrude | None = None) -> None:
        """Run all rounds in order, each worker at its own pace, until every worker has all results."""
        while any(len(worker.results) < len(rounds) for worker in self.workers):
            frames = collections.deque(self._due(rounds))
            if not frames:
                self._wait()
            while frames:
                port, frame = frames.popleft()
                if intrude is not None:
                    intrude(self)
                if self._rng.random() >= self._loss:
                    frames.extend(self._deliver(self.network.exchange(port, frame)))
                for worker in self.workers:
                    self._finish(worker)

    def attack(self, port: int, frame: bytes) -> None:
        """Send a frame of an attacker into its port, and deliver everything that follows from it without loss."""
        frames = collections.deque([(port, frame)])
        first = True
        while frames:
            for out_port, out in self.network.exchange(*frames.popleft()):
                if out_port == self._server.port:
                    datagrams = self._at_server(out)
                    self.attack_at_server += first and datagrams is not None
                    frames.extend(datagrams or [])
                else:
                    self._at_worker(out_port, out)
            first = False

    def check(self, rounds: Sequence[Round]) -> None:
        """Check that every result at every worker is the exact sum over the contributors that it names."""
        for worker in self.workers:
            for (op, words), result, contributors in zip(rounds, worker.results, worker.contributors, strict=True):
                assert len(contributors) == CHUNKS
                for got, bitmaps, chunk in zip(
                    np.split(result, CHUNKS), contributors, zip(*(np.split(w, CHUNKS) for w in words), strict=True),
                    strict=True,
                ):  # fmt: skip
                    places = (other.ticket.place for other in self.workers)
                    there = [part for part, (rack, bit) in zip(chunk, places, strict=True) if bitmaps[rack] >> bit & 1]
                    assert len(there) >= (worker.ticket.quorum or worker.ticket.workers)
                    assert got.tolist() == aggregate(op, there).tolist()

    def _due(self, rounds: Sequence[Round]) -> list[PortFrame]:
        frames: list[PortFrame] = []
        for worker in self.workers:
            done = len(worker.results)
            if worker.round is None and done < len(rounds):
                op, words = rounds[done]
                worker.round = worker.rounds.start(op, words[worker.ticket.worker])
            frames += worker.due(self.now, checksum=worker.ticket.worker % 2 == 0)
        for _, frame in frames:
            self.traffic.capture(frame)
        self._rng.shuffle(frames)
        return frames

    def _wait(self) -> None:
        waits = [worker.rounds.next_timeout(self.now) for worker in self.workers]
        self.now += min((wait for wait in waits if wait is not None), default=0.0) + 1e-6
        assert self.now < _NEVER_S, [worker.rounds.missing_workers() for worker in self.workers]
        ticks = int(self.now / _TICK_S)
        if self.network.clock is not None:
            self.network.clock.advance(ticks - self._ticks)
        self._ticks = ticks

    def _deliver(self, outs: Sequence[PortFrame]) -> list[PortFrame]:
        answers: list[PortFrame] = []
        for port, frame in outs:
            if self._rng.random() < self._loss:
                continue
            if port == self._server.port:
                answers += self._at_server(frame) or []
            else:
                self._at_worker(port, frame)
        return answers

    def _at_server(self, frame: bytes) -> list[PortFrame] | None:
        datagram = taken_by(frame, host_of(self._server))
        if datagram is None:
            return None
        sender = ipv4_text(datagram.source_ip), datagram.source_port
        return [
            (
                self._server.port,
                UdpFrame(
                    self._server.mac, SWITCH_MAC, self._server.ip, ipv4_int(ip), UDP_PORT, udp_port, answer
                ).pack(checksum=True),
            )
            for (ip, udp_port), answer in self.aggregator.handle(sender, datagram.payload)
        ]  # fmt: skip

    def _at_worker(self, port: int, frame: bytes) -> None:
        for worker in self.workers:
            if worker.port == port:
                worker.receive(frame, self.now)

    @staticmethod
    def _finish(worker: Worker) -> None:
        round_ = worker.round
        if round_ is not None and round_.complete:
            worker.results.append(round_.result())
            worker.contributors.append(round_.contributors().copy())
            worker.rounds.finish(round_)
            worker.round = None

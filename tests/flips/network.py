# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers, a server and perhaps a switch in one process and in virtual time, with a hook at every packet."""

from __future__ import annotations

import collections
from collections.abc import Callable

import numpy as np

from bmv2_tests.star import SERVER, worker_host
from bmv2_tests.target import Target
from lanesum.protocol.lanes import LaneOp, carried_by
from lanesum.protocol.spec import UDP_PORT
from lanesum.server.jobs import ServerJob
from lanesum.server.native_aggregator import AnyAggregator
from lanesum.transport.errors import TransportError
from lanesum.transport.native_engine import AnyRoundSequence, AnyRoundState
from lanesum.transport.ticket import JobTicket
from lanesum_fabric.program.switch_job import SWITCH_MAC, HostPort, Member, SwitchJob
from lanesum_switch.frames import ipv4_text
from tests.host.transport.virtual_job import Words
from tests.simulator.kernel import Endpoint, pack, unpack

WORKERS = 2
SLOTS = 4
DEADLINE_S = 10.0
_JOB = 1
_FIRST_PORT = 40000
_STEP_S = 1e-5


# Changes a datagram behind its checksum, or the memory beside it. Arguments: True for a packet of a worker, datagram.
Hook = Callable[[bool, bytes], bytes]


class FlipNetwork:
    """A job between workers; ``admit`` replaces it by one under a new tag.

    Args:
        words: accumulator words of a packet.
        server: its aggregator.
        rounds: makes the rounds of a worker.
        switch: the switch in front of the server; None for none.
        certified: packets have check words.
        workers: at most 6, each at a port of its own.

    Attributes:
        hook: called with each packet of a worker before it enters the network, and before it reaches a worker.
    """

    def __init__(
        self,
        words: int,
        server: AnyAggregator,
        rounds: Callable[[JobTicket], AnyRoundSequence],
        switch: Target | None = None,
        *,
        certified: bool = True,
        workers: int = WORKERS,
    ) -> None:
        self.server = server
        self.switch = switch
        self.hook: Hook = lambda _flow, datagram: datagram
        self._words = words
        self._certified = certified
        self._make_rounds = rounds
        self._hosts = [worker_host(worker) for worker in range(workers)]
        self._tag = 0
        self._on_switch: SwitchJob | None = None
        self.now = 0.0
        if switch is not None:
            for host in (*self._hosts, SERVER):
                switch.control.add_host(host)
        self.admit()

    def admit(self) -> None:
        """Admit the job again, with new rounds."""
        self._tag += 1
        addresses = [(ipv4_text(host.ip), _FIRST_PORT + worker) for worker, host in enumerate(self._hosts)]
        self.tickets = [
            JobTicket(
                job=_JOB,
                tag=self._tag,
                worker=worker,
                workers=len(addresses),
                slots=SLOTS,
                accumulator_words=self._words,
                servers=((ipv4_text(SERVER.ip), UDP_PORT),),
                local=address,
                certified=self._certified,
            )
            for worker, address in enumerate(addresses)
        ]
        self._workers = {ticket.local: ticket.worker for ticket in self.tickets}
        self.rounds = [self._make_rounds(ticket) for ticket in self.tickets]
        job = ServerJob.from_tickets(self.tickets)
        self.server.remove(_JOB)
        self.server.admit(job)
        if self.switch is None:
            return
        if self._on_switch is not None:
            self.switch.control.remove(self._on_switch)
        members = tuple(Member(worker, (host,), _FIRST_PORT + worker) for worker, host in enumerate(self._hosts))
        offered = self.switch.control.capabilities.ops
        ops = tuple(op for op in carried_by(self._words) if not op.shape.lookup and op in offered)
        self._on_switch = SwitchJob(_JOB, self._tag, 0, SLOTS, 1, members, ops)
        self.switch.control.admit(self._on_switch)

    def reduce(self, op: LaneOp, contributions: list[Words], *, scattered: bool = False) -> list[Words]:
        """Run a round; return the result of each worker. Raises TransportError, also if the deadline passes."""
        pairs = zip(self.rounds, contributions, strict=True)
        states = [one.start(op, words, scattered=scattered) for one, words in pairs]
        self._packets: collections.deque[tuple[int, bytes]] = collections.deque()
        self._frames: collections.deque[tuple[HostPort, bytes]] = collections.deque()
        deadline = self.now + DEADLINE_S
        self._send_all()
        while not all(state.complete for state in states):
            if self._frames or self._packets:
                self._deliver()
                continue
            waits = [one.next_timeout(self.now) for one in self.rounds]
            self.now += max(_STEP_S, min((wait for wait in waits if wait is not None), default=DEADLINE_S))
            if self.now > deadline:
                raise TransportError("deadline", "")
            self._send_all()
        while self._frames or self._packets:
            self._deliver()
        return [self._finish(worker, state) for worker, state in enumerate(states)]

    def _finish(self, worker: int, state: AnyRoundState) -> Words:
        result = state.result().copy()
        contributors = np.array(state.contributors())
        assert (contributors == (1 << len(self.rounds)) - 1).all()
        self.rounds[worker].finish(state)
        return result

    def _send_all(self) -> None:
        for worker in range(len(self.rounds)):
            self._send(worker)

    def _send(self, worker: int) -> None:
        for view in self.rounds[worker].due(self.now):
            self._packets.append((worker, bytes(view)))

    def _deliver(self) -> None:
        """Deliver the oldest packet."""
        self.now += _STEP_S
        if self._frames:
            host, frame = self._frames.popleft()
            self._arrive(host, frame)
            return
        worker, datagram = self._packets.popleft()
        datagram = self.hook(True, datagram)
        if self.switch is None:
            self._serve(self.tickets[worker].local, datagram)
            return
        host = self._hosts[worker]
        receiver = Endpoint(SERVER.ip, SWITCH_MAC)
        self._switch(host, pack(Endpoint(host.ip, host.mac), receiver, _FIRST_PORT + worker, UDP_PORT, datagram))

    def _switch(self, source: HostPort, frame: bytes) -> None:
        assert self.switch is not None
        hosts = {host.port: host for host in (*self._hosts, SERVER)}
        self._frames += [(hosts[port], out) for port, out in self.switch.exchange(source.port, frame)]

    def _arrive(self, host: HostPort, frame: bytes) -> None:
        """Deliver a frame that has left the switch to a host."""
        datagram = unpack(frame, Endpoint(host.ip, host.mac))
        if datagram is None:
            return
        sender = ipv4_text(datagram.source_ip), datagram.source_port
        if host is SERVER:
            self._serve(sender, datagram.payload)
        elif (ipv4_text(host.ip), datagram.port) in self._workers and sender == self.tickets[0].servers[0]:
            self._receive(self._workers[ipv4_text(host.ip), datagram.port], datagram.payload)

    def _serve(self, sender: tuple[str, int], datagram: bytes) -> None:
        for receiver, answer in self.server.handle(sender, datagram):
            worker = self._workers[receiver]
            if self.switch is None:
                self._receive(worker, answer)
                continue
            host = self._hosts[worker]
            to_switch = Endpoint(host.ip, SWITCH_MAC)
            self._switch(SERVER, pack(Endpoint(SERVER.ip, SERVER.mac), to_switch, UDP_PORT, receiver[1], answer))

    def _receive(self, worker: int, datagram: bytes) -> None:
        self.rounds[worker].receive(self.hook(False, datagram), self.now)
        self._send(worker)

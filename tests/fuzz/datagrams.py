# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzer of packets to server, workers and switch, while an honest job sums.

``python -m tests.fuzz.datagrams --seconds 60`` (``make fuzz-udp``; LANESUM_NATIVE=off for the Python implementation).
Every sum must be exact, and no packet may raise an exception. Two worlds take turns:

- a relay on the path between two workers and a server, over sockets. It forwards their datagrams, and adds mutants of
  them with any bytes but the tag, which a host off the path does not have. From its own address it sends the tag, too;
- attackers at ports of the embedded switch, which have captured all packets with their tags.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import random
import secrets
import select
import socket
import sys
import threading
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from bmv2_tests.in_process import EmbeddedTarget
from bmv2_tests.star import NON_MEMBER, Star, worker_host
from bmv2_tests.targets import open_target
from lanesum.protocol import Header, LaneOp
from lanesum.protocol.packet import PacketError
from lanesum.protocol.spec import HEADER_BYTES
from lanesum.server import AggregationServer, ServerJob
from lanesum.transport import JobTicket, SessionOptions, UdpTransport
from tests.attack.test_switch import FORMER, OTHERS, Scene
from tests.attack.world import World
from tests.fuzz.running import Budget, Errors, mutated, options, report

LOCALHOST = "127.0.0.1"
WORKERS, SLOTS, PACKETS, ROUNDS = 2, 8, 12, 4
OPS = (LaneOp.ADD32, LaneOp.MAX)
_MUTANTS = 3  # for each honest packet
_MAX_DATAGRAM = 60_000
_PORTS = (NON_MEMBER.port, worker_host(OTHERS[0]).port, worker_host(FORMER).port)

Words = NDArray[np.uint32]


def udp_socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((LOCALHOST, 0))
    sock.setblocking(False)
    return sock


class Relay:
    """Workers and server with a relay between them, and a outsider."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.server = stack.enter_context(AggregationServer((LOCALHOST, 0)))
        self.fronts = [stack.enter_context(contextlib.closing(udp_socket())) for _ in range(WORKERS)]
        self.backs = [stack.enter_context(contextlib.closing(udp_socket())) for _ in range(WORKERS)]
        self.outsider = stack.enter_context(contextlib.closing(udp_socket()))
        own = [stack.enter_context(contextlib.closing(udp_socket())).getsockname() for _ in range(WORKERS)]
        tag = secrets.randbits(32)
        self.tickets = [
            JobTicket(
                job=7, tag=tag, worker=worker, workers=WORKERS, slots=SLOTS, ops=OPS,
                servers=(self.fronts[worker].getsockname(),), local=(f"127.0.0.{2 + worker}", own[worker][1]),
            )
            for worker in range(WORKERS)
        ]  # fmt: skip
        backs = [sock.getsockname() for sock in self.backs]
        members = [dataclasses.replace(one, local=back) for one, back in zip(self.tickets, backs, strict=True)]
        self.server.admit(ServerJob.from_tickets(members))
        self.transports = [
            stack.enter_context(contextlib.closing(UdpTransport(ticket, SessionOptions(deadline_s=120))))
            for ticket in self.tickets
        ]
        self._round = 0
        self._seen: list[bytes] = [bytes(HEADER_BYTES)]

    def run(self, rng: random.Random) -> int:
        """Run some rounds; return the number of mutants sent meanwhile."""
        problems: list[BaseException] = []
        threads = [threading.Thread(target=self._work, args=(one, problems)) for one in range(WORKERS)]
        for thread in threads:
            thread.start()
        sent = 0
        while any(thread.is_alive() for thread in threads):
            sent += self._forward(rng)
        if problems:
            raise problems[0]
        assert self.server.broken == 0
        self._round += ROUNDS
        return sent

    def _work(self, worker: int, problems: list[BaseException]) -> None:
        try:
            for number in range(self._round, self._round + ROUNDS):
                op = OPS[number % len(OPS)]
                all_words = [self._words(one, number) for one in range(WORKERS)]
                done = self.transports[worker].exchange(op, all_words[worker])
                wanted = np.max(all_words, 0) if op is LaneOp.MAX else np.add.reduce(all_words, 0, dtype=np.uint32)
                assert done.result().tolist() == wanted.tolist(), f"a wrong sum in round {number}"
        except BaseException as error:
            problems.append(error)

    def _words(self, worker: int, number: int) -> Words:
        size = PACKETS * self.tickets[0].accumulator_words
        return np.random.default_rng((worker, number)).integers(0, 1 << 31, size, np.uint32)

    def _forward(self, rng: random.Random) -> int:
        """Forward what has arrived, with mutants beside each datagram."""
        ready, _, _ = select.select([*self.fronts, *self.backs], [], [], 0.05)
        sent = 0
        for sock in ready:
            with contextlib.suppress(OSError):
                while True:
                    datagram, _ = sock.recvfrom(1 << 16)
                    sent += self._pass_on(sock, datagram, rng)
        return sent

    def _pass_on(self, sock: socket.socket, datagram: bytes, rng: random.Random) -> int:
        up = sock in self.fronts
        worker = (self.fronts if up else self.backs).index(sock)
        self._send(*self._path(up, worker), datagram)
        self._seen = [*self._seen[-50:], datagram]
        for _ in range(_MUTANTS):
            mutant = mutated(rng.choice(self._seen), rng)[:_MAX_DATAGRAM]
            kind = rng.randrange(3)
            if kind == 0:
                self._send(self.outsider, self.server.address, mutant)
            else:
                self._send(*self._path(kind == 1, rng.randrange(WORKERS)), self._foreign(mutant))
        return _MUTANTS

    def _path(self, up: bool, worker: int) -> tuple[socket.socket, tuple[str, int]]:
        """Return the socket to send from, and the receiver: the server or a worker."""
        return (self.backs[worker], self.server.address) if up else (self.fronts[worker], self.tickets[worker].local)

    def _foreign(self, datagram: bytes) -> bytes:
        """Return a datagram with another tag, if it has the job's."""
        try:
            header = Header.unpack(datagram)
        except (PacketError, ValueError):
            return datagram
        if header.tag != self.tickets[0].tag:
            return datagram
        return dataclasses.replace(header, tag=header.tag ^ 0x8001).pack() + datagram[HEADER_BYTES:]

    @staticmethod
    def _send(sock: socket.socket, receiver: tuple[str, int], datagram: bytes) -> None:
        with contextlib.suppress(OSError):  # a full buffer: workers retransmit
            sock.sendto(datagram, receiver)


class Ports:
    """The embedded switch with an honest job, another job, and a host outside both."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        target = stack.enter_context(open_target("embedded"))
        assert isinstance(target, EmbeddedTarget)
        self._star = Star(target)
        self._device = target.switch

    def run(self, rng: random.Random) -> int:
        """Run some rounds; return the number of mutants sent meanwhile."""
        sent = 0

        def intrude(world: World) -> None:
            nonlocal sent
            for _ in range(_MUTANTS if world.traffic.frames else 0):
                frame = mutated(rng.choice(world.traffic.frames[-50:]), rng)
                world.attack(rng.choice(_PORTS), frame)
                sent += 1

        scene = Scene.at(self._star)
        world = scene.world(seed=rng.getrandbits(32))
        rounds = scene.rounds(ROUNDS)
        world.run(rounds, intrude)
        world.check(rounds)
        assert self._device.counts.program_errors == 0, "a packet raised an exception in the switch"
        return sent


def fuzz(budget: Budget, relay: Relay, ports: Ports, seed: int) -> Counter[str]:
    """Run both worlds in turn; raise AssertionError for a wrong sum or an exception."""
    outcomes: Counter[str] = Counter()
    errors = Errors()
    logging.getLogger().addHandler(errors)
    for number in budget:
        if number >= outcomes.total():  # the budget counts mutants, and a run sends many
            rng = random.Random(seed + number)
            outcomes["server and workers"] += relay.run(rng)
            outcomes["switch"] += ports.run(rng)
            assert not errors.found, errors.found[0]
    return outcomes


def main() -> int:
    args = options(__doc__).parse_args()
    with contextlib.ExitStack() as stack:
        relay, ports = Relay(stack), Ports(stack)
        budget = Budget(args.count, args.seconds, limited=False)
        outcomes = fuzz(budget, relay, ports, args.seed)
        return report(outcomes, budget)


if __name__ == "__main__":
    sys.exit(main())

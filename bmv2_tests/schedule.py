# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers around a switch, and a network that delays, reorders, duplicates and loses packets, step by step.

The driver (a seeded scheduler, or Hypothesis' state machine) chooses each step. After every step all of this holds,
compared with sums computed by NumPy:

- a result is the exact sum over all workers, at whatever time it arrives (INV-1);
- a pending answer names exactly the workers whose contribution the switch has received, and goes to all;
- the switch and the reference model send the same frames (``Star.exchange``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lanesum.protocol import Kind, LaneOp, Packet
from lanesum_switch.frames import UdpFrame
from tests.reference.switch import PortFrame

from .oracle import Words, aggregate, random_words
from .star import Job, Place, Star

EPOCHS = 1 << 32


@dataclass(frozen=True)
class Plan:
    """A job's rounds, as (operation, number of chunks)."""

    workers: int
    slots: int
    rounds: tuple[tuple[LaneOp, int], ...]
    first_epoch: int = 0
    seed: int = 0


class Schedule:
    """One job that executes a plan over an unreliable network.

    Chunks of all rounds are numbered by a running position; a worker sends one when it has the result of the
    position ``slots`` earlier, and starts a round when it has all results of the one before.
    """

    def __init__(self, star: Star, plan: Plan) -> None:
        self.star = star
        self.plan = plan
        self.job: Job = star.admit(plan.workers, slot_count=plan.slots)
        self.places: list[Place] = []
        self.words: list[list[Words]] = []  # by position, then worker
        self.sums: list[Words] = []
        self._round_starts: list[int] = []  # by position: first position of its round
        rng = np.random.default_rng(plan.seed)
        for number, (planned, chunks) in enumerate(plan.rounds):
            op = planned if planned in star.target.ops else LaneOp.ADD32
            start = len(self.places)
            for chunk in range(chunks):
                position = len(self.places)
                epoch = (plan.first_epoch + number) % EPOCHS
                self.places.append(
                    Place(epoch, chunk, position % plan.slots, position // plan.slots % 2, op),
                )
                words = [random_words(rng, op, star.accumulator_words, plan.workers) for _ in range(plan.workers)]
                self.words.append(words)
                self.sums.append(aggregate(op, words))
                self._round_starts.append(start)
        self.uplink: list[tuple[int, int]] = []  # (worker, position) on the way to the switch
        self.downlink: list[PortFrame] = []  # answers on the way to a worker
        self.next: list[int] = [0] * plan.workers  # first position not sent yet
        self.done: list[set[int]] = [set() for _ in range(plan.workers)]
        self._given: list[set[int]] = [set() for _ in self.places]  # workers whose contribution reached the switch
        self._positions = {(place.epoch, place.chunk): position for position, place in enumerate(self.places)}
        self._worker_of_ip = {member.host.ip: member.worker for member in self.job.members}
        self.results = 0
        self.pendings = 0

    @property
    def finished(self) -> bool:
        return all(len(done) == len(self.places) for done in self.done)

    def may_send(self, worker: int) -> bool:
        """Return True if the window allows the worker's next chunk."""
        position, done = self.next[worker], self.done[worker]
        if position == len(self.places):
            return False
        free = position < self.plan.slots or position - self.plan.slots in done
        return free and all(earlier in done for earlier in range(self._round_starts[position]))

    def outstanding(self, worker: int) -> list[int]:
        """Return the positions sent without a result yet."""
        return [position for position in range(self.next[worker]) if position not in self.done[worker]]

    def send(self, worker: int) -> None:
        self.uplink.append((worker, self.next[worker]))
        self.next[worker] += 1

    def retransmit(self, worker: int, position: int) -> None:
        self.uplink.append((worker, position))

    def deliver(self, index: int, *, keep: bool = False) -> None:
        """Deliver one packet to the switch; ``keep`` leaves a duplicate in flight."""
        worker, position = self.uplink[index] if keep else self.uplink.pop(index)
        place = self.places[position]
        answers = self.star.contribute(self.job, worker, self.words[position][worker], place)
        self._given[position].add(worker)
        for port, frame in answers:
            self._check(port, frame)
        self.downlink += answers

    def receive(self, index: int) -> None:
        """Deliver one answer to its worker."""
        port, frame = self.downlink.pop(index)
        worker, position, kind = self._read(port, frame)
        if kind is Kind.RESULT:
            self.done[worker].add(position)

    def _check(self, port: int, frame: bytes) -> None:
        """Check an answer that leaves the switch against the contributions so far."""
        _, position, kind = self._read(port, frame)
        header = self._packet(frame).header
        if kind is Kind.PENDING:
            self.pendings += 1
            assert header.workers == sum(1 << other for other in self._given[position])
            assert header.workers != self.job.all_members
        else:
            self.results += 1
            assert len(self._given[position]) == self.plan.workers

    def _read(self, port: int, frame: bytes) -> tuple[int, int, Kind]:
        """Return worker, position and kind of an answer, after checking its payload."""
        datagram = UdpFrame.unpack(frame)
        assert datagram is not None
        worker = self._worker_of_ip[datagram.destination_ip]
        assert port == self.job.members[worker].host.port
        packet = self._packet(frame)
        header = packet.header
        position = self._positions[header.epoch, header.chunk]
        place = self.places[position]
        assert (header.slot, header.shadow, header.op) == (place.slot, place.shadow, place.op)
        if header.kind == Kind.RESULT:
            assert header.workers == self.job.all_members
            assert (packet.payload == self.sums[position]).all(), f"wrong sum at position {position}"
        else:
            assert header.kind == Kind.PENDING and header.words == 0
        return worker, position, Kind(header.kind)

    @staticmethod
    def _packet(frame: bytes) -> Packet:
        datagram = UdpFrame.unpack(frame)
        assert datagram is not None
        return Packet.unpack(datagram.payload)

    def finish(self) -> None:
        """Make the network reliable: all packets in flight arrive, and every worker gets every result."""
        rounds = 0
        while not self.finished:
            rounds += 1
            assert rounds <= 3 * len(self.places) + 3, "no progress on a reliable network"
            for worker in range(self.plan.workers):
                for position in self.outstanding(worker):
                    self.retransmit(worker, position)
                while self.may_send(worker):
                    self.send(worker)
            while self.uplink:
                self.deliver(0)
            while self.downlink:
                self.receive(0)
        while self.uplink:
            self.deliver(0)
        self.star.remove(self.job)

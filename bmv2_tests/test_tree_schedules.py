# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Randomized schedules over two levels: links lose, duplicate and reorder packets, switches restart empty.

Workers follow docs/protocol.md: a window of S positions, retransmission on silence, and retransmission of finished
positions when a pending answer lacks them. Every result must be exact (INV-1), and over a reliable network every worker
must get every result.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanesum.protocol import Kind
from lanesum.protocol.spec import Flag

from .jobs import Place
from .oracle import Words, aggregate
from .tree import RACKS, ROWS, WORKERS, Arrival, InFlight, Tree, answer_of

pytestmark = pytest.mark.long


_PATIENCE = 40  # rounds of retransmissions after which a reliable network must have delivered all results


class TreeSchedule:
    """One job of all six workers; ``positions`` chunks in rounds of ``round_chunks``."""

    def __init__(self, tree: Tree, rng: random.Random, *, slots: int, positions: int, round_chunks: int) -> None:
        self.tree, self.rng, self.slots = tree, rng, slots
        self.job = tree.admit(slot_count=slots)
        self.places: list[Place] = []
        self.words: list[list[Words]] = []
        self.sums: list[Words] = []
        for position in range(positions):
            epoch, chunk = divmod(position, round_chunks)
            op = tree.ops[epoch % len(tree.ops)]
            shadow = position // slots % 2
            self.places.append(Place((0xFFFFFFFE + epoch) % (1 << 32), chunk, position % slots, shadow, op))
            self.words.append(self.job.words(rng.randrange(1 << 30), op))
            self.sums.append(aggregate(op, self.words[-1]))
        self._positions = {(place.epoch, place.chunk): number for number, place in enumerate(self.places)}
        self.next = [0] * WORKERS
        self.done: list[set[int]] = [set() for _ in range(WORKERS)]
        self.in_flight: list[InFlight] = []
        self.arriving: list[Arrival] = []
        self.answered_from_history = 0

    @property
    def finished(self) -> bool:
        return all(len(done) == len(self.places) for done in self.done)

    def may_send(self, worker: int) -> bool:
        position = self.next[worker]
        if position == len(self.places):
            return False
        return position < self.slots or position - self.slots in self.done[worker]

    def send(self, worker: int, position: int) -> None:
        place = self.places[position]
        again = position < self.next[worker]
        self.next[worker] = max(self.next[worker], position + 1)
        flags = Flag.RETRANSMISSION if again else 0
        self.in_flight.append(self.job.contribution(worker, self.words[position][worker], place, flags=flags))

    def outstanding(self, worker: int) -> list[int]:
        return [position for position in range(self.next[worker]) if position not in self.done[worker]]

    def deliver(self, index: int, *, keep: bool = False) -> None:
        """Deliver a frame to the next switch."""
        on, arrived = self.tree.hop(self.in_flight[index] if keep else self.in_flight.pop(index))
        self.in_flight += on
        self.arriving += arrived

    def receive(self, index: int) -> None:
        """Deliver a frame to its worker. There is no server, and no frame may be addressed to it."""
        arrival = self.arriving.pop(index)
        worker = arrival[0]
        assert worker in range(WORKERS), "a contribution that all switches should have taken"
        packet = answer_of(arrival)
        header = packet.header
        position = self._positions[header.epoch, header.chunk]
        if header.kind == Kind.RESULT:
            assert (packet.payload == self.sums[position]).all(), f"wrong sum at position {position}"
            assert (header.racks, header.fan_in_racks) == ((1 << RACKS) - 1, RACKS)
            self.done[worker].add(position)
            return
        assert header.kind == Kind.PENDING
        upper = header.flags & Flag.UPPER
        counted = header.racks >> worker // ROWS & 1 if upper else header.workers >> worker % ROWS & 1
        if not counted and position < self.next[worker]:
            self.answered_from_history += position in self.done[worker]
            # The retransmit buffer: no worker may need more than twice the slots.
            assert self.next[worker] - position <= 2 * self.slots or position in self._stale(), "history too short"
            self.send(worker, position)

    def _stale(self) -> set[int]:
        """Positions whose results all workers have: only a packet delayed in the network can ask for them."""
        return set.intersection(*self.done)

    def finish(self) -> None:
        """Finish over a reliable network: in order, without loss."""
        for _ in range(_PATIENCE * len(self.places)):
            while self.in_flight or self.arriving:
                if self.in_flight:
                    self.deliver(0)
                while self.arriving:
                    self.receive(0)
            if self.finished:
                return
            for worker in range(WORKERS):
                while self.may_send(worker):
                    self.send(worker, self.next[worker])
                for position in self.outstanding(worker):
                    self.send(worker, position)
        raise AssertionError("no progress on a network that behaves")

    def step(self, *, loss: float, duplication: float, restarts: float) -> None:
        """Perform one random step."""
        rng = self.rng
        worker = rng.randrange(WORKERS)
        chance = rng.random()
        if chance < restarts:
            self.tree.nodes[rng.randrange(RACKS + 1)].restart()
        elif chance < 0.25 and self.may_send(worker):
            self.send(worker, self.next[worker])
        elif chance < 0.3 and (outstanding := self.outstanding(worker)):
            self.send(worker, rng.choice(outstanding))
        elif chance < 0.7 and self.in_flight:
            index = rng.randrange(len(self.in_flight))
            if rng.random() < loss:
                self.in_flight.pop(index)
            else:
                self.deliver(index, keep=rng.random() < duplication)
        elif self.arriving:
            index = rng.randrange(len(self.arriving))
            if rng.random() < loss:
                self.arriving.pop(index)
            else:
                self.receive(index)


def test_random_schedules_over_two_levels_are_exact(tree: Tree) -> None:
    answered = 0
    runs = 0

    @settings(
        max_examples=max(2, tree.num_schedules // 4),
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        seed=st.integers(0, 1 << 64),
        slots=st.integers(1, 3),
        loss=st.sampled_from([0.0, 0.05, 0.15]),
        duplication=st.sampled_from([0.0, 0.1]),
        restarts=st.sampled_from([0.0, 0.002, 0.01]),
    )
    def check(seed: int, slots: int, loss: float, duplication: float, restarts: float) -> None:
        nonlocal answered, runs
        tree.clean_up()
        schedule = TreeSchedule(tree, random.Random(seed), slots=slots, positions=8, round_chunks=3)
        for _ in range(250):
            schedule.step(loss=loss, duplication=duplication, restarts=restarts)
        schedule.finish()
        answered += schedule.answered_from_history
        runs += 1

    check()
    assert runs >= 2
    if tree.num_schedules >= 40:
        assert answered, "no worker was ever asked for what it had the result of"

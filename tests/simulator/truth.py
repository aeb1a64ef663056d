# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""True sums of a job: the words of every worker and every sum over them, in plain integers."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence

import numpy as np

from lanesum.protocol.lanes import Combine, LaneOp
from lanesum.protocol.spec import CERTIFIED, GATHERED, SCATTERED, TURN_CHUNKS
from lanesum.transport.certification import Certification
from lanesum.transport.ticket import JobTicket
from tests.simulator.scenario import JobPlan
from tests.simulator.wire import EPOCHS

_MASK = 0xFFFFFFFF
_MASK64 = (1 << 64) - 1
_COMBINE: dict[Combine, Callable[[int, int], int]] = {
    Combine.ADD: lambda a, b: (a + b) & _MASK,
    Combine.OR: operator.or_,
    Combine.MAX: max,
}


def random_words(count: int, *key: int) -> list[int]:
    """Return ``count`` words that depend on ``key`` alone (64-bit linear congruential generator, high half)."""
    state = 0x9E3779B97F4A7C15
    for part in key:
        state = ((state ^ part) * 6364136223846793005 + 1442695040888963407) & _MASK64
        state ^= state >> 29
    words = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & _MASK64
        words.append(state >> 32)
    return words


def expand(op: LaneOp, words: list[int], code_table: bytes) -> list[int]:
    """Return uplink words as accumulator words."""
    shape = op.shape
    if not shape.widens:
        return words
    wide = []
    for begin in range(0, len(words), shape.uplink_words_per_group):
        group = words[begin : begin + shape.uplink_words_per_group]
        for number in range(shape.accumulator_words_per_group):
            total = 0
            for lane in range(0, 32, shape.lane_bits):
                if shape.planes:
                    code = sum((plane >> lane + number & 1) << bit for bit, plane in enumerate(group))
                else:
                    code = group[0] >> lane + number * shape.code_bits & (1 << shape.code_bits) - 1
                total |= (code_table[code] if shape.lookup else code) << lane
            wide.append(total)
    return wide


def combine(op: LaneOp, first: list[int], second: list[int]) -> list[int]:
    """Combine two accumulators."""
    how = _COMBINE[op.shape.combine]
    return [how(a, b) for a, b in zip(first, second, strict=True)]


def places(shards: int, chunks: int) -> list[tuple[int, int]]:
    """Return the shard and the number in it of all chunks in order: shards of ``chunks`` take turns of TURN_CHUNKS."""
    turns = [range(begin, min(begin + TURN_CHUNKS, chunks)) for begin in range(0, chunks, TURN_CHUNKS)]
    return [(shard, number) for turn in turns for shard in range(shards) for number in turn]


class JobTruth:
    """Chunks of all rounds of a job, numbered by one running position that never wraps.

    Args:
        plan: the job.
        key: determines the words, with the job's number and tag.
        code_table: for operations with lookup.
        accumulator_words: words of one packet.
        tickets: of all workers, if packets have check words.
    """

    def __init__(
        self,
        plan: JobPlan,
        key: int,
        code_table: bytes,
        accumulator_words: int,
        tickets: Sequence[JobTicket] = (),
    ) -> None:
        self.plan = plan
        self.workers = len(plan.workers)
        self.all_workers = (1 << self.workers) - 1
        self.accumulator_words = accumulator_words
        self._key = (key, plan.job, plan.tag)
        self._code_table = code_table
        self.starts: list[int] = []
        self._certifications = [Certification(ticket) for ticket in tickets]
        self.data_words: list[int] = []  # accumulator words of data in a packet, by round
        self.packet_words: list[int] = []  # uplink words of data in a packet, by round
        self.round_of: list[int] = []  # by position
        self._places: list[tuple[int, int]] = []  # shard of the round and number in it, by position
        for number, one in enumerate(plan.rounds):
            self.starts.append(len(self.round_of))
            self.data_words.append(tickets[0].data_words(one.op) if tickets else accumulator_words)
            self.packet_words.append(one.op.shape.uplink_words(self.data_words[-1]))
            self.round_of += [number] * self.chunks(number)
            self._places += places(self.shards(number), self.chunks(number) // self.shards(number))
        self._uplink: dict[tuple[int, int], list[int]] = {}
        self._checked: dict[tuple[int, int], list[list[int]]] = {}  # packets by worker and round
        self._combined: dict[tuple[int, int], bytes] = {}

    def epoch(self, number: int) -> int:
        return (self.plan.first_epoch + number) % EPOCHS

    def chunks(self, number: int) -> int:
        """Return the number of packets of a round; an empty round, or an empty shard, has one."""
        return self.shards(number) * max(1, -(-self.plan.rounds[number].words // self.packet_words[number]))

    def shards(self, number: int) -> int:
        """Return the number of shards of a round."""
        one = self.plan.rounds[number]
        return self.workers if one.scattered or one.gathered else 1

    def owner(self, position: int) -> int | None:
        """Return the worker that a chunk belongs to; None if it belongs to all."""
        number = self.round_of[position]
        one = self.plan.rounds[number]
        return self._places[position][0] if one.scattered or one.gathered else None

    def mark(self, position: int) -> int:
        """Return field ``spare`` of contributions to a chunk of a scattered round: its owner's number plus 2."""
        owner = self.owner(position)
        return 0 if owner is None or self.plan.rounds[self.round_of[position]].gathered else owner + 2

    def needs_words(self, position: int, worker: int) -> bool:
        """Return True if a worker needs the words of a chunk's result."""
        one = self.plan.rounds[self.round_of[position]]
        if one.gathered:  # the owner of a chunk has its words, and checks them in a certified round
            return bool(self._certifications) or self.owner(position) != worker
        return not one.scattered or self.owner(position) in (None, worker)

    def wire_words(self, worker: int, position: int) -> int:
        """Return the uplink words of a worker's packet, with check words."""
        one = self.plan.rounds[self.round_of[position]]
        if one.gathered and self.owner(position) != worker:
            return 0
        return one.op.shape.uplink_words(self.accumulator_words)

    def wire_size(self, number: int) -> int:
        """Return the size of a round as contributions have it."""
        words = self.plan.rounds[number].words * self.shards(number)
        one = self.plan.rounds[number]
        marks = CERTIFIED * bool(self._certifications) | SCATTERED * one.scattered | GATHERED * one.gathered
        return words | marks

    def position(self, epoch: int, chunk: int) -> int | None:
        """Return the position of a chunk; None if the job has no such chunk."""
        number = (epoch - self.plan.first_epoch) % EPOCHS
        if number >= len(self.starts) or chunk >= self.chunks(number):
            return None
        return self.starts[number] + chunk

    def uplink(self, worker: int, number: int) -> list[int]:
        """Return the uplink words of a worker in a round, without padding."""
        words = self._uplink.get((worker, number))
        if words is None:
            one = self.plan.rounds[number]
            words = random_words(one.words * (self.workers if one.scattered else 1), *self._key, worker, number)
            self._uplink[worker, number] = words
        return words

    def packet(self, worker: int, position: int) -> list[int]:
        """Return the uplink words of one packet, with padding and check words; none if it has a header alone."""
        number = self.round_of[position]
        if not self.wire_words(worker, position):
            return []
        if self._certifications:
            return self._checked_packets(worker, number)[position - self.starts[number]]
        return self._data_packet(worker, number, position - self.starts[number])

    def _data_packet(self, worker: int, number: int, chunk: int) -> list[int]:
        """Return the uplink words of data of one packet, with padding."""
        size, shard_words = self.packet_words[number], self.plan.rounds[number].words
        shard, turn = self._places[self.starts[number] + chunk]
        if self.plan.rounds[number].gathered:  # a worker has its own shard alone
            shard = 0
        begin, end = shard * shard_words, (shard + 1) * shard_words
        words = self.uplink(worker, number)[begin + turn * size : min(end, begin + (turn + 1) * size)]
        return words + [0] * (size - len(words))

    def _checked_packets(self, worker: int, number: int) -> list[list[int]]:
        packets = self._checked.get((worker, number))
        if packets is None:
            chunks = range(self.chunks(number))
            words = np.array([self._data_packet(worker, number, chunk) for chunk in chunks], np.uint32)
            certification = self._certifications[worker]
            op = self.plan.rounds[number].op
            packets = certification.uplink_packets(op, words, self.epoch(number)).tolist()
            self._checked[worker, number] = packets
        return packets

    def data(self, position: int, words: bytes) -> bytes:
        """Return the words of a result without its check words."""
        return words[: 4 * self.data_words[self.round_of[position]]]

    def combined(self, position: int, workers: int) -> bytes:
        """Return the payload of a result over exactly the workers of a bitmap."""
        payload = self._combined.get((position, workers))
        if payload is None:
            op = self.plan.rounds[self.round_of[position]].op
            total: list[int] | None = None
            for worker in range(self.workers):
                if workers >> worker & 1 and self.wire_words(worker, position):
                    words = expand(op, self.packet(worker, position), self._code_table)
                    total = words if total is None else combine(op, total, words)
            total = total or [0] * self.accumulator_words
            payload = struct.pack(f">{len(total)}I", *total)
            self._combined[position, workers] = payload
        return payload

    def cut(self, number: int, payload: bytes) -> bytes:
        """Return the words of all packets of a round, or of a shard of it, without the padding."""
        one = self.plan.rounds[number]
        return payload[: 4 * one.op.shape.accumulator_words(one.words)]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A job with random words for every worker and chunk: its packets, and the sums that the server must return."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum._internal.udp_socket import Address
from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header, Packet
from lanesum.protocol.spec import Flag, Kind
from lanesum.server import MemberIndex, ServerJob
from lanesum.server.member_table import MemberTable, set_bits
from lanesum.server.native_aggregator import AnyAggregator, make_aggregator

WORDS = 8
CODE_TABLE = bytes(range(1, 17))
ROUND_WORDS = 40


def flat(workers: int, *, host: int = 1) -> dict[Address, MemberIndex]:
    """Return the members of a job with one level."""
    return {(f"10.0.{host}.{worker + 1}", 5000): MemberIndex(worker, 0, worker) for worker in range(workers)}


def racks(*sizes: int) -> dict[Address, MemberIndex]:
    """Return members in two levels; neighbours are in different racks, and bits begin at 3."""
    bits = sorted((bit, rack) for rack, size in enumerate(sizes) for bit in range(size))
    return {
        (f"10.1.{worker // 250}.{worker % 250 + 1}", 5000): MemberIndex(worker, rack, (bit + 3) % 32)
        for worker, (bit, rack) in enumerate(bits)
    }


def served(members: dict[Address, MemberIndex], **fields: Any) -> ServerJob:
    return ServerJob(
        **{"job": 7, "tag": 0xC0FFEE, "members": members, "slots": 4, "code_table": CODE_TABLE,
           "accumulator_words": WORDS, **fields}
    )  # fmt: skip


class Workers:
    """All workers of ``job``, connected to ``aggregator``."""

    def __init__(self, job: ServerJob, aggregator: AnyAggregator | None = None, *, seed: int = 1) -> None:
        self.job = job
        self.aggregator = aggregator or make_aggregator()
        self.aggregator.admit(job)
        self.members = MemberTable(job)
        self._seed = seed

    def restart(self, folder: Path) -> None:
        """Replace the server by a new one with the same journals."""
        self.aggregator.close()
        self.aggregator = make_aggregator(folder)
        self.aggregator.admit(self.job)

    def words(self, worker: int, chunk: int = 0, epoch: int = 0, op: LaneOp = LaneOp.ADD32) -> NDArray[np.uint32]:
        """Return uplink words: the same for every transmission."""
        rng = np.random.default_rng((self._seed, worker, chunk, epoch))
        return rng.integers(0, 1 << 32, op.shape.uplink_words(self.job.accumulator_words), np.uint32)

    def total(self, workers: int, chunk: int = 0, epoch: int = 0, op: LaneOp = LaneOp.ADD32) -> NDArray[np.uint32]:
        """Return the sum over a set of workers, each counted once."""
        wide = (expand(op, self.words(worker, chunk, epoch, op), self.job.code_table) for worker in set_bits(workers))
        return functools.reduce(functools.partial(combine, op), wide)

    def _header(self, chunk: int, epoch: int, op: LaneOp, fields: dict[str, Any]) -> Header:
        slots = self.job.slots
        position = {"slot": chunk % slots, "shadow": chunk // slots % 2, "racks": ROUND_WORDS}
        return Header(**{"job": self.job.job, "tag": self.job.tag, "chunk": chunk, "epoch": epoch, "op": op, **position,
                         **fields})  # fmt: skip

    def packet(self, worker: int, /, chunk: int = 0, epoch: int = 0, op: LaneOp = LaneOp.ADD32, **fields: Any) -> bytes:
        """Return a worker's contribution."""
        header = self._header(chunk, epoch, op, {"workers": 1 << self.members.indices[worker].bit, **fields})
        return Packet(header, self.words(worker, chunk, epoch, op)).pack()

    def aggregate(
        self, workers: int, /, chunk: int = 0, epoch: int = 0, op: LaneOp = LaneOp.ADD32, **fields: Any
    ) -> bytes:
        """Return the aggregate of a rack's switch for a set of its workers."""
        rack = self.members.indices[next(set_bits(workers))].rack
        named = {"workers": self.members.bitmap(rack, workers), "fan_in_workers": workers.bit_count()}
        header = self._header(chunk, epoch, op, {"flags": Flag.UPPER, **named, **fields})
        return Packet(header, self.total(workers, chunk, epoch, op)).pack()

    def of_racks(self, racks: int, /, chunk: int = 0, **fields: Any) -> bytes:
        """Return the aggregate of an upper switch for whole racks."""
        workers = self.members.workers_in_racks(racks)
        assert workers is not None
        fields = {"flags": Flag.UPPER, "workers": racks, "fan_in_racks": racks.bit_count(), **fields}
        return Packet(self._header(chunk, 0, LaneOp.ADD32, fields), self.total(workers, chunk)).pack()

    def send(self, worker: int, datagram: bytes | None = None, **how: Any) -> dict[int, Packet]:
        """Return the answers to a contribution of ``worker``, or to ``datagram`` from its address, by receiver."""
        return {
            self.job.members[address].worker: Packet.unpack(answer)
            for address, answer in self.handle(worker, datagram or self.packet(worker, **how))
        }

    def handle(self, worker: int, datagram: bytes) -> list[tuple[Address, bytes]]:
        return self.aggregator.handle(self.members.addresses[worker], datagram)

    def contributors(self, result: Packet) -> int:
        """Return the set of workers that header and trailer of a result name."""
        header = result.header
        assert header.kind == Kind.RESULT
        if not header.flags & Flag.PARTIAL:
            return self.members.all_workers
        if not self.members.two_levels:
            assert len(result.payload) == self.job.accumulator_words
            workers = self.members.workers_at(0, header.workers)
            assert workers is not None
            return workers
        trailer = result.payload[self.job.accumulator_words :].tolist()
        assert len(trailer) == self.members.bitmap_words
        workers = sum(self.members.workers_at(rack, bitmap) or 0 for rack, bitmap in enumerate(trailer))
        assert header.racks == self.members.contributing_racks(workers)
        return workers

    def check(self, result: Packet) -> int:
        """Assert that a result is the exact sum over the workers that it names; return them."""
        header = result.header
        workers = self.contributors(result)
        exact = self.total(workers, header.chunk, header.epoch, LaneOp(header.op))
        assert result.payload[: self.job.accumulator_words].tolist() == exact.tolist()
        assert workers.bit_count() >= self.job.threshold
        return workers

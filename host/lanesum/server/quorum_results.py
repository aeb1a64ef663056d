# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cache of the results of a job with a quorum, for late workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lanesum.aggregation.slots import ChunkOrder, Owner, order_of
from lanesum.protocol.packet import Header


@dataclass(frozen=True, slots=True)
class ChunkId:
    """A chunk of a job. Chunks are ordered by epoch (serial numbers), then by chunk."""

    epoch: int
    chunk: int


@dataclass(frozen=True, slots=True)
class QuorumResult:
    """The result of a chunk: all workers get the same datagram.

    Attributes:
        number: running number of the result in its job, from 0.
        owner: the chunk, its operation and round size.
        horizon: the newest chunk evicted up to and including this result; None if none was.
    """

    number: int
    owner: Owner
    datagram: bytes
    horizon: ChunkId | None


# Makes a result durable before any worker receives it. Raises OSError on failure.
Write = Callable[[QuorumResult], None]


class QuorumResultCache:
    """The last results of one job, up to a fixed number.

    A chunk is completed only once, so that all workers get the same sum, however late they contribute (INV-2). An
    evicted result must not be computed again either. So no chunk up to ``horizon`` is completed again. A chunk that is
    still open is always newer than the horizon. Proof: from the first result of a newer chunk until the open chunk is
    complete, all results are of chunks less than S positions away from the open one. This is the window rule; S is the
    number of slots. With a quorum slots stay in step, see ``SlotScheduler``. These are fewer than 2 S
    results, and the cache keeps all of them.

    Args:
        capacity: results kept; at least 2 S.
        write: makes a new result durable before it counts.
        recorded: results of an earlier process, in order.
    """

    def __init__(self, capacity: int, write: Write | None = None, recorded: Iterable[QuorumResult] = ()) -> None:
        self._capacity = capacity
        self._write = write
        self._results: dict[ChunkId, QuorumResult] = {}  # oldest result first
        self._horizon: ChunkId | None = None
        self._next_number = 0
        for result in recorded:
            self._insert(result)

    def __len__(self) -> int:
        return len(self._results)

    def find(self, header: Header) -> QuorumResult | None:
        """Return the result of a packet's chunk, or None if it is not in the cache."""
        return self._results.get(ChunkId(header.epoch, header.chunk))

    def is_evicted(self, header: Header) -> bool:
        """Return True if the chunk of a packet, which ``find`` did not find, may have had a result."""
        return self._horizon is not None and not _is_newer(header.epoch, header.chunk, self._horizon)

    def record(self, owner: Owner, datagram: bytes) -> None:
        """Add the result of a chunk. Raises OSError if it cannot be made durable; nothing is added then."""
        horizon = self._horizon
        if len(self._results) >= self._capacity:
            horizon = _newest(horizon, next(iter(self._results)))
        result = QuorumResult(self._next_number, owner, datagram, horizon)
        if self._write is not None:
            self._write(result)
        self._insert(result)

    def _insert(self, result: QuorumResult) -> None:
        if result.horizon is not None:
            self._horizon = _newest(self._horizon, result.horizon)
        self._results[ChunkId(result.owner.epoch, result.owner.chunk)] = result
        while len(self._results) > self._capacity:
            oldest = next(iter(self._results))
            del self._results[oldest]
            self._horizon = _newest(self._horizon, oldest)
        self._next_number = result.number + 1


def _is_newer(epoch: int, chunk: int, than: ChunkId) -> bool:
    header, owner = Header(epoch=epoch, chunk=chunk), Owner(Header().op, 0, 0, than.epoch, than.chunk)
    return order_of(header, owner) is ChunkOrder.NEWER


def _newest(one: ChunkId | None, other: ChunkId) -> ChunkId:
    return other if one is None or _is_newer(other.epoch, other.chunk, one) else one

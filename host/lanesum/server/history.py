# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a quorum decided, kept for workers that come late."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lanesum.aggregation.slots import Order, Owner, order_of
from lanesum.protocol.packet import Header


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of a job, in the order of rounds."""

    epoch: int
    chunk: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision: whose chunk, and the very datagram that everybody gets.

    Attributes:
        number: running number of the decision in its job, from 0.
        owner: the chunk, its operation and round size.
        datagram: the result.
        horizon: newest chunk that is no longer kept once this decision is; None while everything is.
    """

    number: int
    owner: Owner
    datagram: bytes
    horizon: Chunk | None


# Makes a decision durable before anybody hears of it. Raises OSError when it cannot.
Write = Callable[[Recorded], None]


class History:
    """The last decisions of one job, bounded.

    A chunk is decided only once, so that all workers get the same sum however late they ask. What was decided and
    forgotten must not be decided again either: it is not newer than ``horizon``, while a chunk that is still open
    always is. For once a newer chunk is decided, and until the open one is, everything decided is less than S
    positions away from the open one (the window rule, S being the job's slots; with a quorum slots stay in step, see
    ``SlotScheduler._free_in_step``): that is fewer than 2 S decisions, and all of them are kept.

    Args:
        keep: decisions kept, 2 S or more.
        write: called with every new decision, before it counts.
        recorded: decisions of an earlier life, in order.
    """

    def __init__(self, keep: int, write: Write | None = None, recorded: Iterable[Recorded] = ()) -> None:
        self._keep = keep
        self._write = write
        self._kept: dict[Chunk, Recorded] = {}  # oldest decision first
        self._horizon: Chunk | None = None
        self._next = 0
        for decision in recorded:
            self._insert(decision)

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, header: Header) -> Recorded | None:
        """The decision about a packet's chunk, if it is kept."""
        return self._kept.get(Chunk(header.epoch, header.chunk))

    def forgot(self, header: Header) -> bool:
        """The chunk of a packet that ``find`` does not find was decided before."""
        return self._horizon is not None and not _is_newer(header.epoch, header.chunk, self._horizon)

    def record(self, owner: Owner, datagram: bytes) -> None:
        """Decide a chunk. Raises OSError when it cannot be made durable; nothing is decided then."""
        horizon = self._horizon
        if len(self._kept) >= self._keep:
            horizon = _newest(horizon, next(iter(self._kept)))
        decision = Recorded(self._next, owner, datagram, horizon)
        if self._write is not None:
            self._write(decision)
        self._insert(decision)

    def _insert(self, decision: Recorded) -> None:
        if decision.horizon is not None:
            self._horizon = _newest(self._horizon, decision.horizon)
        self._kept[Chunk(decision.owner.epoch, decision.owner.chunk)] = decision
        while len(self._kept) > self._keep:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._horizon = _newest(self._horizon, oldest)
        self._next = decision.number + 1


def _is_newer(epoch: int, chunk: int, than: Chunk) -> bool:
    return order_of(Header(epoch=epoch, chunk=chunk), Owner(Header().op, 0, 0, than.epoch, than.chunk)) is Order.NEWER


def _newest(one: Chunk | None, other: Chunk) -> Chunk:
    return other if one is None or _is_newer(other.epoch, other.chunk, one) else one

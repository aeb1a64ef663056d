# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slot scheduling: which chunks may be sent for the first time, and in which order. Without sockets or clocks.

Chunks of all rounds of a job are numbered by one running *position*; position ``p`` uses slot ``p mod slots`` in shadow
set ``p div slots mod 2``. A position is sent only when the one ``slots`` earlier has its result, to which every worker
has contributed then. So no worker can still need what an entry held two turns ago. (With a quorum a worker may, and
gets it from the server, which keeps its decisions.) Slots do not wait for each other: while one repairs a loss, the
others continue, in the same round and in the next ones. With a quorum they stay in step.

So round boundaries do not matter here: several rounds in flight are one sequence of positions. Everything depends on
the first one without a result.
"""

from __future__ import annotations

import collections
import heapq

from lanesum.transport.link import Link
from lanesum.transport.round_state import RoundState


class SlotScheduler:
    """Positions whose slots are free, over all rounds in flight.

    Attributes:
        rounds: rounds in flight, in order, with complete ones behind one that is not.
        end: position at which the next round begins.
    """

    def __init__(self, link: Link) -> None:
        self.rounds: collections.deque[RoundState] = collections.deque()
        self.end = 0
        self._slots = link.ticket.slots
        self._in_step = bool(link.ticket.quorum)
        self._free: list[int] = []  # heap of positions to be sent, because their slots are free
        self._num_freed = 0  # positions that were ever in it, with a quorum

    def begin(self, round_: RoundState) -> None:
        """Begin a round at ``end``. With a quorum none may be in flight."""
        self.rounds.append(round_)
        self.end = round_.end
        if self._in_step:
            self._free_in_step()
            return
        for position in range(round_.begin, min(round_.end, round_.begin + self._slots)):
            if self.is_free(position):
                heapq.heappush(self._free, position)

    @property
    def has_free(self) -> bool:
        """A chunk could be sent for the first time, if the congestion window admits it."""
        return bool(self._free)

    def take_next(self, room: int) -> tuple[RoundState, int] | None:
        """Take the next position to be sent for the first time, with its round; None if none may be sent now.

        ``room``: packets that congestion window and pacing admit. They never hold back the first position without a
        result: slots become free in another order at every worker. If one worker's window were full of later chunks,
        and another's of earlier ones, each would wait for the other for ever. But every worker reaches the first
        position of all.
        """
        while self._free and (room > 0 or self._free[0] <= self.first_unacked()):
            position = heapq.heappop(self._free)
            round_ = self._round_of(position)
            if round_ is not None and not round_.is_done(position - round_.begin):  # else a quorum was faster
                return round_, position
        return None

    def first_unacked(self) -> int:
        """Return the first position without a result."""
        for round_ in self.rounds:
            if not round_.complete:
                return round_.begin + round_.done_chunks
        return self.end

    def on_result(self, position: int) -> None:
        """Free the slot of a position that has its result, also for a later round's chunk."""
        if self._in_step:
            self._free_in_step()
        elif position + self._slots < self.end:
            heapq.heappush(self._free, position + self._slots)

    def is_free(self, position: int) -> bool:
        """Return True if the position before in the same slot, in any round, has its result."""
        return position < self._slots or self._is_done(position - self._slots)

    def _free_in_step(self) -> None:
        """Free positions in order, as a quorum needs.

        The server tells an open chunk from one whose decision it has evicted only by how much was decided since. While
        a chunk is open, that must not exceed two turns.
        """
        while self._num_freed < self.end and self.is_free(self._num_freed):
            heapq.heappush(self._free, self._num_freed)
            self._num_freed += 1

    def _is_done(self, position: int) -> bool:
        """Return True if the position, which is before ``end``, has its result."""
        round_ = self._round_of(position)
        return round_ is None or round_.is_done(position - round_.begin)

    def _round_of(self, position: int) -> RoundState | None:
        """Return the round of a position; None if that round, and so all before, has been retired."""
        for round_ in self.rounds:
            if position < round_.end:
                return round_ if position >= round_.begin else None
        return None

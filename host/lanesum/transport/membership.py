# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Who is in a result, and whom a pending answer still misses: the two levels of bitmaps, read by one worker."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from lanesum.protocol.packet import Header
from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES, Flag
from lanesum.transport.ticket import JobTicket, name_racks

# As plain integers: ``&`` with a member of an IntFlag makes another one, which takes longer than all the rest.
_PARTIAL, _UPPER, _BYPASS = int(Flag.PARTIAL), int(Flag.UPPER), int(Flag.BYPASS)

# One bitmap of workers per rack; with one level, one bitmap.
Bitmaps = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Arrived:
    """What pending answers have told of one chunk; None where nothing is known.

    Attributes:
        own_rack: bitmap of workers of this worker's rack whose contributions have arrived.
        racks: bitmap of racks that are complete.
    """

    own_rack: int | None = None
    racks: int | None = None


class Membership:
    """The workers of a job, as one of them must know them to read answers."""

    def __init__(self, ticket: JobTicket) -> None:
        self.everybody: Bitmaps = ticket.rack_members
        self._workers = ticket.workers
        self._quorum = ticket.quorum
        self._places = ticket.places or tuple((0, worker) for worker in range(ticket.workers))
        self._rack, self._bit = ticket.place
        self._two_levels = name_racks((worker, *place) for worker, place in enumerate(self._places))
        self._racks = sum(1 << rack for rack, members in enumerate(self.everybody) if members)
        self._result_bytes = HEADER_BYTES + ticket.accumulator_words * WORD_BYTES
        self._trailer = struct.Struct(f">{len(self.everybody)}I")

    def contributors(self, header: Header, datagram: bytes | memoryview) -> Bitmaps | None:
        """The contributors of a result; None when it is none that this worker may take.

        That is a result over all workers, or, where the job has a quorum, one that says so and names at least as many,
        all of them members.
        """
        extra_bytes = len(datagram) - self._result_bytes
        if not header.flags & _PARTIAL:
            named = header.racks == self._racks if self._two_levels else header.workers == self.everybody[0]
            return self.everybody if named and extra_bytes == 0 else None
        if not self._quorum or extra_bytes != (self._trailer.size if self._two_levels else 0):
            return None
        bitmaps: Bitmaps = (header.workers,)
        if self._two_levels:
            bitmaps = self._trailer.unpack_from(datagram, self._result_bytes)
            if header.racks != sum(1 << rack for rack, workers in enumerate(bitmaps) if workers):
                return None
        if any(workers & ~members for workers, members in zip(bitmaps, self.everybody, strict=True)):
            return None
        return bitmaps if sum(workers.bit_count() for workers in bitmaps) >= self._quorum else None

    def includes_me(self, bitmaps: Bitmaps) -> bool:
        return bool(bitmaps[self._rack] >> self._bit & 1)

    def has_mine(self, pending: Header) -> bool:
        """The sender of a pending answer has this worker's contribution (an upper switch: its rack's)."""
        if pending.flags & _UPPER:
            return bool(pending.racks >> self._rack & 1)
        return bool(pending.workers >> self._bit & 1)

    def learn(self, pending: Header, known: Arrived) -> Arrived:
        """``known`` with what a pending answer adds."""
        if not self._two_levels:
            return Arrived(own_rack=pending.workers)
        if pending.flags & _UPPER:
            complete = pending.racks >> self._rack & 1
            return Arrived(self.everybody[self._rack] if complete else known.own_rack, pending.racks)
        # The server speaks of both levels, a rack switch of its own.
        return Arrived(pending.workers, pending.racks if pending.flags & _BYPASS else known.racks)

    def missing(self, arrived: Arrived) -> tuple[int, ...]:
        """Workers, by number, that a chunk waits for. Of another rack only the rack is known: all its workers."""

        def is_missing(rack: int, bit: int) -> bool:
            if rack == self._rack and arrived.own_rack is not None:
                return not arrived.own_rack >> bit & 1
            return arrived.racks is not None and not arrived.racks >> rack & 1

        return tuple(worker for worker, place in enumerate(self._places) if is_missing(*place))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Contributors of results, and workers missing in pending answers: one worker's view of the bitmaps of both levels."""

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
    """Contributions to one chunk that have arrived, as pending answers report them; None where nothing is known.

    Attributes:
        own_rack: bitmap of workers of this worker's rack whose contributions have arrived.
        racks: bitmap of racks that are complete.
    """

    own_rack: int | None = None
    racks: int | None = None


class Membership:
    """The workers of a job, for one of them to read answers.

    Attributes:
        members: bitmap of the workers of every rack; one bitmap with one level.
    """

    def __init__(self, ticket: JobTicket) -> None:
        self.members: Bitmaps = ticket.rack_members
        self._workers = ticket.workers
        self._quorum = ticket.quorum
        self._places = ticket.places or tuple((0, worker) for worker in range(ticket.workers))
        self._rack, self._bit = ticket.place
        self._two_levels = name_racks((worker, *place) for worker, place in enumerate(self._places))
        self._racks = sum(1 << rack for rack, members in enumerate(self.members) if members)
        self._result_bytes = HEADER_BYTES + ticket.accumulator_words * WORD_BYTES
        self._trailer = struct.Struct(f">{len(self.members)}I")

    def contributors(self, header: Header, datagram: bytes | memoryview, *, needs_words: bool = True) -> Bitmaps | None:
        """Return the contributors of a result; None if the worker must refuse it.

        A valid result covers all workers, or, where the job has a quorum, says that it is partial and names at least
        the quorum, all of them members. With ``needs_words``, a header-only result is not valid.
        """
        has_trailer = self._two_levels and header.flags & _PARTIAL
        trailer_at = len(datagram) - (self._trailer.size if has_trailer else 0)
        if trailer_at != self._result_bytes and (needs_words or trailer_at != HEADER_BYTES):
            return None
        if not header.flags & _PARTIAL:
            named = header.racks == self._racks if self._two_levels else header.workers == self.members[0]
            return self.members if named else None
        if not self._quorum:
            return None
        bitmaps: Bitmaps = (header.workers,)
        if self._two_levels:
            bitmaps = self._trailer.unpack_from(datagram, trailer_at)
            if header.racks != sum(1 << rack for rack, workers in enumerate(bitmaps) if workers):
                return None
        if any(workers & ~members for workers, members in zip(bitmaps, self.members, strict=True)):
            return None
        return bitmaps if sum(workers.bit_count() for workers in bitmaps) >= self._quorum else None

    def only(self, worker: int) -> Bitmaps:
        """Return the bitmaps of one worker alone."""
        rack, bit = self._places[worker]
        return tuple(1 << bit if number == rack else 0 for number in range(len(self.members)))

    def includes_own(self, bitmaps: Bitmaps) -> bool:
        """Return True if this worker is one of the contributors."""
        return bool(bitmaps[self._rack] >> self._bit & 1)

    def has_own(self, pending: Header) -> bool:
        """Return True if the sender of a pending answer has this worker's contribution (an upper switch: its rack)."""
        if pending.flags & _UPPER:
            return bool(pending.racks >> self._rack & 1)
        return bool(pending.workers >> self._bit & 1)

    def update_arrived(self, known: Arrived, pending: Header) -> Arrived:
        """Return ``known`` with the report of a pending answer added."""
        if not self._two_levels:
            return Arrived(own_rack=pending.workers)
        if pending.flags & _UPPER:
            complete = pending.racks >> self._rack & 1
            return Arrived(self.members[self._rack] if complete else known.own_rack, pending.racks)
        # The server reports both levels, a rack switch its own.
        return Arrived(pending.workers, pending.racks if pending.flags & _BYPASS else known.racks)

    def missing(self, arrived: Arrived) -> tuple[int, ...]:
        """Return the workers, by number, that a chunk waits for; all workers of another rack that is incomplete."""

        def is_missing(rack: int, bit: int) -> bool:
            if rack == self._rack and arrived.own_rack is not None:
                return not arrived.own_rack >> bit & 1
            return arrived.racks is not None and not arrived.racks >> rack & 1

        return tuple(worker for worker, place in enumerate(self._places) if is_missing(*place))

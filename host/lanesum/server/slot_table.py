# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entries by slot and shadow set, as in a switch; but an entry holds partial sums, which it can merge later.

The opening of a session has entries of its own, which are kept as long as the job: a later session under the same tag
gets the first one's result, and so finds that its tickets were used.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import ChunkOrder, Owner, order_of
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import OPENING, Flag
from lanesum.server.partial_sums import Acceptance, PartialSums


class ServerDecision(enum.Enum):
    """Outcome of a member's contribution at the server. Names that a switch has too mean the same there."""

    CLAIM = "claim"
    CLAIM_AND_COMPLETE = "claim_and_complete"
    CONTRIBUTE = "contribute"
    CONTRIBUTE_AND_COMPLETE = "contribute_and_complete"
    REPLAY = "replay"
    REPORT_PENDING = "report_pending"
    REPORT_OVERLAP = "report_overlap"  # an overlapping aggregate was dropped; the answers are those of report_pending
    REPORT_CONFLICT = "report_conflict"
    REPORT_GONE = "report_gone"
    DROP_LATE = "drop_late"


@dataclass(slots=True)
class ServerEntry:
    """One shadow set of one slot, or one chunk of the opening.

    Attributes:
        partial_sums: sums of the contributions so far; empty once complete.
        flags: flags of the contributions that the result repeats.
        result: the result's datagram, once complete.
        conflict: the conflict's datagram, once workers disagree about the chunk, which then has no result.
        retaken: sums of the contributions of workers whose check of the result failed; None before the first one.
    """

    owner: Owner
    partial_sums: PartialSums
    flags: int = 0
    result: bytes | None = None
    conflict: bytes | None = None
    retaken: PartialSums | None = None

    def complete(self, result: bytes) -> None:
        """Keep the result's datagram, and free the sums."""
        self.result = result
        self.partial_sums = PartialSums(LaneOp(self.owner.op))

    def reopen(self, workers: int, owner: int | None) -> bool:
        """Discard a refused result of a scattered chunk and return True, if ``workers`` is the chunk's ``owner``.

        No other worker uses its words, and all workers keep their contributions until the owner has the result.
        """
        if self.result is None or owner is None or workers != 1 << owner:
            return False
        self.result = None
        return True

    def retake(self, header: Header, workers: int, words: Words, flags: int, num_workers: int) -> bool:
        """Count a contribution that refuses the result; return True if all workers have refused it.

        No worker uses a sum that all refuse, so their second contributions make another one.
        """
        if self.retaken is None:
            self.retaken = PartialSums(LaneOp(header.op), single_workers=True)
        self.retaken.add(workers, words)
        if self.retaken.workers.bit_count() < num_workers:
            return False
        self.partial_sums, self.retaken = self.retaken, None
        self.flags |= flags
        return True


class ServerSlotTable:
    """Entries of one job, created on first use: at most two for each of its slots, and those of the opening.

    Args:
        threshold: number of workers that completes a chunk.
        workers: number of workers that completes a chunk of the opening: all.
    """

    def __init__(self, threshold: int, workers: int) -> None:
        self._threshold = threshold
        self._workers = workers
        self._openings: dict[int, ServerEntry] = {}
        self._entries: dict[tuple[int, int], ServerEntry] = {}

    def __len__(self) -> int:
        return len(self._entries) + len(self._openings)

    def contribute(
        self,
        header: Header,
        workers: int,
        words: Words,
        *,
        flags: int = 0,
        single_workers: bool = False,
        owner: int | None = None,
    ) -> tuple[ServerDecision, ServerEntry]:
        """Count one contribution of a member.

        Args:
            header: header of the packet; its slot and shadow set select the entry, in the opening its chunk.
            workers: set of workers that ``words`` are the sum of.
            words: accumulator words, uint32.
            flags: flags that the result repeats.
            single_workers: see ``PartialSums``.
            owner: worker that alone uses the words of a scattered chunk; None for other chunks.

        Returns:
            The decision and the entry. After a decision that completes the chunk, the caller builds the result and
            calls ``ServerEntry.complete``; until then, every further contribution completes the chunk again.
        """
        threshold, entry = self._threshold, self._entries.get((header.slot, header.shadow))
        if header.spare == OPENING:
            threshold, entry = self._workers, self._openings.get(header.chunk)
        order = order_of(header, entry.owner if entry is not None else None)
        refuses = header.flags & (Flag.OVERFLOW | Flag.UPPER) == Flag.OVERFLOW and header.spare != OPENING
        again = entry and refuses and order is ChunkOrder.SAME and entry.reopen(workers, owner)
        if entry is None or order is ChunkOrder.NEWER:
            claimed = Owner(header.op, header.job, header.tag, header.epoch, header.chunk, header.racks)
            partial_sums = PartialSums(LaneOp(header.op), single_workers=single_workers)
            entry = ServerEntry(claimed, partial_sums)
            if header.spare == OPENING:
                self._openings[header.chunk] = entry
            else:
                self._entries[header.slot, header.shadow] = entry
        elif order is ChunkOrder.OLDER:
            return ServerDecision.DROP_LATE, entry  # INV-3
        elif order is not ChunkOrder.SAME or entry.conflict is not None:
            return ServerDecision.REPORT_CONFLICT, entry
        elif entry.result is not None:
            retaken = refuses and entry.retake(header, workers, words, flags, self._workers)
            return ServerDecision.CONTRIBUTE_AND_COMPLETE if retaken else ServerDecision.REPLAY, entry
        acceptance = entry.partial_sums.add(workers, words)
        # A duplicate repairs nothing, so its flag says nothing about the result.
        entry.flags |= flags if acceptance is Acceptance.ACCEPTED else flags & ~Flag.RETRANSMISSION
        if entry.partial_sums.workers.bit_count() >= threshold:
            claims = order is ChunkOrder.NEWER
            return ServerDecision.CLAIM_AND_COMPLETE if claims else ServerDecision.CONTRIBUTE_AND_COMPLETE, entry
        if order is ChunkOrder.NEWER:
            return ServerDecision.CLAIM, entry
        return ServerDecision.REPORT_PENDING if again else _INCOMPLETE[acceptance], entry


_INCOMPLETE = {
    Acceptance.ACCEPTED: ServerDecision.CONTRIBUTE,
    Acceptance.DUPLICATE: ServerDecision.REPORT_PENDING,
    Acceptance.OVERLAP: ServerDecision.REPORT_OVERLAP,
}

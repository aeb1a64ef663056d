# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entries by slot and shadow set, as in a switch; but an entry holds pieces, so that it can merge what came apart."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import Order, Owner, order_of
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.server.pieces import Fate, Pieces


class Decision(enum.Enum):
    """What the server did with a member's contribution. Names that a switch has too mean the same there."""

    CLAIM = "claim"
    CLAIM_AND_COMPLETE = "claim_and_complete"
    CONTRIBUTE = "contribute"
    CONTRIBUTE_AND_COMPLETE = "contribute_and_complete"
    REPLAY = "replay"
    REPORT_PENDING = "report_pending"
    REPORT_OVERLAP = "report_overlap"  # a piece that fits nothing was dropped; answered like report_pending
    REPORT_CONFLICT = "report_conflict"
    REPORT_GONE = "report_gone"
    DROP_LATE = "drop_late"


@dataclass(slots=True)
class Entry:
    """One shadow set of one slot.

    Attributes:
        flags: those of contributions so far that a result repeats.
        result: the datagram, once complete.
        conflict: the datagram, once workers have disagreed about the chunk: there is to be no result.
    """

    owner: Owner
    pieces: Pieces
    flags: int = 0
    result: bytes | None = None
    conflict: bytes | None = None

    def complete(self, result: bytes) -> None:
        """The datagram is all that is asked for from now on."""
        self.result = result
        self.pieces = Pieces(LaneOp(self.owner.op))


class Ledger:
    """The entries of one job, made when first used: two for each of its slots at most.

    Args:
        threshold: workers that complete a chunk.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._entries: dict[tuple[int, int], Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def take(
        self, header: Header, workers: int, words: Words, *, flags: int = 0, single: bool = False
    ) -> tuple[Decision, Entry]:
        """Take one contribution of a member.

        Args:
            header: of the packet; slot and shadow set are the entry's.
            workers: set of workers that ``words`` are the sum of.
            words: accumulator words, uint32.
            flags: what the result has to repeat.
            single: see ``Pieces``.

        Returns:
            The decision, and the entry afterwards. With a decision that completes, the caller makes the result and
            calls ``Entry.complete``; until it does, the next contribution completes again.
        """
        key = header.slot, header.shadow
        entry = self._entries.get(key)
        order = order_of(header, entry.owner if entry is not None else None)
        if entry is None or order is Order.NEWER:
            owner = Owner(header.op, header.job, header.tag, header.epoch, header.chunk, header.racks)
            entry = self._entries[key] = Entry(owner, Pieces(LaneOp(header.op), single=single))
        elif order is Order.OLDER:
            return Decision.DROP_LATE, entry
        elif order is not Order.SAME or entry.conflict is not None:
            return Decision.REPORT_CONFLICT, entry
        elif entry.result is not None:
            return Decision.REPLAY, entry
        entry.flags |= flags
        fate = entry.pieces.add(workers, words)
        if entry.pieces.workers.bit_count() >= self._threshold:
            claims = order is Order.NEWER
            return Decision.CLAIM_AND_COMPLETE if claims else Decision.CONTRIBUTE_AND_COMPLETE, entry
        if order is Order.NEWER:
            return Decision.CLAIM, entry
        return _INCOMPLETE[fate], entry


_INCOMPLETE = {
    Fate.KEPT: Decision.CONTRIBUTE,
    Fate.DUPLICATE: Decision.REPORT_PENDING,
    Fate.OVERLAP: Decision.REPORT_OVERLAP,
}

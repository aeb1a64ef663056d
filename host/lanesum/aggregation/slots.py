# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots in plain Python: the executable twin of ``p4src/bmv2/slots.p4``, with the same names.

A slot has two shadow entries. An entry belongs to the chunk that its owner names; the first contributor of a newer
chunk overwrites it, so nothing is cleared by hand.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from lanesum.aggregation.combine import Words, combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header

_HALF_RANGE = 1 << 31


class Decision(enum.Enum):
    """What a contribution does to its entry; the names are the actions of table ``slot`` in the P4 program."""

    CLAIM = "claim"
    CLAIM_AND_COMPLETE = "claim_and_complete"
    CONTRIBUTE = "contribute"
    CONTRIBUTE_AND_COMPLETE = "contribute_and_complete"
    REPLAY = "replay"
    REPORT_PENDING = "report_pending"
    DROP_LATE = "drop_late"
    DROP_CONFLICT = "drop_conflict"


class Order(enum.Enum):
    """How a packet's (epoch, chunk) stands to the owner's."""

    NEWER = 0
    SAME = 1
    OLDER = 2
    CONFLICT = 3


@dataclass(frozen=True, slots=True)
class Owner:
    op: int
    job: int
    tag: int
    epoch: int
    chunk: int


@dataclass(slots=True)
class Entry:
    """One shadow set of one slot. ``owner`` None: never used."""

    owner: Owner | None = None
    workers: int = 0
    count: int = 0
    words: Words = field(default_factory=lambda: np.zeros(0, np.uint32))


def order_of(header: Header, owner: Owner | None) -> Order:
    """Serial number arithmetic (RFC 1982) on epochs, then plain order on chunks."""
    if owner is None or (owner.job, owner.tag) != (header.job, header.tag):
        return Order.NEWER
    epochs_ahead = (header.epoch - owner.epoch) % (1 << 32)
    if epochs_ahead >= _HALF_RANGE:
        return Order.OLDER
    if epochs_ahead != 0 or header.chunk > owner.chunk:
        return Order.NEWER
    if header.chunk < owner.chunk:
        return Order.OLDER
    return Order.SAME if header.op == owner.op else Order.CONFLICT


class SlotTable:
    """Entries by (slot, shadow set), created when first used."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], Entry] = {}

    def entry(self, slot: int, shadow: int) -> Entry:
        return self._entries.setdefault((slot, shadow), Entry())

    def contribute(
        self,
        header: Header,
        words: Words,
        *,
        slot: int,
        worker: int,
        fan_in: int,
        code_table: bytes | None = None,
    ) -> tuple[Decision, Entry]:
        """Take one contribution.

        Args:
            header: the packet's header.
            words: its payload, uint32.
            slot: absolute slot; the shadow set comes from the header.
            worker: the sender's bit, from the membership table and not from the packet.
            fan_in: contributions that complete the entry.
            code_table: 16 bytes for TABLE8.

        Returns:
            The decision, and the entry as it is afterwards.
        """
        entry = self.entry(slot, header.shadow)
        decision = self.decide(header, entry, worker=worker, fan_in=fan_in)
        op = LaneOp(header.op)
        if decision in (Decision.CLAIM, Decision.CLAIM_AND_COMPLETE):
            entry.owner = Owner(header.op, header.job, header.tag, header.epoch, header.chunk)
            entry.workers, entry.count = worker, 1
            entry.words = expand(op, words, code_table).copy()
        elif decision in (Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE):
            entry.workers |= worker
            entry.count += 1
            entry.words = combine(op, entry.words, expand(op, words, code_table))
        return decision, entry

    @staticmethod
    def decide(header: Header, entry: Entry, *, worker: int, fan_in: int) -> Decision:
        """The decision alone, without changing the entry."""
        order = order_of(header, entry.owner)
        if order is Order.NEWER:
            return Decision.CLAIM_AND_COMPLETE if fan_in == 1 else Decision.CLAIM
        if order is Order.OLDER:
            return Decision.DROP_LATE
        if order is Order.CONFLICT:
            return Decision.DROP_CONFLICT
        if entry.count == fan_in:
            return Decision.REPLAY
        if entry.workers & worker:
            return Decision.REPORT_PENDING
        return Decision.CONTRIBUTE_AND_COMPLETE if entry.count + 1 == fan_in else Decision.CONTRIBUTE

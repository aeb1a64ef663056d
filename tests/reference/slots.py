# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots in plain Python: executable model of ``p4src/bmv2/slots.p4``, with the same names.

A slot has two shadow entries. An entry belongs to the chunk of its owner. The first contributor of a newer chunk
overwrites the entry, so no entry is ever cleared (INV-3).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lanesum.aggregation.combine import Words, combine, expand
from lanesum.aggregation.slots import ChunkOrder, Owner, order_of
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.packet import Header
from lanesum.protocol.spec import Flag


class Decision(enum.Enum):
    """Outcome of a contribution; the names are the actions of table ``slot`` in the P4 program."""

    CLAIM = "claim"
    CLAIM_AND_COMPLETE = "claim_and_complete"
    CONTRIBUTE = "contribute"
    CONTRIBUTE_AND_COMPLETE = "contribute_and_complete"
    REPLAY = "replay"
    ASCEND_AGAIN = "ascend_again"
    REPORT_PENDING = "report_pending"
    REPORT_CONFLICT = "report_conflict"
    COLLIDE = "collide"
    PASS_LATE = "pass_late"
    DROP_LATE = "drop_late"


@dataclass(slots=True)
class Entry:
    """One shadow set of one slot.

    Attributes:
        owner: the chunk that the entry belongs to; None if it was never used.
        done: the sum is complete. It is a bit of its own, because the fan-in may change later.
        ecn: a contribution met congestion.
        collision: a contribution had flag COLLISION.
        retransmission: a contribution was a retransmission.
        touched: time of the last contribution that counted, in ticks of 1,024 µs modulo 2^16.
        words: accumulator words, uint32.
    """

    owner: Owner | None = None
    workers: int = 0
    count: int = 0
    done: bool = False
    ecn: bool = False
    collision: bool = False
    retransmission: bool = False
    touched: int = 0
    words: Words = field(default_factory=lambda: np.zeros(0, np.uint32))


class SlotTable:
    """Entries by (slot, shadow set), created on first use."""

    TICKS = 1 << 16  # range of the time
    ROUND_WORD_BITS = 32  # of the round size that an entry stores
    NOTES_CONFLICTS = False  # a worker with a conflict on a chunk counts as seen there

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], Entry] = {}

    def entry(self, slot: int, shadow: int) -> Entry:
        """Return an entry, which is created on first use."""
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
        ecn: bool = False,
        now: int = 0,
        ascend: bool = False,
        shared: bool = False,
        quorum: bool = False,
        lease: int = 0,
    ) -> tuple[Decision, Entry]:
        """Count one contribution.

        Args:
            words: its payload, uint32: uplink words, or accumulator words with flag UPPER.
            slot: absolute slot; the header has the shadow set.
            worker: bit of the sender, from the membership table and not from the packet.
            fan_in: number of contributions that completes the entry.
            code_table: 16 bytes, for operations with lookup.
            ecn: the packet met congestion: flag ECN, or a mark in its IPv4 header.
            now: time in ticks of 1,024 µs; only its lowest 16 bits count.
            ascend: sums go on towards the server, see ``lanesum_fabric.program.switch_job.Role``.
            shared: the job shares its slots with other jobs.
            lease: ticks for which an open entry of another job is not overwritten.

        Returns:
            The decision, and the entry afterwards.
        """
        entry = self.entry(slot, header.shadow)
        decision = self.decide(
            header,
            entry,
            worker=worker,
            fan_in=fan_in,
            now=now,
            ascend=ascend,
            shared=shared,
            quorum=quorum,
            lease=lease,
        )
        op = LaneOp(header.op)
        collision, again = bool(header.flags & Flag.COLLISION), bool(header.flags & Flag.RETRANSMISSION)
        if decision in (Decision.CLAIM, Decision.CLAIM_AND_COMPLETE):
            entry.owner = Owner(header.op, header.job, header.tag, header.epoch, header.chunk, header.racks)
            entry.workers, entry.count = worker, 1
            entry.ecn, entry.collision, entry.retransmission = ecn, collision, again
            entry.words = self._accumulator_words(header, words, code_table).copy()
        elif decision in (Decision.CONTRIBUTE, Decision.CONTRIBUTE_AND_COMPLETE):
            entry.workers |= worker
            entry.count += 1
            entry.ecn, entry.collision = entry.ecn or ecn, entry.collision or collision
            entry.retransmission = entry.retransmission or again
            entry.words = combine(op, entry.words, self._accumulator_words(header, words, code_table))
        else:
            return decision, entry
        entry.done = decision in (Decision.CLAIM_AND_COMPLETE, Decision.CONTRIBUTE_AND_COMPLETE)
        entry.touched = now % self.TICKS
        return decision, entry

    @staticmethod
    def _accumulator_words(header: Header, words: Words, code_table: bytes | None) -> Words:
        """Return the payload as accumulator words; an aggregate has these already."""
        return words if header.flags & Flag.UPPER else expand(LaneOp(header.op), words, code_table)

    @classmethod
    def order(cls, header: Header, entry: Entry, *, now: int = 0, shared: bool = False, lease: int = 0) -> ChunkOrder:
        """Return ``order_of``, or FOREIGN if the entry is held by another job."""
        owner = entry.owner
        foreign = owner is not None and (owner.job, owner.tag) != (header.job, header.tag)
        if foreign and shared and not entry.done and (now - entry.touched) % cls.TICKS <= lease:
            return ChunkOrder.FOREIGN
        return order_of(header, owner)

    @classmethod
    def seen(cls, entry: Entry, worker: int) -> bool:
        """Return True if this worker has contributed to the entry."""
        return bool(entry.workers & worker)

    @classmethod
    def decide(
        cls,
        header: Header,
        entry: Entry,
        *,
        worker: int,
        fan_in: int,
        now: int = 0,
        ascend: bool = False,
        shared: bool = False,
        quorum: bool = False,
        lease: int = 0,
    ) -> Decision:
        """Return the decision without changing the entry; arguments as of ``contribute``."""
        order = cls.order(header, entry, now=now, shared=shared, lease=lease)
        if order is ChunkOrder.NEWER:
            return Decision.CLAIM_AND_COMPLETE if fan_in <= 1 else Decision.CLAIM
        if order is ChunkOrder.FOREIGN:
            return Decision.COLLIDE
        if order is ChunkOrder.OLDER:
            return Decision.PASS_LATE if quorum else Decision.DROP_LATE
        if order is ChunkOrder.CONFLICT:
            return Decision.REPORT_CONFLICT
        seen = cls.seen(entry, worker)
        if entry.done:
            if not ascend:
                return Decision.REPLAY
            return Decision.ASCEND_AGAIN if seen else Decision.PASS_LATE
        if seen:
            return Decision.REPORT_PENDING
        return Decision.CONTRIBUTE_AND_COMPLETE if entry.count + 1 >= fan_in else Decision.CONTRIBUTE


@dataclass(slots=True)
class TofinoEntry(Entry):
    """An entry; ``noted`` is the bitmap of the workers that sent a contribution to the owner's chunk."""

    noted: int = 0


class TofinoSlotTable(SlotTable):
    """The slots of the program for Tofino, where its decisions differ from those of BMv2 (docs/tofino-design.md).

    - An entry registers a worker before it decides about the contribution. Workers with a conflict on a chunk and
      workers that contribute to a complete entry are registered. They are neither in the sum nor in the contributor
      bitmaps.
    - Time wraps after 2^28 ticks.
    - Rounds of 2^28 words and more are not summed.
    """

    TICKS = 1 << 28
    ROUND_WORD_BITS = 28
    NOTES_CONFLICTS = True

    def entry(self, slot: int, shadow: int) -> TofinoEntry:
        entry = self._entries.setdefault((slot, shadow), TofinoEntry())
        assert isinstance(entry, TofinoEntry)
        return entry

    @classmethod
    def seen(cls, entry: Entry, worker: int) -> bool:
        assert isinstance(entry, TofinoEntry)
        return bool(entry.noted & worker)

    def contribute(
        self, header: Header, words: Words, *, slot: int, worker: int, **how: Any
    ) -> tuple[Decision, TofinoEntry]:
        entry = self.entry(slot, header.shadow)
        order = self.order(header, entry, **{name: how[name] for name in ("now", "shared", "lease")})
        decision, _ = super().contribute(header, words, slot=slot, worker=worker, **how)
        if order is ChunkOrder.NEWER:
            entry.noted = worker
        elif order in (ChunkOrder.SAME, ChunkOrder.CONFLICT):
            entry.noted |= worker
        return decision, entry

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots as the program for Tofino has them: where its decisions differ from BMv2's, as docs/tofino.md says.

- Who came by is noted before it is known whether it counts. A worker that had a conflict on a chunk has been seen, and
  so has one that came when the sum was complete; neither is in the sum, nor in what answers name.
- Time wraps after 2^28 ticks.
- Rounds of 2^28 words and more are not summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import ChunkOrder, Decision, Entry, SlotTable
from lanesum.protocol.packet import Header


@dataclass(slots=True)
class TofinoEntry(Entry):
    """``noted``: bitmap of those who came by for the owner's chunk."""

    noted: int = 0


class TofinoSlotTable(SlotTable):
    """Otherwise ``SlotTable``."""

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

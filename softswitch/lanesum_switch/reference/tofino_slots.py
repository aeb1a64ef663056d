# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Slots of the program for Tofino, where its decisions differ from those of BMv2 (docs/tofino-design.md).

- An entry registers a worker before it decides about the contribution. Workers with a conflict on a chunk and workers
  that contribute to a complete entry are registered. They are neither in the sum nor in the contributor bitmaps.
- Time wraps after 2^28 ticks.
- Rounds of 2^28 words and more are not summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import ChunkOrder
from lanesum.protocol.packet import Header
from lanesum_switch.reference.slots import Decision, Entry, SlotTable


@dataclass(slots=True)
class TofinoEntry(Entry):
    """An entry; ``noted`` is the bitmap of the workers that sent a contribution to the owner's chunk."""

    noted: int = 0


class TofinoSlotTable(SlotTable):
    """The slots of the program for Tofino."""

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

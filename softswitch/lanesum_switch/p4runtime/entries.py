# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State of table entries beside that of the switch."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from lanesum_switch.api import GroupRef, MemberRef, Target
from lanesum_switch.p4runtime.matches import DEFAULT_KEY, MatchKey
from lanesum_switch.p4runtime.p4info import P4InfoIndex


class Handles:
    """Handles of entries, members and groups as in BMv2: the smallest free number. Reads are in their order."""

    def __init__(self) -> None:
        self._next = 0
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        self._next += 1
        return self._next - 1

    def give_back(self, handle: int) -> None:
        heapq.heappush(self._free, handle)


@dataclass(slots=True)
class EntryState:
    """Control-plane part of an entry, which the switch does not use."""

    controller_metadata: int = 0
    metadata: bytes = b""
    idle_timeout_ns: int = 0
    target: Target | None = None
    oneshot: int | None = None  # group of the one-shot that is its target
    handle: int = -1


class EntryStore:
    """Entry state by table id and key.

    As in PI, this store and not the switch decides if an entry exists. It does not hold the program's own (const)
    entries.
    """

    def __init__(self, index: P4InfoIndex) -> None:
        self._tables: dict[int, dict[MatchKey, EntryState]] = {
            table_id: {DEFAULT_KEY: EntryState()} for table_id in index.tables
        }
        self._handles = {table_id: Handles() for table_id in index.tables}

    def get(self, table_id: int, key: MatchKey) -> EntryState | None:
        return self._tables[table_id].get(key)

    def add(self, table_id: int, key: MatchKey, state: EntryState) -> None:
        """Add a new entry."""
        state.handle = self._handles[table_id].take()
        self._tables[table_id][key] = state

    def replace(self, table_id: int, key: MatchKey, state: EntryState) -> None:
        state.handle = self._tables[table_id][key].handle
        self._tables[table_id][key] = state

    def remove(self, table_id: int, key: MatchKey) -> None:
        self._handles[table_id].give_back(self._tables[table_id].pop(key).handle)

    def uses_timeout(self, table_id: int) -> bool:
        return any(s.idle_timeout_ns for s in self._tables[table_id].values())

    def uses_member(self, table_ids: list[int], member: int) -> bool:
        return any(s.target == MemberRef(member) for t in table_ids for s in self._tables[t].values())

    def uses_group(self, table_ids: list[int], group: int) -> bool:
        return any(s.target == GroupRef(group) for t in table_ids for s in self._tables[t].values())

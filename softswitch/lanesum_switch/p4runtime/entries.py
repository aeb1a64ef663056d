# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What the server remembers of table entries beside what the switch stores."""

from __future__ import annotations

from dataclasses import dataclass

from .matches import DEFAULT_KEY, MatchKey
from .p4info import P4InfoIndex


@dataclass(slots=True)
class EntryState:
    """The control-plane part of an entry; the switch has no use for it."""

    controller_metadata: int = 0
    metadata: bytes = b""
    idle_timeout_ns: int = 0
    member: int | None = None
    group: int | None = None
    is_oneshot: bool = False


class EntryStore:
    """Entry state by table id and key.

    As in PI, it and not the switch decides whether an entry exists. Entries that the program itself brings (const
    entries) are not in it.
    """

    def __init__(self, index: P4InfoIndex) -> None:
        self._tables: dict[int, dict[MatchKey, EntryState]] = {
            table_id: {DEFAULT_KEY: EntryState()} for table_id in index.tables
        }

    def get(self, table_id: int, key: MatchKey) -> EntryState | None:
        return self._tables[table_id].get(key)

    def put(self, table_id: int, key: MatchKey, state: EntryState) -> None:
        self._tables[table_id][key] = state

    def remove(self, table_id: int, key: MatchKey) -> None:
        del self._tables[table_id][key]

    def uses_member(self, table_ids: list[int], member: int) -> bool:
        return any(s.member == member for t in table_ids for s in self._tables[t].values())

    def uses_group(self, table_ids: list[int], group: int) -> bool:
        return any(s.group == group for t in table_ids for s in self._tables[t].values())

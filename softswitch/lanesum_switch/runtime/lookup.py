# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lookup in tables with LPM, ternary, range or optional key fields.

The algorithm is tuple space search (V. Srinivasan, S. Suri and G. Varghese, "Packet Classification using Tuple Space
Search", SIGCOMM 1999): entries with the same masks share a hash table. Results are cached by key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanesum_switch.api import Match

Row = tuple[Any, ...]
RankedRow = tuple[tuple[Match, ...], int, Row]  # match, rank and row of an entry; the larger rank wins
NO_ACTION = -1  # action number of a row without action (an indirect table without a default action)
GROUP = -2  # action number of a row whose third item is the list of rows of a group's members

_MAX_CACHED_KEYS = 65536


class TupleSpaceSearch(dict[Any, Row | None]):
    """Dictionary from key values to the row of the best match, or None; it is its own cache."""

    def __init__(self, kinds: tuple[str, ...], widths: tuple[int, ...]) -> None:
        super().__init__()
        self.single = len(kinds) == 1
        self.kinds = kinds
        self.widths = widths
        self._changed: Callable[[], list[RankedRow]] | None = None
        # (highest rank, masks, masked key -> (rank, row)) of the entries with the same masks, highest rank first.
        self.tuples: list[tuple[int, tuple[int, ...], dict[tuple[int, ...], tuple[int, Row]]]] = []
        # (rank, tests, row) of the entries that need comparisons, highest rank first.
        self.ranges: list[tuple[int, list[tuple[int, int, int]], Row]] = []

    def change(self, entries: Callable[[], list[RankedRow]]) -> None:
        """Replace all entries by ``entries()`` at the next lookup, so that many writes rebuild the search once."""
        self.clear()
        self._changed = entries

    def rebuild(self, entries: list[RankedRow]) -> None:
        """Replace all entries."""
        self.clear()
        self._changed = None
        self.tuples = []
        self.ranges = []
        tuples: dict[tuple[int, ...], dict[tuple[int, ...], tuple[int, Row]]] = {}
        for match, rank, row in entries:
            masks = self.masks(match)
            if masks is None:
                tests = [self.test(k, w, m) for k, w, m in zip(self.kinds, self.widths, match, strict=True)]
                self.ranges.append((rank, tests, row))
                continue
            values = tuple(m.value & mask for m, mask in zip(match, masks, strict=True))
            known = tuples.setdefault(masks, {})
            if values not in known or known[values][0] < rank:
                known[values] = (rank, row)
        self.tuples = [(max(r for r, _ in rows.values()), masks, rows) for masks, rows in tuples.items()]
        self.tuples.sort(key=lambda item: -item[0])
        self.ranges.sort(key=lambda item: -item[0])

    def masks(self, match: tuple[Match, ...]) -> tuple[int, ...] | None:
        """Return the mask of each key field, or None if a range needs comparisons."""
        masks = []
        for kind, bits, item in zip(self.kinds, self.widths, match, strict=True):
            full = (1 << bits) - 1
            if kind == "exact":
                masks.append(full)
            elif kind == "lpm":
                masks.append(full ^ (full >> item.aux))
            elif kind == "range":
                if item.value == item.aux:
                    masks.append(full)
                elif item.value == 0 and item.aux == full:
                    masks.append(0)
                else:
                    return None
            else:
                masks.append(item.aux)
        return tuple(masks)

    @staticmethod
    def test(kind: str, bits: int, match: Match) -> tuple[int, int, int]:
        """Return (mask, low, high): a key field matches if low <= value & mask <= high."""
        full = (1 << bits) - 1
        if kind == "range":
            return full, match.value, match.aux
        mask = full if kind == "exact" else full ^ (full >> match.aux) if kind == "lpm" else match.aux
        return mask, match.value & mask, match.value & mask

    def __missing__(self, key: Any) -> Row | None:
        if self._changed is not None:
            self.rebuild(self._changed())
        values = (key,) if self.single else key
        best = -1
        found: Row | None = None
        for highest, masks, rows in self.tuples:
            if highest <= best:
                break
            item = rows.get(tuple(v & m for v, m in zip(values, masks, strict=True)))
            if item is not None and item[0] > best:
                best, found = item
        for rank, tests, row in self.ranges:
            if rank <= best:
                break
            if all(low <= v & mask <= high for v, (mask, low, high) in zip(values, tests, strict=True)):
                best, found = rank, row
        if len(self) >= _MAX_CACHED_KEYS:
            self.clear()
        self[key] = found
        return found

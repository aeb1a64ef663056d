# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Handles as BMv2 assigns them to entries, members and groups; reads are in the order of handles."""

from __future__ import annotations

import heapq


class Handles:
    """Assigns the smallest free number."""

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

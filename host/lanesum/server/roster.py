# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of workers, and the bitmaps that packets name them by."""

from __future__ import annotations

from collections.abc import Iterator

from lanesum._internal.udp_socket import Address
from lanesum.server.jobs import Place, ServerJob


def members_of(workers: int) -> Iterator[int]:
    """Numbers of the bits that are set, from the lowest."""
    while workers:
        lowest = workers & -workers
        yield lowest.bit_length() - 1
        workers ^= lowest


class Roster:
    """A job's members, arranged for packets. A *set of workers* is an int with bit ``n`` for worker number ``n``."""

    def __init__(self, job: ServerJob) -> None:
        ordered = sorted(job.members.items(), key=lambda member: member[1].worker)
        self.addresses: tuple[Address, ...] = tuple(address for address, _ in ordered)
        self.places: tuple[Place, ...] = tuple(place for _, place in ordered)
        self.everybody = (1 << len(ordered)) - 1
        self.two_levels = job.two_levels
        self._racks: dict[int, int] = {}  # rack -> set of its workers
        self._spots: dict[tuple[int, int], int] = {}  # (rack, bit) -> set of the one worker there
        for place in self.places:
            self._racks[place.rack] = self._racks.get(place.rack, 0) | 1 << place.worker
            self._spots[place.rack, place.bit] = 1 << place.worker

    @property
    def racks(self) -> int:
        """Racks with workers in them."""
        return len(self._racks)

    @property
    def bitmap_words(self) -> int:
        """Words that name any set of workers: one for every rack number up to the largest."""
        return max(self._racks) + 1

    def workers_at(self, rack: int, bitmap: int) -> int | None:
        """The set that ``bitmap`` names in ``rack``; None when a bit is nobody's, or none is set."""
        workers = 0
        for bit in members_of(bitmap):
            worker = self._spots.get((rack, bit))
            if worker is None:
                return None
            workers |= worker
        return workers or None

    def workers_in_racks(self, racks: int) -> int | None:
        """All workers of the racks in a bitmap; None when a bit is no rack's, or none is set."""
        workers = 0
        for rack in members_of(racks):
            if rack not in self._racks:
                return None
            workers |= self._racks[rack]
        return workers or None

    def bitmap(self, rack: int, workers: int) -> int:
        """Bitmap of those of a set that are in ``rack``."""
        return sum(1 << self.places[worker].bit for worker in members_of(workers & self._racks.get(rack, 0)))

    def bitmaps(self, workers: int) -> list[int]:
        """A set as one bitmap per rack."""
        bitmaps = [0] * self.bitmap_words
        for worker in members_of(workers):
            place = self.places[worker]
            bitmaps[place.rack] |= 1 << place.bit
        return bitmaps

    def complete_racks(self, workers: int) -> int:
        """Bitmap of the racks whose workers are all in a set."""
        return sum(1 << rack for rack, members in self._racks.items() if members & workers == members)

    def touched_racks(self, workers: int) -> int:
        """Bitmap of the racks that have anybody in a set."""
        return sum(1 << rack for rack, members in self._racks.items() if members & workers)

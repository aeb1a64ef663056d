# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Members of a job, and the bitmaps that name them in packets."""

from __future__ import annotations

from collections.abc import Iterator

from lanesum._internal.udp_socket import Address
from lanesum.server.jobs import MemberIndex, ServerJob


def set_bits(bitmap: int) -> Iterator[int]:
    """Yield the positions of the set bits in ascending order: the numbers of the workers in a set."""
    while bitmap:
        lowest = bitmap & -bitmap
        yield lowest.bit_length() - 1
        bitmap ^= lowest


class MemberTable:
    """Members of a job by number. A *set of workers* is an int with bit ``n`` for worker number ``n``.

    Attributes:
        addresses: address of each worker.
        indices: rack and bit of each worker.
        all_workers: set of all workers.
        two_levels: results name racks, not workers.
    """

    def __init__(self, job: ServerJob) -> None:
        ordered = sorted(job.members.items(), key=lambda member: member[1].worker)
        self.addresses: tuple[Address, ...] = tuple(address for address, _ in ordered)
        self.indices: tuple[MemberIndex, ...] = tuple(index for _, index in ordered)
        self.all_workers = (1 << len(ordered)) - 1
        self.two_levels = job.two_levels
        self._racks: dict[int, int] = {}  # rack -> set of its workers
        self._worker_at: dict[tuple[int, int], int] = {}  # (rack, bit) -> set of this one worker
        for index in self.indices:
            self._racks[index.rack] = self._racks.get(index.rack, 0) | 1 << index.worker
            self._worker_at[index.rack, index.bit] = 1 << index.worker

    @property
    def racks(self) -> int:
        """Number of racks that have workers."""
        return len(self._racks)

    @property
    def bitmap_words(self) -> int:
        """Words that name any set of workers: one for each rack number up to the largest."""
        return max(self._racks) + 1

    def workers_at(self, rack: int, bitmap: int) -> int | None:
        """Return the workers that ``bitmap`` names in ``rack``; None if it is 0 or has a bit without a worker."""
        workers = 0
        for bit in set_bits(bitmap):
            worker = self._worker_at.get((rack, bit))
            if worker is None:
                return None
            workers |= worker
        return workers or None

    def workers_in_racks(self, racks: int) -> int | None:
        """Return all workers of the racks in a bitmap; None if it is 0 or names a rack without workers."""
        workers = 0
        for rack in set_bits(racks):
            if rack not in self._racks:
                return None
            workers |= self._racks[rack]
        return workers or None

    def bitmap(self, rack: int, workers: int) -> int:
        """Return the bitmap of those of ``workers`` that are in ``rack``."""
        return sum(1 << self.indices[worker].bit for worker in set_bits(workers & self._racks.get(rack, 0)))

    def bitmaps(self, workers: int) -> list[int]:
        """Return a set of workers as one bitmap for each rack number."""
        bitmaps = [0] * self.bitmap_words
        for worker in set_bits(workers):
            index = self.indices[worker]
            bitmaps[index.rack] |= 1 << index.bit
        return bitmaps

    def complete_racks(self, workers: int) -> int:
        """Return the bitmap of the racks whose workers are all in ``workers``."""
        return sum(1 << rack for rack, members in self._racks.items() if members & workers == members)

    def contributing_racks(self, workers: int) -> int:
        """Return the bitmap of the racks with at least one worker in ``workers``."""
        return sum(1 << rack for rack, members in self._racks.items() if members & workers)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Devices whose results failed the check of certified jobs: their numbers, and the switches that a job leaves out.

A chunk counts once for a device, also if all workers report it. Results of the server count one by one, because each
further one was made anew or kept in a wrong memory. After ``MAX_FAILED`` of them within ``WINDOW_S`` the controller
leaves a switch out of the job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from lanesum.transport.stats import FailedChunk
from lanesum_control.jobs.records import Job

MAX_FAILED = 3
WINDOW_S = 3600.0
_MAX_CHUNKS = 256  # remembered for each job and device


class Makers(Protocol):
    """Function that names the devices of a result: a switch by its name, a server as ``server IP:PORT``."""

    def __call__(self, job: Job, slot: int, *, by_server: bool) -> tuple[str, ...]: ...


class FailingDevices:
    """Failed results of all jobs by device. Not thread-safe.

    Args:
        clock: monotonic seconds.

    Attributes:
        totals: failed results by number of the job and device.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._numbers: dict[tuple[int, int, int], int] = {}  # last record by job, tag and worker
        # Failed results of a chunk and their time, by job and device, and by tag, epoch and chunk.
        self._chunks: dict[tuple[int, str], dict[tuple[int, int, int], tuple[int, float]]] = {}
        self._due: dict[tuple[int, str], str] = {}
        self.totals: Counter[tuple[int, str]] = Counter()

    @property
    def is_due(self) -> bool:
        """True if ``take_due`` returns a switch."""
        return bool(self._due)

    def add(
        self, job: Job, worker: int, chunks: Sequence[FailedChunk], makers: Makers
    ) -> Mapping[tuple[str, ...], set[int]]:
        """Count the chunks that a worker had not reported before; return their slots by the devices that made them."""
        key = job.number, job.incarnation.tag, worker
        last = self._numbers.get(key, 0)
        slots: dict[tuple[str, ...], set[int]] = {}
        for one in chunks:
            if one.number <= last:
                continue
            self._numbers[key] = one.number
            for count, by_server in ((min(one.of_switches, 1), False), (one.of_server, True)):
                devices = makers(job, one.slot, by_server=by_server) or ("a switch that has left the job",)
                if count:
                    slots.setdefault(devices, set()).add(one.slot)
                    for device in devices:
                        self._count(job, device, one, count)
        return slots

    def _count(self, job: Job, device: str, chunk: FailedChunk, count: int) -> None:
        key, now = (job.number, device), self._clock()
        known = self._chunks.setdefault(key, {})
        place = job.incarnation.tag, chunk.epoch, chunk.chunk
        before = known.get(place, (0, now))[0]
        self.totals[key] += max(0, count - before)
        known[place] = max(count, before), now
        while len(known) > _MAX_CHUNKS:
            del known[next(iter(known))]
        recent = sum(results for results, time_s in known.values() if time_s > now - WINDOW_S)
        if recent >= MAX_FAILED:
            self._due[key] = f"{recent} of its results failed their check within {WINDOW_S / 60:g} minutes"

    def take_due(self) -> Iterator[tuple[int, str, str]]:
        """Yield job, device and reason of those that failed too often since the last call."""
        while self._due:
            (number, device), why = self._due.popitem()
            self._chunks.pop((number, device), None)
            yield number, device, why

    def forget(self, number: int) -> None:
        """Forget a removed job."""
        self._numbers = {key: last for key, last in self._numbers.items() if key[0] != number}
        self._chunks = {key: found for key, found in self._chunks.items() if key[0] != number}
        for key in [key for key in self.totals if key[0] == number]:
            del self.totals[key]

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switches and servers that are killed and restart without their memory; a controller restores their jobs."""

from __future__ import annotations

import collections
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lanesum.aggregation.combine import Words
from lanesum.aggregation.slots import Owner
from lanesum.protocol.spec import HEADER_BYTES
from lanesum_fabric.program.switch_job import SwitchJob
from tests.reference.switch import ReferenceSwitch
from tests.simulator.layout import Address, Layout
from tests.simulator.parts import PYTHON, Parts
from tests.simulator.placement import Bases, SimulatedPlacement
from tests.simulator.scenario import Resize

Key = tuple[int, int]  # job, tag
Counts = collections.Counter[str]


class SwitchNode:
    """One switch. ``jobs``: jobs assigned by the controller, installed or not.

    Args:
        name: name in the layout.
        layout: hosts around the switch.
        bases: bases of its slots.
        words: accumulator words of a packet.
        clock: returns virtual time in microseconds.
        parts: implementation of the switch.
    """

    def __init__(
        self, name: str, layout: Layout, bases: Bases, words: int, clock: Callable[[], int], parts: Parts = PYTHON
    ) -> None:
        self.name = name
        self.jobs: dict[Key, SwitchJob] = {}
        self.boots = 0
        self.alive = False
        self.counted = Counts()  # of earlier incarnations
        self._layout = layout
        self._bases = bases
        self._words = words
        self._clock = clock
        self._parts = parts
        self.knows_jobs = False
        self._switch = self._blank()
        self.boot()
        self.add_routes()
        self.add_jobs()

    def _blank(self) -> ReferenceSwitch:
        slots, entries = max(1, self._bases.total), self._parts.entries()
        shortens = not self._parts.chip
        return ReferenceSwitch(self._words, slots=slots, clock=self._clock, entries=entries, shortens=shortens)

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Process a frame; return the outgoing frames with their ports."""
        return self._switch.process(port, frame) if self.alive else []

    def counts(self) -> dict[str, int]:
        """Return the counters of this incarnation."""
        return self._switch.decisions()

    def decisions(self) -> Counts:
        """Return the counters of all incarnations."""
        return self.counted + Counts(self._switch.decisions())

    # Kill and restart.

    def kill(self) -> None:
        """Lose registers and tables."""
        self.alive = self.knows_jobs = False
        self.boots += 1
        self.counted += Counts(self._switch.decisions())
        self._switch = self._blank()

    def boot(self) -> None:
        """Accept packets again, with empty tables."""
        self.alive = True

    def add_routes(self) -> None:
        """Add the routes of all hosts."""
        for host in self._layout.all_hosts(self.name):
            self._switch.add_host(host)

    def add_jobs(self) -> None:
        """Add all jobs."""
        self.knows_jobs = True
        for job in self.jobs.values():
            self._switch.admit(job)

    def flip(self, value: int, may_flip: Callable[[Owner], bool]) -> None:
        """Flip a bit of a sum, if there is one of a chunk that may have a flipped bit."""
        entries = [one for one in self._switch._slots._entries.values() if one.words.size and one.owner]
        entry = entries[value % len(entries)] if entries else None
        if self.alive and entry is not None and entry.owner is not None and may_flip(entry.owner):
            entry.words = _flipped(entry.words, value)

    # Operations of a controller.

    def admit(self, job: SwitchJob) -> None:
        self.jobs[job.job, job.tag] = job
        if self.knows_jobs:
            self._switch.admit(job)

    def remove(self, key: Key) -> None:
        job = self.jobs.pop(key, None)
        if job is not None and self.knows_jobs:
            self._switch.remove(job)

    def resize(self, key: Key, line: int, resize: Resize) -> bool:
        """Give a job other slots; return False if the switch does not have the job."""
        job = self.jobs.get(key)
        if job is None:
            return False
        changed = replace(job, slot_count=resize.slots, slot_base=self._bases.base(line, resize.moved))
        self.jobs[key] = changed
        if self.knows_jobs:
            self._switch.modify(job, changed)
        return True


class ServerNode:
    """The server. Its journal survives a kill.

    Args:
        folder: folder of the journal; None if the server is never killed.
        parts: implementation of the server.
    """

    def __init__(self, folder: Path | None, parts: Parts) -> None:
        self.placements: dict[Key, SimulatedPlacement] = {}
        self.boots = 0
        self.alive = True
        self.counted = Counts()
        self._folder = folder
        self._parts = parts
        self.knows_jobs = True
        self._aggregator = parts.aggregator(folder)

    def handle(self, sender: Address, datagram: bytes, *, congested: bool = False) -> list[tuple[Address, bytes]]:
        """Handle a datagram; return the answers with their receivers."""
        return self._aggregator.handle(sender, datagram, congested=congested) if self.alive else []

    def counts(self) -> Counts:
        """Return the counters of this incarnation; ``refused`` for packets without effect."""
        now = Counts({decision.value: count for decision, count in self._aggregator.decisions.items()})
        now["refused"] = self._aggregator.refused.total()
        return now

    def decisions(self) -> Counts:
        """Return the counters of all incarnations."""
        return self.counted + self.counts()

    def kill(self) -> None:
        """Lose the memory."""
        self.counted = self.decisions()
        self.close()
        self.alive = self.knows_jobs = False
        self.boots += 1
        self._aggregator = self._parts.aggregator(self._folder)

    def flip(self, value: int, may_flip: Callable[[Owner], bool]) -> None:
        """Flip a bit of a partial sum or of a kept result; the memory of a native server is out of reach."""
        if self._parts.native_server or not self.alive:
            return
        aggregator: Any = self._aggregator
        served = [aggregator._served[key[0]] for key in self.placements if self.knows_jobs]
        entries = [entry for job in served for entry in job._slots._entries.values()]
        entry = entries[value % len(entries)] if entries else None
        if entry is None or not may_flip(entry.owner):
            return
        if entry.result is not None:
            at = HEADER_BYTES + value % (len(entry.result) - HEADER_BYTES)
            changed = bytes([entry.result[at] ^ 1 << (value >> 20) % 8])
            entry.result = entry.result[:at] + changed + entry.result[at + 1 :]
            return
        sums = entry.partial_sums._sums
        for workers, words in list(sums.items())[:1]:
            sums[workers] = _flipped(words, value)

    def boot(self) -> None:
        """Accept packets again, without any job."""
        self.alive = True

    def add_routes(self) -> None:
        """Do nothing: a server has no routes."""

    def add_jobs(self) -> None:
        """Admit all jobs."""
        self.knows_jobs = True
        for placement in self.placements.values():
            self._aggregator.admit(placement.server_job())

    def admit(self, key: Key, placement: SimulatedPlacement) -> None:
        self.placements[key] = placement
        if self.knows_jobs:
            self._aggregator.admit(placement.server_job())

    def remove(self, key: Key) -> None:
        if self.placements.pop(key, None) is not None and self.knows_jobs:
            self._aggregator.remove(key[0])

    def close(self) -> None:
        """Close files."""
        self._aggregator.close()


def _flipped(words: Words, value: int) -> Words:
    """Return words with another bit."""
    changed = words.copy()
    changed[value % words.size] ^= np.uint32(1 << (value >> 20) % 32)
    return changed

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Links that lose, duplicate and delay single packets: drawn from a seed and written down, or read from such a list."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

from lanesum.simulator.scenario import Rates

LOSE, DUPLICATE, DELAY, CONFLICT = "lose", "duplicate", "delay", "conflict"
UP, DOWN = "up", "down"
# No packet is lost more often than this: without a limit nothing could be said about how long a run may take.
MOST_LOSSES = 6
_SHORTEST_DELAY_S = 5e-5


class Packet(NamedTuple):
    """Which packet: the ``sending``-th one, from 0, between a worker and the aggregation point about a chunk."""

    direction: str
    job: int
    tag: int
    worker: int
    epoch: int
    chunk: int
    sending: int


class Fault(NamedTuple):
    """What happens to one packet. ``delay_s``: of the packet, or of its second copy."""

    packet: Packet
    kind: str
    delay_s: float = 0.0


class Fate(NamedTuple):
    delays_s: tuple[float, ...]  # one for each copy that arrives
    conflict: bool = False  # a copy with another operation follows

    @property
    def unhurt(self) -> bool:
        return self == _UNHURT

    def __str__(self) -> str:
        if not self.delays_s:
            return "it is lost"
        late = ", ".join(f"{delay_s:g}" for delay_s in self.delays_s)
        return f"it arrives {late} s late" + (", and once more with another operation" if self.conflict else "")


_UNHURT = Fate((0.0,))


class Network:
    """Decides about each packet, once.

    Args:
        rates: how often packets meet each fault; not looked at when ``faults`` are given.
        seed: of the dice.
        faults: replay exactly these.
    """

    def __init__(self, rates: Rates, seed: int, faults: Iterable[Fault] | None = None) -> None:
        self.used: list[Fault] = []
        self._given = None if faults is None else {fault.packet: fault for fault in faults}
        self._random = random.Random(seed)
        self._lose = rates.lose
        self._duplicate = self._lose + rates.duplicate
        self._delay = self._duplicate + rates.delay
        self._conflict = self._delay + rates.conflict
        self._longest = rates.longest_delay_s
        self._sendings: dict[tuple[str, int, int, int, int, int], list[int]] = {}

    def fate(self, direction: str, job: int, tag: int, worker: int, epoch: int, chunk: int) -> Fate:
        """What happens to the packet that is sent now."""
        counts = self._sendings.setdefault((direction, job, tag, worker, epoch, chunk), [0, 0])
        packet = Packet(direction, job, tag, worker, epoch, chunk, counts[0])
        counts[0] += 1
        fault = self._draw(packet, counts[1]) if self._given is None else self._given.get(packet)
        if fault is None:
            return _UNHURT
        self.used.append(fault)
        if fault.kind == LOSE:
            counts[1] += 1
            return Fate(())
        if fault.kind == DUPLICATE:
            return Fate((0.0, fault.delay_s))
        return Fate((fault.delay_s,), fault.kind == CONFLICT)

    def _draw(self, packet: Packet, losses: int) -> Fault | None:
        dice = self._random.random()
        if dice >= self._conflict:
            return None
        if dice < self._lose:
            return Fault(packet, LOSE) if losses < MOST_LOSSES else None
        if dice >= self._delay:
            return Fault(packet, CONFLICT) if packet.direction == UP else None
        delay_s = _SHORTEST_DELAY_S * (self._longest / _SHORTEST_DELAY_S) ** self._random.random()
        return Fault(packet, DUPLICATE if dice < self._duplicate else DELAY, round(delay_s, 7))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Links that lose, duplicate, delay and damage packets: drawn from a seed and recorded, or replayed from a list."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import NamedTuple

from tests.simulator.scenario import Rates
from tests.simulator.wire import CONTRIBUTION, RESULT, Seen

LOSE, DUPLICATE, DELAY, CORRUPT, MARK, FLIP = "lose", "duplicate", "delay", "corrupt", "mark", "flip"
# Maximum number of losses of a packet: without a limit the length of a run would have no bound.
MAX_LOSSES = 6
_SHORTEST_DELAY_S = 5e-5


class SimulatedPacket(NamedTuple):
    """Identity of a packet: the ``sending``-th one, from 0, of its kind about a chunk on a link."""

    link: str  # "from>to"
    kind: int
    job: int
    tag: int
    epoch: int
    chunk: int
    sending: int


class Fault(NamedTuple):
    """Fault of one packet on one link.

    ``delay_s``: delay of the packet or of its second copy. ``value``: index and change of a damaged byte, or the choice
    of a flipped bit.
    """

    packet: SimulatedPacket
    kind: str
    delay_s: float = 0.0
    value: int = 0


class Fate(NamedTuple):
    delays_s: tuple[float, ...]  # one for each copy that arrives
    damage: int | None = None
    is_marked: bool = False
    flip: int | None = None  # choice of the flipped bit

    @property
    def unhurt(self) -> bool:
        return self == UNHURT

    def __str__(self) -> str:
        if not self.delays_s:
            return "it is lost"
        if self.damage is not None:
            return "it is damaged"
        if self.is_marked:
            return "it is marked"
        if self.flip is not None:
            return "a bit of it flips"
        return "it arrives " + ", ".join(f"{delay_s:g}" for delay_s in self.delays_s) + " s late"


UNHURT = Fate((0.0,))


class SimulatedNetwork:
    """Decides the faults of each packet on each link, once.

    Args:
        rates: rates of the faults; ignored if ``faults`` are given.
        seed: seed of the random number generator.
        faults: replay exactly these.

    Attributes:
        flipped: (job, tag, epoch, chunk) of the chunks with a flipped bit. Each has at most one, because the errors of
            several words may cancel (docs/certified-sums.md).
    """

    def __init__(self, rates: Rates, seed: int, faults: Iterable[Fault] | None = None) -> None:
        self.used: list[Fault] = []
        self.flipped: set[tuple[int, int, int, int]] = set()
        self._given = None if faults is None else {fault.packet: fault for fault in faults}
        self._random = random.Random(seed)
        self._lose = rates.lose
        self._corrupt = self._lose + rates.corrupt
        self._duplicate = self._corrupt + rates.duplicate
        self._delay = self._duplicate + rates.delay
        self._mark = self._delay + rates.mark
        self._flip = self._mark + rates.flip
        self._longest = rates.longest_delay_s
        self._sendings: dict[tuple[str, int, int, int, int, int], list[int]] = {}

    def fate(self, link: str, seen: Seen) -> Fate:
        """Return the fate of the packet that is sent now."""
        name = (link, seen.version_kind & 0xF, seen.job, seen.tag, seen.epoch, seen.chunk)
        counts = self._sendings.setdefault(name, [0, 0])
        packet = SimulatedPacket(*name, counts[0])
        counts[0] += 1
        fault = self._draw(packet, counts[1]) if self._given is None else self._given.get(packet)
        if fault is None:
            return UNHURT
        self.used.append(fault)
        if fault.kind == LOSE:
            counts[1] += 1
            return Fate(())
        if fault.kind == CORRUPT:
            counts[1] += 1
            return Fate((0.0,), fault.value)
        if fault.kind == DUPLICATE:
            return Fate((0.0, fault.delay_s))
        if fault.kind == FLIP:
            self.flipped.add(packet[2:6])
            return Fate((0.0,), flip=fault.value)
        return Fate((fault.delay_s,), None, fault.kind == MARK)

    def _draw(self, packet: SimulatedPacket, losses: int) -> Fault | None:
        rng = self._random.random()
        if rng >= self._flip:
            return None
        if rng >= self._mark:
            if packet.kind not in (CONTRIBUTION, RESULT) or packet[2:6] in self.flipped:
                return None
            return Fault(packet, FLIP, 0.0, self._random.getrandbits(32))
        if rng >= self._delay:
            return Fault(packet, MARK)
        if rng < self._corrupt:
            if losses >= MAX_LOSSES:
                return None
            return Fault(packet, LOSE) if rng < self._lose else Fault(packet, CORRUPT, 0.0, self._damage())
        delay_s = _SHORTEST_DELAY_S * (self._longest / _SHORTEST_DELAY_S) ** self._random.random()
        return Fault(packet, DUPLICATE if rng < self._duplicate else DELAY, round(delay_s, 7))

    def _damage(self) -> int:
        return self._random.getrandbits(24)

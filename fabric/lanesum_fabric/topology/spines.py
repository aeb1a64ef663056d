# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Spines: several switches that link the racks, and the path of each pair of racks through one of them.

Switches route by destination, and accept the address of a host at one port only. So all packets between two racks take
one path, in both directions. Racks with servers choose their spine by their number, so several of them use all spines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Ranks of a spine or link that serves only if there is no better one: it is drained, or unreachable.
DRAINED, LOST = 1, 2
NO_RANKS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Spines:
    """Paths between racks.

    Attributes:
        names: spines, in file order.
        racks: all other switches, in file order.
        served: racks with servers.
        ports: port of a switch by the switch at the other end of the link.
    """

    names: tuple[str, ...]
    racks: tuple[str, ...]
    served: tuple[str, ...]
    ports: Mapping[str, Mapping[str, int]]

    def linking(self, one: str, other: str) -> list[str]:
        """Return the spines with links to both racks, the preferred one first."""
        with_servers = [rack for rack in (one, other) if rack in self.served]
        known = self.served if len(with_servers) == 1 else self.racks
        first = sum(known.index(rack) for rack in (with_servers if len(with_servers) == 1 else (one, other)))
        turned = [self.names[(first + number) % len(self.names)] for number in range(len(self.names))]
        return [spine for spine in turned if one in self.ports[spine] and other in self.ports[spine]]

    def between(self, one: str, other: str, ranks: Mapping[str, int] = NO_RANKS) -> str:
        """Return the spine between two racks: the preferred one of the lowest rank, by default 0.

        ``ranks``: of spines, and of links by ``link_name``; the higher one counts.
        """

        def rank(spine: str) -> int:
            return max(ranks.get(name, 0) for name in (spine, link_name(one, spine), link_name(other, spine)))

        return min(self.linking(one, other), key=rank)

    def towards(self, here: str, ranks: Mapping[str, int] = NO_RANKS) -> dict[str, int]:
        """Return the port of ``here`` on the path to every other switch that it reaches."""
        direct = dict(self.ports[here])
        if here in self.racks:
            others = [rack for rack in self.racks if rack != here]
            direct |= {rack: self.ports[here][self.between(here, rack, ranks)] for rack in others}
        return direct


def link_name(rack: str, spine: str) -> str:
    """Return the name of the link between a rack and a spine."""
    return f"{rack}-{spine}"


def find_problem(spines: Spines, links: Sequence[tuple[str, int, str, int]]) -> str | None:
    """Return the reason why links do not form racks with spines between them; None if they do."""
    for one, _, other, _ in links:
        if (one in spines.names) is (other in spines.names):
            where = "spines, which have no hosts" if one in spines.names else "racks, which have hosts"
            return f"{one} and {other} are {where}: with several paths, each link joins a spine and a rack"
    for number, one in enumerate(spines.racks):
        for other in spines.racks[:number]:
            if not spines.linking(one, other):
                return f"no spine is linked to both {other} and {one}"
    return None

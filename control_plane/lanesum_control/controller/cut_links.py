# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Links between racks and spines that pass no packets, found by the counters of the switches at both ends.

P4Runtime has no message about a port. But table ``forward`` counts the packets that a switch sends to each destination,
and table ``origin`` those that arrive from each source. A link is cut where one end sends and the other receives none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.errors import ControlError
from lanesum_fabric.program.capabilities import FORWARD, ORIGIN

#: Packets that are lost in a row, and looks that find some, before a link counts as cut.
MIN_PACKETS, MIN_LOOKS = 8, 2

_Counts = dict[tuple[int, int], int]  # packets by port and address


class CutLinks:
    """Packet counters of racks and spines. Not thread-safe.

    Args:
        links: rack, port, spine and port of each link, by name.
    """

    def __init__(self, links: Mapping[str, tuple[str, int, str, int]]) -> None:
        self._links = links
        self._before: dict[str, tuple[_Counts, _Counts]] = {}
        self._lost: Counter[tuple[str, str]] = Counter()  # packets by link and sender, since the last arrival
        self._looks: Counter[tuple[str, str]] = Counter()

    def look(self, switches: Mapping[str, ManagedSwitch]) -> dict[str, str]:
        """Return the cut links between ``switches``, with the reason."""
        names = {end for rack, _, spine, _ in self._links.values() for end in (rack, spine)}
        counts: dict[str, tuple[_Counts, _Counts]] = {}
        # All senders are read before all receivers, so no packet counts as sent that may arrive later.
        sent = {name: _read(switch, FORWARD) for name, switch in switches.items() if name in names}
        received = {name: _read(switches[name], ORIGIN) for name in sent}
        for name, one in sent.items():
            other = received[name]
            if one is not None and other is not None:
                counts[name] = one, other
        before, self._before = self._before, counts
        cut = {}
        for link, (rack, rack_port, spine, spine_port) in self._links.items():
            ends = ((rack, rack_port, spine, spine_port), (spine, spine_port, rack, rack_port))
            for sender, port, receiver, arrival in ends:
                if any(name not in one for name in (rack, spine) for one in (before, counts)):
                    continue
                way = link, sender
                if _growth(before[receiver][1], counts[receiver][1], arrival):
                    self._lost[way] = self._looks[way] = 0
                elif grown := _growth(before[sender][0], counts[sender][0], port):
                    self._lost[way] += grown
                    self._looks[way] += 1
                if self._lost[way] >= MIN_PACKETS and self._looks[way] >= MIN_LOOKS:
                    cut[link] = f"{sender} sent {self._lost[way]} packets, none of which arrived at {receiver}"
                    self._lost[way] = self._looks[way] = 0
        return cut


def _read(switch: ManagedSwitch, table: str) -> _Counts | None:
    """Return the packets of each entry of a table by port and address; None if the switch does not answer."""
    try:
        entries = switch.entries(table)
    except ControlError:
        return None
    address = "destination" if table == FORWARD else "source"
    return {(one.params["port"], one.match[address]): one.packets for one in entries if "port" in one.params}


def _growth(before: _Counts, now: _Counts, port: int) -> int:
    """Return the packets of a port since ``before``, of entries that were there."""
    return sum(max(0, count - before.get(key, count)) for key, count in now.items() if key[0] == port)

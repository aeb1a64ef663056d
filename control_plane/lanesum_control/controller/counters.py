# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Packet counters of switches and servers together."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from lanesum_control.planner.allocation import Ranges, SlotRange
from lanesum_control.servers.controlled_server import ServerLinks, packets_as_of_a_switch
from lanesum_control.switches.switch_handle import SwitchHandle
from lanesum_fabric.errors import ControlError


def packet_counters(links: Mapping[str, SwitchHandle], servers: ServerLinks, ranges: Ranges) -> dict[str, Any]:
    """Return the packet counters. Slow, without side effects: needs no lock.

    ``switches``: by decision, for each switch that answers. ``slots``: of every switch all slots, those that jobs have
    by ``ranges``, and why the switch is lost, else None. ``servers``: decisions, and refusals by reason, for each
    server; None for unreachable ones. ``server``: the same of all servers together; None if no server answers.
    ``packets``: by decision, at all switches together, or at the servers if there is no switch.
    """
    switches = {}
    for name, link in links.items():
        if link.down is None:
            with contextlib.suppress(ControlError):
                switches[name] = link.switch.device.decisions()
    found = servers.look()
    total: collections.Counter[str] = collections.Counter()
    for counts in switches.values():
        total.update(counts)
    if not links:
        for status in found.values():
            total.update(packets_as_of_a_switch(status))
    by_server = {
        name: {"decisions": found[name].decisions, "refused": found[name].refused} if name in found else None
        for name in servers.names
    }
    together = {
        kind: dict(sum((collections.Counter(one[kind]) for one in by_server.values() if one), collections.Counter()))
        for kind in ("decisions", "refused")
    }
    return {
        "packets": dict(total),
        "switches": switches,
        "slots": {
            name: {"all": link.switch.slots, "used": _covered(ranges.get(name, {}).values()), "lost": link.down}
            for name, link in links.items()
        },
        "servers": by_server,
        "server": together if found else None,
    }


def _covered(ranges: Iterable[SlotRange]) -> int:
    """Return the number of slots in at least one range."""
    covered = end = 0
    for one in sorted(ranges, key=lambda one: one.base):
        covered += max(0, one.end - max(one.base, end))
        end = max(end, one.end)
    return covered

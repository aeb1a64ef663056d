# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""State and packet counters of all switches and servers of a controller."""

from __future__ import annotations

import collections
import functools
import importlib.metadata
import time
from collections.abc import Iterable, Mapping
from typing import Any

from lanesum.protocol.spec import HEADER_BYTES, IPV4_BYTES, UDP_BYTES, VERSION, WORD_BYTES
from lanesum_control.planner.allocation import SlotRange
from lanesum_control.planner.network import Network
from lanesum_control.planner.planning import Plan
from lanesum_control.servers.controlled_server import ServerLinks, packets_as_of_a_switch
from lanesum_control.servers.remote_server import ServerError
from lanesum_control.switches.switch_handle import SwitchHandle
from lanesum_control.threads import results
from lanesum_fabric.errors import ControlError
from lanesum_fabric.program.switch_job import SwitchJob

# Scrapes of metrics have a short limit.
_EXAMINE_S, _COUNTERS_S = 10.0, 2.0


def examine(
    network: Network,
    links: Mapping[str, SwitchHandle],
    servers: ServerLinks,
    planned: Plan,
    words: int,
) -> dict[str, Any]:
    """Return versions, switches, servers and hosts. Slow, without side effects: needs no lock.

    ``switches``: reason why each is lost, or None; its control address and program; True in ``shortens`` if that sends
    sums of scattered rounds to their owners alone; its IPv4 address, or None; True in ``tables_agree`` if
    its tables are as desired; its slots, and those that jobs do not share. ``servers``: error, or seconds of a call,
    number of jobs, and refused and failed datagrams. ``addresses``: UDP address of each server. ``hosts``: IPv4
    address, and switch, port and MAC address if it is at a switch. ``links``: switch, port, switch and port of each
    link between switches. ``packet_bytes``: size of an IP packet of the switches' program.
    """
    looks = {name: functools.partial(_look, link, planned.tables[name]) for name, link in links.items()}
    found = results(looks, _EXAMINE_S)
    server_looks = {name: functools.partial(_server, servers, name) for name in servers.names}
    found_servers = results(server_looks, _EXAMINE_S)
    silent = f"it has not answered within {_EXAMINE_S:g} s"
    switches = {}
    for name, link in links.items():
        address, program = link.switch.description
        lost, agrees = found.get(name, (silent, True))
        switches[name] = {
            "address": address,
            "program": program,
            "shortens": link.switch.capabilities.shortens,
            "ip": network.own.get(name),
            "lost": lost,
            "tables_agree": agrees,
            "slots": link.switch.slots,
            "used": sum(one.count for one in planned.ranges.get(name, {}).values() if not one.shared),
        }
    hosts = {
        host: {
            "ip": network.address(host),
            "switch": at or None,
            "port": None if seen is None else seen.port,
            "mac": None if seen is None else seen.mac.hex(":"),
        }
        for host, at, seen in ((host, at, network.host(host)) for host, at in network.at.items())
    }
    return {
        "version": importlib.metadata.version("lanesum-control"),
        "protocol": VERSION,
        "packet_bytes": IPV4_BYTES + UDP_BYTES + HEADER_BYTES + words * WORD_BYTES,
        "switches": switches,
        "servers": {name: found_servers.get(name, {"lost": silent}) for name in servers.names},
        "addresses": {name: list(address) for name, address in zip(servers.names, network.servers, strict=True)},
        "hosts": hosts,
        "links": [list(link) for link in network.links],
    }


def _look(link: SwitchHandle, desired: Mapping[int, SwitchJob]) -> tuple[str | None, bool]:
    """Return the reason why a switch is lost, or None, and True if it is not known to have other tables."""
    lost = link.down
    if lost is None and (defect := link.probe()) is not None:
        lost = defect.what
    return lost, lost is not None or link.agrees(desired)


def _server(servers: ServerLinks, name: str) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        status = servers[name].look()
    except ServerError as error:
        return {"lost": error.what}
    seconds = time.perf_counter() - begin
    counts = {"jobs": len(status.jobs), "refused": status.refused, "broken": status.broken}
    counts |= {"received": status.received, "steered_by": status.steered_by}
    return {"lost": None, "call_s": seconds, **counts}


def packet_counters(
    links: Mapping[str, SwitchHandle], servers: ServerLinks, planned: Plan, drained: Mapping[str, str]
) -> dict[str, Any]:
    """Return the packet counters. Slow, without side effects: needs no lock.

    ``switches``: by decision, for each switch that answers. ``slots``: of every switch all slots, those that jobs have
    by ``planned``, entries in use and size by table, why the switch is lost, else None, and why it is drained of all
    jobs (``drained``), else None. ``servers``: decisions, and refusals by reason, for each server; None for unreachable
    ones. ``server``: the same of all servers together; None
    if no server answers. ``packets``: by decision, at all switches together, or at the servers if there is no switch.
    """
    reads = {name: functools.partial(_decisions, link) for name, link in links.items() if link.down is None}
    switches = {name: found for name, found in results(reads, _COUNTERS_S).items() if found is not None}
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
            name: {
                "all": link.switch.slots,
                "used": _covered(planned.ranges.get(name, {}).values()),
                "tables": {
                    table: {"used": used, "size": size} for table, (used, size) in planned.entries.get(name, {}).items()
                },
                "lost": link.down,
                "drained": drained.get(name),
            }
            for name, link in links.items()
        },
        "servers": by_server,
        "server": together if found else None,
    }


def _decisions(link: SwitchHandle) -> dict[str, int] | None:
    """Return the decisions of a switch; None if it does not answer."""
    try:
        return link.switch.device.decisions()
    except ControlError:
        return None


def _covered(ranges: Iterable[SlotRange]) -> int:
    """Return the number of slots in at least one range."""
    covered = end = 0
    for one in sorted(ranges, key=lambda one: one.base):
        covered += max(0, one.end - max(one.base, end))
        end = max(end, one.end)
    return covered

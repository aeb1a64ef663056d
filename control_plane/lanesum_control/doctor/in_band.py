# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Findings about each switch on the path to a server, by echo requests that expire there.

A request with a TTL of k expires at the switch k of the path, which counts it (``drop_expired``). The controller reads
the counters before and after, so that the switch needs no address. One with an address also reports the request to its
sender, which gives the round-trip time.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.transport import echo

#: Packets of each switch that the controller reaches, by decision.
Counts = Mapping[str, Mapping[str, int]]

_EXPIRED = "drop_expired"
# Decisions of a switch that drops a request: meaning, next step.
_DROPPED = {
    "drop_tagged": ("with a VLAN tag", "Send untagged frames: remove the tag at this machine, or at the link."),
    "drop_misdirected": (
        "to another MAC address than the switch's",
        "Clear the neighbours: ip neigh flush all, and look for a static entry: ip neigh",
    ),
    "drop_spoofed": (
        "from another port than the topology has for this address",
        "Move the cable to that port, or correct the topology file: lanesum topology show FILE",
    ),
    "drop_no_route": ("without a route", "Restart the controller with the topology file that has both hosts."),
    "drop_unknown_host": ("without a route", "Restart the controller with the topology file that has both hosts."),
    "drop_corrupt": ("with a wrong checksum", "Replace the cable or the transceiver, and look at: ethtool -S DEVICE"),
    "drop_malformed": ("that are too short", "Look for a device that truncates frames: lanesum capture DEVICE"),
}


class Hop(NamedTuple):
    """Switch on a path, with the ports at which packets enter and leave it."""

    switch: str
    port_in: int
    port_out: int


def path(examined: Mapping[str, Any], host: str, server: str) -> list[Hop]:
    """Return the switches between two hosts of an answer to ``rpc.EXAMINE``, in order; the topology is a tree."""
    begin, end = examined["hosts"][host], examined["hosts"][server]
    if begin["switch"] is None:
        return []
    links: dict[str, list[tuple[int, str, int]]] = collections.defaultdict(list)
    for one, port, other, other_port in examined["links"]:
        links[one].append((port, other, other_port))
        links[other].append((other_port, one, port))

    def onward(at: str, entered: int, before: str | None) -> list[Hop]:
        if at == end["switch"]:
            return [Hop(at, entered, end["port"])]
        for port, other, other_port in links[at]:
            if other != before and (rest := onward(other, other_port, at)):
                return [Hop(at, entered, port), *rest]
        return []

    return onward(begin["switch"], begin["port"], None)


def checks(
    name: str, ip: str, route: list[Hop], examined: Mapping[str, Any], packet_bytes: int, counts: Callable[[], Counts]
) -> Iterator[Finding]:
    """Report each switch on the path to server ``name`` at ``ip``, up to the first one that no request reaches.

    Args:
        ip: its IPv4 address.
        route: switches on the path.
        examined: answer to ``rpc.EXAMINE``.
        packet_bytes: size of the IPv4 packets.
    """
    for number, hop in enumerate(route, 1):
        before = counts()
        answers = echo.probe(ip, packet_bytes, ttl=number)
        after = counts()
        grown = {
            switch: {what: now - before[switch].get(what, 0) for what, now in after[switch].items()}
            for switch in after.keys() & before.keys()
        }
        previous = "this machine" if number == 1 else route[number - 2].switch
        found, goes_on = about_hop(
            f"hop {number} to {name}", hop, previous, route, answers, grown, examined["switches"].get(hop.switch, {})
        )
        yield found
        if not goes_on:
            return


def about_hop(
    subject: str,
    hop: Hop,
    previous: str,
    route: list[Hop],
    answers: echo.Answers,
    grown: Counts,
    switch: Mapping[str, Any],
) -> tuple[Finding, bool]:
    """Return the finding about a switch, and True if the next one can be probed.

    ``grown``: packets since the requests were sent; ``switch``: the entry of ``rpc.EXAMINE``, empty without control.
    """
    where = f"{hop.switch}, in at port {hop.port_in} and out at port {hop.port_out}"
    times = answers.of(switch.get("ip") or "")
    if hop.switch not in grown and not times:
        what = f"{where}: the controller does not read its counters, and it reports no expired packets."
        return note(
            subject, what, "Start the switch, or name it in --switch; give it an address: ip in the file."
        ), True
    reached = min(answers.sent, max(grown.get(hop.switch, {}).get(_EXPIRED, 0), len(times)))
    link = f"the link between {previous} and {hop.switch}"
    if reached:
        what = f"{where}: {reached} of {answers.sent} requests arrived; "
        what += f"{echo.in_us(times)}." if times else "no RTT, as it reports no expired packets."
        if reached == answers.sent:
            return ok(subject, what), True
        return note(
            subject, f"{what} {link.capitalize()} loses packets.", f"Look at both ends of {link}: ip -s link"
        ), True
    for other, counts in grown.items():
        if other != hop.switch and counts.get(_EXPIRED, 0) >= answers.sent // 2:
            what = (
                f"{where}: no request arrived. They went to {other}, which is another path than that of the topology."
            )
            return problem(subject, what, "Correct the cables, or the topology file: lanesum topology show FILE"), False
    for one in route:
        for decision, (meaning, step) in _DROPPED.items():
            if grown.get(one.switch, {}).get(decision, 0) >= answers.sent // 2:
                return problem(
                    subject, f"{where}: no request arrived. {one.switch} drops packets {meaning}.", step
                ), False
    what = f"{where}: no request arrived, and no switch counted one: {link} is down, or a filter drops echo requests."
    return note(subject, what, f"Look at both ends of {link}: ip -s link, and lanesum capture DEVICE"), False

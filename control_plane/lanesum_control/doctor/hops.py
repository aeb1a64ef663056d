# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Findings about the path from this machine to the servers: place in the topology, MTU, hops, loss and RTT."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lanesum._internal.udp_socket import own_address
from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.transport import echo
from lanesum.transport.path_check import path_mtu
from lanesum_control.doctor import in_band
from lanesum_fabric.program.switch_job import SWITCH_MAC

_ARP = Path("/proc/net/arp")
_COMPLETE = 0x2  # linux/if_arp.h: ATF_COM


def checks(
    examined: Mapping[str, Any], counts: Callable[[], in_band.Counts] = dict, arp: Path = _ARP
) -> Iterator[Finding]:
    """Report the path to every server of an answer to ``rpc.EXAMINE``; ``counts``: packets of the switches."""
    placed = set()
    for name, (ip, port) in examined["addresses"].items():
        try:
            here = own_address((ip, port))
            mtu = path_mtu(here, (ip, port))
        except OSError as error:
            yield problem(f"path to {name}", f"No route to {ip}: {error.strerror}.", f"Look at: ip route get {ip}")
            continue
        if here not in placed:
            placed.add(here)
            yield place(here, examined)
        yield packet_size(name, ip, mtu, examined["packet_bytes"])
        needed = min(mtu, examined["packet_bytes"])
        yield round_trip(name, ip, needed)  # its packets complete the ARP entry
        if examined["switches"]:
            yield first_hop(name, ip, arp)
        at = {host["ip"]: one for one, host in examined["hosts"].items()}
        if here in at and ip in at and here != ip and not ipaddress.IPv4Address(here).is_loopback:
            with contextlib.suppress(OSError):  # ``round_trip`` has reported it
                route = in_band.path(examined, at[here], at[ip])
                yield from in_band.checks(name, ip, route, examined, needed, counts)


def place(here: str, examined: Mapping[str, Any]) -> Finding:
    """Report which host of the topology this machine is."""
    for host, about in examined["hosts"].items():
        if about["ip"] == here and about["switch"] is None:
            return ok("this machine", f"{host} ({here}), in a topology without a switch.")
        if about["ip"] == here:
            return ok(
                "this machine", f"{host} ({here}, MAC {about['mac']}), at port {about['port']} of {about['switch']}."
            )
    if ipaddress.IPv4Address(here).is_loopback:
        return ok("this machine", "Packets stay on loopback, where workers take their addresses from the topology.")
    return note(
        "this machine",
        f"{here} is the address of no host in the controller's topology, so its workers cannot join.",
        "Add it to the topology file, or start the controller with another --topology.",
    )


def packet_size(name: str, ip: str, mtu: int, needed: int) -> Finding:
    """Compare the path MTU with the packets of the switches' program."""
    if mtu < needed:
        return problem(
            f"path to {name}",
            f"The path MTU to {ip} is {mtu:,} bytes, and packets have {needed:,}: workers refuse to start.",
            f"As root: ip link set DEVICE mtu {needed} on every device of the path, or start the controller with fewer "
            "--words.",
        )
    return ok(f"path to {name}", f"The path MTU to {ip} is {mtu:,} bytes; packets have {needed:,}.")


def first_hop(name: str, ip: str, arp: Path = _ARP) -> Finding:
    """Report if the first hop to a server is a lanesum switch: it answers ARP for all hosts with one MAC address."""
    entries = {}
    with contextlib.suppress(OSError):
        lines = [line.split() for line in arp.read_text().splitlines()[1:]]
        entries = {cells[0]: (int(cells[2], 16), cells[3]) for cells in lines if len(cells) > 3}
    if ip not in entries:
        return ok(f"first hop to {name}", f"{ip} is behind a router, or on this machine: no ARP entry.")
    flags, mac = entries[ip]
    if not flags & _COMPLETE:
        return note(
            f"first hop to {name}",
            f"No ARP answer for {ip}: the switch, the host or a link to it is down.",
            "Look at: ip -s link, and at the switch's log.",
        )
    if mac == SWITCH_MAC.hex(":"):
        return ok(f"first hop to {name}", f"A lanesum switch ({mac}).")
    return note(
        f"first hop to {name}",
        f"{ip} is at {mac}, which is no lanesum switch: packets pass the switches by, and the server sums.",
        "Connect this machine to its port of the topology, and clear the entry: ip neigh flush all",
    )


def round_trip(name: str, ip: str, packet_bytes: int) -> Finding:
    """Report loss and round-trip time of 10 echo requests of the size of lanesum's packets."""
    what = f"loss and RTT to {name}"
    try:
        answers = echo.probe(ip, packet_bytes)
    except OSError as error:
        step = f"Look at: ip route get {ip}, and at the filters of this machine."
        if isinstance(error, PermissionError):
            step = 'As root: sysctl -w net.ipv4.ping_group_range="0 2147483647"'
        return note(what, f"Cannot send echo requests: {error.strerror}.", step)
    times = answers.of(ip)
    if not times:
        return note(
            what,
            f"None of {answers.sent} echo requests to {ip} was answered: the host is down, or a filter drops them.",
            "Look for packets at both ends: lanesum capture DEVICE.",
        )
    text = f"{len(times)} of {answers.sent} echo requests answered; {echo.in_us(times)}."
    if len(times) < answers.sent:
        return note(what, f"{text} Lost packets are retransmitted, which takes a timeout.", "Look at: ip -s link")
    return ok(what, text)

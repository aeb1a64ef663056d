# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Findings about a controller, its switches and servers."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from typing import Any

from lanesum.doctor.finding import Finding, note, ok, problem
from lanesum.protocol.spec import VERSION

_SLOW_CALL_S = 0.1
_UNDRAIN = "lanesum controller undrain"
# Datagrams that a server refuses: reason, meaning, next step.
_REFUSED = {
    "other version": ("of another protocol version", "Install the same version of lanesum at all hosts."),
    "wrong tag": ("of an earlier incarnation of a job", "Let all workers join again."),
    "other packet size": ("of another packet size", "Start all parts with the same --words."),
    "not a member": ("of no member of a job", "Compare address and UDP port with the ticket: lanesum capture."),
    "malformed": ("not of the protocol", "Look for other programs that send to its UDP port: lanesum capture."),
}


def checks(address: str, examined: Mapping[str, Any]) -> Iterator[Finding]:
    """Report versions, every switch and every server of an answer to ``rpc.EXAMINE``."""
    yield version(address, examined)
    for name, switch in examined["switches"].items():
        yield about_switch(name, switch)
    for name, why in examined.get("drained", {}).items():
        yield note(name, f"Drained of all jobs: {why}.", f"Return it if the reason is gone: {_UNDRAIN} {name}.")
    for name, server in examined["servers"].items():
        yield from about_server(name, server)


def version(address: str, examined: Mapping[str, Any]) -> Finding:
    """Compare the versions of this machine with those of the controller."""
    here, there = importlib.metadata.version("lanesum"), examined["version"]
    if examined["protocol"] != VERSION:
        return problem(
            "controller",
            f"At {address}, protocol version {examined['protocol']}; this machine has {VERSION}, so its packets do not "
            "count.",
            "Install the same version of lanesum at all hosts.",
        )
    if here != there:
        return note(
            "controller",
            f"At {address}, lanesum {there}; this machine has {here}. The protocol is the same.",
            f"pip install lanesum=={there}",
        )
    return ok("controller", f"At {address}, lanesum {there}, protocol version {VERSION}, as here.")


def about_switch(name: str, switch: Mapping[str, Any]) -> Finding:
    """Report if a switch is controlled, runs the program of the controller, and has the desired tables and room."""
    if switch["lost"] is not None:
        return note(
            name,
            f"At {switch['address']}, without a part in jobs: {switch['lost'].removesuffix('.')}. The server sums.",
            "Start the switch, or stop its other controller; the events say since when: lanesum job events.",
        )
    free = switch["slots"] - switch["used"]
    what = f"At {switch['address']}, runs {switch['program']}; {free:,} of {switch['slots']:,} slots are free."
    if not switch["tables_agree"]:
        return note(
            name,
            f"{what} Its tables are others than desired: a job is being changed, or another program wrote to it.",
            "The next audit repairs it within a minute; lanesum job events shows what it repaired.",
        )
    if not free:
        return note(
            name,
            f"{what} The server sums for new jobs.",
            "Remove jobs, or give them fewer slots: lanesum job resize NAME SLOTS.",
        )
    if not switch.get("shortens", True):
        what += " It sends the sums of sharded training to all workers, not to their owners alone."
    return ok(name, f"{what} Its tables agree with the controller.")


def about_server(name: str, server: Mapping[str, Any]) -> Iterator[Finding]:
    """Report if a server answers, how fast, and what it refused."""
    if server["lost"] is not None:
        yield problem(name, f"{server['lost']} No job can be admitted.", "Start it: lanesum server.")
        return
    what = f"Answers the controller in {1000 * server['call_s']:.1f} ms; jobs: {server['jobs']}."
    if server["broken"]:
        yield problem(
            name, f"{what} {server['broken']:,} datagrams met an error in lanesum.", "Look at its log, and report it."
        )
    elif server["call_s"] > _SLOW_CALL_S:
        yield note(
            name, f"{what} Its processors are busy, or the network to it is.", "Give it more --threads or cores."
        )
    else:
        yield ok(name, what)
    if server["steered_by"] == "sender":
        what = "The kernel refuses to steer packets to its threads by slot, so they may have unequal work."
        yield note(name, what, "Let the server use SO_ATTACH_REUSEPORT_CBPF (seccomp profile of its container).")
    for reason, count in server["refused"].items():
        if count:
            meaning, step = _REFUSED.get(reason, (f"refused as {reason}", "docs/jobs.md explains the counters."))
            yield note(name, f"{count:,} datagrams since its start were {meaning}; they changed no sum.", step)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Names of a topology's links and processes in fault plans."""

from __future__ import annotations

from dataclasses import dataclass

from lanesum.errors import ConfigurationError
from lanesum_fabric.topology import Topology
from lanesum_switch.faults.plan import Names, canonical_link

CONTROLLER = "controller"


@dataclass(frozen=True, slots=True)
class SwitchLink:
    """A link between two switches; ``upper`` is the one nearer to the first server."""

    lower: str
    lower_port: int
    upper: str
    upper_port: int

    @property
    def name(self) -> str:
        return f"{self.lower}-{self.upper}"


def switch_links(topology: Topology) -> list[SwitchLink]:
    """Return the links between switches, in file order."""
    links, hops = [], topology.hops_to_server()
    for one, port, other, other_port in topology.links_between_switches():
        if hops[one] > hops[other]:
            links.append(SwitchLink(one, port, other, other_port))
        else:
            links.append(SwitchLink(other, other_port, one, port))
    return links


def names_in(topology: Topology, *, switches: bool = True) -> Names:
    """Return the names that a plan may use: links by their host or their two switches, and processes.

    Without ``switches`` the only links are those from the workers to the servers.
    """
    workers = topology.names("worker")
    processes = [*workers, *topology.server_names(), CONTROLLER]
    if not switches:
        return Names(frozenset(workers), frozenset(processes))
    between = [link.name for link in switch_links(topology)]
    links = [*topology.hosts(), *between]
    seen: set[str] = set()
    for link in links:
        if canonical_link(link) in seen:
            raise ConfigurationError(
                f"Topology {topology.name} has several links that are called {link!r} in fault plans.",
                "Give one of the nodes another name.",
            )
        seen.add(canonical_link(link))
    return Names(frozenset(links), frozenset([*processes, *topology.switches()]), frozenset(topology.switches()))

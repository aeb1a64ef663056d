# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of the failure of one switch, server or controller."""

from __future__ import annotations

from lanesum_fabric.topology.model import Topology


def costs(topology: Topology) -> dict[str, list[str]]:
    """Return what the failure of one part costs, with the parts whose failure costs it."""
    found: dict[str, list[str]] = {}
    for switch in topology.switches():
        found.setdefault(_cost_of_switch(topology, switch), []).append(switch)
    for server in topology.server_hosts():
        found.setdefault("every job waits until it is back", []).append(server)
    controllers = [name for name in topology.names("controller") if not topology.nodes[name].is_cpu]
    one = "jobs continue; none is admitted, and no sum moves, until it is back"
    several = "another controller takes over, with their state in PostgreSQL; jobs continue"
    for controller in controllers:
        found.setdefault(one if len(controllers) == 1 else several, []).append(controller)
    return found


def _cost_of_switch(topology: Topology, switch: str) -> str:
    reached = topology.hops_to_server(without=switch)
    cut = [host for host in topology.hosts() if topology.switch_of(host) not in reached]
    servers = [host for host in topology.server_hosts() if host in cut]
    if servers:
        return "every job waits until it is back: packets do not reach a server"
    if any(topology.nodes[host].kind == "worker" for host in cut):
        return "jobs with workers behind it wait until it is back"
    if topology.spines and switch in topology.spines:
        return "no job waits: another spine takes its sums over"
    return "no job waits: it is on no path between workers and servers"

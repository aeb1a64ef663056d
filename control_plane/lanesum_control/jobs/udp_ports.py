# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""UDP ports of the workers: the packets of two jobs, or of a job and a server, differ at every host."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from lanesum.protocol.spec import UDP_PORT
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import JobRequest
from lanesum_control.planner.network import Network

# Limit for hosts with several jobs; far above the capacity of a server or switch.
_MORE_PORTS = range(UDP_PORT + 1, 0x10000)


def taken_ports(request: JobRequest, others: Iterable[JobRequest], network: Network) -> dict[int, list[str]]:
    """Return the ports that other jobs and servers have at hosts of ``request``, with these hosts."""
    used = {(other.port, host) for other in others if other.name != request.name for host in other.workers}
    used |= {(port, host) for host, (_, port) in zip(network.server_hosts, network.servers, strict=True)}
    taken: dict[int, list[str]] = {}
    for port, host in sorted(used):
        if host in request.workers:
            taken.setdefault(port, []).append(host)
    return taken


def with_port(request: JobRequest, others: Iterable[JobRequest], network: Network, *, one_port: bool) -> JobRequest:
    """Return the request with a free UDP port at every host; ``one_port``: there is only the default one.

    Raises AdmissionError for a requested one that is not free, or if there is none.
    """
    taken = taken_ports(request, others, network)
    if request.udp_port is not None or one_port:
        if request.port in taken:
            raise AdmissionError(
                f"Job {request.name!r}: another job sends from UDP port {request.port} of "
                f"{', '.join(taken[request.port])}, or a server has it.",
                "On loopback a host takes part in one job."
                if one_port
                else "Give another port, or none: then a free one is chosen.",
            )
        return request
    free = next((port for port in (UDP_PORT, *_MORE_PORTS) if port not in taken), None)
    if free is None:
        raise AdmissionError(
            f"Job {request.name!r}: its hosts {', '.join(request.workers)} have no UDP port left.", "Remove a job."
        )
    return dataclasses.replace(request, udp_port=free)

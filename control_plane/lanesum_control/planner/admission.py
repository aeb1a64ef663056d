# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a request against other jobs: names, ports, quotas of tenants, and what a new job is given.

The packets of two jobs, or of a job and a server, differ in their UDP ports at every host.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc.limits import MAX_STREAMS
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.liveness import STREAMS_PER_WORKER
from lanesum_control.jobs.names import folded, look_alike
from lanesum_control.jobs.records import Incarnation, Job, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.planner.quotas import TenantQuota
from lanesum_fabric.program.capabilities import owner_word

_TAG_DRAWS = 8
# Limit for hosts with several jobs; far above the capacity of a server or switch.
_MORE_PORTS = range(UDP_PORT + 1, 0x10000)


def check_hosts(jobs: Iterable[Job], network: Network) -> None:
    """Check that the network has the hosts of stored jobs. Raises ConfigurationError."""
    for job in jobs:
        missing = [host for host in job.request.workers if host not in network.at]
        if missing:
            raise ConfigurationError(
                f"Job {job.request.name!r} of the state has workers at {', '.join(missing)}, which the topology lacks.",
                "Start the controller with a topology that has them, and remove the job (lanesum job remove).",
            )


def check_name(name: str, parts: Collection[str], jobs: Iterable[str]) -> None:
    """Check that events tell a new job from all other jobs and parts. Raises AdmissionError."""
    if " ".join(name.split()) != name:
        raise AdmissionError(f"Job name {name!r} has spaces in a row or at an end.", "Choose another name.")
    if not folded(name):
        raise AdmissionError(f"Job name {name!r} has no visible character.", "Choose another name.")
    if name in parts:
        raise AdmissionError(
            f"Job name {name!r} is that of a switch, a server or the controller.", "Choose another name."
        )
    if look_alike(name, (*parts, *jobs)) is not None:  # which may be of another tenant
        raise AdmissionError(
            f"Job name {name!r} looks like that of another job or part: they differ in case, width or invisible "
            "characters.",
            "Choose another name.",
        )


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


def check_tenant(quota: TenantQuota, tenant: str, request: JobRequest, jobs: Iterable[Job]) -> None:
    """Check the jobs of a tenant with a new or changed one. Raises AdmissionError if they exceed its quota."""
    others = [job.request for job in jobs if job.tenant == tenant and job.request.name != request.name]
    _check_tenant(quota, tenant, [*others, request])


def _check_tenant(quota: TenantQuota, tenant: str, jobs: Collection[JobRequest]) -> None:
    if len(jobs) > quota.jobs:
        raise AdmissionError(f"Tenant {tenant!r} has {quota.jobs} jobs, its quota.", "Remove a job.")
    workers = sum(len(job.workers) for job in jobs)
    streams, limit = workers * STREAMS_PER_WORKER, quota.part(MAX_STREAMS)
    if streams > limit:
        raise AdmissionError(
            f"The {workers} workers of tenant {tenant!r} need {streams} streams of the controller, "
            f"{STREAMS_PER_WORKER} for each worker; its quota is {limit}.",
            "Remove a job, or use fewer workers.",
        )
    packets = sum(job.in_flight * len(job.workers) for job in jobs)
    if packets > quota.packets:
        raise AdmissionError(
            f"The jobs of tenant {tenant!r} would have {packets} packets in flight, slots times workers; its quota is "
            f"{quota.packets}.",
            "Remove a job, or use fewer slots.",
        )


def free_group(jobs: Iterable[Job]) -> int:
    """Return the lowest number of a multicast group that no job has."""
    used = {job.group for job in jobs}
    return next(group for group in range(1, len(used) + 2) if group not in used)


def new_incarnation(
    request: JobRequest, number: int, jobs: Iterable[Job], servers: tuple[Address, ...], looks_up: bool
) -> Incarnation:
    """Return a new incarnation with a tag that every switch can distinguish from all others.

    Some switches identify an owner by one word. Raises AdmissionError.
    """
    taken = {owner_word(job.number, job.incarnation.tag) for job in jobs} | {0}
    for _ in range(_TAG_DRAWS):
        drawn = Incarnation.of(request, servers, looks_up)
        if owner_word(number, drawn.tag) not in taken:
            return drawn
    raise AdmissionError(
        f"Job {request.name!r}: none of {_TAG_DRAWS} random tags tells it from the other jobs.", "Try again."
    )

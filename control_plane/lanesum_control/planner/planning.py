# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planning: checks of a request against other jobs, then placement and slots of all jobs together. Pure functions.

The packets of two jobs, or of a job and a server, differ in their UDP ports at every host.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lanesum._internal.udp_socket import Address
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc.limits import MAX_STREAMS
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.jobs.liveness import STREAMS_PER_WORKER
from lanesum_control.jobs.records import Incarnation, Job, JobRequest
from lanesum_control.planner.allocation import Ranges, SlotRange, allocate
from lanesum_control.planner.fits import Fits
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Assignment, Placement
from lanesum_control.planner.quotas import DEFAULT_QUOTAS, Quotas, TenantQuota
from lanesum_fabric.program.capabilities import Capabilities, owner_word
from lanesum_fabric.program.switch_job import Role, SwitchJob

NO_SLOTS = Reason(Cause.FULL, "no slots are left in its shared pool")
_TAG_DRAWS = 8
# Limit for hosts with several jobs; far above the capacity of a server or switch.
_MORE_PORTS = range(UDP_PORT + 1, 0x10000)


def taken_ports(request: JobRequest, others: Iterable[JobRequest], network: Network) -> dict[int, list[str]]:
    """Return the ports that other jobs and servers have at hosts of ``request``, with these hosts."""
    own = set(request.workers)
    used = {(one.port, host) for one in others if one.name != request.name for host in own.intersection(one.workers)}
    used |= {(port, host) for host, (_, port) in zip(network.server_hosts, network.servers, strict=True) if host in own}
    taken: dict[int, list[str]] = {}
    for port, host in sorted(used):
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
    free = next((port for port in itertools.chain((UDP_PORT,), _MORE_PORTS) if port not in taken), None)
    if free is None:
        raise AdmissionError(
            f"Job {request.name!r}: its hosts {', '.join(request.workers)} have no UDP port left.", "Remove a job."
        )
    return replace(request, udp_port=free)


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Places, slots and table entries of all jobs.

    Attributes:
        placements: placement by job number.
        ranges: slot range by switch and job.
        tables: entry by switch and job, for every controlled switch, in the order of the jobs.
        entries: entries in use and size, by switch and table.
        network: the network with the paths of the plan; None before the first plan.
        fits: the jobs and what they use, for later plans; None if some job was left out because of others.
    """

    placements: Mapping[int, Placement]
    ranges: Mapping[str, Mapping[int, SlotRange]]
    tables: Mapping[str, Mapping[int, SwitchJob]]
    entries: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    network: Network | None = None
    fits: Fits | None = field(default=None, repr=False, compare=False)

    def left_out_words(self, job: Job) -> str:
        """Return the switches and operations that are left to the server, for the event of the admission."""
        request, placement = job.request, self.placements[job.number]
        words = [f"; {switch} is left out: {why}" for switch, why in placement.left_out.items()]
        for assignment in placement.assignments:
            summed = self.tables[assignment.switch][job.number].ops
            others = [op.name for op in job.ops if op not in summed]
            if others:
                words.append(f"; {assignment.switch} leaves {', '.join(others)} to the server")
        if request.code_table() is not None and job.code_table is None:
            words.append(f"; {request.codec} without a code table, because not all switches use one")
        return "".join(words)


def plan(
    network: Network,
    capacity: Mapping[str, int],
    jobs: Collection[Job],
    held: Ranges,
    unavailable: Mapping[tuple[int, str], Reason],
    capabilities: Mapping[str, Capabilities] = {},
    quotas: Quotas = DEFAULT_QUOTAS,
    strict: Job | None = None,
    before: Plan | None = None,
) -> Plan:
    """Place all jobs and give them slots and table entries: first the jobs with a quota, then those without.

    Args:
        network: hosts, switches and links.
        capacity: slots of every available switch.
        jobs: all jobs.
        held: present ranges.
        unavailable: (job, switch) pairs that are excluded, with the reason.
        capabilities: capabilities by switch; all for switches without an entry.
        quotas: quotas of the tenants.
        strict: job that is not admitted yet, or changes: a quota that cannot be met is an error. The switch is left out
            of the others.
        before: an earlier plan, to place only the jobs that differ. The result is the same without it.

    Raises:
        QuotaError: the quota of ``strict`` cannot be met.
        AdmissionError: a job's workers do not fit the bitmaps of a packet.
    """
    reasons: dict[int, dict[str, Reason]] = {job.number: {} for job in jobs}
    for (number, switch), why in unavailable.items():
        reasons[number][switch] = why
    at = (network, capacity, capabilities, quotas)
    known = before.fits if before is not None and before.fits is not None and before.fits.is_at(*at) else None
    fits = known.changed(jobs, reasons) if known is not None else None
    is_short = False
    while True:
        if fits is None:
            fits = Fits.of(*at).with_jobs(jobs, reasons, strict)
        claims = [fits.jobs[job.number].claim for job in jobs]
        ranges = allocate(capacity, claims, held)
        without = [(c.job, switch) for c in claims for switch in c.switches if c.job not in ranges[switch]]
        if not without:
            tables: dict[str, dict[int, SwitchJob]] = {switch: {} for switch in capacity}
            earlier = known.jobs if known is not None else {}
            for job in jobs:
                number = job.number
                fit = fits.jobs[number]
                is_known = earlier.get(number) is fit
                for one in fit.placement.assignments:
                    switch, slots = one.switch, ranges[one.switch][number]
                    if before is not None and is_known and before.ranges[switch][number] == slots:
                        tables[switch][number] = before.tables[switch][number]
                    else:
                        tables[switch][number] = _entry(job, one, slots, fit.ops[switch])
            placements = {number: fit.placement for number, fit in fits.jobs.items()}
            is_reusable = fits.is_clean and not is_short
            entries = {name: part.entries() for name, part in fits.parts.items()}
            return Plan(placements, ranges, tables, entries, network, fits if is_reusable else None)
        for number, switch in without:
            reasons[number][switch] = NO_SLOTS
        fits, is_short = None, True


def _entry(job: Job, assignment: Assignment, slots: SlotRange, ops: tuple[LaneOp, ...]) -> SwitchJob:
    return SwitchJob(
        job=job.number,
        tag=job.incarnation.tag,
        slot_base=slots.base,
        slot_count=slots.count,
        group=job.group,
        members=assignment.members,
        ops=ops,
        code_table=job.code_table if any(op.shape.lookup for op in ops) else None,
        role=assignment.role | Role.SHARED if slots.shared else assignment.role,
        threshold=assignment.threshold,
        uplinks=assignment.uplinks,
        combining_pipe=assignment.combining_pipe,
    )

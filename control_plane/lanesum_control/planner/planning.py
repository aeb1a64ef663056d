# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planning: checks of a request against other jobs, then placement and slots of all jobs together. Pure functions.

The packets of two jobs, or of a job and a server, differ in their UDP ports at every host.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lanesum._internal.udp_socket import Address
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc.limits import MAX_STREAMS
from lanesum_control.errors import AdmissionError, QuotaError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.jobs.liveness import STREAMS_PER_WORKER
from lanesum_control.jobs.records import Incarnation, Job, JobRequest
from lanesum_control.planner.allocation import Ranges, SlotClaim, SlotRange, allocate
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Assignment, Placement, place
from lanesum_control.planner.quotas import DEFAULT_QUOTAS, SLOTS, Quotas, TenantQuota, Usage
from lanesum_fabric.program.capabilities import EVERYTHING, Capabilities, owner_word
from lanesum_fabric.program.switch_job import Role, SwitchJob

NO_SLOTS = Reason(Cause.FULL, "no slots are left in its shared pool")
_TAG_DRAWS = 8
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
    """

    placements: Mapping[int, Placement]
    ranges: Mapping[str, Mapping[int, SlotRange]]
    tables: Mapping[str, Mapping[int, SwitchJob]]
    entries: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    network: Network | None = None

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

    Raises:
        QuotaError: the quota of ``strict`` cannot be met.
        AdmissionError: a job's workers do not fit the bitmaps of a packet.
    """
    reasons: dict[int, dict[str, Reason]] = {job.number: {} for job in jobs}
    for (number, switch), why in unavailable.items():
        reasons[number][switch] = why
    # Later ones never take anything from earlier ones.
    ranked = sorted(jobs, key=lambda job: (job.guaranteed == 0, job is strict, job.order))
    while True:
        parts = {
            name: _Part(capabilities.get(name, EVERYTHING), capacity.get(name, 0), quotas, network.routes(name))
            for name in network.switches
        }
        placements: dict[int, Placement] = {}
        ops: dict[int, dict[str, tuple[LaneOp, ...]]] = {}
        for job in ranked:
            placements[job.number], ops[job.number] = _fit(job, network, reasons[job.number], parts, job is strict)
        claims = [_claim(job, placements[job.number], quotas) for job in jobs]
        ranges = allocate(capacity, claims, held)
        without = [(c.job, switch) for c in claims for switch in c.switches if c.job not in ranges[switch]]
        if not without:
            tables: dict[str, dict[int, SwitchJob]] = {switch: {} for switch in capacity}
            for job in jobs:
                for one in placements[job.number].assignments:
                    slots, summed = ranges[one.switch][job.number], ops[job.number][one.switch]
                    tables[one.switch][job.number] = _entry(job, one, slots, summed)
            entries = {name: part.entries() for name, part in parts.items()}
            return Plan(placements, ranges, tables, entries, network)
        for number, switch in without:
            reasons[number][switch] = NO_SLOTS


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


class _Part:
    """The jobs of one switch that are placed so far."""

    def __init__(self, capabilities: Capabilities, slots: int, quotas: Quotas, routes: Mapping[str, int]) -> None:
        self.capabilities = capabilities
        self._usage = Usage({**capabilities.sizes, SLOTS: slots}, quotas)
        self._usage.add(routes, None)
        self._tags: list[tuple[int, int]] = []

    def why_not(self, job: Job, assignment: Assignment) -> Reason | None:
        """Return the reason why the switch's program cannot take the job beside the others; None if it can."""
        does = self.capabilities
        if why := does.why_not_pipes(assignment.members, assignment.combining_pipe):
            return Reason(Cause.PORTS, why)
        if why := does.why_not_owner(job.number, job.incarnation.tag, self._tags):
            return Reason(Cause.OWNER, why)
        if why := does.why_not_group(job.group):
            return Reason(Cause.FULL, why)
        if does.of_these(job.ops):
            return None
        return Reason(Cause.PROGRAM, "its program sums none of the job's operations")

    def why_full(self, job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> Reason | None:
        """Return the reason why the job does not fit into tables and slots; None if it does."""
        why = self._usage.why_not(_needs(job, assignment, ops), job.tenant)
        return None if why is None else Reason(Cause.FULL, why)

    def entries(self) -> dict[str, tuple[int, int]]:
        return self._usage.entries()

    def add(self, job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> None:
        self._usage.add(_needs(job, assignment, ops), job.tenant)
        self._tags.append((job.number, job.incarnation.tag))


def _needs(job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> dict[str, int]:
    looks_up = job.code_table is not None and any(op.shape.lookup for op in ops)
    return {SLOTS: job.guaranteed, **assignment.needs(looks_up=looks_up)}


def _fit(
    job: Job, network: Network, reasons: Mapping[str, Reason], parts: Mapping[str, _Part], is_strict: bool
) -> tuple[Placement, dict[str, tuple[LaneOp, ...]]]:
    """Place a job beside those before it; return its placement, and its operations by switch."""
    unavailable = dict(reasons)
    chips = {name for name, part in parts.items() if part.capabilities.pipes}
    while True:
        placement = place(
            job.request.workers,
            network,
            quorum=job.request.threshold,
            udp_port=job.request.port,
            unavailable=unavailable,
            chips=chips,
            number=job.number,
        )
        ops = _ops(job, placement, parts)
        unfit: dict[str, Reason] = {}
        for assignment in placement.assignments:
            name = assignment.switch
            why = parts[name].why_not(job, assignment)
            if why is None and not ops[name] and not unfit:
                why = Reason(Cause.PROGRAM, "the racks' switches sum none of the job's operations in common")
            if why is None:
                why = parts[name].why_full(job, assignment, ops[name])
                if why is not None and is_strict and job.guaranteed:
                    raise QuotaError(
                        f"A quota of {job.guaranteed} slots cannot be met at {name}: {why}.",
                        "Remove a job, ask for fewer slots, or for no quota (lanesum job admit --best-effort).",
                        job=job.number,
                        switch=name,
                    )
            if why is not None:
                unfit[name] = why
        if not unfit:
            for assignment in placement.assignments:
                parts[assignment.switch].add(job, assignment, ops[assignment.switch])
            return placement, ops
        unavailable.update(unfit)


def _ops(job: Job, placement: Placement, parts: Mapping[str, _Part]) -> dict[str, tuple[LaneOp, ...]]:
    """Return the operations of a job by switch.

    The upper switch receives sums of racks. It leaves to the server what one rack's switch leaves to the server,
    because it would never get that rack's sum.
    """
    done: dict[str, tuple[LaneOp, ...]] = {}
    left = set(job.ops)
    for assignment in placement.assignments:  # racks first
        wanted = job.ops
        if Role.UPPER in assignment.role:
            wanted = tuple(op for op in wanted if op in left)
        done[assignment.switch] = parts[assignment.switch].capabilities.of_these(wanted)
        left &= set(done[assignment.switch])
    return done


def _claim(job: Job, placement: Placement, quotas: Quotas) -> SlotClaim:
    switches = tuple(assignment.switch for assignment in placement.assignments)
    of_tenant, own = quotas.of(job.tenant).priority, job.request.priority
    return SlotClaim(job.number, switches, job.slots, job.guaranteed, own, job.order, of_tenant)

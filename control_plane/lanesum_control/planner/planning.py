# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planning: placement and slots of all jobs together. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp
from lanesum_control.errors import QuotaError
from lanesum_control.planner.allocation import Claim, Ranges, SlotRange, allocate
from lanesum_control.planner.left_out import Cause, Reason
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Assignment, Placement, place
from lanesum_control.planner.quotas import DEFAULT_QUOTA, SLOTS, TenantQuota, Usage, needs
from lanesum_fabric.program.capabilities import EVERYTHING, Capabilities
from lanesum_fabric.program.switch_job import Role, SwitchJob

Ops = Mapping[tuple[int, str], tuple[LaneOp, ...]]  # job and switch -> operations that it sums there

NO_SLOTS = Reason(Cause.FULL, "no slots are left in its shared pool")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Demand of a job for planning: the fields of ``SwitchJob`` that do not depend on the switch, and its claim.

    Attributes:
        base: number, tag, group, operations and code table; the other fields are filled in.
        hosts: names of the workers' hosts.
        quorum: contributions that complete a result; 0 means all.
        udp_port: source port of the workers.
        slots, quota, priority, order: see ``Claim``.
        tenant: owner of the job, whose quota limits it; None if nothing but the switches does.
        strict: a quota that cannot be met is an error; otherwise the switch is left out.
    """

    base: SwitchJob
    hosts: tuple[str, ...]
    quorum: int
    udp_port: int
    slots: int
    quota: int
    priority: int
    order: int
    tenant: str | None = None
    strict: bool = False

    @property
    def number(self) -> int:
        return self.base.job


@dataclass(frozen=True, slots=True)
class Plan:
    """``placements``: by job number.

    ``ranges``: switch -> job -> range. ``ops``: operations that switches sum, by job.
    """

    placements: Mapping[int, Placement]
    ranges: Mapping[str, Mapping[int, SlotRange]]
    ops: Ops

    def switch_job(self, job: Wanted, assignment: Assignment, held: SlotRange | None = None) -> SwitchJob:
        """Return the job entry of a switch; ``held`` replaces the planned range while ranges move."""
        slots = self.ranges[assignment.switch][job.number] if held is None else held
        ops = self.ops[job.number, assignment.switch]
        return replace(
            job.base,
            slot_base=slots.base,
            slot_count=slots.count,
            members=assignment.members,
            role=assignment.role | Role.SHARED if slots.shared else assignment.role,
            threshold=assignment.threshold,
            uplink=assignment.uplink,
            combining_pipe=assignment.combining_pipe,
            ops=ops,
            code_table=job.base.code_table if any(op.shape.lookup for op in ops) else None,
        )

    def at(self, switch: str, jobs: Iterable[Wanted]) -> dict[int, SwitchJob]:
        """Return the jobs of one switch, by number."""
        return {
            job.number: self.switch_job(job, assignment)
            for job in jobs
            for assignment in self.placements[job.number].assignments
            if assignment.switch == switch
        }


def plan(
    network: Network,
    capacity: Mapping[str, int],
    jobs: Sequence[Wanted],
    held: Ranges,
    unavailable: Mapping[tuple[int, str], Reason],
    capabilities: Mapping[str, Capabilities] = {},
    quota: TenantQuota = DEFAULT_QUOTA,
) -> Plan:
    """Place all jobs and give them slots and table entries: first the jobs with a quota, then those without.

    Args:
        network: hosts, switches and links.
        capacity: slots of every available switch.
        jobs: all jobs.
        held: present ranges.
        unavailable: (job, switch) pairs that are excluded, with the reason.
        capabilities: capabilities by switch; all for switches without an entry.
        quota: quota of every tenant.

    Raises:
        QuotaError: the quota of a ``strict`` job cannot be met.
        AdmissionError: a job's workers do not fit the bitmaps of a packet.
    """
    reasons: dict[int, dict[str, Reason]] = {job.number: {} for job in jobs}
    for (number, switch), why in unavailable.items():
        reasons[number][switch] = why
    # Later ones never take anything from earlier ones.
    ranked = sorted(jobs, key=lambda job: (job.quota == 0, job.strict, job.order))
    while True:
        parts = {
            name: _Part(capabilities.get(name, EVERYTHING), capacity.get(name, 0), quota) for name in network.switches
        }
        placements, ops = {}, {}
        for job in ranked:
            placements[job.number], summed = _fit(job, network, reasons[job.number], parts)
            ops.update({(job.number, switch): these for switch, these in summed.items()})
        claims = [_claim(job, placements[job.number]) for job in jobs]
        ranges = allocate(capacity, claims, held)
        without = [(c.job, switch) for c in claims for switch in c.switches if c.job not in ranges[switch]]
        if not without:
            return Plan(placements, ranges, ops)
        for number, switch in without:
            reasons[number][switch] = NO_SLOTS


class _Part:
    """The jobs of one switch that are placed so far."""

    def __init__(self, capabilities: Capabilities, slots: int, quota: TenantQuota) -> None:
        self.capabilities = capabilities
        self._usage = Usage({**capabilities.sizes, SLOTS: slots}, quota)
        self._tags: list[tuple[int, int]] = []

    def why_not(self, job: Wanted, assignment: Assignment) -> Reason | None:
        """Return the reason why the switch's program cannot take the job beside the others; None if it can."""
        does = self.capabilities
        if why := does.why_not_pipes(assignment.members, assignment.combining_pipe):
            return Reason(Cause.PORTS, why)
        if why := does.why_not_owner(job.base.job, job.base.tag, self._tags):
            return Reason(Cause.OWNER, why)
        if why := does.why_not_group(job.base.group):
            return Reason(Cause.FULL, why)
        if does.of_these(job.base.ops):
            return None
        return Reason(Cause.PROGRAM, "its program sums none of the job's operations")

    def why_full(self, job: Wanted, assignment: Assignment, ops: tuple[LaneOp, ...]) -> Reason | None:
        """Return the reason why the job does not fit into tables and slots; None if it does."""
        why = self._usage.why_not(_needs(job, assignment, ops), job.tenant)
        return None if why is None else Reason(Cause.FULL, why)

    def add(self, job: Wanted, assignment: Assignment, ops: tuple[LaneOp, ...]) -> None:
        self._usage.add(_needs(job, assignment, ops), job.tenant)
        self._tags.append((job.base.job, job.base.tag))


def _needs(job: Wanted, assignment: Assignment, ops: tuple[LaneOp, ...]) -> dict[str, int]:
    looks_up = job.base.code_table is not None and any(op.shape.lookup for op in ops)
    return {SLOTS: job.quota, **needs(assignment, looks_up=looks_up)}


def _fit(
    job: Wanted, network: Network, reasons: Mapping[str, Reason], parts: Mapping[str, _Part]
) -> tuple[Placement, dict[str, tuple[LaneOp, ...]]]:
    """Place a job beside those before it; return its placement, and its operations by switch."""
    unavailable = dict(reasons)
    chips = {name for name, part in parts.items() if part.capabilities.pipes}
    while True:
        placement = place(
            job.hosts,
            network,
            quorum=job.quorum,
            udp_port=job.udp_port,
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
                if why is not None and job.strict and job.quota:
                    raise QuotaError(
                        f"A quota of {job.quota} slots cannot be met at {name}: {why}.",
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


def _ops(job: Wanted, placement: Placement, parts: Mapping[str, _Part]) -> dict[str, tuple[LaneOp, ...]]:
    """Return the operations of a job by switch.

    The upper switch receives sums of racks. It leaves to the server what one rack's switch leaves to the server,
    because it would never get that rack's sum.
    """
    done: dict[str, tuple[LaneOp, ...]] = {}
    left = set(job.base.ops)
    for assignment in placement.assignments:  # racks first
        wanted = job.base.ops
        if Role.UPPER in assignment.role:
            wanted = tuple(op for op in wanted if op in left)
        done[assignment.switch] = parts[assignment.switch].capabilities.of_these(wanted)
        left &= set(done[assignment.switch])
    return done


def _claim(job: Wanted, placement: Placement) -> Claim:
    switches = tuple(assignment.switch for assignment in placement.assignments)
    return Claim(job.number, switches, job.slots, job.quota, job.priority, job.order)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planning: placement and slots of all jobs together. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lanesum.protocol.lanes import LaneOp
from lanesum_control.errors import QuotaError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.jobs.records import Job
from lanesum_control.planner.allocation import Claim, Ranges, SlotRange, allocate
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Assignment, Placement, place
from lanesum_control.planner.quotas import DEFAULT_QUOTA, SLOTS, TenantQuota, Usage
from lanesum_fabric.program.capabilities import EVERYTHING, Capabilities
from lanesum_fabric.program.switch_job import Role, SwitchJob

NO_SLOTS = Reason(Cause.FULL, "no slots are left in its shared pool")


@dataclass(frozen=True, slots=True)
class Plan:
    """Places, slots and table entries of all jobs.

    Attributes:
        placements: placement by job number.
        ranges: slot range by switch and job.
        tables: entry by switch and job, for every controlled switch, in the order of the jobs.
    """

    placements: Mapping[int, Placement]
    ranges: Mapping[str, Mapping[int, SlotRange]]
    tables: Mapping[str, Mapping[int, SwitchJob]]

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
    quota: TenantQuota = DEFAULT_QUOTA,
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
        quota: quota of every tenant.
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
            name: _Part(capabilities.get(name, EVERYTHING), capacity.get(name, 0), quota) for name in network.switches
        }
        placements: dict[int, Placement] = {}
        ops: dict[int, dict[str, tuple[LaneOp, ...]]] = {}
        for job in ranked:
            placements[job.number], ops[job.number] = _fit(job, network, reasons[job.number], parts, job is strict)
        claims = [_claim(job, placements[job.number]) for job in jobs]
        ranges = allocate(capacity, claims, held)
        without = [(c.job, switch) for c in claims for switch in c.switches if c.job not in ranges[switch]]
        if not without:
            tables: dict[str, dict[int, SwitchJob]] = {switch: {} for switch in capacity}
            for job in jobs:
                for one in placements[job.number].assignments:
                    slots, summed = ranges[one.switch][job.number], ops[job.number][one.switch]
                    tables[one.switch][job.number] = _entry(job, one, slots, summed)
            return Plan(placements, ranges, tables)
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
        uplink=assignment.uplink,
        combining_pipe=assignment.combining_pipe,
    )


class _Part:
    """The jobs of one switch that are placed so far."""

    def __init__(self, capabilities: Capabilities, slots: int, quota: TenantQuota) -> None:
        self.capabilities = capabilities
        self._usage = Usage({**capabilities.sizes, SLOTS: slots}, quota)
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


def _claim(job: Job, placement: Placement) -> Claim:
    switches = tuple(assignment.switch for assignment in placement.assignments)
    return Claim(job.number, switches, job.slots, job.guaranteed, job.request.priority, job.order)

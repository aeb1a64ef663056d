# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs beside each other at the switches: tables, tags and guaranteed slots that they use, and who is left out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lanesum.protocol.lanes import LaneOp
from lanesum_control.errors import QuotaError
from lanesum_control.jobs.left_out import Cause, Reason
from lanesum_control.jobs.records import Job
from lanesum_control.planner.allocation import SlotClaim
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Assignment, Placement, place
from lanesum_control.planner.quotas import SLOTS, Quotas, Usage
from lanesum_fabric.program.capabilities import EVERYTHING, Capabilities
from lanesum_fabric.program.switch_job import Role


class _Part:
    """The jobs of one switch that are placed so far. It does not change."""

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

    def plus(self, job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> _Part:
        new = self._copy()
        new._usage.add(_needs(job, assignment, ops), job.tenant)
        new._tags.append((job.number, job.incarnation.tag))
        return new

    def minus(self, job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> _Part:
        new = self._copy()
        new._usage.remove(_needs(job, assignment, ops), job.tenant)
        new._tags.remove((job.number, job.incarnation.tag))
        return new

    def _copy(self) -> _Part:
        new = copy.copy(self)
        new._usage, new._tags = self._usage.copy(), list(self._tags)
        return new


@dataclass(frozen=True, slots=True)
class _Fit:
    """A placed job, the reasons against switches before that, its operations by switch, and its demand of slots."""

    job: Job
    reasons: Mapping[str, Reason]
    placement: Placement
    ops: Mapping[str, tuple[LaneOp, ...]]
    claim: SlotClaim


@dataclass(frozen=True, slots=True)
class Fits:
    """Placed jobs by number, and what they use of every switch.

    Attributes:
        is_clean: no job was left out because of others. Then each subset of the jobs has the same places in any order,
            because a job only ever takes from others.
    """

    network: Network
    capacity: Mapping[str, int]
    capabilities: Mapping[str, Capabilities]
    quotas: Quotas
    parts: Mapping[str, _Part]
    jobs: Mapping[int, _Fit] = field(default_factory=dict)
    is_clean: bool = True

    @classmethod
    def of(
        cls, network: Network, capacity: Mapping[str, int], does: Mapping[str, Capabilities], quotas: Quotas
    ) -> Fits:
        """Return switches without jobs; the arguments are those of ``plan``."""
        parts = {
            name: _Part(does.get(name, EVERYTHING), capacity.get(name, 0), quotas, network.routes(name))
            for name in network.switches
        }
        return cls(network, dict(capacity), dict(does), quotas, parts)

    def with_jobs(self, jobs: Iterable[Job], reasons: Mapping[int, Mapping[str, Reason]], strict: Job | None) -> Fits:
        """Return the fits with more jobs. Raises AdmissionError, QuotaError."""
        parts, fits, is_clean = dict(self.parts), dict(self.jobs), self.is_clean
        # Later ones never take anything from earlier ones.
        for job in sorted(jobs, key=lambda job: (job.guaranteed == 0, job is strict, job.order)):
            why = dict(reasons[job.number])
            placement, ops, fits_at_once = _fit(job, self.network, why, parts, job is strict)
            for one in placement.assignments:
                parts[one.switch] = parts[one.switch].plus(job, one, ops[one.switch])
            fits[job.number] = _Fit(job, why, placement, ops, _claim(job, placement, self.quotas))
            is_clean = is_clean and fits_at_once
        return replace(self, parts=parts, jobs=fits, is_clean=is_clean)

    def is_at(
        self, network: Network, capacity: Mapping[str, int], does: Mapping[str, Capabilities], quotas: Quotas
    ) -> bool:
        """Return True if the switches are the same; the arguments are those of ``plan``."""
        known = self.capabilities
        return (
            network is self.network
            and quotas is self.quotas
            and capacity == self.capacity
            and does == known
            and all(one.sizes == known[name].sizes for name, one in does.items())
        )

    def changed(self, jobs: Iterable[Job], reasons: Mapping[int, Mapping[str, Reason]]) -> Fits | None:
        """Return the fits of these jobs by what differs; None if that does not fit at once."""
        now, kept = {job.number: job for job in jobs}, dict(self.jobs)
        parts = dict(self.parts)
        for number, fit in self.jobs.items():
            if now.get(number) is not fit.job or reasons[number] != fit.reasons:
                del kept[number]
                for one in fit.placement.assignments:
                    parts[one.switch] = parts[one.switch].minus(fit.job, one, fit.ops[one.switch])
        coming = [job for number, job in now.items() if number not in kept]
        found = replace(self, parts=parts, jobs=kept).with_jobs(coming, reasons, None)
        return found if found.is_clean else None


def _needs(job: Job, assignment: Assignment, ops: tuple[LaneOp, ...]) -> dict[str, int]:
    looks_up = job.code_table is not None and any(op.shape.lookup for op in ops)
    return {SLOTS: job.guaranteed, **assignment.needs(looks_up=looks_up)}


def _fit(
    job: Job, network: Network, reasons: Mapping[str, Reason], parts: Mapping[str, _Part], is_strict: bool
) -> tuple[Placement, dict[str, tuple[LaneOp, ...]], bool]:
    """Place a job beside those before it; return placement, operations by switch, and if it fits at once."""
    unavailable = dict(reasons)
    chips = {name for name, part in parts.items() if part.capabilities.pipes}
    is_clean = True
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
            return placement, ops, is_clean
        is_clean = False
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

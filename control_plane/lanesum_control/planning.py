# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Planning: placement and slots of all jobs together. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp
from lanesum_control.allocation import Claim, Ranges, SlotRange, allocate
from lanesum_control.capabilities import EVERYTHING, Capabilities
from lanesum_control.errors import QuotaError
from lanesum_control.model import Role, SwitchJob
from lanesum_control.network import Network
from lanesum_control.placement import Assignment, Placement, place

Ops = Mapping[tuple[int, str], tuple[LaneOp, ...]]  # job and switch -> operations that it sums there

NO_SLOTS = "no slots are left in its shared pool"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Demand of a job for planning: the fields of ``SwitchJob`` that do not depend on the switch, and its claim.

    Attributes:
        base: number, tag, group, operations and code table; the other fields are filled in.
        hosts: names of the workers' hosts.
        quorum: contributions that complete a result; 0 means all.
        udp_port: source port of the workers.
        slots, quota, priority, order: see ``Claim``.
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
    unavailable: Mapping[tuple[int, str], str],
    capabilities: Mapping[str, Capabilities] = {},
) -> Plan:
    """Place all jobs and give them slots.

    Args:
        network: hosts, switches and links.
        capacity: slots of every available switch.
        jobs: all jobs.
        held: present ranges.
        unavailable: (job, switch) pairs that are excluded, with the reason.
        capabilities: capabilities by switch; all for switches without an entry.

    Raises:
        QuotaError: the quota of a ``strict`` job cannot be met.
        AdmissionError: a job's workers do not fit the bitmaps of a packet.
    """
    reasons = dict(unavailable)
    strict = {job.number for job in jobs if job.strict}
    while True:
        placements = {job.number: _place(job, network, reasons) for job in jobs}
        ops = {(job.number, one): do for job in jobs for one, do in _ops(job, placements, capabilities).items()}
        unfit = _unfit(jobs, placements, ops, capabilities)
        if unfit:
            reasons.update(unfit)
            continue
        claims = [_claim(job, placements[job.number]) for job in jobs]
        try:
            ranges = allocate(capacity, claims, held)
        except QuotaError as error:
            if error.job in strict:
                raise
            reasons[error.job, error.switch] = error.what.removesuffix(".")
            continue
        without = [(c.job, switch) for c in claims for switch in c.switches if c.job not in ranges[switch]]
        if not without:
            return Plan(placements, ranges, ops)
        reasons.update(dict.fromkeys(without, NO_SLOTS))


def _ops(
    job: Wanted, placements: Mapping[int, Placement], capabilities: Mapping[str, Capabilities]
) -> dict[str, tuple[LaneOp, ...]]:
    """Return the operations of a job by switch.

    The upper switch receives sums of racks. It leaves to the server what one rack's switch leaves to the server,
    because it would never get that rack's sum.
    """
    done: dict[str, tuple[LaneOp, ...]] = {}
    left = set(job.base.ops)
    for assignment in placements[job.number].assignments:  # racks first
        does = capabilities.get(assignment.switch, EVERYTHING)
        wanted = job.base.ops
        if Role.UPPER in assignment.role:
            wanted = tuple(op for op in wanted if op in left)
        done[assignment.switch] = does.of_these(wanted)
        left &= set(done[assignment.switch])
    return done


def _unfit(
    jobs: Sequence[Wanted],
    placements: Mapping[int, Placement],
    ops: Ops,
    capabilities: Mapping[str, Capabilities],
) -> dict[tuple[int, str], str]:
    """Return jobs that a switch's program cannot take, with the reason; of two conflicting jobs the younger one."""
    unfit: dict[tuple[int, str], str] = {}
    there: dict[str, list[tuple[int, int]]] = {}  # switch -> jobs and tags
    for job in sorted(jobs, key=lambda job: job.order):
        for assignment in placements[job.number].assignments:
            name = assignment.switch
            does = capabilities.get(name, EVERYTHING)
            others = there.setdefault(name, [])
            why = does.why_not_ports(host.port for member in assignment.members for host in member.hosts)
            why = why or does.why_not_owner(job.base.job, job.base.tag, others)
            if not does.of_these(job.base.ops):
                why = "its program sums none of the job's operations"
            elif not ops[job.number, name] and not any(number == job.number for number, _ in unfit):
                why = "the racks' switches sum none of the job's operations in common"
            if why:
                unfit[job.number, name] = why
            else:
                others.append((job.base.job, job.base.tag))
    return unfit


def _place(job: Wanted, network: Network, reasons: Mapping[tuple[int, str], str]) -> Placement:
    unavailable = {switch: why for (number, switch), why in reasons.items() if number == job.number}
    return place(job.hosts, network, quorum=job.quorum, udp_port=job.udp_port, unavailable=unavailable)


def _claim(job: Wanted, placement: Placement) -> Claim:
    switches = tuple(assignment.switch for assignment in placement.assignments)
    return Claim(job.number, switches, job.slots, job.quota, job.priority, job.order)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What every switch should hold: placement and slots of all jobs together. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lanesum_control.allocation import Claim, Ranges, SlotRange, allocate
from lanesum_control.errors import QuotaError
from lanesum_control.model import Role, SwitchJob
from lanesum_control.network import Network
from lanesum_control.placement import Assignment, Placement, place

NO_SLOTS = "no slots are left in its shared pool"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job as planning sees it: the parts of ``SwitchJob`` that do not depend on the switch, and its claim.

    Attributes:
        base: number, tag, group, operations and code table; the rest is filled in.
        hosts: names of the workers' hosts.
        quorum: contributions that make a result; 0 means all.
        udp_port: port that the workers send from.
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
    """``placements``: by job number. ``ranges``: switch -> job -> range."""

    placements: Mapping[int, Placement]
    ranges: Mapping[str, Mapping[int, SlotRange]]

    def switch_job(self, job: Wanted, assignment: Assignment, held: SlotRange | None = None) -> SwitchJob:
        """What a switch is told about a job; ``held`` instead of the planned range while ranges are moved."""
        slots = self.ranges[assignment.switch][job.number] if held is None else held
        return replace(
            job.base,
            slot_base=slots.base,
            slot_count=slots.count,
            members=assignment.members,
            role=assignment.role | Role.SHARED if slots.shared else assignment.role,
            threshold=assignment.threshold,
            uplink=assignment.uplink,
        )

    def at(self, switch: str, jobs: Iterable[Wanted]) -> dict[int, SwitchJob]:
        """The jobs of one switch, by number."""
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
) -> Plan:
    """Place all jobs and give them slots.

    Args:
        network: who hangs where.
        capacity: slots of every switch that may be used.
        jobs: all jobs.
        held: the ranges of now.
        unavailable: (job, switch) that cannot be, with the reason in words.

    Raises:
        QuotaError: the quota of a ``strict`` job cannot be met.
        AdmissionError: a job's workers do not fit into a packet's bitmaps.
    """
    reasons = dict(unavailable)
    strict = {job.number for job in jobs if job.strict}
    while True:
        placements = {job.number: _place(job, network, reasons) for job in jobs}
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
            return Plan(placements, ranges)
        reasons.update(dict.fromkeys(without, NO_SLOTS))


def _place(job: Wanted, network: Network, reasons: Mapping[tuple[int, str], str]) -> Placement:
    unavailable = {switch: why for (number, switch), why in reasons.items() if number == job.number}
    return place(job.hosts, network, quorum=job.quorum, udp_port=job.udp_port, unavailable=unavailable)


def _claim(job: Wanted, placement: Placement) -> Claim:
    switches = tuple(assignment.switch for assignment in placement.assignments)
    return Claim(job.number, switches, job.slots, job.quota, job.priority, job.order)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admitted jobs as their users see them: tickets, the parts of switches, and the reasons for those without a part."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lanesum.transport.ticket import JobTicket
from lanesum_control.jobs.records import Job, JobRequest
from lanesum_control.planner.left_out import Reason
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Placement
from lanesum_control.planner.planning import Plan
from lanesum_fabric.program.switch_job import SwitchJob

JOINED = 1 << 32  #: added to the checksum of members whose packets may be joined


@dataclass(frozen=True, slots=True)
class Moved:
    """``why`` a switch on the paths of a job does not sum for it, and ``since`` when: seconds since 1970."""

    why: Reason
    since: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class AdmittedJob:
    """Snapshot of a job.

    Attributes:
        request: the user's request.
        number: job identifier in packets.
        owner: name of the caller that admitted it; empty if it gave none.
        tickets: one per worker, of the present incarnation.
        joined: workers that have taken their tickets.
        switch_jobs: entry of each switch; a switch whose part the server does has none.
        left_out: reason why a switch on the job's paths has no part in it.
        moved: switches whose sums the server computes, left out or lost.
    """

    request: JobRequest
    number: int
    owner: str
    tickets: tuple[JobTicket, ...]
    joined: frozenset[int]
    switch_jobs: Mapping[str, SwitchJob]
    left_out: Mapping[str, str]
    moved: Mapping[str, Moved]

    @property
    def result_bytes(self) -> int:
        """Bytes of the accumulator words of a result."""
        return 4 * self.tickets[0].accumulator_words

    @classmethod
    def of(cls, job: Job, plan: Plan, tickets: tuple[JobTicket, ...], moved: Mapping[str, Moved]) -> AdmittedJob:
        """Return the snapshot of a job in a plan."""
        placement = plan.placements[job.number]
        return cls(
            request=job.request,
            number=job.number,
            owner=job.owner,
            tickets=tickets,
            joined=frozenset(job.incarnation.taken),
            switch_jobs={one.switch: plan.tables[one.switch][job.number] for one in placement.assignments},
            left_out=placement.left_out,
            moved=moved,
        )


def tickets(
    job: Job, placement: Placement, network: Network, accumulator_words: int, *, joined_packets: bool
) -> tuple[JobTicket, ...]:
    """Return one ticket per worker of the present incarnation."""
    request, incarnation = job.request, job.incarnation
    shared = JobTicket(
        job=job.number,
        tag=incarnation.tag,
        worker=0,
        workers=len(request.workers),
        slots=incarnation.slots,
        accumulator_words=accumulator_words,
        servers=incarnation.servers,
        seed=incarnation.seed,
        ops=job.ops,
        code_table=job.code_table,
        epoch=incarnation.epoch,
        quorum=request.threshold,
        places=placement.places,
        codec=request.codec,
        joined_packets=joined_packets,
    )
    return tuple(
        dataclasses.replace(shared, worker=worker, local=(network.address(name), request.port))
        for worker, name in enumerate(request.workers)
    )


def checksum(tickets: Sequence[JobTicket]) -> int:
    """Return a checksum of addresses and places of the workers, by which packets name them, plus ``JOINED``."""
    named = zlib.crc32(repr([(ticket.local, ticket.place) for ticket in tickets]).encode())
    return named + JOINED * tickets[0].joined_packets


def left_out_words(job: Job, plan: Plan) -> str:
    """Return the switches and operations that a plan leaves to the server, for the event of the admission."""
    request, placement = job.request, plan.placements[job.number]
    words = [f"; {switch} is left out: {why}" for switch, why in placement.left_out.items()]
    for assignment in placement.assignments:
        summed = plan.tables[assignment.switch][job.number].ops
        others = [op.name for op in job.ops if op not in summed]
        if others:
            words.append(f"; {assignment.switch} leaves {', '.join(others)} to the server")
    if request.code_table() is not None and job.code_table is None:
        words.append(f"; {request.codec} without a code table, because not all switches use one")
    return "".join(words)

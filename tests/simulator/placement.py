# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Placement of a job: racks and bits, the entries of each switch, the server's job, and the tickets."""

from __future__ import annotations

from lanesum.protocol.lanes import carried_by
from lanesum.server.jobs import MemberIndex, ServerJob
from lanesum.transport.ticket import JobTicket
from lanesum_fabric.program.switch_job import DEFAULT_LEASE_TICKS, NO_ROLE, Member, Role, SwitchJob
from tests.simulator.layout import SERVER_ADDRESSES, Address, Layout, address, code_table, host_ip, ip_text
from tests.simulator.scenario import AT_UPPER, RACKS, SERVER_ALONE, UPPER, JobPlan, Scenario, rack_switch


class Bases:
    """Register bases of every line; lines with a lease share one range, the others have two of their own."""

    def __init__(self, scenario: Scenario) -> None:
        self.pool = max((line.slots for line in scenario.lines if line.lease is not None), default=0)
        self.total = self.pool
        self._bases: list[int] = []
        for line in scenario.lines:
            self._bases.append(0 if line.lease is not None else self.total)
            self.total += 2 * line.slots if line.lease is None else 0
        self._lines = scenario.lines

    def base(self, line: int, moved: bool) -> int:
        """Return the base of a line. A pool has no second range."""
        shifts = moved and self._lines[line].lease is None
        return self._bases[line] + (self._lines[line].slots if shifts else 0)


class SimulatedPlacement:
    """Placement of one incarnation of a job.

    Attributes:
        places: (rack, bit) of every worker; empty with one level.
        racks: workers of every rack, by bit.
        switches: job entry of each switch, by name; switches without the job are missing.
    """

    def __init__(self, scenario: Scenario, layout: Layout, bases: Bases, line: int, plan: JobPlan) -> None:
        self.plan = plan
        self._layout = layout
        self._line = line
        self._lease = scenario.lines[line].lease
        self._base = bases.base(line, False)
        self._words = scenario.accumulator_words
        self.addresses: list[Address] = [address(line, one.host) for one in plan.workers]
        self.racks, homes = self._racks()
        two_levels = len(self.racks) > 1
        found = {worker: (rack, bit) for rack, workers in enumerate(self.racks) for bit, worker in enumerate(workers)}
        self.places = tuple(found[worker] for worker in range(len(plan.workers))) if two_levels else ()
        self.switches: dict[str, SwitchJob] = {}
        self._members_at: dict[str, tuple[int, ...]] = {}
        if scenario.network != SERVER_ALONE and plan.switch_slots:
            if two_levels:
                self._two_levels(homes)
            else:
                self._one_level(homes[0])

    def _racks(self) -> tuple[list[tuple[int, ...]], list[int]]:
        """Return the workers by rack, and the home of each rack. A host at the upper switch is a rack by itself."""
        workers = range(len(self.plan.workers))
        home_of = [self._layout.home(one.host) for one in self.plan.workers]
        homes = sorted(set(home_of))
        if self._layout.network != RACKS or len(homes) == 1:
            return [tuple(workers)], homes
        racks, named = [], []
        for home in homes:
            members = tuple(worker for worker in workers if home_of[worker] == home)
            for rack in [(worker,) for worker in members] if home == AT_UPPER else [members]:
                racks.append(rack)
                named.append(home)
        return racks, named

    def _one_level(self, home: int) -> None:
        switch = UPPER if home == AT_UPPER else rack_switch(home)
        members = tuple(self._member(switch, bit, (bit,)) for bit in range(len(self.plan.workers)))
        role = Role.ASCEND | Role.QUORUM if self.plan.quorum else NO_ROLE
        self._place(switch, members, role, threshold=self.plan.quorum)

    def _two_levels(self, homes: list[int]) -> None:
        plan = self.plan
        for workers, home in zip(self.racks, homes, strict=True):
            if home != AT_UPPER:
                switch = rack_switch(home)
                members = tuple(self._member(switch, bit, (worker,)) for bit, worker in enumerate(workers))
                self._place(switch, members, Role.ASCEND | (Role.QUORUM if plan.quorum else NO_ROLE))
        complete = all(home == AT_UPPER or rack_switch(home) in self.switches for home in homes)
        if complete and not plan.quorum:
            members = tuple(
                self._member(UPPER, rack, workers, aggregate=homes[rack] != AT_UPPER)
                for rack, workers in enumerate(self.racks)
            )
            self._place(UPPER, members, Role.UPPER | (Role.ASCEND if plan.upper_ascends else NO_ROLE))

    def _member(self, switch: str, bit: int, workers: tuple[int, ...], *, aggregate: bool = False) -> Member:
        hosts = tuple(self._layout.host_port(switch, host_ip(self.plan.workers[worker].host)) for worker in workers)
        return Member(bit, hosts, self.addresses[workers[0]][1], aggregate, workers)

    def _place(self, switch: str, members: tuple[Member, ...], role: Role, *, threshold: int = 0) -> None:
        plan = self.plan
        if switch in plan.left_out:
            return
        numbers = {one[0]: worker for worker, one in enumerate(self.addresses)}
        self._members_at[switch] = tuple(
            sum(1 << numbers[ip_text(host.ip)] for host in member.hosts) for member in members
        )
        lease = DEFAULT_LEASE_TICKS if self._lease is None else self._lease
        self.switches[switch] = SwitchJob(
            job=plan.job,
            tag=plan.tag,
            slot_base=self._base,
            slot_count=plan.switch_slots,
            group=self._line + 1,
            members=members,
            ops=carried_by(self._words),
            code_table=code_table(self._line),
            role=role if self._lease is None else role | Role.SHARED,
            threshold=threshold,
            uplinks=(self._layout.way_up(switch),) if role & Role.ASCEND else (),
            lease=lease,
        )

    def server_of(self, shadow_slot: int) -> str:
        """Return the server of a packet's slot."""
        return self._layout.server_of(shadow_slot)

    def members_at(self, switch: str) -> tuple[int, ...]:
        """Return the set of workers (bit ``n`` for worker ``n``) behind each bit of a switch's bitmaps."""
        return self._members_at[switch]

    def server_job(self) -> ServerJob:
        """Return the job for the server."""
        plan = self.plan
        members = {}
        for worker, one in enumerate(self.addresses):
            rack, bit = self.places[worker] if self.places else (0, worker)
            members[one] = MemberIndex(worker, rack, bit)
        return ServerJob(
            job=plan.job,
            tag=plan.tag,
            members=members,
            slots=plan.slots,
            code_table=code_table(self._line),
            accumulator_words=self._words,
            quorum=plan.quorum,
            on_switches=bool(self.switches),
            kept_results=plan.kept_results,
        )

    def ticket(self, worker: int) -> JobTicket:
        """Return the ticket of a worker."""
        plan = self.plan
        return JobTicket(
            job=plan.job,
            tag=plan.tag,
            worker=worker,
            workers=len(plan.workers),
            slots=plan.slots,
            accumulator_words=self._words,
            servers=tuple(SERVER_ADDRESSES[server] for server in self._layout.servers),
            local=self.addresses[worker],
            epoch=plan.first_epoch,
            quorum=plan.quorum,
            places=self.places,
            certified=plan.certified,
        )

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admitted jobs and their plan, in the store, at the servers and at the switches.

Every operation has the same steps: change the desired state, write it to the store, and apply it to servers and
switches. Only an admission is stored last, so that it leaves nothing behind if the controller ends before.

Two locks protect the state. Changes take turns under the outer one, which is held while they are carried out. The inner
one protects the values in memory and their copies in the store. It is never held during a call of a switch or server:
keep-alives do not wait for changes.
"""

from __future__ import annotations

import contextlib
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import carried_by
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, FULL_ACCUMULATOR_WORDS
from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum.server import ServerJob
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.admitted import AdmittedJob, left_out_words, tickets
from lanesum_control.controller.counters import packet_counters
from lanesum_control.controller.examination import examine
from lanesum_control.controller.fair_lock import FairLock
from lanesum_control.controller.moved_sums import MovedSums
from lanesum_control.controller.workers import Workers
from lanesum_control.errors import AdmissionError, NotPrimaryError, StoreError
from lanesum_control.jobs.records import Incarnation, Job, JobRequest
from lanesum_control.planner.admission import check_name, check_tenant, taken_ports, with_port
from lanesum_control.planner.allocation import Ranges
from lanesum_control.planner.network import Network
from lanesum_control.planner.planning import Plan
from lanesum_control.planner.quotas import TenantQuota
from lanesum_control.servers.controlled_server import ControlledServer, ServerLinks
from lanesum_control.servers.remote_server import ServerError
from lanesum_control.state.events import CONTROLLER, EventLog
from lanesum_control.state.store import Store, members_of
from lanesum_control.switches.fleet import Fleet
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_control.switches.switch_plans import SwitchPlans
from lanesum_fabric.errors import ControlError
from lanesum_fabric.program.capabilities import owner_word
from lanesum_fabric.topology.model import SERVER

_TAG_DRAWS = 8
# A worker with a stream to a controller that is frozen notices it after up to 20 s, and then finds the one that leads.
_TAKE_OVER_GRACE_S = 30.0
_WORDS = "accumulator_words"
_JOINED = 1 << 32  # added to the checksum of members whose packets may be joined


def _packet_words(store: Store, switched: bool) -> int:
    """Return the default words per packet. A controller that loses its switches does not interrupt its jobs."""
    if switched:
        return DEFAULT_ACCUMULATOR_WORDS
    before = store.meta(_WORDS) if store.jobs() else None
    return FULL_ACCUMULATOR_WORDS if before is None else before


class Deployment:
    """Desired state, and what servers and switches have of it.

    The methods that check and repair parts are thread-safe; those that change jobs need ``changing``.

    Args:
        network: hosts, switches and links.
        servers: aggregation servers, as many as the network names.
        switches: controlled switches by name.
        store: persistent state.
        accumulator_words: words per packet; None for the default of ``Controller``.
        events: log of all events of switches, servers and jobs.
        clock: monotonic seconds, for leases.
        quota: quota of every tenant.

    Attributes:
        changing: the outer lock.
        lock: the inner lock, which may be taken inside ``changing``, not around it.
        jobs: the admitted jobs by name. Replaced together with the plan, under both locks.
        workers: their workers.
        quota: quota of every tenant.
    """

    def __init__(
        self,
        network: Network,
        servers: Sequence[ControlledServer],
        switches: Mapping[str, ManagedSwitch],
        store: Store,
        accumulator_words: int | None,
        events: EventLog,
        clock: Callable[[], float],
        quota: TenantQuota,
    ) -> None:
        self._network = network
        self._store = store
        self._words = _packet_words(store, bool(switches)) if accumulator_words is None else accumulator_words
        self._events = events
        self.quota = quota
        self._links = ServerLinks(servers, events)
        self._fleet = Fleet(network, switches, events)
        self._plans = SwitchPlans(network, self._fleet, events)
        self._moved, self._is_started = MovedSums(events), False
        self.changing = FairLock()
        self.lock = threading.RLock()
        self.jobs: Mapping[str, Job] = {job.request.name: job for job in store.jobs()}
        grace_s = _TAKE_OVER_GRACE_S if store.term else 0.0
        self.workers = Workers(self.lock, lambda: self.jobs, store, events, clock, grace_s)
        self._check_hosts()
        self._plan = self._planned(self.jobs, store.ranges())

    def start(self, connect_timeout_s: float) -> None:
        """Connect switches and servers, and repair them. Raises NotPrimaryError, PipelineError.

        A switch that still has the controller before as its primary is connected later.
        """
        self._change_packets()
        self._change_members()
        for name in self.switches:
            try:
                self._connect(name, connect_timeout_s)
            except NotPrimaryError as error:
                if not self._store.term:
                    raise
                self._fleet.unusable(name, error)
        for name in self.servers:
            self.check_server(name)
        for job in [job for job in self.jobs.values() if job.incarnation.servers != self._network.servers]:
            self.restart(job, job.request, "its servers are others than before")
        self._is_started = True
        self._replan()

    def _change_packets(self) -> None:
        """Begin new incarnations if packets have another size than before: switches pass on those of the old size."""
        before = self._store.meta(_WORDS)
        if before not in (None, self._words):
            why = f"packets have {self._words} accumulator words now, and had {before}"
            for job in list(self.jobs.values()):
                ops = tuple(op for op in job.request.ops or () if op in carried_by(self._words))
                self.restart(job, replace(job.request, ops=ops), why)
        self._store.set_meta(_WORDS, self._words)

    def _change_members(self) -> None:
        """Begin new incarnations of jobs whose tickets are void because the topology has changed."""
        for job in list(self.jobs.values()):
            before, now = self._store.meta(members_of(job.number)), self._members(job, self._plan)
            if before is not None and (before ^ now) % _JOINED:
                self.restart(job, job.request, "its workers have other addresses or places than before")
            elif before is not None and before > now:
                self.restart(job, job.request, "its packets pass a switch now")
            elif before != now:  # or an earlier version did not store it
                self._store.set_meta(members_of(job.number), now)

    def _members(self, job: Job, planned: Plan) -> int:
        """Return a checksum of addresses and places of the workers, by which packets name them, plus ``_JOINED``."""
        tickets = self.tickets(job, planned)
        named = zlib.crc32(repr([(ticket.local, ticket.place) for ticket in tickets]).encode())
        return named + _JOINED * tickets[0].joined_packets

    def _check_hosts(self) -> None:
        """Check that the network has the hosts of all jobs. Raises ConfigurationError."""
        for name, job in self.jobs.items():
            missing = [host for host in job.request.workers if host not in self._network.at]
            if missing:
                raise ConfigurationError(
                    f"Job {name!r} of the state has workers at {', '.join(missing)}, which the topology lacks.",
                    "Start the controller with a topology that has them, and remove the job (lanesum job remove).",
                )

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the controlled switches."""
        return self._fleet.names

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the servers."""
        return self._links.names

    def close(self) -> None:
        """Disconnect; the jobs remain at switches and servers, and in the store."""
        self._fleet.close()
        for name in self.servers:
            self._links[name].close()

    # Changes of jobs.

    def admit(self, request: JobRequest, caller: Caller, *, limited: bool) -> Job:
        """Admit a checked request; ``limited``: the quota of the caller holds.

        Raises AdmissionError, UnservedError; then nothing of the job remains.
        """
        request = request.with_slots(switched=bool(self.switches))
        if limited:
            self._check_tenant(caller.name, request)
        request = self._with_port(request.with_ops(self._words))
        with self.lock:
            number, order = self._store.new_numbers()
        job = Job(number, self._free_group(), order, request, self._incarnation(request, number), caller.name, limited)
        jobs = {**self.jobs, request.name: job}
        planned = self._planned(jobs, strict=job)
        self._links.admit(self._server_job(job, planned))
        try:
            planned = self._plans.apply(jobs, planned, self.quota, strict=job)
            what = f"admitted as job {number}{left_out_words(job, planned)}"
            with self.lock:
                with self._store.transaction():
                    self._save(job, planned)
                    self._events.add(request.name, what, caller)
                self.workers.begin(number)
                self._publish(jobs, planned)
            self.workers.leases_changed()
            self._note_moves()
        except BaseException:
            self._withdraw(job)
            raise
        return job

    def _save(self, job: Job, planned: Plan) -> None:
        self._store.save(job, planned.ranges)
        self._store.set_meta(members_of(job.number), self._members(job, planned))

    def _withdraw(self, job: Job) -> None:
        """Remove what servers and switches have of a job whose admission failed."""
        self._links.forget(job.number)
        self._plans.forget(job.number)
        with contextlib.suppress(StoreError):  # the caller learns of the failed admission
            self._carry_out()

    def remove(self, job: Job, why: str, caller: Caller) -> None:
        """Remove a job everywhere and free its slots."""
        name = job.request.name
        self._plans.refused.clear()  # other jobs may fit now
        jobs = {one: other for one, other in self.jobs.items() if one != name}
        planned = self._planned(jobs)
        with self.lock:
            with self._store.transaction():
                self._store.remove(job.number, planned.ranges)
                self._events.add(name, why, caller)
            self._publish(jobs, planned)
            self.workers.end(job, f"job {name!r} was {why}")
            self.workers.forget(job)
        self._carry_out()
        self._links.forget(job.number)

    def change(self, job: Job, what: str, caller: Caller, *, strict: bool) -> None:
        """Replace an existing job; ``what`` is the event.

        ``strict``: refuse a quota that cannot be met, instead of leaving out the switch. Raises AdmissionError.
        """
        old = self.jobs[job.request.name]
        jobs = {**self.jobs, job.request.name: job}
        if strict and job.limited:
            self._check_tenant(job.owner, job.request)
        planned = self._planned(jobs, strict=job if strict else None)
        with self.lock:
            with self._store.transaction():
                self._save(job, planned)
                self._events.add(job.request.name, what, caller)
            self._publish(jobs, planned)
            self.workers.begin_again(job)
        if job.incarnation.tag != old.incarnation.tag:
            self._links.tell(self._server_job(job, planned))
        self._carry_out()

    def restart(
        self, job: Job, request: JobRequest, why: str, caller: Caller = UNAUTHENTICATED, *, strict: bool = False
    ) -> Job:
        """Start a new incarnation with ``request`` instead of the old one; ``strict`` as for ``change``.

        Raises AdmissionError, ConfigurationError.
        """
        self.check(request)
        if request.port in taken_ports(request, self._requests(), self._network):
            request = self._with_port(replace(request, udp_port=None))
        again = replace(job, request=request, incarnation=self._incarnation(request, job.number))
        self.change(again, f"new incarnation: {why}", caller, strict=strict)
        with self.lock:
            self.workers.end(job, f"job {request.name!r} has a new incarnation: {why}")
        return again

    def check(self, request: JobRequest) -> None:
        """Check a request without regard to other jobs. Raises AdmissionError, ConfigurationError."""
        request.check(self._network.at, self._words)
        request.code_table()

    def check_name(self, name: str) -> None:
        """Check that events tell a new job from all other jobs and parts. Raises AdmissionError."""
        with self.lock:
            jobs = [*self.jobs]
        check_name(name, {CONTROLLER, *self._network.switches, *self.servers}, jobs)

    def _check_tenant(self, tenant: str, request: JobRequest) -> None:
        """Check the jobs of a tenant with a new or changed one. Raises AdmissionError if they exceed its quota."""
        jobs = {job.request.name: job.request for job in self.jobs.values() if job.limited and job.owner == tenant}
        jobs[request.name] = request
        check_tenant(self.quota, tenant, jobs.values())

    def _free_group(self) -> int:
        used = {job.group for job in self.jobs.values()}
        return next(group for group in range(1, len(used) + 2) if group not in used)

    def _with_port(self, request: JobRequest) -> JobRequest:
        one_port = self._network.one_port and bool(self.switches)
        return with_port(request, self._requests(), self._network, one_port=one_port)

    def _requests(self) -> list[JobRequest]:
        return [job.request for job in self.jobs.values()]

    def _incarnation(self, request: JobRequest, number: int) -> Incarnation:
        """Return a new incarnation with a tag that every switch can distinguish from all others.

        Some switches identify an owner by one word. Raises AdmissionError.
        """
        taken = {owner_word(job.number, job.incarnation.tag) for job in self.jobs.values()} | {0}
        for _ in range(_TAG_DRAWS):
            drawn = Incarnation.of(request, self._network.servers, self._fleet.looks_up)
            if owner_word(number, drawn.tag) not in taken:
                return drawn
        raise AdmissionError(
            f"Job {request.name!r}: none of {_TAG_DRAWS} random tags tells it from the other jobs.", "Try again."
        )

    # Plans.

    def _planned(self, jobs: Mapping[str, Job], held: Ranges | None = None, *, strict: Job | None = None) -> Plan:
        """Return the plan of ``jobs``, see ``SwitchPlans.plan``; by default it starts from the present ranges."""
        ranges = self._plan.ranges if held is None else held
        return self._plans.plan(jobs, ranges, self.quota, strict=strict)

    def _publish(self, jobs: Mapping[str, Job], planned: Plan) -> None:
        self.jobs, self._plan = jobs, planned

    def _carry_out(self) -> None:
        """Apply the present plan, and store the changes that switches force."""
        applied = self._plans.apply(self.jobs, self._plan, self.quota)
        if applied is not self._plan:
            with self.lock:
                self._publish(self.jobs, applied)
                self._store.save_ranges(applied.ranges)
        self._note_moves()

    def _note_moves(self) -> None:
        """Store events about the sums that have moved to the server, or are back."""
        if self._is_started:
            with self.lock:
                self._moved.update(self.jobs, self._plan, self._fleet.down)

    def _replan(self) -> None:
        """Plan again after a change of switches or jobs."""
        planned = self._planned(self.jobs)
        with self.lock:
            self._store.save_ranges(planned.ranges)
            self._publish(self.jobs, planned)
        self._carry_out()

    def _server_job(self, job: Job, planned: Plan) -> ServerJob:
        # An outage does not change whether a switch ever sends sums.
        sums = bool(self._fleet.names) and bool(planned.placements[job.number].places or job.request.threshold)
        return ServerJob.from_tickets(list(self.tickets(job, planned)), on_switches=sums)

    # Parts.

    def check_switch(self, name: str) -> None:
        """Check a switch and log its news; after its return, take control of it and repair it."""
        self._fleet.log_news(name)
        if name not in self._fleet.down:
            problem = self._fleet.probe(name)
            if problem is None:
                return
            with self.changing.held_for(name):
                self._fleet.lost(name, problem)
                self._note_moves()
        try:
            self._connect(name, 0.0)
        except ControlError as error:  # controlled by another controller, or it refuses the program: retry later
            with self.changing.held_for(name):
                self._fleet.unusable(name, error)
            return
        with self.changing.held_for(name):
            if name not in self._fleet.down:
                self._plans.forget(name)
                self._replan()  # jobs that were left out may fit now

    def _connect(self, name: str, timeout_s: float) -> None:
        done = self._fleet.connect(name, timeout_s)
        if done is not None:
            with self.changing.held_for(name):
                self._fleet.settle(name, self._plan.tables[name], done)

    def check_server(self, name: str = SERVER) -> None:
        """Check a server; after a restart, admit its jobs again."""
        server = self._links[name]
        try:
            status = server.look()
        except ServerError as error:
            with self.changing.held_for(name):
                server.lost(error)
            return
        with self.changing.held_for(name):
            if server.forgot_decisions(status):
                # No chunk may be decided twice under the same tag.
                for job in [job for job in self.jobs.values() if job.request.threshold]:
                    self.restart(job, job.request, f"the {name} lost what it had decided")
            server.teach(status, {job.number: self._server_job(job, self._plan) for job in self.jobs.values()})

    def audit_switch(self, name: str) -> None:
        """Read back the state of a switch, and repair it if it is not the desired one.

        The stream of a session shows nothing of writes with its own election id, or from outside of P4Runtime.
        """
        with self.lock:
            wanted = None if name in self._fleet.down else self._plan.tables[name]
        if wanted is not None and not self._fleet.agrees(name, wanted):
            self.repair(name)

    def repair(self, *names: str) -> None:
        """Read back the state of switches, by default of all, and repair differences from the desired state."""
        for name in names or self._fleet.names:
            with self.changing.held_for(name):
                if name not in self._fleet.down:
                    self._fleet.settle(name, self._plan.tables[name])
                    self._note_moves()

    async def switch_unchanged(self, name: str) -> bool:
        """Return False if ``check_switch`` has to run. In the event loop."""
        return await self._fleet.unchanged(name)

    def switches_in_use(self) -> set[str]:
        """Return the switches that sum for a job with a live worker; without a lock, so that it never waits."""
        jobs = self.workers.jobs_alive()
        return {name for name, ranges in self._plan.ranges.items() if not jobs.isdisjoint(ranges)}

    def watch_switch(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_switch`` has to run."""
        self._fleet.watch(name, changed)

    def watch_server(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_server`` has to run."""
        self._links[name].watch(changed)

    # Views.

    def admitted(self, job: Job) -> AdmittedJob:
        """Return a snapshot of a job."""
        with self.lock:
            moved = self._moved.of(job.number)
            return AdmittedJob.of(job, self._plan, self.tickets(job), moved)

    def tickets(self, job: Job, plan: Plan | None = None) -> tuple[JobTicket, ...]:
        """Return the tickets of the workers of a job; by default those of the present plan."""
        placement = (self._plan if plan is None else plan).placements[job.number]
        switches = self._network.on_path(job.request.workers).intersection(self.switches)
        return tickets(job, placement, self._network, self._words, joined_packets=not switches)

    def examine(self) -> dict[str, Any]:
        """Return the state of all parts, see ``examination.examine``."""
        with self.lock:
            planned = self._plan
        return examine(self._network, self._fleet, self._links, planned, self._words)

    def counters(self) -> dict[str, Any]:
        """Return the packet counters, see ``packet_counters``; without a lock."""
        return packet_counters(self._fleet, self._links, self._plan.ranges)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admitted jobs and their plan at switches and servers: read back what these have, and write what differs.

Two locks protect the state. Changes take turns under the outer one, which is held while they are carried out. The inner
one protects the values in memory and their copies in the store. It is never held during a call of a switch or server:
keep-alives do not wait for changes.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, TypeAlias

from lanesum.server import ServerJob
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.cut_links import CutLinks
from lanesum_control.controller.examination import examine, packet_counters
from lanesum_control.errors import NotPrimaryError, QuotaError
from lanesum_control.jobs.left_out import Cause, Drain, Reason
from lanesum_control.jobs.records import AdmittedJob, Job, Moved
from lanesum_control.planner.allocation import Ranges
from lanesum_control.planner.network import Network
from lanesum_control.planner.placement import Placement
from lanesum_control.planner.planning import Plan, plan
from lanesum_control.planner.quotas import Quotas, TenantQuota
from lanesum_control.servers.controlled_server import ControlledServer, ServerLinks
from lanesum_control.servers.remote_server import ServerError
from lanesum_control.state.events import EventLog, date
from lanesum_control.state.store import Store
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_control.switches.switch_handle import SwitchHandle, SwitchRefusal
from lanesum_control.threads import FairLock, begin, results
from lanesum_fabric.errors import ControlError
from lanesum_fabric.program.switch_job import Role, SwitchJob
from lanesum_fabric.topology.spines import DRAINED, LOST

_POLL_S = 0.05  # while switches are connected
_CLOSE_S = 2.0
_PATIENCE = 3  # see ``Reconciler.connect``

#: Drains by switch and number of the job; None for all jobs.
Drains: TypeAlias = Mapping[tuple[str, int | None], Drain]


class Restart(Protocol):
    """Start of a new incarnation."""

    def __call__(self, job: Job, why: str, *, is_altered: bool = False) -> object: ...


class Reconciler:
    """Desired state, and what servers and switches have of it.

    The methods that check and repair parts are thread-safe; the others need ``changing``.

    Args:
        switches: controlled switches by name; others on the paths are plain routers.
        accumulator_words: words per packet of the switches' program, or the default without switches.
        restart: starts a new incarnation of a job, for a reason; ``is_altered``: its sums may be wrong.

    Attributes:
        changing: the outer lock.
        lock: the inner lock, which may be taken inside ``changing``, not around it.
        jobs: the admitted jobs by name. Replaced together with ``plan``, under both locks.
        refused: reason why a switch refused a job, by job and switch; that switch is left out of later plans.
        quotas: quotas of the tenants.
        drains: switches that are left out of all jobs or of one, by switch and number of the job, until their return.
    """

    def __init__(
        self,
        network: Network,
        servers: Sequence[ControlledServer],
        switches: Mapping[str, ManagedSwitch],
        store: Store,
        accumulator_words: int,
        events: EventLog,
        quota: TenantQuota,
        restart: Restart,
    ) -> None:
        self._network = network
        self._avoidable = (*network.spines, *network.spine_links)
        self._cut_links = CutLinks(network.spine_links)
        self._store = store
        self._words = accumulator_words
        self._events = events
        self._restart = restart
        self.quotas = Quotas(quota, store.tenants())
        self.links = ServerLinks(servers, events, network.server_names)
        self._switches = {
            name: SwitchHandle(name, switch, network.seen[name].values(), events, network.ports(name))
            for name, switch in switches.items()
        }
        self._seen = network.seen  # the last hosts and paths that were written
        self._moved: dict[int, dict[str, Moved]] = {}  # switches that do not sum, by job and switch
        self._summing: dict[int, set[str]] = {}  # switches that sum, by job, lost ones included
        self._noted: Mapping[int, Placement] = {}  # of the last ``note_moves``
        self._is_started = False
        self._connecting: dict[str, Future[list[str] | None]] = {}  # switches that have not answered since the start
        self.refused: dict[tuple[int, str], Reason] = {}
        self.drains: Drains = {(one.switch, one.job): one for one in store.drains()}
        self.changing = FairLock()
        self.lock = threading.RLock()
        self.jobs: Mapping[str, Job] = {job.request.name: job for job in store.jobs()}
        self.plan = Plan({}, {}, {})

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the controlled switches."""
        return tuple(self._switches)

    @property
    def watches_links(self) -> bool:
        """True if there are links to spines, see ``cut_links``."""
        return bool(self._network.spine_links)

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the servers."""
        return self.links.names

    @property
    def capabilities(self) -> dict[str, Any]:
        """Capabilities of every switch."""
        return {name: handle.switch.capabilities for name, handle in self._switches.items()}

    def connect(self, timeout_s: float, start_s: float) -> None:
        """Connect switches and servers, beside each other. Raises NotPrimaryError, PipelineError.

        A switch that still has the controller before as its primary is connected later; so is one that has not answered
        within ``start_s`` seconds. Once more than half of them are connected, a third of ``start_s`` is enough, or
        three times what the slowest of these took.
        """
        checks = begin({name: functools.partial(self.check_server, name) for name in self.servers})
        self._connecting = begin(
            {name: functools.partial(handle.connect, timeout_s) for name, handle in self._switches.items()}
        )
        began, waits_s = time.monotonic(), start_s
        unfinished = set(self._connecting)
        while unfinished and (time.monotonic() < began + waits_s or self._have_answered(unfinished)):
            wait([self._connecting[name] for name in unfinished], _POLL_S, FIRST_COMPLETED)
            answered = [name for name in self._switches if name in unfinished and self._connecting[name].done()]
            if answered and 2 * len(unfinished.difference(answered)) < len(self._switches):
                waits_s = min(start_s, max(start_s / _PATIENCE, _PATIENCE * (time.monotonic() - began)))
            unfinished.difference_update(answered)
            for name in answered:
                self._settle_first(self._switches[name], self._connecting.pop(name))
        for name in unfinished:
            self._switches[name].is_silent(time.monotonic() - began)
        due = max(0.0, began + start_s - time.monotonic())
        for future in wait(checks.values(), min(threading.TIMEOUT_MAX, due)).done:
            future.result()

    def _have_answered(self, switches: Iterable[str]) -> bool:
        """Return True if a switch that is not connected yet has a session: a push of the program may take long."""
        return any(self._switches[name].switch.has_answered for name in switches)

    def _settle_first(self, handle: SwitchHandle, connected: Future[list[str] | None]) -> None:
        try:
            done = connected.result()
        except NotPrimaryError as error:
            if not self._store.term:
                raise
            handle.unusable(error)
            return
        if done is not None:
            with self.changing.held_for(handle.name):
                handle.settle(self.plan.tables[handle.name], done)

    def start(self) -> None:
        """Plan with the connected switches; log sums that move to the server from now on."""
        self._is_started = True
        self.replan()

    def close(self) -> None:
        """Disconnect; the jobs remain at switches and servers, and in the store."""
        tasks = {name: handle.switch.close for name, handle in self._switches.items()}
        results({**tasks, **{name: self.links[name].close for name in self.servers}}, _CLOSE_S)

    def planned(
        self,
        jobs: Mapping[str, Job],
        held: Ranges | None = None,
        *,
        strict: Job | None = None,
        network: Network | None = None,
    ) -> Plan:
        """Return the plan of ``jobs`` for the present switches, with the ranges of ``held`` as far as possible.

        ``held``: by default the present ranges. ``network``: another one than the controller's.

        Raises AdmissionError if a job cannot be placed, or the quota of ``strict`` cannot be met.
        """
        held = self.plan.ranges if held is None else held
        network = self._network if network is None else network
        known = {name: handle for name, handle in self._switches.items() if name in network.switches}
        capacity = {name: handle.switch.slots for name, handle in known.items()}
        reasons = self._unavailable(jobs, held, network.switches)
        ranks = self._ranks()
        if ranks:
            known_parts = {*network.spines, *network.spine_links}
            ranks = {name: rank for name, rank in ranks.items() if name in known_parts}
        network = network.avoiding(ranks)
        does = self.capabilities
        return plan(network, capacity, jobs.values(), held, reasons, does, self.quotas, strict, self.plan)

    def _ranks(self) -> dict[str, int]:
        """Return the spines and links that paths avoid, see ``Spines.between``.

        Before the start these are what the controller before has avoided.
        """
        ranks = {}
        for name in self._avoidable:
            if not self._is_started:
                ranks[name] = self._store.meta(_avoided(name)) or 0
            elif name in self._switches and self._switches[name].down is not None:
                ranks[name] = LOST
            elif (name, None) in self.drains:
                ranks[name] = DRAINED
        return {name: rank for name, rank in ranks.items() if rank}

    def _unavailable(
        self, jobs: Mapping[str, Job], held: Ranges, switches: Iterable[str]
    ) -> dict[tuple[int, str], Reason]:
        numbers = {job.number for job in jobs.values()}
        reasons = {key: why for key, why in self.refused.items() if key[0] in numbers}
        for switch in switches:
            handle = self._switches.get(switch)
            if handle is not None and handle.down is None and not self.drains:
                continue
            # Sums stay at a lost switch until its return, unless another spine can take its place.
            can_move = self._is_started and switch in self._network.spines
            for number in (job.number for job in jobs.values()):
                if handle is None:
                    reasons[number, switch] = Reason(Cause.NOT_CONTROLLED, "no controller programs it")
                elif handle.down is not None and (can_move or number not in held.get(switch, {})):
                    reasons[number, switch] = Reason(Cause.LOST, f"it cannot be reached: {handle.down}")
                drain = self.drains.get((switch, None)) or self.drains.get((switch, number))
                if drain is not None:
                    reasons[number, switch] = drain.reason
        return reasons

    def forget_drains(self, job: Job) -> None:
        """Forget the drains of a removed job."""
        self.drains = {key: one for key, one in self.drains.items() if one.job != job.number}

    def publish(self, jobs: Mapping[str, Job], planned: Plan) -> None:
        """Replace jobs and plan, under both locks."""
        self.jobs, self.plan = jobs, planned

    def apply(self, jobs: Mapping[str, Job], planned: Plan, *, strict: Job | None = None) -> Plan:
        """Apply a plan of ``jobs`` to the switches. Return the applied one: a job that a switch refuses is planned
        again without that switch.

        Raises QuotaError if a switch refuses ``strict``, whose quota it would have to guarantee.
        """
        while refusals := self._write(planned.tables, planned.network or self._network):
            for refusal in refusals:
                if strict is not None and refusal.job == strict.number and strict.request.guaranteed:
                    raise QuotaError(
                        f"A quota of {strict.request.guaranteed} slots cannot be met at {refusal.switch}: "
                        f"{refusal.why}.",
                        "Remove a job, or ask for no quota (lanesum job admit --best-effort).",
                        job=refusal.job,
                        switch=refusal.switch,
                    )
                self.refused[refusal.job, refusal.switch] = Reason(Cause.REFUSED, refusal.why)
                name = next((name for name, job in jobs.items() if job.number == refusal.job), refusal.job)
                self._events.add(refusal.switch, f"job {name}: {refusal.why}")
            planned = self.planned(jobs, planned.ranges)
        return planned

    def _write(self, tables: Mapping[str, Mapping[int, SwitchJob]], network: Network) -> list[SwitchRefusal]:
        """Write differences to every reachable switch; unreachable ones are repaired after their return.

        A job leaves the upper switch before the racks, and is added at the racks first: an upper switch must never wait
        for sums that no rack sends. Returns the refused jobs; nothing of them remains on the refusing switch.
        """
        upper = {self._network.upper, *self._network.spines}
        upper_last = sorted(self._switches.values(), key=lambda handle: handle.name in upper)
        found = [(handle, handle.changes(tables[handle.name])) for handle in upper_last]
        todo = [(handle, changes) for handle, changes in found if changes is not None]
        for handle, changes in reversed(todo):
            handle.write(changes.leave)
        if network.seen is not self._seen:
            for handle in upper_last:
                handle.route(network.seen[handle.name].values())
            self._seen = network.seen
        for handle, changes in reversed(todo):
            handle.write(changes.cut)
        for handle, changes in todo:
            handle.write(changes.grow)
        refusals = [handle.admit(job) for handle, changes in todo for job in changes.coming]
        return [refusal for refusal in refusals if refusal is not None]

    def carry_out(self) -> None:
        """Apply the present plan, and store the changes that switches force."""
        applied = self.apply(self.jobs, self.plan)
        if applied is not self.plan:
            with self.lock:
                self.publish(self.jobs, applied)
                self._store.save_ranges(applied.ranges)
        self.note_moves()
        self.avoid_lost_spines()

    def avoid_lost_spines(self) -> None:
        """Move paths and sums away from spines that were lost since the last plan, and back to those that returned."""
        if self.plan.network is not None and self.plan.network.ranks != self._ranks():
            self.replan()

    def note_moves(self) -> None:
        """Compare the switches that sum with those of the last call; store events about sums that have moved.

        The event of an admission names the switches without a part, so a new job has no other event.
        """
        if not self._is_started:
            return
        with self.lock:
            before, self._moved = self._moved, {}
            summed, self._summing = self._summing, {}
            noted, self._noted = self._noted, self.plan.placements
            is_whole = all(handle.down is None for handle in self._switches.values())
            for name, job in self.jobs.items():
                number = job.number
                placement = self._noted[number]
                if is_whole and placement is noted.get(number) and before.get(number) == {} and not placement.left_out:
                    self._summing[number], self._moved[number] = summed[number], {}
                    continue
                summing = {assignment.switch for assignment in placement.assignments}
                down = {at: why for at in summing if (why := self._switches[at].down) is not None}
                reasons = {
                    **placement.left_out,
                    **{at: Reason(Cause.LOST, f"it is lost: {why}") for at, why in down.items()},
                }
                left = summed.get(job.number, summing) - summing - reasons.keys()
                upper = [one.switch for one in placement.assignments if Role.UPPER in one.role]
                if left and upper:
                    self._events.add(name, f"sums of {', '.join(sorted(left))} moved to {', '.join(upper)}")
                self._summing[job.number] = summing
                known, now = before.get(job.number), self._events.now()
                self._moved[job.number] = {
                    at: Moved(why, known[at].since if known is not None and at in known else now)
                    for at, why in reasons.items()
                }
                if known is None:
                    continue
                for at in reasons.keys() - known.keys():
                    self._events.add(name, f"sums of {at} moved to the server: {reasons[at]}")
                for at in (known.keys() - reasons.keys()) & summing:
                    self._events.add(name, f"sums of {at} are back from the server")

    def replan(
        self, save: Callable[[], None] | None = None, *, quotas: Quotas | None = None, drains: Drains | None = None
    ) -> None:
        """Plan again after a change of switches, or with other quotas or drains, which ``save`` stores.

        ``save`` is part of the transaction that stores the plan. If that fails, quotas and drains remain.
        """
        before = self.quotas, self.drains
        self.quotas, self.drains = quotas or self.quotas, self.drains if drains is None else drains
        try:
            planned = self.planned(self.jobs)
            with self.lock:
                with self._store.transaction():
                    if save is not None:
                        save()
                    self._store.save_ranges(planned.ranges)
                    ranks = self._ranks()
                    for name in self._avoidable:
                        self._store.set_meta(_avoided(name), ranks.get(name, 0))
                self.publish(self.jobs, planned)
        except BaseException:
            self.quotas, self.drains = before
            raise
        self.carry_out()

    def forget_refusals(self, whose: int | str) -> None:
        """Forget the refusals of a job that was not admitted, or of a switch that is connected again."""
        self.refused = {pair: why for pair, why in self.refused.items() if whose not in pair}

    def server_job(self, job: Job, planned: Plan) -> ServerJob:
        """Return a job as the servers have it."""
        # An outage does not change whether a switch ever sends sums.
        sums = bool(self._switches) and bool(planned.placements[job.number].places or job.request.threshold)
        return ServerJob.from_tickets(list(self.tickets(job, planned)), on_switches=sums)

    def check_switch(self, name: str) -> None:
        """Check a switch and log its news; after its return, take control of it and repair it."""
        handle = self._switches[name]
        if name in self._connecting:
            if not self._connecting[name].done():
                return
            del self._connecting[name]
        handle.log_news()
        if handle.down is None:
            problem = handle.probe()
            if problem is None:
                return
            with self.changing.held_for(name):
                handle.lost(problem)
                self.avoid_lost_spines()
                self.note_moves()
        with self.changing.held_for(name):
            self.avoid_lost_spines()
        try:
            if (done := handle.connect(0.0)) is not None:
                with self.changing.held_for(name):
                    self._settle(handle, done)
        except ControlError as error:  # controlled by another controller, or it refuses the program: retry later
            with self.changing.held_for(name):
                handle.unusable(error)
            return
        with self.changing.held_for(name):
            if handle.down is None:
                self.forget_refusals(name)
                self.replan()  # jobs that were left out may fit now

    def _settle(self, handle: SwitchHandle, done: Sequence[str] = ()) -> None:
        """Repair a connected switch, and end the incarnations whose sums foreign entries can have changed."""
        since, now = handle.verified_s, self._events.now()
        altered = handle.settle(self.plan.tables[handle.name], done)
        handle.verified_s = now
        for job in [job for job in self.jobs.values() if job.number in altered]:
            when = "earlier sums" if since is None else f"sums since {date(since)}"
            why = f"another client changed its entries at switch {handle.name}; {when} may be wrong"
            self._restart(job, why, is_altered=True)

    def check_server(self, name: str = "") -> None:
        """Check a server, by default the first one; after a restart, admit its jobs again."""
        name = name or self.servers[0]
        server = self.links[name]
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
                    self._restart(job, f"the {name} lost what it had decided")
            server.teach(status, {job.number: self.server_job(job, self.plan) for job in self.jobs.values()})

    def audit_switch(self, name: str) -> None:
        """Read back the state of a switch; if it is not the desired one, repair it and end the affected incarnations.

        The stream of a session shows nothing of writes with its own election id, or from outside of P4Runtime.
        """
        handle = self._switches[name]
        with self.lock:
            wanted = None if handle.down is not None else self.plan.tables[name]
        if wanted is not None and not handle.agrees(wanted):
            self.repair(name)

    def repair(self, *names: str) -> None:
        """Read back the state of switches, by default of all, and repair differences from the desired state."""
        for name in names or self.switches:
            with self.changing.held_for(name):
                if self._switches[name].down is None:
                    self._settle(self._switches[name])
                    self.note_moves()

    def cut_links(self) -> dict[str, str]:
        """Return the links to spines that pass no packets, with the reason, but for drained ones."""
        there = {name: handle.switch for name, handle in self._switches.items() if handle.down is None}
        return {name: why for name, why in self._cut_links.look(there).items() if (name, None) not in self.drains}

    async def switch_unchanged(self, name: str) -> bool:
        """Return False if ``check_switch`` has to run. In the event loop."""
        return await self._switches[name].unchanged()

    def watch_switch(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_switch`` has to run."""
        self._switches[name].switch.watch(changed)
        if name in self._connecting:
            self._connecting[name].add_done_callback(lambda _future: changed())

    def watch_server(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_server`` has to run."""
        self.links[name].watch(changed)

    def admitted(self, job: Job) -> AdmittedJob:
        """Return a snapshot of a job."""
        with self.lock:
            placement = self.plan.placements[job.number]
            return AdmittedJob(
                request=job.request,
                number=job.number,
                owner=job.owner,
                tickets=self.tickets(job),
                joined=frozenset(job.incarnation.taken),
                switch_jobs={one.switch: self.plan.tables[one.switch][job.number] for one in placement.assignments},
                left_out=placement.left_out,
                moved=self._moved.get(job.number, {}),
            )

    def makers(self, job: Job, slot: int, *, by_server: bool) -> tuple[str, ...]:
        """Return the devices that made a result of a job: one, or those of which each may have made a part.

        The last assignment is the switch that completes the job's sums. The switches of racks send partial sums, which
        the server adds unless an upper switch does.
        """
        assignments = self.plan.placements[job.number].assignments
        ascending = tuple(one.switch for one in assignments if Role.ASCEND in one.role)
        if by_server:
            return (self.servers[slot % len(job.incarnation.servers)], *ascending)
        completing = [one.switch for one in assignments[-1:] if Role.ASCEND not in one.role]
        return (*completing, *ascending)

    def tickets(self, job: Job, plan: Plan | None = None) -> tuple[JobTicket, ...]:
        """Return the tickets of the workers of a job; by default for the present plan."""
        plan = self.plan if plan is None else plan
        network = self._network if plan.network is None else plan.network
        places, hosts = plan.placements[job.number].places, job.request.workers
        switches = network.on_path(hosts).intersection(self.switches)
        addresses = [network.address(host) for host in hosts]
        return job.tickets(places, addresses, joined_packets=not switches)

    def examine(self) -> dict[str, Any]:
        """Return the state of all parts, see ``examination.examine``."""
        with self.lock:
            planned = self.plan
        found = examine(self._network, self._switches, self.links, planned, self._words)
        return {**found, "drained": self._drained()}

    def counters(self) -> dict[str, Any]:
        """Return the packet counters, see ``packet_counters``, and why each of ``links`` to spines is drained, or None.

        Without a lock.
        """
        drained = self._drained()
        links = {name: drained.get(name) for name in self._network.spine_links}
        return {**packet_counters(self._switches, self.links, self.plan, drained), "links": links}

    def _drained(self) -> dict[str, str]:
        """Return why switches and links are drained of all jobs."""
        return {name: one.why for (name, job), one in self.drains.items() if job is None}


def _avoided(name: str) -> str:
    """Return the name of the number that says how much paths avoid a spine or link, see ``Store.meta``."""
    return f"rank of spine {name}"

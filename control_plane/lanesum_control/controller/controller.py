# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Controller: admits jobs, hands out tickets, and keeps switches and servers in the state that the jobs require.

Every change of jobs has the same steps: plan, write the desired state to the store, publish it, and let ``Reconciler``
apply it to servers and switches. Only an admission is stored last, so that it leaves nothing behind if the controller
ends before. ``Reconciler`` describes the locks.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import replace
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import UNAUTHENTICATED, Caller, CallerRole
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.draining import Tenants
from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.controller.startup import start
from lanesum_control.controller.topology_change import differences
from lanesum_control.controller.workers import Workers
from lanesum_control.errors import AdmissionError, StoreError
from lanesum_control.jobs.joining import Verdict, worker_number
from lanesum_control.jobs.names import check_name
from lanesum_control.jobs.records import AdmittedJob, Job, JobRequest, Taken, checksum
from lanesum_control.planner.network import Network
from lanesum_control.planner.planning import Plan, check_tenant, free_group
from lanesum_control.planner.quotas import DEFAULT_QUOTA, TenantQuota, TenantRates
from lanesum_control.planner.requests import PacketSizes, Requests
from lanesum_control.servers.controlled_server import ControlledServer
from lanesum_control.state.events import CONTROLLER, EventLog
from lanesum_control.state.store import Store, members_of
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_control.threads import begin
from lanesum_fabric.topology import Topology

__all__ = ["AdmittedJob", "Controller", "JobRequest"]

_THIS_PROCESS = Taken("", "this process")
# A worker with a stream to a controller that is frozen notices it after up to 20 s, and then finds the one that leads.
_TAKE_OVER_GRACE_S = 30.0
_CLOSE_S = 2.0  # in which changes may complete


class Controller(Tenants):
    """Controller of switches and servers. Thread-safe.

    Args:
        network: hosts, switches and links.
        servers: aggregation servers, as many as the network names. The order does not matter; events and counters
            number them by it.
        switches: controlled switches by name; other switches of the network only route.
        store: persistent state with the events; in memory if None.
        accumulator_words: words per packet of the switches' program, or without switches of all jobs; None for the
            default of ``PacketSizes``.
        events: log of all events of switches, servers and jobs, in ``store``.
        clock: monotonic seconds, for leases.
        connect_timeout_s: time to wait for every switch; an unreachable switch is used once it returns.
        start_s: time after which switches that do not answer at all are used once they do.

    Attributes:
        reconciler: the admitted jobs at switches and servers: checks and repairs of these parts.
        workers: the workers of all jobs: their states, reports and streams.

    Jobs in the store with other servers begin a new incarnation. Raises NotPrimaryError and PipelineError for a switch
    that cannot be controlled, ConfigurationError for a wrong number of servers, TableSizeError before any switch is
    written, StoreError.
    """

    def __init__(
        self,
        network: Network,
        servers: ControlledServer | Sequence[ControlledServer],
        switches: Mapping[str, ManagedSwitch] | None = None,
        *,
        store: Store | None = None,
        accumulator_words: int | None = None,
        events: EventLog | None = None,
        clock: Callable[[], float] = time.monotonic,
        connect_timeout_s: float = 0.0,
        start_s: float = math.inf,
        quota: TenantQuota = DEFAULT_QUOTA,
    ) -> None:
        self.network = network
        store = Store() if store is None else store
        self.events = EventLog(store) if events is None else events
        servers = servers if isinstance(servers, Sequence) else [servers]
        if len(servers) != len(network.servers):
            raise ConfigurationError(
                f"The controller has {len(servers)} aggregation servers, but packets of the network are addressed to "
                f"{len(network.servers)}: {', '.join(ip for ip, _ in network.servers)}.",
                "Name the control address of each of them (lanesum controller --server).",
            )
        self._rates = TenantRates(clock)
        self._store = store
        switches = switches or {}
        network.check_tables({name: switch.capabilities.sizes for name, switch in switches.items()})
        sizes = PacketSizes(network, switches.keys(), accumulator_words)
        self.reconciler = Reconciler(
            network,
            servers,
            switches,
            store,
            sizes.default,
            self.events,
            quota,
            lambda job, why, is_altered=False: self._restart(job, job.request, why, is_altered=is_altered),
        )
        grace_s = _TAKE_OVER_GRACE_S if store.term else 0.0
        self.workers = Workers(
            self.reconciler.lock,
            lambda: self.reconciler.jobs,
            store,
            self.events,
            clock,
            self.reconciler.makers,
            grace_s,
        )
        self._requests = Requests(sizes, lambda: self.reconciler.jobs, lambda: self.reconciler.capabilities)
        start(self.reconciler, network, store, sizes, self._restart, connect_timeout_s, start_s)

    def admit(
        self,
        request: JobRequest,
        *,
        addresses: Sequence[str] | None = None,
        path_mtu: int | None = None,
        take_over: bool = False,
        caller: Caller = UNAUTHENTICATED,
    ) -> AdmittedJob:
        """Admit a job: assign identifiers, and install it on the servers and on the switches with capacity.

        A job of the same name is removed first if all of its workers are gone, or with ``take_over``: its workers are
        told so. ``caller`` owns the job. ``addresses``: IPv4 addresses of the workers in place of ``request.workers``,
        see ``Network.hosts_of``. ``path_mtu``: smallest path MTU between workers and servers; None if it is unknown.

        Raises:
            AdmissionError: unknown host, name in use, a quota that cannot be met (QuotaError).
            ConfigurationError: unknown codec, or more workers than its lanes hold.
            UnservedError: an aggregation server is unreachable or refuses the job; then nothing of the job remains.
        """
        self._count_attempt(caller)
        with self.reconciler.changing.held_for(caller.name):
            request = self._requests.sized(request, addresses, path_mtu)
            with self.reconciler.lock:
                names = [*self.reconciler.jobs]
            check_name(request.name, {CONTROLLER, *self.network.switches, *self.reconciler.servers}, names)
            if request.name in self.reconciler.jobs:
                self._make_room(self.reconciler.jobs[request.name], take_over, caller)
            return self.reconciler.admitted(self._install(request, caller))

    def _install(self, request: JobRequest, caller: Caller) -> Job:
        """Install a new job with a checked request. Raises the exceptions of ``admit``."""
        reconciler = self.reconciler
        limited = caller.role is not CallerRole.OPERATOR
        request = self._requests.with_slots(request)
        if limited:
            check_tenant(reconciler.quotas.of(caller.name), caller.name, request, reconciler.jobs.values())
        request = self._requests.with_port(request.with_words(request.accumulator_words))
        with reconciler.lock:
            number, order = self._store.new_numbers()
        group, incarnation = free_group(reconciler.jobs.values()), self._requests.incarnation(request, number)
        job = Job(number, group, order, request, incarnation, caller.name, limited)
        jobs = {**reconciler.jobs, request.name: job}
        planned = reconciler.planned(jobs, strict=job)
        reconciler.links.admit(reconciler.server_job(job, planned))
        try:
            planned = reconciler.apply(jobs, planned, strict=job)
            what = f"admitted as job {number}{planned.left_out_words(job)}"
            with reconciler.lock:
                self._save(job, planned, what, caller)
                self.workers.begin(number)
                reconciler.publish(jobs, planned)
            self.workers.leases_changed()
            reconciler.note_moves()
        except BaseException:
            self._withdraw(job)
            raise
        return job

    def _save(self, job: Job, planned: Plan, what: str, caller: Caller) -> None:
        """Store a new or changed job, with its event."""
        with self._store.transaction():
            self._store.save(job, planned.ranges)
            self._store.set_meta(members_of(job.number), checksum(self.reconciler.tickets(job, planned)))
            self.events.add(job.request.name, what, caller)

    def _withdraw(self, job: Job) -> None:
        """Remove what servers and switches have of a job whose admission failed."""
        self.reconciler.links.forget(job.number)
        self.reconciler.forget_refusals(job.number)
        with contextlib.suppress(StoreError):  # the caller learns of the failed admission
            self.reconciler.carry_out()

    def _count_attempt(self, caller: Caller) -> None:
        if caller.role is not CallerRole.OPERATOR:
            with self.reconciler.lock:
                self._rates.count_admission(caller.name, self.reconciler.quotas.of(caller.name))

    def remove(
        self, name: str, why: str = "removed", caller: Caller = UNAUTHENTICATED, *, unused: bool = False
    ) -> None:
        """Remove the job everywhere and free its slots.

        ``unused``: only if none of its workers lives. Raises UnknownJobError, AdmissionError.
        """
        reconciler = self.reconciler
        with reconciler.changing.held_for(self._owner(name)):
            job = self._job(name)
            if unused and (lives := self._lives(job)):
                raise AdmissionError(
                    f"Job {name!r} is in use.{lives}", "Its sessions would end: add --force (lanesum job remove)."
                )
            reconciler.refused.clear()  # other jobs may fit now
            jobs = {one: other for one, other in reconciler.jobs.items() if one != name}
            planned = reconciler.planned(jobs)
            with reconciler.lock:
                with self._store.transaction():
                    self._store.remove(job.number, planned.ranges)
                    self.events.add(name, why, caller)
                reconciler.publish(jobs, planned)
                reconciler.forget_drains(job)
                self.workers.end(job, f"job {name!r} was {why}")
                self.workers.forget(job)
            reconciler.carry_out()
            reconciler.links.forget(job.number)

    def resize(
        self,
        name: str,
        slots: int | None = None,
        caller: Caller = UNAUTHENTICATED,
        *,
        quota: int | None = None,
        priority: int | None = None,
    ) -> AdmittedJob:
        """Change the demand, the quota or the priority of a running job; None leaves one as it is.

        With fewer slots than its quota the job has a quota of all of them. Its workers keep their number of slots; the
        server sums the contributions beyond the slots of a switch.

        Raises UnknownJobError, AdmissionError.
        """
        self._count_attempt(caller)
        with self.reconciler.changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, slots=job.request.slots if slots is None else slots)
            if quota is not None:
                request = replace(request, quota=quota, best_effort=False)
            elif request.quota is not None and request.quota > request.in_flight:
                request = replace(request, quota=request.in_flight)
            if priority is not None:
                request = replace(request, priority=priority)
            self._requests.check(request)
            now = f"resized to {request.in_flight} slots"
            for kind, value, before in (
                ("quota", request.quota, job.request.quota),
                ("priority", request.priority, job.request.priority),
            ):
                now += f", {kind} {value} in place of {before}" if value != before else ""
            changed = replace(job, request=request)
            self._change(changed, now, caller, strict=True)
            return self.reconciler.admitted(changed)

    def join(
        self,
        name: str,
        worker: int | str,
        by: Taken = _THIS_PROCESS,
        *,
        take_over: bool = False,
        caller: Caller = UNAUTHENTICATED,
    ) -> JobTicket:
        """Return the ticket of one worker, for one session.

        If the worker's ticket was used in an earlier session, the job starts a new incarnation with a new tag, and the
        other workers of the old one are no members any more.

        Args:
            worker: its number, or its host.
            take_over: take the place of a process that is this worker and lives.

        Raises:
            UnknownJobError: no such job.
            AdmissionError: no such worker, or another process is this worker, and it lives or the job has not started;
                or the job has begun too many incarnations.
            ServerError: a server is unreachable or refuses the job.
        """
        with self.reconciler.lock:
            job = self._job(name)
            claim, verdict, alive = self.workers.judge(job, worker, by, take_over)
            if verdict is not Verdict.RESTART:
                self.workers.hand_out(job, claim, caller)
                return self.reconciler.tickets(job)[claim.worker]
        with self.reconciler.changing.held_for(job.owner):
            job = self._job(name)
            claim, verdict, alive = self.workers.judge(job, worker, by, take_over)
            if verdict is Verdict.RESTART:
                with self.reconciler.lock:
                    self._rates.count_incarnation(name, job.tenant, self.reconciler.quotas.of(job.tenant))
                did = "took over" if take_over and alive else "began again"
                self._restart(job, job.request, f"worker {claim.worker} of {by.origin} {did}", caller)
            # Another process may have taken the new ticket meanwhile.
            return self.join(name, worker, by, caller=caller)

    def leave(self, name: str, worker: int | str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue without a worker, in a new incarnation; numbers close up. Raises UnknownJobError, AdmissionError."""
        with self.reconciler.changing.held_for(self._owner(name)):
            job = self._job(name)
            gone = worker_number(job, worker)
            hosts = job.request.workers
            if len(hosts) == 1:
                raise AdmissionError(f"{hosts[0]} is the last worker of job {name!r}.", "Remove the job.")
            request = replace(job.request, workers=hosts[:gone] + hosts[gone + 1 :])
            return self.reconciler.admitted(self._restart(job, request, f"{hosts[gone]} left", caller))

    def extend(self, name: str, host: str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue with one more worker at ``host``, in a new incarnation. Raises UnknownJobError, AdmissionError."""
        self._count_attempt(caller)
        with self.reconciler.changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, workers=(*job.request.workers, host))
            again = self._restart(job, request, f"{host} joined", caller, strict=True)
            return self.reconciler.admitted(again)

    def differences(self, topology: Topology) -> dict[str, Any]:
        """Return what a start with another topology would change, see ``topology_change.differences``.

        Raises TableSizeError.
        """
        then = Network.of(topology, loopback=self.network.one_port)
        then.check_tables({name: one.sizes for name, one in self.reconciler.capabilities.items()})
        sizes = replace(self._requests.sizes, network=then)
        with self.reconciler.changing.held_for():
            return differences(self.reconciler, self.network, then, sizes)

    def expire(self) -> float | None:
        """Report the workers that are lost, renew the leases of those that live, and remove jobs without any.

        Switches whose results failed their check again and again are drained for the job.

        Returns the seconds until the next lease ends; None if there is no lease.
        """
        for number, switch, why in self.workers.failing_devices.take_due():
            self.leave_out(number, switch, why)
        for job in self.workers.expired():
            with self.reconciler.changing.held_for(job.owner):
                if self.workers.is_expired(job):
                    lease_s = job.request.lease_s
                    why = f"removed: no sign of life for {lease_s:g} s, its lease (lanesum job admit --lease)"
                    self.remove(job.request.name, why)
        return self.workers.seconds_left()

    def watch_leases(self, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``expire`` has to run sooner than it returned."""
        self.workers.leases_changed = changed

    def close(self) -> None:
        """Disconnect from the switches; the jobs remain on them, and in the store. Idempotent.

        A change that waits for a switch without an answer ends by this.
        """
        (closing,) = begin({"close": self._close}).values()
        wait([closing], _CLOSE_S)
        if not closing.done():
            self.reconciler.close()

    def _close(self) -> None:
        with self.reconciler.changing.held_for():
            self.reconciler.close()

    def _make_room(self, job: Job, take_over: bool, caller: Caller) -> None:
        """Remove a job whose name another one takes. Raises AdmissionError if it is in use."""
        name = job.request.name
        if caller.role is not CallerRole.OPERATOR and caller.name != job.owner:
            raise AdmissionError(f"Job name {name!r} is in use by another tenant.", "Choose another name.")
        if take_over:
            self.remove(name, "removed: another run took over", caller)
        elif self.workers.are_gone(job):
            self.remove(name, "removed: all of its workers are gone, and it is admitted again", caller)
        else:
            raise AdmissionError(
                f"Job {name!r} is admitted already.{self._lives(job)}",
                "Remove it, choose another name, or end its run (lanesum job admit --take-over).",
            )

    def _lives(self, job: Job) -> str:
        """Return a sentence with the workers of a job that live; empty if none does."""
        taken = job.incarnation.taken
        alive = [f"{job.request.workers[one]} ({taken[one].origin})" for one in self.workers.alive(job)]
        return f" {len(alive)} of its workers live: {', '.join(alive[:4])}." if alive else ""

    def _change(self, job: Job, what: str, caller: Caller, *, strict: bool) -> None:
        """Replace an existing job; ``what`` is the event.

        ``strict``: refuse a quota that cannot be met, instead of leaving out the switch. Raises AdmissionError.
        """
        reconciler = self.reconciler
        old = reconciler.jobs[job.request.name]
        jobs = {**reconciler.jobs, job.request.name: job}
        if strict and job.limited:
            check_tenant(reconciler.quotas.of(job.owner), job.owner, job.request, reconciler.jobs.values())
        planned = reconciler.planned(jobs, strict=job if strict else None)
        with reconciler.lock:
            self._save(job, planned, what, caller)
            reconciler.publish(jobs, planned)
            self.workers.begin_again(job)
        if job.incarnation.tag != old.incarnation.tag:
            reconciler.links.tell(reconciler.server_job(job, planned))
        reconciler.carry_out()

    def _restart(
        self,
        job: Job,
        request: JobRequest,
        why: str,
        caller: Caller = UNAUTHENTICATED,
        *,
        strict: bool = False,
        is_altered: bool = False,
    ) -> Job:
        """Start a new incarnation with ``request`` instead of the old one; ``strict`` as for ``_change``.

        ``is_altered``: sums of the old one may be wrong.

        Raises AdmissionError, ConfigurationError.
        """
        request = self._requests.renewed(request)
        again = replace(job, request=request, incarnation=self._requests.incarnation(request, job.number))
        self._change(again, f"new incarnation: {why}", caller, strict=strict)
        with self.reconciler.lock:
            self.workers.end(job, f"job {request.name!r} has a new incarnation: {why}", is_altered=is_altered)
        return again

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Controller: admits jobs, hands out tickets, and keeps switches and servers in the state that the jobs require.

Every operation has the same steps: change the desired state, write it to the store, and apply it to servers and
switches. Only an admission is stored last, so that it leaves nothing behind if the controller ends before.

Two locks protect the state. Changes take turns under the outer one, which is held while they are carried out. The inner
one protects the values in memory and their copies in the store. It is never held during a call of a switch or server:
keep-alives do not wait for changes.
"""

from __future__ import annotations

import collections
import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, UDP_PORT
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import UNAUTHENTICATED, Caller, Role
from lanesum.rpc.limits import MAX_STREAMS
from lanesum.server import ServerJob
from lanesum.transport.ticket import JobTicket
from lanesum_control.capabilities import owner_word
from lanesum_control.controlled_server import SERVER, ControlledServer, ServerLinks, packets_as_of_a_switch
from lanesum_control.errors import AdmissionError, ControlError, QuotaError, StoreError, UnknownJobError
from lanesum_control.events import EventLog
from lanesum_control.fair_lock import FairLock
from lanesum_control.fleet import Fleet
from lanesum_control.jobs import AdmittedJob, Incarnation, Job, JobRequest, Taken, tickets
from lanesum_control.joining import Claim, Verdict, judge, readiness, worker_number
from lanesum_control.liveness import Gone, Liveness, Watch
from lanesum_control.managed import ManagedSwitch
from lanesum_control.network import Network
from lanesum_control.planning import Plan, plan
from lanesum_control.quotas import DEFAULT_QUOTA, AdmissionRate, TenantQuota, check_tenant
from lanesum_control.remote_server import ServerError
from lanesum_control.store import Store

__all__ = ["AdmittedJob", "Controller", "JobRequest", "worker_names"]

# Limit for hosts with several jobs; far above the capacity of a server or switch.
_MORE_PORTS = range(UDP_PORT + 1, 0x10000)
_TAG_DRAWS = 8
_MAX_ENDED = 1000  # incarnations whose ends are explained to their workers
_THIS_PROCESS = Taken("", "this process")


class Controller:
    """Controller of switches and servers. Thread-safe.

    Args:
        network: hosts, switches and links.
        servers: aggregation servers, as many as the network names. The order does not matter; events and counters
            number them by it.
        switches: controlled switches by name; other switches of the network only route.
        store: persistent state with the events; in memory if None.
        accumulator_words: words per packet of the switches' program.
        events: log of all events of switches, servers and jobs, in ``store``.
        clock: monotonic seconds, for leases.
        connect_timeout_s: time to wait for every switch; an unreachable switch is used once it returns.
        quota: quota of every tenant.

    Jobs in the store with other servers begin a new incarnation. Raises NotPrimaryError and PipelineError for a switch
    that cannot be controlled, ConfigurationError for a wrong number of servers, StoreError.
    """

    def __init__(
        self,
        network: Network,
        servers: ControlledServer | Sequence[ControlledServer],
        switches: Mapping[str, ManagedSwitch] | None = None,
        *,
        store: Store | None = None,
        accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS,
        events: EventLog | None = None,
        clock: Callable[[], float] = time.monotonic,
        connect_timeout_s: float = 0.0,
        quota: TenantQuota = DEFAULT_QUOTA,
    ) -> None:
        self.network = network
        self._store = Store() if store is None else store
        self.events = EventLog(self._store) if events is None else events
        servers = servers if isinstance(servers, Sequence) else [servers]
        if len(servers) != len(network.servers):
            raise ConfigurationError(
                f"The controller has {len(servers)} aggregation servers, but packets of the network are addressed to "
                f"{len(network.servers)}: {', '.join(ip for ip, _ in network.servers)}.",
                "Name the control address of each of them (lanesum controller --server).",
            )
        self._servers = ServerLinks(servers, self.events)
        self._accumulator_words = accumulator_words
        self._clock = clock
        self._quota = quota
        self._rate = AdmissionRate(quota.admissions_per_minute, clock)
        self._changing = FairLock()
        self._lock = threading.RLock()  # taken inside ``_changing``, never around it
        # Job by name; both are replaced together, under both locks.
        self._jobs: Mapping[str, Job] = {job.request.name: job for job in self._store.jobs()}
        self._fleet = Fleet(network, switches or {}, self.events)
        self._refused: dict[tuple[int, str], str] = {}
        self._job_seen = dict.fromkeys((job.number for job in self._jobs.values()), clock())
        self._worker_seen: dict[tuple[int, int], float] = {}
        self._liveness = Liveness(clock)
        self._leases_changed: Callable[[], None] = lambda: None
        self._ended: dict[tuple[int, int], str] = {}  # why an incarnation, by job and tag, has ended
        self._plan = self._planned(self._jobs, self._store.ranges())
        for name in self.switches:
            self._connect(name, connect_timeout_s)
        for name in self.servers:
            self.check_server(name)
        for job in [job for job in self._jobs.values() if job.incarnation.servers != network.servers]:
            self._restart(job, job.request, "its servers are others than before")
        self._replan()

    # Admission.

    def admit(self, request: JobRequest, *, take_over: bool = False, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Admit a job: assign identifiers, and install it on the servers and on the switches with capacity.

        A job of the same name is removed first if all of its workers are gone, or with ``take_over``: its workers are
        told so. ``caller`` owns the job.

        Raises:
            AdmissionError: unknown host, name in use, a quota that cannot be met (QuotaError).
            ConfigurationError: unknown codec, or more workers than its lanes hold.
            UnservedError: an aggregation server is unreachable or refuses the job; then nothing of the job remains.
        """
        self._count_attempt(caller)
        with self._changing.held_for(caller.name):
            return self._admit(request, take_over, caller)

    def admit_at(
        self,
        addresses: Sequence[str],
        request: JobRequest,
        *,
        take_over: bool = False,
        caller: Caller = UNAUTHENTICATED,
    ) -> AdmittedJob:
        """Admit a job whose workers have these addresses, see ``Network.hosts_of``; the rest as ``admit``."""
        self._count_attempt(caller)
        with self._changing.held_for(caller.name):
            others = [job.request for job in self._jobs.values() if job.request.name != request.name]
            busy = {host for other in others for host in other.workers}
            request = replace(request, workers=self.network.hosts_of(addresses, busy))
            return self._admit(request, take_over, caller)

    def _admit(self, request: JobRequest, take_over: bool, caller: Caller) -> AdmittedJob:
        request.check(self.network, self._accumulator_words)
        request.code_table()
        if request.name in self._jobs:
            self._make_room(self._jobs[request.name], take_over, caller)
        limited = caller.role is not Role.OPERATOR
        if limited:
            self._check_tenant(caller.name, request)
        request = self._with_port(request.with_ops(self._accumulator_words))
        with self._lock:
            number, order = self._store.new_numbers()
        job = Job(number, self._free_group(), order, request, self._incarnation(request, number), caller.name, limited)
        jobs = {**self._jobs, request.name: job}
        planned = self._planned(jobs, strict=job)
        self._servers.admit(self._server_job(job, planned))
        try:
            planned = self._apply(jobs, planned, strict=job)
            what = f"admitted as job {number}{self._left_out_words(job, planned)}"
            with self._lock:
                with self._store.transaction():
                    self._store.save(job, planned.ranges)
                    self.events.add(request.name, what, caller)
                self._job_seen[number] = self._clock()
                self._publish(jobs, planned)
            self._leases_changed()
        except BaseException:
            self._withdraw(job)
            raise
        return self._admitted(job)

    def _count_attempt(self, caller: Caller) -> None:
        if caller.role is not Role.OPERATOR:
            with self._lock:
                self._rate.take(caller.name)

    def _check_tenant(self, tenant: str, request: JobRequest) -> None:
        """Check the jobs of a tenant with a new or changed one. Raises AdmissionError if they exceed its quota."""
        jobs = {job.request.name: job.request for job in self._jobs.values() if job.limited and job.owner == tenant}
        jobs[request.name] = request
        check_tenant(self._quota, tenant, jobs.values(), MAX_STREAMS)

    def remove(self, name: str, why: str = "removed", caller: Caller = UNAUTHENTICATED) -> None:
        """Remove the job everywhere and free its slots. Raises UnknownJobError."""
        with self._changing.held_for(self._owner(name)):
            job = self._job(name)
            self._refused.clear()  # other jobs may fit now
            jobs = {one: other for one, other in self._jobs.items() if one != name}
            planned = self._planned(jobs)
            with self._lock:
                with self._store.transaction():
                    self._store.remove(job.number, planned.ranges)
                    self.events.add(name, why, caller)
                self._publish(jobs, planned)
                self._end(job, f"job {name!r} was {why}")
                self._forget(job)
            self._carry_out()
            self._servers.forget(job.number)

    def resize(self, name: str, slots: int, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Change the demand of a running job. Its workers keep their number of slots; the server sums the contributions
        beyond the slots of a switch.

        Raises UnknownJobError, AdmissionError.
        """
        self._count_attempt(caller)
        with self._changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, slots=slots)
            request.check(self.network, self._accumulator_words)
            changed = replace(job, request=request)
            self._commit(changed, f"resized to {slots} slots", caller, strict=True)
            return self._admitted(changed)

    # Workers.

    def join(
        self,
        name: str,
        worker: int | str,
        by: Taken = _THIS_PROCESS,
        *,
        after: int | None = None,
        take_over: bool = False,
        caller: Caller = UNAUTHENTICATED,
    ) -> JobTicket:
        """Return the ticket of one worker, for one session.

        If the worker's ticket was used in an earlier session, the job starts a new incarnation with a new tag, and the
        other workers of the old one are no members any more.

        Args:
            name: name of the job.
            worker: its number, or its host.
            by: the claimant.
            after: tag of the incarnation that this process was in before.
            take_over: take the place of a process that is this worker and lives.
            caller: sender of the call.

        Raises:
            UnknownJobError: no such job.
            AdmissionError: no such worker, or another process is this worker, and it lives or the job has not started.
            ServerError: a server is unreachable or refuses the job.
        """
        with self._lock:
            job, claim, verdict, alive = self._judged(name, worker, by, after, take_over)
            if verdict is not Verdict.RESTART:
                return self._hand_out(job, claim, verdict, caller)
        with self._changing.held_for(job.owner):
            with self._lock:
                job, claim, verdict, alive = self._judged(name, worker, by, after, take_over)
            if verdict is Verdict.RESTART:
                did = "took over" if take_over and alive else "began again"
                self._restart(job, job.request, f"worker {claim.worker} of {by.origin} {did}", caller)
            # Another process may have taken the new ticket meanwhile.
            return self.join(name, worker, by, after=after, caller=caller)

    def _judged(
        self, name: str, worker: int | str, by: Taken, after: int | None, take_over: bool
    ) -> tuple[Job, Claim, Verdict, bool]:
        """Return the job, the claim, its verdict, and True if the present claimant lives."""
        job = self._job(name)
        claim = Claim(worker_number(job, worker), by, after, take_over)
        silent_s = self._clock() - self._worker_seen.get((job.number, claim.worker), self._job_seen[job.number])
        key = (job.number, job.incarnation.tag, claim.worker)
        alive, gone = self._liveness.is_alive(*key), self._liveness.is_gone(*key)
        return job, claim, judge(job, claim, silent_s=silent_s, alive=alive, gone=gone), alive

    def _hand_out(self, job: Job, claim: Claim, verdict: Verdict, caller: Caller) -> JobTicket:
        if verdict is not Verdict.AGAIN:
            with self._store.transaction():
                self._store.take(job.number, claim.worker, claim.taken)
                what = f"ticket of worker {claim.worker} taken: {claim.taken.origin}"
                self.events.add(job.request.name, what, caller)
            job.incarnation.taken[claim.worker] = claim.taken
        self._sign_of_life(job, claim.worker)
        return self._tickets(job)[claim.worker]

    def state(
        self,
        number: int,
        tag: int,
        worker: int,
        claimant: str | None = None,
        description: str | None = None,
        about: Sequence[int] = (),
    ) -> dict[str, Any]:
        """Return the state of an incarnation for one of its workers; see ``joining.readiness``. The call renews the
        lease.

        ``description``: description of the worker's codec; it may follow the join, once the ticket is there. The answer
        also has ``gone`` with the workers that have failed, died or left, ``why`` an incarnation has ended, and
        ``alive`` if all workers of ``about`` have streams.
        """
        with self._lock:
            job = self._numbered(number)
            answer = readiness(job, tag=tag, worker=worker, claimant=claimant)
            # A process with a void ticket must not extend the lease of the job.
            if job is None or answer["state"] == "superseded":
                why = self._ended.get((number, tag))
                return answer if why is None else {**answer, "why": why}
            self._sign_of_life(job, worker)
            taken = job.incarnation.taken.get(worker)
            if description is not None and taken is not None and taken.description != description:
                taken = replace(taken, description=description)
                self._store.take(number, worker, taken)
                job.incarnation.taken[worker] = taken
                answer = readiness(job, tag=tag, worker=worker, claimant=claimant)
            gone = self._liveness.gone(number, tag)
            if gone:
                hosts = job.request.workers
                answer["job"] = job.request.name
                answer["gone"] = [
                    {"worker": one, "host": hosts[one], "kind": found.kind, "cause": found.cause}
                    for one, found in gone.items()
                ]
            if about:
                answer["alive"] = all(self._liveness.is_alive(number, tag, one) for one in about)
            return answer

    def watch(
        self, number: int, tag: int, worker: int, claimant: str, wake: Callable[[], None] = lambda: None
    ) -> Watch:
        """Return a stream of the states of an incarnation for one of its workers, which lives until its end.

        ``wake`` is called when there may be a new state; it must not block.
        """
        with self._lock:
            watch = Watch((number, tag, worker), lambda: self.state(number, tag, worker, claimant), wake, self._unwatch)
            if self.state(number, tag, worker, claimant)["state"] not in rpc.OVER:
                self._liveness.open(watch)
            return watch

    def _unwatch(self, watch: Watch) -> None:
        with self._lock:
            job = next((job for job in self._jobs.values() if job.number == watch.key[0]), None)
            if self._liveness.close(watch) and job is not None and job.incarnation.tag == watch.key[1]:
                self._sign_of_life(job, watch.key[2])
                self._leases_changed()

    def report(
        self, number: int, tag: int, worker: int, claimant: str, gone: Gone, caller: Caller = UNAUTHENTICATED
    ) -> None:
        """Store that a worker fails or leaves, and tell the others. A process with a void ticket is ignored."""
        with self._lock:
            job = self._numbered(number)
            if job is not None and readiness(job, tag=tag, worker=worker, claimant=claimant)["state"] not in rpc.OVER:
                self._note_gone(job, worker, gone, caller)

    def _note_gone(self, job: Job, worker: int, gone: Gone, caller: Caller = UNAUTHENTICATED) -> None:
        if self._liveness.report(job.number, job.incarnation.tag, worker, gone):
            cause = f": {gone.cause}" if gone.cause else ""
            what = f"worker {worker} ({job.request.workers[worker]}) {gone.kind}{cause}"
            self.events.add(job.request.name, what, caller)

    def leave(self, name: str, worker: int | str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue without a worker, in a new incarnation; numbers close up. Raises UnknownJobError, AdmissionError."""
        with self._changing.held_for(self._owner(name)):
            job = self._job(name)
            gone = worker_number(job, worker)
            hosts = job.request.workers
            if len(hosts) == 1:
                raise AdmissionError(f"{hosts[0]} is the last worker of job {name!r}.", "Remove the job.")
            request = replace(job.request, workers=hosts[:gone] + hosts[gone + 1 :])
            return self._admitted(self._restart(job, request, f"{hosts[gone]} left", caller))

    def extend(self, name: str, host: str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue with one more worker at ``host``, in a new incarnation. Raises UnknownJobError, AdmissionError."""
        self._count_attempt(caller)
        with self._changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, workers=(*job.request.workers, host))
            return self._admitted(self._restart(job, request, f"{host} joined", caller, strict=True))

    def expire(self) -> float | None:
        """Report the workers that are lost, renew the leases of those that live, and remove jobs without any.

        Returns the seconds until the next lease ends; None if there is no lease.
        """
        with self._lock:
            present = {(job.number, job.incarnation.tag): job for job in self._jobs.values()}
            for number, tag, worker in self._liveness.take_lost():
                if (number, tag) in present:
                    self._note_gone(present[number, tag], worker, Gone(rpc.LOST, ""))
            for number, tag, worker in self._liveness.alive():
                if (number, tag) in present:
                    self._sign_of_life(present[number, tag], worker)
            expired = [job for job in self._jobs.values() if self._is_expired(job)]
        for job in expired:
            with self._changing.held_for(job.owner):
                if job.number in self._job_seen and self._is_expired(job):
                    lease_s = job.request.lease_s
                    why = f"removed: no sign of life for {lease_s:g} s, its lease (lanesum job admit --lease)"
                    self.remove(job.request.name, why)
        with self._lock:
            ends = [*self._liveness.deadlines(), *map(self._lease_end, self._jobs.values())]
            return max(0.0, min(ends) - self._clock()) if min(ends, default=math.inf) < math.inf else None

    def _lease_end(self, job: Job) -> float:
        return self._job_seen[job.number] + (job.request.lease_s or math.inf)

    def _is_expired(self, job: Job) -> bool:
        return self._clock() > self._lease_end(job)

    # Outages.

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the controlled switches."""
        return self._fleet.names

    def check_switch(self, name: str) -> None:
        """Check a switch; after its return, take control of it and repair it."""
        if name not in self._fleet.down:
            problem = self._fleet.probe(name)
            if problem is None:
                return
            with self._changing.held_for(name):
                self._fleet.lost(name, problem)
        try:
            self._connect(name, 0.0)
        except ControlError as error:  # controlled by another controller, or it refuses the program: retry later
            with self._changing.held_for(name):
                self._fleet.unusable(name, error)
            return
        with self._changing.held_for(name):
            if name not in self._fleet.down:
                self._replan()  # jobs that were left out may fit now

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the servers."""
        return self._servers.names

    def check_server(self, name: str = SERVER) -> None:
        """Check a server; after a restart, admit its jobs again."""
        server = self._servers[name]
        try:
            status = server.look()
        except ServerError as error:
            with self._changing.held_for(name):
                server.lost(error)
            return
        with self._changing.held_for(name):
            if server.forgot_decisions(status):
                # No chunk may be decided twice under the same tag.
                for job in [job for job in self._jobs.values() if job.request.threshold]:
                    self._restart(job, job.request, f"the {name} lost what it had decided")
            server.teach(status, {job.number: self._server_job(job, self._plan) for job in self._jobs.values()})

    def audit_switch(self, name: str) -> None:
        """Read back the state of a switch, and repair it if it is not the desired one.

        The stream of a session shows nothing of writes with its own election id, or from outside of P4Runtime.
        """
        with self._lock:
            wanted = None if name in self._fleet.down else self._desired_at(name)
        if wanted is not None and not self._fleet.agrees(name, wanted):
            self._repair(name)

    def repair(self) -> None:
        """Read back the state of every switch, and repair differences from the desired state."""
        for name in self._fleet.names:
            self._repair(name)

    def _repair(self, name: str) -> None:
        with self._changing.held_for(name):
            if name not in self._fleet.down:
                self._fleet.settle(name, self._desired_at(name))

    async def switch_unchanged(self, name: str) -> bool:
        """Return False if ``check_switch`` has to run. In the event loop."""
        return await self._fleet.unchanged(name)

    def watch_switch(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_switch`` has to run."""
        self._fleet.watch(name, changed)

    def watch_server(self, name: str, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``check_server`` has to run."""
        self._servers[name].watch(changed)

    def watch_leases(self, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``expire`` has to run sooner than it returned."""
        self._leases_changed = changed

    # Queries.

    def job(self, name: str) -> AdmittedJob:
        """Return an admitted job. Raises UnknownJobError."""
        with self._lock:
            return self._admitted(self._job(name))

    def present(self) -> list[Job]:
        """Return the admitted jobs; without a lock, so that it never waits."""
        return list(self._jobs.values())

    def jobs(self) -> list[AdmittedJob]:
        with self._lock:
            return [self._admitted(job) for job in self._jobs.values()]

    def counters(self) -> dict[str, Any]:
        """Return the packet counters.

        ``switches``: by decision, for each switch. ``servers``: decisions, and refusals by reason, for each server;
        None for unreachable ones. ``server``: the same of all servers together; None if no server answers. ``packets``:
            by decision, at
        all switches together, or at the servers if there is no switch.
        """
        switches = self._fleet.decisions()
        found = self._servers.look()
        total: collections.Counter[str] = collections.Counter()
        for counts in switches.values():
            total.update(counts)
        if not self._fleet.names:
            for status in found.values():
                total.update(packets_as_of_a_switch(status))
        servers = {
            name: {"decisions": found[name].decisions, "refused": found[name].refused} if name in found else None
            for name in self.servers
        }
        together = {
            kind: dict(sum((collections.Counter(one[kind]) for one in servers.values() if one), collections.Counter()))
            for kind in ("decisions", "refused")
        }
        return {
            "packets": dict(total),
            "switches": switches,
            "servers": servers,
            "server": together if found else None,
        }

    def close(self) -> None:
        """Disconnect from the switches; the jobs remain on them, and in the store."""
        with self._changing.held_for():
            self._fleet.close()
            for name in self.servers:
                self._servers[name].close()

    # Implementation.

    def _job(self, name: str) -> Job:
        if name not in self._jobs:
            before = self.events.removal_of(name)
            raise UnknownJobError(
                f"No job {name!r} is admitted; there is {', '.join(sorted(self._jobs)) or 'none'}."
                + (f" It was {before.what}." if before is not None else ""),
                "Admit it first (lanesum job admit).",
            )
        return self._jobs[name]

    def _owner(self, name: str) -> str:
        """Return the owner of a job; changes of an unknown one fail later."""
        with self._lock:
            job = self._jobs.get(name)
        return "" if job is None else job.owner

    def _numbered(self, number: int) -> Job | None:
        return next((job for job in self._jobs.values() if job.number == number), None)

    def _make_room(self, job: Job, take_over: bool, caller: Caller) -> None:
        """Remove a job whose name another one takes. Raises AdmissionError if it is in use."""
        name, tag, taken = job.request.name, job.incarnation.tag, job.incarnation.taken
        if caller.role is not Role.OPERATOR and caller.name != job.owner:
            raise AdmissionError(f"Job name {name!r} is in use by another tenant.", "Choose another name.")
        with self._lock:
            are_gone = bool(taken) and all(self._liveness.is_gone(job.number, tag, worker) for worker in taken)
            alive = [
                f"{host} ({taken[worker].origin})"
                for worker, host in enumerate(job.request.workers)
                if self._liveness.is_alive(job.number, tag, worker)
            ]
        if take_over:
            self.remove(name, "removed: another run took over", caller)
        elif are_gone:
            self.remove(name, "removed: all of its workers are gone, and it is admitted again", caller)
        else:
            lives = f" {len(alive)} of its workers live: {', '.join(alive[:4])}." if alive else ""
            raise AdmissionError(
                f"Job {name!r} is admitted already.{lives}",
                "Remove it, choose another name, or end its run (lanesum job admit --take-over).",
            )

    def _end(self, job: Job, why: str) -> None:
        """Explain the end of the present incarnation to its workers."""
        self._ended[job.number, job.incarnation.tag] = why
        if len(self._ended) > _MAX_ENDED:
            del self._ended[next(iter(self._ended))]
        self._liveness.forget(job.number, job.incarnation.tag)

    def _free_group(self) -> int:
        used = {job.group for job in self._jobs.values()}
        return next(group for group in range(1, len(used) + 2) if group not in used)

    def _restart(
        self, job: Job, request: JobRequest, why: str, caller: Caller = UNAUTHENTICATED, *, strict: bool = False
    ) -> Job:
        """Start a new incarnation with ``request`` instead of the old one.

        ``strict``: refuse a quota that cannot be met, instead of leaving out the switch. Raises the errors of
        ``admit``.
        """
        request.check(self.network, self._accumulator_words)
        request.code_table()
        if request.port in self._taken_ports(request):
            request = self._with_port(replace(request, udp_port=None))
        again = replace(job, request=request, incarnation=self._incarnation(request, job.number))
        self._commit(again, f"new incarnation: {why}", caller, strict=strict)
        with self._lock:
            self._end(job, f"job {request.name!r} has a new incarnation: {why}")
        return again

    def _incarnation(self, request: JobRequest, number: int) -> Incarnation:
        """Return a new incarnation with a tag that every switch can distinguish from all others.

        Some switches identify an owner by one word. Raises AdmissionError.
        """
        taken = {owner_word(job.number, job.incarnation.tag) for job in self._jobs.values()} | {0}
        for _ in range(_TAG_DRAWS):
            drawn = Incarnation.of(request, self.network.servers, self._fleet.looks_up)
            if owner_word(number, drawn.tag) not in taken:
                return drawn
        raise AdmissionError(
            f"Job {request.name!r}: none of {_TAG_DRAWS} random tags tells it from the other jobs.", "Try again."
        )

    def _taken_ports(self, request: JobRequest) -> dict[int, list[str]]:
        """Return the ports that other jobs and servers have at hosts of ``request``, with these hosts: their packets
        could not be distinguished.
        """
        others = [job.request for job in self._jobs.values() if job.request.name != request.name]
        used = {(other.port, host) for other in others for host in other.workers}
        used |= {(port, host) for host, (_, port) in zip(self.network.server_hosts, self.network.servers, strict=True)}
        taken: dict[int, list[str]] = {}
        for port, host in sorted(used):
            if host in request.workers:
                taken.setdefault(port, []).append(host)
        return taken

    def _with_port(self, request: JobRequest) -> JobRequest:
        """Return the request with a free UDP port at every host.

        Raises AdmissionError for a requested one that is not free, or if there is none.
        """
        one_port = self.network.one_port and bool(self.switches)
        taken = self._taken_ports(request)
        if request.udp_port is not None or one_port:
            if request.port in taken:
                raise AdmissionError(
                    f"Job {request.name!r}: another job sends from UDP port {request.port} of "
                    f"{', '.join(taken[request.port])}, or a server has it.",
                    "On loopback a host takes part in one job."
                    if one_port
                    else "Give another port, or none: then a free one is chosen.",
                )
            return request
        free = next((port for port in (UDP_PORT, *_MORE_PORTS) if port not in taken), None)
        if free is None:
            raise AdmissionError(
                f"Job {request.name!r}: its hosts {', '.join(request.workers)} have no UDP port left.", "Remove a job."
            )
        return replace(request, udp_port=free)

    def _commit(self, job: Job, what: str, caller: Caller, *, strict: bool) -> None:
        """Replace an existing job; ``what`` is the event."""
        old = self._job(job.request.name)
        jobs = {**self._jobs, job.request.name: job}
        if strict and job.limited:
            self._check_tenant(job.owner, job.request)
        planned = self._planned(jobs, strict=job if strict else None)
        with self._lock:
            with self._store.transaction():
                self._store.save(job, planned.ranges)
                self.events.add(job.request.name, what, caller)
            self._publish(jobs, planned)
            for worker in range(len(old.request.workers)):
                self._worker_seen.pop((job.number, worker), None)
        if job.incarnation.tag != old.incarnation.tag:
            self._servers.tell(self._server_job(job, planned))
        self._carry_out()

    def _forget(self, job: Job) -> None:
        self._job_seen.pop(job.number, None)
        for key in [key for key in self._worker_seen if key[0] == job.number]:
            del self._worker_seen[key]

    def _sign_of_life(self, job: Job, worker: int) -> None:
        self._job_seen[job.number] = self._worker_seen[job.number, worker] = self._clock()

    def _planned(
        self, jobs: Mapping[str, Job], held: Mapping[str, Any] | None = None, *, strict: Job | None = None
    ) -> Plan:
        """Return the plan of ``jobs``, which has ``held`` or the present ranges as far as possible.

        Raises AdmissionError if a job cannot be placed, or the quota of ``strict`` cannot be met.
        """
        ranges = self._plan.ranges if held is None else held
        wanted = [job.wanted(strict=job is strict) for job in jobs.values()]
        reasons = self._unavailable([job.number for job in jobs.values()], ranges)
        return plan(self.network, self._fleet.capacity, wanted, ranges, reasons, self._fleet.capabilities, self._quota)

    def _unavailable(self, jobs: Sequence[int], held: Mapping[str, Any]) -> dict[tuple[int, str], str]:
        reasons = dict(self._refused)
        for switch in self.network.switches:
            for number in jobs:
                if switch not in self._fleet.names:
                    reasons[number, switch] = "no controller programs it"
                elif switch in self._fleet.down and number not in held.get(switch, {}):
                    reasons[number, switch] = f"it cannot be reached: {self._fleet.down[switch]}"
        return reasons

    def _desired(self, jobs: Mapping[str, Job], planned: Plan) -> dict[str, dict[int, Any]]:
        wanted = [job.wanted() for job in jobs.values()]
        return {name: planned.at(name, wanted) for name in self._fleet.names}

    def _desired_at(self, name: str) -> dict[int, Any]:
        return self._plan.at(name, [job.wanted() for job in self._jobs.values()])

    def _apply(self, jobs: Mapping[str, Job], planned: Plan, *, strict: Job | None = None) -> Plan:
        """Apply a plan of ``jobs`` to the switches. Return the applied one: a job that a switch refuses is planned
        again without that switch.

        Raises QuotaError if a switch refuses ``strict``, whose quota it would have to guarantee.
        """
        while refusals := self._fleet.apply(self._desired(jobs, planned)):
            for refusal in refusals:
                if strict is not None and refusal.job == strict.number and strict.request.guaranteed:
                    raise QuotaError(
                        f"A quota of {strict.request.guaranteed} slots cannot be met at {refusal.switch}: "
                        f"{refusal.why}.",
                        "Remove a job, or ask for no quota (lanesum job admit --best-effort).",
                        job=refusal.job,
                        switch=refusal.switch,
                    )
                self._refused[refusal.job, refusal.switch] = refusal.why
                self.events.add(refusal.switch, f"job {refusal.job}: {refusal.why}")
            planned = self._planned(jobs, planned.ranges)
        return planned

    def _publish(self, jobs: Mapping[str, Job], planned: Plan) -> None:
        self._jobs, self._plan = jobs, planned

    def _carry_out(self) -> None:
        """Apply the present plan, and store the changes that switches force."""
        applied = self._apply(self._jobs, self._plan)
        if applied is not self._plan:
            with self._lock:
                self._publish(self._jobs, applied)
                self._store.save_ranges(applied.ranges)

    def _withdraw(self, job: Job) -> None:
        """Remove what servers and switches have of a job whose admission failed."""
        self._servers.forget(job.number)
        self._refused = {pair: why for pair, why in self._refused.items() if pair[0] != job.number}
        with contextlib.suppress(StoreError):  # the caller learns of the failed admission
            self._carry_out()

    def _replan(self) -> None:
        """Plan again after a change of switches or jobs."""
        planned = self._planned(self._jobs)
        with self._lock:
            self._store.save_ranges(planned.ranges)
            self._publish(self._jobs, planned)
        self._carry_out()

    def _connect(self, name: str, timeout_s: float) -> None:
        done = self._fleet.connect(name, timeout_s)
        if done is not None:
            with self._changing.held_for(name):
                self._fleet.settle(name, self._desired_at(name), done)

    def _server_job(self, job: Job, planned: Plan) -> ServerJob:
        # An outage does not change whether a switch ever sends sums.
        sums = bool(self._fleet.names) and bool(planned.placements[job.number].places or job.request.threshold)
        return ServerJob.from_tickets(list(self._tickets(job, planned)), on_switches=sums)

    def _tickets(self, job: Job, planned: Plan | None = None) -> tuple[JobTicket, ...]:
        placement = (self._plan if planned is None else planned).placements[job.number]
        return tickets(job, placement, self.network, self._accumulator_words)

    def _left_out_words(self, job: Job, planned: Plan) -> str:
        request, placement = job.request, planned.placements[job.number]
        words = [f"; {switch} is left out: {why}" for switch, why in placement.left_out.items()]
        for assignment in placement.assignments:
            summed = planned.ops[job.number, assignment.switch]
            others = [op.name for op in job.ops() if op not in summed]
            if others:
                words.append(f"; {assignment.switch} leaves {', '.join(others)} to the server")
        if request.code_table() is not None and job.code_table is None:
            words.append(f"; {request.codec} without a code table, because not all switches use one")
        return "".join(words)

    def _admitted(self, job: Job) -> AdmittedJob:
        placement = self._plan.placements[job.number]
        wanted = job.wanted()
        return AdmittedJob(
            request=job.request,
            number=job.number,
            owner=job.owner,
            tickets=self._tickets(job),
            joined=frozenset(job.incarnation.taken),
            switch_jobs={one.switch: self._plan.switch_job(wanted, one) for one in placement.assignments},
            left_out=placement.left_out,
        )


def worker_names(hosts: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the first ``count`` of ``hosts``. Raises AdmissionError if there are fewer."""
    if count > len(hosts):
        raise AdmissionError(
            f"{count} workers are asked for, but the topology has {len(hosts)}: {', '.join(hosts)}.",
            "Choose a larger topology or fewer workers.",
        )
    return tuple(hosts[:count])

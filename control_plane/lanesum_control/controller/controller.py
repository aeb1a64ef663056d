# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Controller: admits jobs, hands out tickets, and keeps switches and servers in the state that the jobs require.

``Deployment`` carries out what is decided here, and describes the locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import UNAUTHENTICATED, Caller, Role
from lanesum.transport.ticket import JobTicket
from lanesum_control.controller.admitted import AdmittedJob
from lanesum_control.controller.deployment import Deployment
from lanesum_control.errors import AdmissionError, UnknownJobError
from lanesum_control.jobs.joining import Verdict, worker_number
from lanesum_control.jobs.records import Job, JobRequest, Taken
from lanesum_control.jobs.worker_reports import WorkerFigures
from lanesum_control.planner.network import Network
from lanesum_control.planner.quotas import DEFAULT_QUOTA, AdmissionRate, TenantQuota
from lanesum_control.servers.controlled_server import ControlledServer
from lanesum_control.state.events import EventLog
from lanesum_control.state.store import Store
from lanesum_control.switches.managed import ManagedSwitch

__all__ = ["AdmittedJob", "Controller", "JobRequest"]

_THIS_PROCESS = Taken("", "this process")


class Controller:
    """Controller of switches and servers. Thread-safe.

    Args:
        network: hosts, switches and links.
        servers: aggregation servers, as many as the network names. The order does not matter; events and counters
            number them by it.
        switches: controlled switches by name; other switches of the network only route.
        store: persistent state with the events; in memory if None.
        accumulator_words: words per packet of the switches' program. Without switches the default is the size that
            the jobs of the store have, or else fills an Ethernet frame.
        events: log of all events of switches, servers and jobs, in ``store``.
        clock: monotonic seconds, for leases.
        connect_timeout_s: time to wait for every switch; an unreachable switch is used once it returns.
        quota: quota of every tenant.

    Attributes:
        deployment: the admitted jobs at switches and servers: checks and repairs of these parts.
        workers: the workers of all jobs: their states, reports and streams.

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
        accumulator_words: int | None = None,
        events: EventLog | None = None,
        clock: Callable[[], float] = time.monotonic,
        connect_timeout_s: float = 0.0,
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
        self._rate = AdmissionRate(quota.admissions_per_minute, clock)
        self.deployment = Deployment(
            network, servers, switches or {}, store, accumulator_words, self.events, clock, quota
        )
        self.deployment.start(connect_timeout_s)
        self.workers = self.deployment.workers

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
        with self.deployment.changing.held_for(caller.name):
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
        with self.deployment.changing.held_for(caller.name):
            others = [job.request for job in self.deployment.jobs.values() if job.request.name != request.name]
            busy = {host for other in others for host in other.workers}
            request = replace(request, workers=self.network.hosts_of(addresses, busy))
            return self._admit(request, take_over, caller)

    def _admit(self, request: JobRequest, take_over: bool, caller: Caller) -> AdmittedJob:
        self.deployment.check(request)
        self.deployment.check_name(request.name)
        jobs = self.deployment.jobs
        if request.name in jobs:
            self._make_room(jobs[request.name], take_over, caller)
        limited = caller.role is not Role.OPERATOR
        return self.deployment.admitted(self.deployment.admit(request, caller, limited=limited))

    def _count_attempt(self, caller: Caller) -> None:
        if caller.role is not Role.OPERATOR:
            with self.deployment.lock:
                self._rate.take(caller.name)

    def remove(self, name: str, why: str = "removed", caller: Caller = UNAUTHENTICATED) -> None:
        """Remove the job everywhere and free its slots. Raises UnknownJobError."""
        with self.deployment.changing.held_for(self._owner(name)):
            self.deployment.remove(self._job(name), why, caller)

    def resize(self, name: str, slots: int, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Change the demand of a running job. Its workers keep their number of slots; the server sums the contributions
        beyond the slots of a switch.

        Raises UnknownJobError, AdmissionError.
        """
        self._count_attempt(caller)
        with self.deployment.changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, slots=slots)
            self.deployment.check(request)
            changed = replace(job, request=request)
            self.deployment.change(changed, f"resized to {slots} slots", caller, strict=True)
            return self.deployment.admitted(changed)

    # Workers.

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
            name: name of the job.
            worker: its number, or its host.
            by: the claimant.
            take_over: take the place of a process that is this worker and lives.
            caller: sender of the call.

        Raises:
            UnknownJobError: no such job.
            AdmissionError: no such worker, or another process is this worker, and it lives or the job has not started.
            ServerError: a server is unreachable or refuses the job.
        """
        with self.deployment.lock:
            job = self._job(name)
            claim, verdict, alive = self.workers.judge(job, worker, by, take_over)
            if verdict is not Verdict.RESTART:
                self.workers.hand_out(job, claim, caller)
                return self.deployment.tickets(job)[claim.worker]
        with self.deployment.changing.held_for(job.owner):
            job = self._job(name)
            claim, verdict, alive = self.workers.judge(job, worker, by, take_over)
            if verdict is Verdict.RESTART:
                did = "took over" if take_over and alive else "began again"
                self.deployment.restart(job, job.request, f"worker {claim.worker} of {by.origin} {did}", caller)
            # Another process may have taken the new ticket meanwhile.
            return self.join(name, worker, by, caller=caller)

    def leave(self, name: str, worker: int | str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue without a worker, in a new incarnation; numbers close up. Raises UnknownJobError, AdmissionError."""
        with self.deployment.changing.held_for(self._owner(name)):
            job = self._job(name)
            gone = worker_number(job, worker)
            hosts = job.request.workers
            if len(hosts) == 1:
                raise AdmissionError(f"{hosts[0]} is the last worker of job {name!r}.", "Remove the job.")
            request = replace(job.request, workers=hosts[:gone] + hosts[gone + 1 :])
            return self.deployment.admitted(self.deployment.restart(job, request, f"{hosts[gone]} left", caller))

    def extend(self, name: str, host: str, caller: Caller = UNAUTHENTICATED) -> AdmittedJob:
        """Continue with one more worker at ``host``, in a new incarnation. Raises UnknownJobError, AdmissionError."""
        self._count_attempt(caller)
        with self.deployment.changing.held_for(self._owner(name)):
            job = self._job(name)
            request = replace(job.request, workers=(*job.request.workers, host))
            again = self.deployment.restart(job, request, f"{host} joined", caller, strict=True)
            return self.deployment.admitted(again)

    def expire(self) -> float | None:
        """Report the workers that are lost, renew the leases of those that live, and remove jobs without any.

        Returns the seconds until the next lease ends; None if there is no lease.
        """
        for job in self.workers.expired():
            with self.deployment.changing.held_for(job.owner):
                if self.workers.is_expired(job):
                    lease_s = job.request.lease_s
                    why = f"removed: no sign of life for {lease_s:g} s, its lease (lanesum job admit --lease)"
                    self.remove(job.request.name, why)
        return self.workers.seconds_left()

    def watch_leases(self, changed: Callable[[], None]) -> None:
        """Call ``changed``, from any thread, when ``expire`` has to run sooner than it returned."""
        self.workers.leases_changed = changed

    # Queries.

    def job(self, name: str) -> AdmittedJob:
        """Return an admitted job. Raises UnknownJobError."""
        with self.deployment.lock:
            return self.deployment.admitted(self._job(name))

    def present(self) -> list[Job]:
        """Return the admitted jobs; without a lock, so that it never waits."""
        return list(self.deployment.jobs.values())

    def jobs(self) -> list[AdmittedJob]:
        with self.deployment.lock:
            return [self.deployment.admitted(job) for job in self.deployment.jobs.values()]

    def examine(self) -> dict[str, Any]:
        """Return the state of all switches, servers and hosts, see ``examination.examine``; without the outer lock."""
        return self.deployment.examine()

    def ask(self, jobs: Sequence[AdmittedJob]) -> dict[int, list[WorkerFigures]]:
        """Return the present figures of the workers by job, and ask these for new counts, which arrive later."""
        self.workers.ask(job.number for job in jobs)
        return self.workers.figures(jobs)

    def counters(self) -> dict[str, Any]:
        """Return the packet counters of switches and servers, see ``packet_counters``; without a lock."""
        return self.deployment.counters()

    def close(self) -> None:
        """Disconnect from the switches; the jobs remain on them, and in the store."""
        with self.deployment.changing.held_for():
            self.deployment.close()

    # Implementation.

    def _job(self, name: str) -> Job:
        if name not in self.deployment.jobs:
            before = self.events.removal_of(name)
            raise UnknownJobError(
                f"No job {name!r} is admitted; there is {', '.join(sorted(self.deployment.jobs)) or 'none'}."
                + (f" It was {before.what}." if before is not None else ""),
                "Admit it first (lanesum job admit).",
            )
        return self.deployment.jobs[name]

    def _owner(self, name: str) -> str:
        """Return the owner of a job; changes of an unknown one fail later."""
        with self.deployment.lock:
            job = self.deployment.jobs.get(name)
        return "" if job is None else job.owner

    def _make_room(self, job: Job, take_over: bool, caller: Caller) -> None:
        """Remove a job whose name another one takes. Raises AdmissionError if it is in use."""
        name, taken = job.request.name, job.incarnation.taken
        if caller.role is not Role.OPERATOR and caller.name != job.owner:
            raise AdmissionError(f"Job name {name!r} is in use by another tenant.", "Choose another name.")
        if take_over:
            self.remove(name, "removed: another run took over", caller)
        elif self.workers.are_gone(job):
            self.remove(name, "removed: all of its workers are gone, and it is admitted again", caller)
        else:
            alive = [f"{job.request.workers[one]} ({taken[one].origin})" for one in self.workers.alive(job)]
            lives = f" {len(alive)} of its workers live: {', '.join(alive[:4])}." if alive else ""
            raise AdmissionError(
                f"Job {name!r} is admitted already.{lives}",
                "Remove it, choose another name, or end its run (lanesum job admit --take-over).",
            )

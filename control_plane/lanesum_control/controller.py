# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The controller: admits jobs, hands out tickets, and keeps switches and servers as the jobs need them.

Every operation is the same: change what is wanted, write it to the store, and bring servers and switches there.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, UDP_PORT
from lanesum.server import ServerJob
from lanesum.server.client import ServerError
from lanesum.transport.ticket import JobTicket
from lanesum_control.capabilities import owner_word
from lanesum_control.controlled_server import SERVER, ControlledServer, ServerLinks, packets_as_of_a_switch
from lanesum_control.errors import AdmissionError, ControlError, UnknownJobError
from lanesum_control.events import EventLog
from lanesum_control.fleet import Fleet
from lanesum_control.jobs import AdmittedJob, Incarnation, Job, JobRequest, Taken, tickets
from lanesum_control.joining import Claim, Verdict, judge, readiness, worker_number
from lanesum_control.managed import ManagedSwitch
from lanesum_control.network import Network
from lanesum_control.planning import Plan, plan
from lanesum_control.store import Store

__all__ = ["AdmittedJob", "Controller", "JobRequest", "worker_names"]

# For hosts with several jobs; far more than a server or a switch takes.
_MORE_PORTS = range(UDP_PORT + 1, 0x10000)
_TAG_DRAWS = 8
_THIS_PROCESS = Taken("", "this process")


class Controller:
    """Owns switches and servers. Thread-safe.

    Args:
        network: who hangs where.
        servers: sum what switches do not take, each of its own slots; know every job. One, or as many as the network
            names; in any order, but events and counters number them so.
        switches: the switches of the network that are controlled, by name; the others only route.
        store: what outlives this process; in memory when None.
        accumulator_words: words per packet of the switches' program.
        events: told of everything that happens to switches, server and jobs.
        clock: seconds that only grow, for leases.
        connect_timeout_s: how long to wait for every switch; what is away then is left out until it comes.

    Jobs in the store whose servers were others begin a new incarnation. Raises NotPrimaryError and PipelineError for a
    switch that will not be controlled, ConfigurationError for too few or too many servers, StoreError.
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
    ) -> None:
        self.network = network
        self.events = EventLog() if events is None else events
        servers = servers if isinstance(servers, Sequence) else [servers]
        if len(servers) != len(network.servers):
            raise ConfigurationError(
                f"The controller has {len(servers)} aggregation servers, but packets of the network are addressed to "
                f"{len(network.servers)}: {', '.join(ip for ip, _ in network.servers)}.",
                "Name the control address of each of them (lanesum controller --server).",
            )
        self._servers = ServerLinks(servers, self.events)
        self._store = Store() if store is None else store
        self._accumulator_words = accumulator_words
        self._clock = clock
        self._lock = threading.RLock()
        self._jobs = {job.request.name: job for job in self._store.jobs()}
        self._fleet = Fleet(network, switches or {}, self.events)
        self._refused: dict[tuple[int, str], str] = {}
        self._job_seen = dict.fromkeys((job.number for job in self._jobs.values()), clock())
        self._worker_seen: dict[tuple[int, int], float] = {}
        self._plan = self._planned(self._store.ranges())
        for name in self.switches:
            self._connect(name, connect_timeout_s)
        for name in self.servers:
            self.check_server(name)
        for job in [job for job in self._jobs.values() if job.incarnation.servers != network.servers]:
            self._restart(job, job.request, "its servers are others than before")
        self._replan()

    # Admission.

    def admit(self, request: JobRequest) -> AdmittedJob:
        """Give the job its identifiers, put it on the servers and on the switches that can take it.

        Raises:
            AdmissionError: unknown host, name taken, a quota that cannot be met (QuotaError).
            ConfigurationError: unknown codec, or more workers than its lanes hold.
            UnservedError: an aggregation server is away or does not take it; nothing of the job is left then.
        """
        with self._lock:
            if request.name in self._jobs:
                raise AdmissionError(f"Job {request.name!r} is admitted already.", "Remove it, or choose another name.")
            request.check(self.network, self._accumulator_words)
            request.code_table()
            request = self._with_port(request.with_ops(self._accumulator_words))
            number, order = self._store.new_numbers()
            job = Job(number, self._free_group(), order, request, self._incarnation(request, number))
            planned = self._planned(changed=job)
            self._store.save(job, planned.ranges)
            try:
                self._servers.admit(self._server_job(job, planned))
            except BaseException:
                self._store.remove(number, self._plan.ranges)
                raise
            self._jobs[request.name] = job
            self._job_seen[number] = self._clock()
            self._carry_out(planned)
            self.events.add(request.name, f"admitted as job {number}{self._left_out_words(job)}")
            return self._admitted(job)

    def remove(self, name: str, why: str = "removed") -> None:
        """Take the job out everywhere and give its slots back. Raises UnknownJobError."""
        with self._lock:
            job = self._job(name)
            self._refused.clear()  # where there was no room there may be some now
            planned = self._planned(without=job)
            self._store.remove(job.number, planned.ranges)
            del self._jobs[name]
            self._forget(job)
            self._carry_out(planned)
            self._servers.forget(job.number)
            self.events.add(name, why)

    def resize(self, name: str, slots: int) -> AdmittedJob:
        """Let a job wish for other slots, while it runs. Its workers keep the number that they began with; what they
        send beyond the slots of a switch goes to the server.

        Raises UnknownJobError, AdmissionError.
        """
        with self._lock:
            job = self._job(name)
            request = replace(job.request, slots=slots)
            request.check(self.network, self._accumulator_words)
            changed = replace(job, request=request)
            self._commit(changed, self._planned(changed=changed))
            self.events.add(name, f"resized to {slots} slots")
            return self._admitted(changed)

    # Workers.

    def join(self, name: str, worker: int | str, by: Taken = _THIS_PROCESS, *, after: int | None = None) -> JobTicket:
        """The ticket of one worker, for one session.

        When the worker's ticket is taken and its session is over, the job starts a new incarnation with a new tag, and
        the other workers of the old one are no members any more.

        Args:
            name: the job's name.
            worker: its number, or its host.
            by: who asks.
            after: tag of the incarnation that this process was in before.

        Raises UnknownJobError; AdmissionError for a worker that the job does not have, or one that another process is
        already, while the job has not started; ServerError.
        """
        with self._lock:
            job = self._job(name)
            claim = Claim(worker_number(job, worker), by, after)
            silent_s = self._clock() - self._worker_seen.get((job.number, claim.worker), self._job_seen[job.number])
            verdict = judge(job, claim, silent_s=silent_s)
            if verdict is Verdict.RESTART:
                job = self._restart(job, job.request, f"worker {claim.worker} of {by.origin} began again")
            if verdict is not Verdict.AGAIN:
                self._store.take(job.number, claim.worker, by)
                job.incarnation.taken[claim.worker] = by
            self._sign_of_life(job, claim.worker)
            return self._tickets(job)[claim.worker]

    def state(
        self, number: int, tag: int, worker: int, claimant: str | None = None, description: str | None = None
    ) -> dict[str, Any]:
        """How it stands with an incarnation; see ``joining.readiness``. For a worker of it, to ask is a sign of life.

        ``description``: what the worker's codec is; it may be said after joining, when the ticket is known.
        """
        with self._lock:
            job = next((job for job in self._jobs.values() if job.number == number), None)
            answer = readiness(job, tag=tag, worker=worker, claimant=claimant)
            # Whoever has a void ticket must not keep the job and its slots alive.
            if job is None or answer["state"] == "superseded":
                return answer
            self._sign_of_life(job, worker)
            taken = job.incarnation.taken.get(worker)
            if description is None or taken is None or taken.description == description:
                return answer
            taken = replace(taken, description=description)
            self._store.take(number, worker, taken)
            job.incarnation.taken[worker] = taken
            return readiness(job, tag=tag, worker=worker, claimant=claimant)

    def leave(self, name: str, worker: int | str) -> AdmittedJob:
        """Go on without a worker, in a new incarnation; numbers close up. Raises UnknownJobError, AdmissionError."""
        with self._lock:
            job = self._job(name)
            gone = worker_number(job, worker)
            hosts = job.request.workers
            if len(hosts) == 1:
                raise AdmissionError(f"{hosts[0]} is the last worker of job {name!r}.", "Remove the job.")
            request = replace(job.request, workers=hosts[:gone] + hosts[gone + 1 :])
            return self._admitted(self._restart(job, request, f"{hosts[gone]} left"))

    def extend(self, name: str, host: str) -> AdmittedJob:
        """Go on with one more worker, at ``host``, in a new incarnation. Raises UnknownJobError, AdmissionError."""
        with self._lock:
            job = self._job(name)
            request = replace(job.request, workers=(*job.request.workers, host))
            return self._admitted(self._restart(job, request, f"{host} joined"))

    def expire(self) -> None:
        """Remove the jobs that nobody has been heard of for their lease."""
        with self._lock:
            now = self._clock()
            for job in list(self._jobs.values()):
                lease_s = job.request.lease_s
                if lease_s and now - self._job_seen[job.number] > lease_s:
                    self.remove(job.request.name, f"removed: no sign of life for {lease_s:g} s, its lease")

    # What goes away and comes back.

    @property
    def switches(self) -> tuple[str, ...]:
        """Names of the switches that are controlled."""
        return self._fleet.names

    def check_switch(self, name: str) -> None:
        """Look at a switch; when it came back, take it under control again and repair it."""
        if name not in self._fleet.down:
            problem = self._fleet.probe(name)
            if problem is None:
                return
            with self._lock:
                self._fleet.lost(name, problem)
        try:
            self._connect(name, 0.0)
        except ControlError as error:  # somebody else's switch, or one that refuses the program: it is tried again
            with self._lock:
                self._fleet.unusable(name, error)
            return
        with self._lock:
            if name not in self._fleet.down:
                self._replan()  # jobs that were left out may come

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of the servers."""
        return self._servers.names

    def check_server(self, name: str = SERVER) -> None:
        """Look at a server: one that started anew has to learn the jobs again."""
        server = self._servers[name]
        try:
            status = server.look()
        except ServerError as error:
            with self._lock:
                server.lost(error)
            return
        with self._lock:
            if server.forgot_decisions(status):
                # Nothing may be decided a second time under the same tag.
                for job in [job for job in self._jobs.values() if job.request.threshold]:
                    self._restart(job, job.request, f"the {name} lost what it had decided")
            server.teach(status, {job.number: self._server_job(job, self._plan) for job in self._jobs.values()})

    def repair(self) -> None:
        """Read back what every switch holds, and correct it where it is not what the jobs need."""
        with self._lock:
            for name in self._fleet.names:
                if name not in self._fleet.down:
                    self._fleet.settle(name, self._desired(self._plan)[name])

    # Asking.

    def job(self, name: str) -> AdmittedJob:
        """An admitted job. Raises UnknownJobError."""
        with self._lock:
            return self._admitted(self._job(name))

    def jobs(self) -> list[AdmittedJob]:
        with self._lock:
            return [self._admitted(job) for job in self._jobs.values()]

    def counters(self) -> dict[str, Any]:
        """``switches``: packets by decision at each of them; ``servers``: decisions and refusals by reason at each of
        them, None for those that are away; ``server``: the same of all servers together, None when none answers;
        ``packets``: by decision, at all switches together, or at the servers where there is none."""
        with self._lock:
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
        """Let go of the switches; the jobs stay on them, and in the store."""
        with self._lock:
            self._fleet.close()

    # How.

    def _job(self, name: str) -> Job:
        if name not in self._jobs:
            raise UnknownJobError(
                f"No job {name!r} is admitted; there is {', '.join(sorted(self._jobs)) or 'none'}.",
                "Admit it first (lanesum job admit).",
            )
        return self._jobs[name]

    def _free_group(self) -> int:
        used = {job.group for job in self._jobs.values()}
        return next(group for group in range(1, len(used) + 2) if group not in used)

    def _restart(self, job: Job, request: JobRequest, why: str) -> Job:
        """A new incarnation, with ``request`` in place of the old one. Raises what ``admit`` raises."""
        request.check(self.network, self._accumulator_words)
        request.code_table()
        if self._clashing(request):
            request = self._with_port(replace(request, udp_port=None))
        again = replace(job, request=request, incarnation=self._incarnation(request, job.number))
        self._commit(again, self._planned(changed=again))
        self.events.add(request.name, f"new incarnation: {why}")
        return again

    def _incarnation(self, request: JobRequest, number: int) -> Incarnation:
        """A new one, with a tag by which every switch can tell it from all that there are: some know an owner by one
        word. Raises AdmissionError."""
        taken = {owner_word(job.number, job.incarnation.tag) for job in self._jobs.values()} | {0}
        for _ in range(_TAG_DRAWS):
            drawn = Incarnation.of(request, self.network.servers, self._fleet.looks_up)
            if owner_word(number, drawn.tag) not in taken:
                return drawn
        raise AdmissionError(
            f"Job {request.name!r}: none of {_TAG_DRAWS} random tags tells it from the other jobs.", "Try again."
        )

    def _clashing(self, request: JobRequest) -> list[str]:
        """Hosts from whose port another job sends already, or where a server has it: packets to the one could not be
        told from packets to the other."""
        taken = {
            host
            for job in self._jobs.values()
            if job.request.name != request.name and job.request.port == request.port
            for host in job.request.workers
        }
        ports = zip(self.network.server_hosts, self.network.servers, strict=True)
        taken |= {host for host, (_, port) in ports if port == request.port}
        return sorted(taken & set(request.workers))

    def _with_port(self, request: JobRequest) -> JobRequest:
        """The request with a UDP port of its own at every host. Raises AdmissionError for a given one that is not."""
        one_port = self.network.one_port and bool(self.switches)
        if request.udp_port is not None or one_port:
            if clashing := self._clashing(request):
                raise AdmissionError(
                    f"Job {request.name!r}: another job sends from UDP port {request.port} of {', '.join(clashing)}, "
                    "or a server has it.",
                    "On loopback a host takes part in one job."
                    if one_port
                    else "Give another port, or none: then a free one is chosen.",
                )
            return request
        candidates = (replace(request, udp_port=port) for port in (UDP_PORT, *_MORE_PORTS))
        return next(candidate for candidate in candidates if not self._clashing(candidate))

    def _commit(self, job: Job, planned: Plan) -> None:
        """A job that is there already becomes another one."""
        old = self._job(job.request.name)
        self._store.save(job, planned.ranges)
        self._jobs[job.request.name] = job
        for worker in range(len(old.request.workers)):
            self._worker_seen.pop((job.number, worker), None)
        if job.incarnation.tag != old.incarnation.tag:
            self._servers.tell(self._server_job(job, planned))
        self._carry_out(planned)

    def _forget(self, job: Job) -> None:
        self._job_seen.pop(job.number, None)
        for key in [key for key in self._worker_seen if key[0] == job.number]:
            del self._worker_seen[key]

    def _sign_of_life(self, job: Job, worker: int) -> None:
        self._job_seen[job.number] = self._worker_seen[job.number, worker] = self._clock()

    def _planned(
        self, held: Mapping[str, Any] | None = None, *, changed: Job | None = None, without: Job | None = None
    ) -> Plan:
        """What should be; ``changed`` replaces a job or comes on top, and has a right to its quota.

        Raises AdmissionError when ``changed`` cannot be placed.
        """
        jobs = {job.number: job for job in self._jobs.values()}
        if changed is not None:
            jobs[changed.number] = changed
        if without is not None:
            del jobs[without.number]
        ranges = self._plan.ranges if held is None else held
        wanted = [job.wanted(strict=job is changed) for job in jobs.values()]
        reasons = self._unavailable(jobs, ranges)
        return plan(self.network, self._fleet.capacity, wanted, ranges, reasons, self._fleet.capabilities)

    def _unavailable(self, jobs: Mapping[int, Job], held: Mapping[str, Any]) -> dict[tuple[int, str], str]:
        reasons = dict(self._refused)
        for switch in self.network.switches:
            for number in jobs:
                if switch not in self._fleet.names:
                    reasons[number, switch] = "no controller programs it"
                elif switch in self._fleet.down and number not in held.get(switch, {}):
                    reasons[number, switch] = f"it cannot be reached: {self._fleet.down[switch]}"
        return reasons

    def _desired(self, planned: Plan) -> dict[str, dict[int, Any]]:
        wanted = [job.wanted() for job in self._jobs.values()]
        return {name: planned.at(name, wanted) for name in self._fleet.names}

    def _carry_out(self, planned: Plan) -> None:
        """Bring the switches to a plan that is written down; who is refused by one of them is planned anew without."""
        while True:
            self._plan = planned
            refusals = self._fleet.apply(self._desired(planned))
            if not refusals:
                return
            for refusal in refusals:
                self._refused[refusal.job, refusal.switch] = refusal.why
                self.events.add(refusal.switch, f"job {refusal.job}: {refusal.why}")
            planned = self._planned()
            self._store.save_ranges(planned.ranges)

    def _replan(self) -> None:
        """Switches or jobs are not what they were."""
        planned = self._planned()
        self._store.save_ranges(planned.ranges)
        self._carry_out(planned)

    def _connect(self, name: str, timeout_s: float) -> None:
        done = self._fleet.connect(name, timeout_s)
        if done is not None:
            with self._lock:
                self._fleet.settle(name, self._desired(self._plan)[name], done)

    def _server_job(self, job: Job, planned: Plan) -> ServerJob:
        # Whether a switch may ever send sums does not change when one of them is away.
        sums = bool(self._fleet.names) and bool(planned.placements[job.number].places or job.request.threshold)
        return ServerJob.from_tickets(list(self._tickets(job, planned)), on_switches=sums)

    def _tickets(self, job: Job, planned: Plan | None = None) -> tuple[JobTicket, ...]:
        placement = (self._plan if planned is None else planned).placements[job.number]
        return tickets(job, placement, self.network, self._accumulator_words)

    def _left_out_words(self, job: Job) -> str:
        request, placement = job.request, self._plan.placements[job.number]
        words = [f"; {switch} is left out: {why}" for switch, why in placement.left_out.items()]
        for assignment in placement.assignments:
            summed = self._plan.ops[job.number, assignment.switch]
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
            tickets=self._tickets(job),
            joined=frozenset(job.incarnation.taken),
            switch_jobs={one.switch: self._plan.switch_job(wanted, one) for one in placement.assignments},
            left_out=placement.left_out,
        )


def worker_names(hosts: Sequence[str], count: int) -> tuple[str, ...]:
    """The first ``count`` of ``hosts``. Raises AdmissionError when there are fewer."""
    if count > len(hosts):
        raise AdmissionError(
            f"{count} workers are asked for, but the topology has {len(hosts)}: {', '.join(hosts)}.",
            "Choose a larger topology or fewer workers.",
        )
    return tuple(hosts[:count])

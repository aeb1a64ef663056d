# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Workers of the admitted jobs: their tickets, the states that they read, and their signs of life."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import UNAUTHENTICATED, Caller
from lanesum.transport.stats import FailedChunk
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.failing_devices import FailingDevices, Makers
from lanesum_control.jobs.joining import MAX_NAMED, Verdict, WorkerClaim, judge, readiness, worker_number
from lanesum_control.jobs.liveness import Gone, Liveness, Watch
from lanesum_control.jobs.records import AdmittedJob, Job, Taken
from lanesum_control.jobs.worker_reports import WorkerFigures, WorkerReport
from lanesum_control.observe.traces import Traces, WorkerTrace
from lanesum_control.state.events import EventLog
from lanesum_control.state.store import Store

_ASK_S = 0.5  # time between two questions for the counts of a job, at least
_MAX_ENDED = 1000  # incarnations whose ends are explained to their workers
# A job is kept for this time, or its longer lease, if no call of its hosts has reached the controller since its start.
_UNREACHED_S = 3600.0


class Workers:
    """Workers of all jobs. Thread-safe, but for the methods that say otherwise.

    Args:
        lock: reentrant lock of the jobs; no call holds it for long.
        store: keeps the taken tickets.
        events: log of tickets taken and workers gone.
        clock: monotonic seconds.
        makers: returns the devices of a result, see ``failing_devices``.
        grace_s: time from now in which no lease ends.

    Attributes:
        leases_changed: called when the next deadline is sooner than ``seconds_left`` returned, or a device fails.
        failing_devices: devices whose results failed their check.
    """

    def __init__(
        self,
        lock: AbstractContextManager[Any],
        jobs: Callable[[], Mapping[str, Job]],
        store: Store,
        events: EventLog,
        clock: Callable[[], float],
        makers: Makers,
        grace_s: float = 0.0,
    ) -> None:
        self._lock = lock
        self._jobs = jobs
        self._store = store
        self._events = events
        self._clock = clock
        self._makers = makers
        self._liveness = Liveness(clock)
        self._grace_s = grace_s
        self._is_suspended = False
        self._begin_to_count()
        self._worker_seen: dict[tuple[int, int], float] = {}
        self._reports: dict[tuple[int, int], dict[int, WorkerReport]] = {}  # by job and tag, and worker
        self._traces = Traces(clock)
        self._asked: dict[int, float] = {}  # time of the last question, by job
        self.failing_devices = FailingDevices(clock)
        self._ended: dict[tuple[int, int], dict[str, Any]] = {}  # end of an incarnation, by job and tag
        self.leases_changed: Callable[[], None] = lambda: None

    def _begin_to_count(self) -> None:
        """Count the silence of the jobs that are there from now on, and only of hosts that reach this controller."""
        self._job_seen = dict.fromkeys((job.number for job in self._jobs().values()), self._clock())
        self._grace_end = self._clock() + self._grace_s
        self._not_called = set(self._job_seen)  # no worker has called
        self._kept: set[int] = set()  # an event says that the lease has ended
        self._calling_hosts: set[str] = set()

    def suspend(self) -> None:
        """End all streams, and count no silence until ``resume``: another controller may lead meanwhile."""
        with self._lock:
            self._is_suspended = True
            self._liveness.end_all()

    def resume(self) -> None:
        """Continue after ``suspend``, as if the controller had just begun to lead."""
        with self._lock:
            self._is_suspended = False
            self._begin_to_count()
        self.leases_changed()

    def judge(self, job: Job, worker: int | str, by: Taken, take_over: bool) -> tuple[WorkerClaim, Verdict, bool]:
        """Return the claim of ``by``, its verdict, and True if the present claimant lives. Raises AdmissionError."""
        with self._lock:
            claim = WorkerClaim(worker_number(job, worker), by, take_over)
            silent_s = self._clock() - self._worker_seen.get((job.number, claim.worker), self._job_seen[job.number])
            key = (job.number, job.incarnation.tag, claim.worker)
            alive, gone = self._liveness.is_alive(*key), self._liveness.is_gone(*key)
            return claim, judge(job, claim, silent_s=silent_s, alive=alive, gone=gone), alive

    def hand_out(self, job: Job, claim: WorkerClaim, caller: Caller) -> None:
        """Store that a ticket is taken."""
        with self._lock:
            with self._store.transaction():
                self._store.take(job.number, claim.worker, claim.taken)
                what = f"ticket of worker {claim.worker} taken: {claim.taken.origin}"
                self._events.add(job.request.name, what, caller)
            job.incarnation.taken[claim.worker] = claim.taken
            self._sign_of_life(job, claim.worker)

    def state(
        self,
        number: int,
        tag: int,
        worker: int,
        claimant: str | None = None,
        description: str | None = None,
        about: Sequence[int] = (),
        counts: Mapping[str, int] | None = None,
        trace: WorkerTrace | None = None,
        failed_chunks: Sequence[FailedChunk] = (),
    ) -> dict[str, Any]:
        """Return the state of an incarnation for one of its workers; see ``joining.readiness``. The call renews the
        lease.

        ``description``: description of the worker's codec, by the claimant; it may follow the join, once the ticket is
        there.
        ``counts``, ``failed_chunks``: of ``worker_reports``; ``trace``: of ``traces.read_trace``. They are ignored with
        a void ticket, and failed chunks of another process, too. The answer also has ``gone`` with the workers that
        have failed, died or left, ``why`` an incarnation has ended, ``altered`` if sums of it may be wrong, and
        ``alive`` if all workers of ``about`` have streams.
        """
        with self._lock:
            job = self._numbered(number)
            answer = readiness(job, tag=tag, worker=worker, claimant=claimant)
            # A process with a void ticket must not extend the lease of the job.
            if job is None or answer["state"] == "superseded":
                return {**answer, **self._ended.get((number, tag), {})}
            self._sign_of_life(job, worker)
            if counts is not None:
                self._reports.setdefault((number, tag), {})[worker] = WorkerReport(self._clock(), counts)
            if trace is not None:
                self._traces.add((number, tag), worker, trace)
            taken = job.incarnation.taken.get(worker)
            # Only the process that has the ticket describes its codec: another one would end the job by a mismatch.
            is_own = taken is not None and taken.claimant == claimant
            if is_own and failed_chunks:
                self._note_failed_chunks(job, worker, failed_chunks)
            if description is not None and taken is not None and is_own and taken.description != description:
                taken = replace(taken, description=description)
                self._store.take(number, worker, taken)
                job.incarnation.taken[worker] = taken
                answer = readiness(job, tag=tag, worker=worker, claimant=claimant)
            gone = self._liveness.gone(number, tag)
            if gone:
                hosts = job.request.workers
                answer["job"] = job.request.name
                answer["gone"] = [
                    {
                        "worker": one,
                        "host": hosts[one],
                        "kind": found.kind,
                        "cause": found.cause if order < MAX_NAMED else "",
                    }
                    for order, (one, found) in enumerate(gone.items())
                ]
            if about:
                answer["alive"] = all(self._liveness.is_alive(number, tag, one) for one in about)
            return answer

    def renew(self, number: int) -> dict[str, Any]:
        """Renew the lease of a job, if it is there, for its launch: its workers may not have joined yet."""
        with self._lock:
            if number in self._job_seen:
                self._job_seen[number] = self._clock()
        return {}

    def _note_failed_chunks(self, job: Job, worker: int, chunks: Sequence[FailedChunk]) -> None:
        """Record events about results that failed their check since the worker's last report, and count them."""
        for devices, slots in self.failing_devices.add(job, worker, chunks, self._makers).items():
            host = job.request.workers[worker]
            what = f"results of slots {sorted(slots)} of {' or '.join(devices)} failed their check at worker {worker}"
            self._events.add(job.request.name, f"{what} ({host}), and were not used")
        if self.failing_devices.is_due:
            self.leases_changed()

    def watch(
        self, number: int, tag: int, worker: int, claimant: str, wake: Callable[[], None] = lambda: None
    ) -> Watch:
        """Return a stream of the states of an incarnation for one of its workers, which lives until its end.

        ``wake`` is called when there may be a new state; it must not block.
        """
        with self._lock:
            watch = Watch((number, tag, worker), lambda: self.state(number, tag, worker, claimant), wake, self._unwatch)
            if self._is_suspended:
                watch.end()
            elif self.state(number, tag, worker, claimant)["state"] not in rpc.OVER and self._liveness.open(watch):
                job = self._numbered(number)
                if job is not None:
                    self._events.add(job.request.name, f"worker {worker} ({job.request.workers[worker]}) is back")
            return watch

    def _unwatch(self, watch: Watch, is_cut_off: bool) -> None:
        with self._lock:
            job = self._numbered(watch.key[0])
            if self._liveness.close(watch, is_cut_off) and job is not None and job.incarnation.tag == watch.key[1]:
                self._sign_of_life(job, watch.key[2])
                self.leases_changed()

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
            self._events.add(job.request.name, what, caller)

    def _numbered(self, number: int) -> Job | None:
        return next((job for job in self._jobs().values() if job.number == number), None)

    def ask(self, jobs: Iterable[int]) -> None:
        """Ask the workers of these jobs for their counts, which arrive later; at most twice per second."""
        with self._lock:
            now, present = self._clock(), {job.number for job in self._jobs().values()}
            due = {job for job in present.intersection(jobs) if now >= self._asked.get(job, -math.inf) + _ASK_S}
            self._asked.update(dict.fromkeys(due, now))
            self._liveness.ask(due, {"asked": True})

    def begin_trace(self, job: AdmittedJob, seconds: float) -> list[int]:
        """Ask the workers of a job for their spans of the next seconds; return those that live. Raises AdmissionError.

        The spans arrive after that time.
        """
        with self._lock:
            key = job.number, job.tickets[0].tag
            alive = sorted(worker for number, tag, worker in self._liveness.alive() if (number, tag) == key)
            if not alive:
                raise AdmissionError(f"No worker of job {job.request.name} lives.", "Begin the trace while it runs.")
            self._traces.begin(key, seconds)
            self._liveness.ask({job.number}, {"trace_s": float(seconds)})
            return alive

    def traced(self, job: AdmittedJob) -> list[int]:
        """Return the workers that have reported the spans of the last trace."""
        with self._lock:
            return self._traces.reported((job.number, job.tickets[0].tag))

    def end_trace(self, job: AdmittedJob) -> Mapping[int, WorkerTrace]:
        """Return the spans of the last trace by worker, and forget them."""
        with self._lock:
            return self._traces.end((job.number, job.tickets[0].tag))

    def figures(self, jobs: Iterable[AdmittedJob]) -> dict[int, list[WorkerFigures]]:
        """Return the state and the last counts of the workers by job, in the order of their numbers."""
        with self._lock:
            alive, now = self._liveness.alive(), self._clock()
            return {job.number: self._figures_of(job, alive, now) for job in jobs}

    def failed_results(self, job: AdmittedJob) -> dict[str, int]:
        """Return the results that failed their check, by device that took part in them."""
        with self._lock:
            totals = self.failing_devices.totals
            return {device: failed for (number, device), failed in totals.items() if number == job.number}

    def _figures_of(self, job: AdmittedJob, alive: Container[tuple[int, int, int]], now: float) -> list[WorkerFigures]:
        key = job.number, job.tickets[0].tag
        reports, gone = self._reports.get(key, {}), self._liveness.gone(*key)
        figures = []
        for worker, host in enumerate(job.request.workers):
            state = "silent" if worker in job.joined else "awaited"
            if (*key, worker) in alive:
                state = "alive"
            elif worker in gone:
                state = gone[worker].kind
            figures.append(WorkerFigures(host, state, reports.get(worker), now))
        return figures

    def expired(self) -> list[Job]:
        """Report the workers that are lost, renew the leases of those that live, and return the jobs without any."""
        with self._lock:
            if self._is_suspended:
                return []
            jobs = self._jobs()
            present = {(job.number, job.incarnation.tag): job for job in jobs.values()}
            for number, tag, worker in self._liveness.take_lost():
                if (number, tag) in present:
                    self._note_gone(present[number, tag], worker, Gone(rpc.LOST, ""))
            for number, tag, worker in self._liveness.alive():
                if (number, tag) in present:
                    self._sign_of_life(present[number, tag], worker)
            for job in jobs.values():
                if self._is_unreached(job) and job.number not in self._kept and self._clock() > self._silence_end(job):
                    self._kept.add(job.number)
                    self._events.add(job.request.name, "kept: none of its hosts has reached this controller yet")
            return [job for job in jobs.values() if self.is_expired(job)]

    def is_expired(self, job: Job) -> bool:
        """Return True if a job, which may be removed meanwhile, is there and its lease has ended."""
        is_there = job.number in self._job_seen and not self._is_suspended
        return is_there and self._clock() > self._lease_end(job)

    def seconds_left(self) -> float | None:
        """Return the seconds until ``expired`` has something to do; None if no lease ends."""
        with self._lock:
            if self._is_suspended:
                return None
            if self.failing_devices.is_due:
                return 0.0
            jobs = self._jobs().values()
            ends = [*self._liveness.deadlines(), *map(self._lease_end, jobs)]
            ends += [self._silence_end(job) for job in jobs if self._is_unreached(job) and job.number not in self._kept]
            return max(0.0, min(ends) - self._clock()) if min(ends, default=math.inf) < math.inf else None

    def _lease_end(self, job: Job) -> float:
        """Return the time at which a job without signs of life is removed."""
        if self._is_unreached(job):
            return max(self._silence_end(job), self._job_seen[job.number] + _UNREACHED_S)
        return self._silence_end(job)

    def _silence_end(self, job: Job) -> float:
        return max(self._grace_end, self._job_seen[job.number] + (job.request.lease_s or math.inf))

    def _is_unreached(self, job: Job) -> bool:
        """Return True if nothing shows that the workers of a job from before the start can reach this controller."""
        return job.number in self._not_called and self._calling_hosts.isdisjoint(job.request.workers)

    def _sign_of_life(self, job: Job, worker: int) -> None:
        self._job_seen[job.number] = self._worker_seen[job.number, worker] = self._clock()
        self._not_called.discard(job.number)
        host = job.request.workers[worker]
        if host not in self._calling_hosts:
            self._calling_hosts.add(host)
            if self._not_called:
                self.leases_changed()

    def begin(self, number: int) -> None:
        """Begin the lease of an admitted job. The caller holds the lock."""
        self._job_seen[number] = self._clock()

    def begin_again(self, job: Job) -> None:
        """Forget the signs of life of the workers of a job that is about to change. The caller holds the lock."""
        for key in [key for key in self._worker_seen if key[0] == job.number]:
            del self._worker_seen[key]

    def end(self, job: Job, why: str, *, is_altered: bool = False) -> None:
        """Explain the end of an incarnation to its workers; ``is_altered``: its sums may be wrong.

        The caller holds the lock.
        """
        self._reports.pop((job.number, job.incarnation.tag), None)
        self._traces.end((job.number, job.incarnation.tag))
        self._ended[job.number, job.incarnation.tag] = {"why": why, **({"altered": True} if is_altered else {})}
        if len(self._ended) > _MAX_ENDED:
            del self._ended[next(iter(self._ended))]
        self._liveness.forget(job.number, job.incarnation.tag)

    def forget(self, job: Job) -> None:
        """Forget a removed job. The caller holds the lock."""
        self._job_seen.pop(job.number, None)
        self._asked.pop(job.number, None)
        self.failing_devices.forget(job.number)
        self._not_called.discard(job.number)
        self.begin_again(job)

    def alive(self, job: Job) -> list[int]:
        """Return the workers of a job with an open stream."""
        with self._lock:
            tag, count = job.incarnation.tag, len(job.request.workers)
            return [worker for worker in range(count) if self._liveness.is_alive(job.number, tag, worker)]

    def jobs_alive(self) -> set[int]:
        """Return the numbers of the jobs with a live worker; without a lock."""
        return {job for job, _, _ in self._liveness.alive()}

    def are_gone(self, job: Job) -> bool:
        """Return True if all workers that took their tickets, one or more, are gone."""
        with self._lock:
            taken = job.incarnation.taken
            return bool(taken) and all(
                self._liveness.is_gone(job.number, job.incarnation.tag, worker) for worker in taken
            )

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Questions that a controller answers without a change of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lanesum_control.controller.reconciler import Reconciler
from lanesum_control.controller.workers import Workers
from lanesum_control.errors import UnknownJobError
from lanesum_control.jobs.records import AdmittedJob, Job
from lanesum_control.jobs.worker_reports import WorkerFigures
from lanesum_control.planner.network import Network
from lanesum_control.state.events import EventLog, date
from lanesum_control.state.store import Store


class Queries:
    """State of jobs, workers, switches and servers.

    Attributes:
        reconciler: the admitted jobs at switches and servers: checks and repairs of these parts.
        workers: the workers of all jobs: their states, reports and streams.
        events: log of all events of switches, servers and jobs.
        network: racks, switches and addresses of hosts.
    """

    reconciler: Reconciler
    workers: Workers
    events: EventLog
    network: Network
    _store: Store

    @property
    def has_standbys(self) -> bool:
        """True if another controller can take over."""
        return self._store.term > 0

    def drains(self) -> list[dict[str, Any]]:
        """Return the drains as JSON fields, oldest first."""
        with self.reconciler.lock:
            names = {job.number: name for name, job in self.reconciler.jobs.items()}
            return [
                {
                    "switch": one.switch,
                    "job": None if one.job is None else names[one.job],
                    "why": one.why,
                    "since": date(one.since),
                }
                for one in self.reconciler.drains.values()
            ]

    def job(self, name: str) -> AdmittedJob:
        """Return an admitted job. Raises UnknownJobError."""
        with self.reconciler.lock:
            return self.reconciler.admitted(self._job(name))

    def present(self) -> list[Job]:
        """Return the admitted jobs; without a lock, so that it never waits."""
        return list(self.reconciler.jobs.values())

    def addresses(self, number: int, workers: Sequence[int]) -> dict[str, str]:
        """Return host and source address of workers of a job by number; none of unknown ones. Without a lock."""
        for job in self.present():
            if job.number == number:
                hosts = dict(enumerate(job.request.workers))
                known = {worker: hosts[worker] for worker in workers if worker in hosts}
                port = job.request.port
                return {str(one): f"{host} ({self.network.address(host)}:{port})" for one, host in known.items()}
        return {}

    def jobs(self) -> list[AdmittedJob]:
        with self.reconciler.lock:
            return [self.reconciler.admitted(job) for job in self.reconciler.jobs.values()]

    def examine(self) -> dict[str, Any]:
        """Return the state of all switches, servers and hosts, see ``examination.examine``; without the outer lock."""
        return self.reconciler.examine()

    def ask(self, jobs: Sequence[AdmittedJob]) -> dict[int, list[WorkerFigures]]:
        """Return the present figures of the workers by job, and ask these for new counts, which arrive later."""
        self.workers.ask(job.number for job in jobs)
        return self.workers.figures(jobs)

    def counters(self) -> dict[str, Any]:
        """Return the packet counters of switches and servers, see ``packet_counters``; without a lock."""
        return self.reconciler.counters()

    def switches_in_use(self) -> set[str]:
        """Return the switches that sum for a job with a live worker; without a lock, so that it never waits."""
        jobs = self.workers.jobs_alive()
        return {name for name, ranges in self.reconciler.plan.ranges.items() if not jobs.isdisjoint(ranges)}

    def _job(self, name: str) -> Job:
        if name not in self.reconciler.jobs:
            before = self.events.removal_of(name)
            raise UnknownJobError(
                f"No job {name!r} is admitted; there is {', '.join(sorted(self.reconciler.jobs)) or 'none'}."
                + (f" It was {before.what}." if before is not None else ""),
                "Admit it first (lanesum job admit).",
            )
        return self.reconciler.jobs[name]

    def _owner(self, name: str) -> str:
        """Return the owner of a job; changes of an unknown one fail later."""
        with self.reconciler.lock:
            job = self.reconciler.jobs.get(name)
        return "" if job is None else job.owner

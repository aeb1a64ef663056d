# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of joining: who may take which ticket, and when a job can begin. Pure functions over a job."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.records import Job, Taken

# Names, and different descriptions, that an answer to a worker has, at most.
MAX_NAMED = 16
MAX_DESCRIPTIONS = 4
CLAIM_LAPSE_S = 10.0  # a claimant without keep-alive for this time may be replaced before the start


@dataclass(frozen=True, slots=True)
class WorkerClaim:
    """Request of a process to be a worker.

    Attributes:
        take_over: the process may take the place of one that lives.
    """

    worker: int
    taken: Taken
    take_over: bool = False


class Verdict(enum.Enum):
    """Decision about a claim."""

    TAKE = "the ticket is free"
    RESTART = "a session is over: a new incarnation begins"


def worker_number(job: Job, worker: int | str) -> int:
    """Return the number of a worker, given by number or by host. Raises AdmissionError."""
    hosts = job.request.workers
    if isinstance(worker, str):
        if worker not in hosts:
            raise AdmissionError(f"Host {worker} has no part in job {job.request.name!r}; {', '.join(hosts)} have.")
        return hosts.index(worker)
    if not 0 <= worker < len(hosts):
        raise AdmissionError(
            f"Job {job.request.name!r} has no worker {worker}; it has {len(hosts)}.",
            "Start as many ranks as it has workers. For a script that starts its N ranks itself: "
            "lanesum launch --nproc N --spawn.",
        )
    return worker


def judge(job: Job, claim: WorkerClaim, *, silent_s: float, alive: bool = False, gone: bool = False) -> Verdict:
    """Decide about a claim; ``silent_s``: seconds since the last call of the present claimant.

    ``alive``: it has an open stream; ``gone``: it had one. Raises AdmissionError if another process has the ticket, and
    lives or waits for the start.
    """
    now = job.incarnation
    held = now.taken.get(claim.worker)
    if held is None:
        return Verdict.TAKE
    if held.claimant == claim.taken.claimant or claim.take_over or now.differing:
        return Verdict.RESTART
    host = job.request.workers[claim.worker]
    if job.started and alive:
        raise AdmissionError(
            f"Worker {claim.worker} ({host}) of job {job.request.name!r} lives: {held.origin}. So "
            f"{claim.taken.origin} cannot be this worker.",
            "Stop the first run, or take its place (lanesum job admit --take-over).",
        )
    if job.started or gone or (silent_s > CLAIM_LAPSE_S and not alive):
        return Verdict.RESTART
    raise AdmissionError(
        f"Worker {claim.worker} ({host}) of job {job.request.name!r} was claimed twice: by {held.origin}, and now by "
        f"{claim.taken.origin}; the job has not started, {', '.join(job.awaited)} are awaited.",
        "Start one process per worker, each with its own number (RANK).",
    )


def readiness(job: Job | None, *, tag: int, worker: int, claimant: str | None = None) -> dict[str, Any]:
    """Return the state of an incarnation, for one of its workers.

    ``state``: ``waiting`` (``for`` names hosts, see ``first_names``), ``ready``, ``mismatch`` (``descriptions`` by
    worker), ``superseded`` (the ticket is void: a newer incarnation has begun, or another process is the worker now),
    ``removed``. A worker that has described its codec waits until all others have.
    """
    if job is None:
        return {"state": "removed"}
    now = job.incarnation
    held = now.taken.get(worker)
    if tag != now.tag or not 0 <= worker < len(job.request.workers):
        return {"state": "superseded"}
    if claimant is not None and held is not None and held.claimant != claimant:
        return {"state": "superseded"}
    hosts = job.request.workers
    if now.differing:
        return {"state": "mismatch", "descriptions": _descriptions(now.taken, hosts)}
    silent: list[str] = []
    if held is not None and held.description is not None:
        silent = [hosts[number] for number, taken in sorted(now.taken.items()) if taken.description is None]
    if job.awaited or silent:
        return {"state": "waiting", "for": first_names([*job.awaited, *silent])}
    return {"state": "ready"}


def first_names(names: Sequence[str]) -> list[str]:
    """Return the first names, and the number of the others as the last one."""
    more = len(names) - MAX_NAMED
    return [*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]


def _descriptions(taken: Mapping[int, Taken], hosts: Sequence[str]) -> dict[str, str]:
    """Return different descriptions by the workers that gave them; the first ones of both."""
    said: dict[str, list[int]] = {}
    for number, one in sorted(taken.items()):
        if one.description is not None:
            said.setdefault(one.description, []).append(number)
    return {
        ", ".join(first_names([f"worker {number} ({hosts[number]})" for number in numbers])): description
        for description, numbers in itertools.islice(said.items(), MAX_DESCRIPTIONS)
    }

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Admission of jobs to one switch: identifiers, tags, slot ranges, multicast groups, tickets."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lanesum import codecs
from lanesum.protocol.frames import ipv4_text
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, MAX_SLOTS, MAX_WORKERS, UDP_PORT
from lanesum.transport.ticket import JobTicket
from lanesum_control.errors import AdmissionError, UnknownJobError
from lanesum_control.model import ControlledSwitch, HostPort, Member, SwitchJob

DEFAULT_SLOTS = 64  # the default window: BMv2 queues that many packets per egress port


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a user asks for.

    Attributes:
        name: the job's name, unique among admitted jobs.
        workers: names of hosts, one worker each; the order is the workers' numbers.
        slots: packets under way at most.
        codec: name of a codec whose code table is installed; None for jobs without TABLE8.
        ops: lane operations that the job may use; TABLE8 only together with a code table.
        udp_port: port that the workers send from.
        seed: seed of the shared random bits; random when None.
    """

    name: str
    workers: tuple[str, ...]
    slots: int = DEFAULT_SLOTS
    codec: str | None = "thc"
    ops: tuple[LaneOp, ...] = tuple(LaneOp)
    udp_port: int = UDP_PORT
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class AdmittedJob:
    """One incarnation of a job, with what the controller gave it.

    ``joined`` are the workers that have taken their ticket. A ticket is good for one session: the rounds of a second
    one would carry the numbers of the first one's, whose results the switch may still hold.
    """

    request: JobRequest
    switch_job: SwitchJob
    tickets: tuple[JobTicket, ...]
    joined: set[int] = field(default_factory=set)


class Controller:
    """Owns one switch. Thread-safe.

    Args:
        switch: the switch, already running the program.
        hosts: every host behind the switch, by name; they are routed to at once.
        server: address that packets are addressed to.
        accumulator_words: words per packet of the switch's program.
    """

    def __init__(
        self,
        switch: ControlledSwitch,
        hosts: dict[str, HostPort],
        server: tuple[str, int],
        *,
        accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS,
    ) -> None:
        self.switch = switch
        self.hosts = dict(hosts)
        self._server = server
        self._accumulator_words = accumulator_words
        self._jobs: dict[str, AdmittedJob] = {}
        self._next_job = 1
        self._lock = threading.RLock()
        for host in hosts.values():
            switch.add_host(host)

    def admit(self, request: JobRequest) -> AdmittedJob:
        """Give the job its identifiers and slots and program the switch.

        Raises:
            AdmissionError: unknown host, name taken, no contiguous slots left, too many workers.
            ConfigurationError: unknown codec, or more workers than its lanes hold.
            SwitchWriteError: the switch refused; nothing of the job is left on it.
        """
        with self._lock:
            self._check(request)
            table = self._code_table(request)
            ops = tuple(op for op in request.ops if op is not LaneOp.TABLE8 or table is not None)
            used = {job.switch_job.job for job in self._jobs.values()}
            while self._next_job in used:
                self._next_job = self._next_job % 0xFFFF + 1
            number, self._next_job = self._next_job, self._next_job % 0xFFFF + 1
            members = tuple(
                Member(worker, (self.hosts[name],), request.udp_port) for worker, name in enumerate(request.workers)
            )
            job = SwitchJob(
                job=number,
                tag=secrets.randbits(32),
                slot_base=self._free_slots(request.slots),
                slot_count=request.slots,
                group=self._free_group(),
                members=members,
                ops=ops,
                code_table=table,
            )
            return self._program(request, job)

    def join(self, name: str, worker: int) -> JobTicket:
        """The ticket of one worker, for one session.

        When the worker has taken its ticket before, its session is over: the job starts a new incarnation with a new
        tag, and the other workers of the old one are no members any more. Raises UnknownJobError, AdmissionError for
        a worker that the job does not have, SwitchWriteError.
        """
        with self._lock:
            admitted = self.job(name)
            if not 0 <= worker < len(admitted.tickets):
                raise AdmissionError(f"Job {name!r} has no worker {worker}; it has {len(admitted.tickets)}.")
            if worker in admitted.joined:
                self.remove(name)
                admitted = self._program(admitted.request, replace(admitted.switch_job, tag=secrets.randbits(32)))
            admitted.joined.add(worker)
            return admitted.tickets[worker]

    def _program(self, request: JobRequest, job: SwitchJob) -> AdmittedJob:
        self.switch.admit(job)
        seed = secrets.randbits(64) if request.seed is None else request.seed
        # Anywhere in the circle of serial numbers: what only works from 0 on, or never wraps, shows at once.
        epoch = secrets.randbits(32)
        admitted = AdmittedJob(request, job, tuple(self._ticket(job, member, seed, epoch) for member in job.members))
        self._jobs[request.name] = admitted
        return admitted

    def remove(self, name: str) -> None:
        """Take the job out of the switch and give its slots back. Raises UnknownJobError."""
        with self._lock:
            admitted = self.job(name)
            self.switch.remove(admitted.switch_job)
            del self._jobs[name]

    def job(self, name: str) -> AdmittedJob:
        """An admitted job. Raises UnknownJobError."""
        with self._lock:
            if name not in self._jobs:
                raise UnknownJobError(
                    f"No job {name!r} is admitted; there is {', '.join(sorted(self._jobs)) or 'none'}.",
                    "Admit it first (lanesum job admit).",
                )
            return self._jobs[name]

    def jobs(self) -> list[AdmittedJob]:
        with self._lock:
            return list(self._jobs.values())

    def _check(self, request: JobRequest) -> None:
        if request.name in self._jobs:
            raise AdmissionError(f"Job {request.name!r} is admitted already.", "Remove it, or choose another name.")
        if not 1 <= len(request.workers) <= MAX_WORKERS:
            raise AdmissionError(
                f"Job {request.name!r} asks for {len(request.workers)} workers.",
                f"One switch level takes 1 to {MAX_WORKERS}.",
            )
        if len(set(request.workers)) != len(request.workers):
            raise AdmissionError(f"Job {request.name!r} names a host twice: {', '.join(request.workers)}.")
        unknown = [name for name in request.workers if name not in self.hosts]
        if unknown:
            raise AdmissionError(
                f"Job {request.name!r} names unknown hosts: {', '.join(unknown)}.",
                f"This controller knows {', '.join(sorted(self.hosts))}.",
            )
        if not 1 <= request.slots <= min(self.switch.slots, MAX_SLOTS):
            raise AdmissionError(
                f"Job {request.name!r} asks for {request.slots} slots; the switch has {self.switch.slots}."
            )

    @staticmethod
    def _code_table(request: JobRequest) -> bytes | None:
        if request.codec is None:
            return None
        table = codecs.get(request.codec, workers=len(request.workers)).code_table
        return None if table is None else table.tobytes()

    def _free_slots(self, count: int) -> int:
        """First fit over the ranges that are taken."""
        base = 0
        for job in sorted((one.switch_job for one in self._jobs.values()), key=lambda one: one.slot_base):
            if job.slot_base - base >= count:
                return base
            base = job.slot_base + job.slot_count
        if self.switch.slots - base >= count:
            return base
        taken = sum(one.switch_job.slot_count for one in self._jobs.values())
        raise AdmissionError(
            f"No {count} slots in a row are free: {taken} of {self.switch.slots} are taken by {len(self._jobs)} jobs.",
            "Ask for fewer slots, or remove a job.",
        )

    def _free_group(self) -> int:
        used = {job.switch_job.group for job in self._jobs.values()}
        return next(group for group in range(1, len(used) + 2) if group not in used)

    def _ticket(self, job: SwitchJob, member: Member, seed: int, epoch: int) -> JobTicket:
        return JobTicket(
            job=job.job,
            tag=job.tag,
            worker=member.worker,
            workers=job.fan_in,
            slots=job.slot_count,
            accumulator_words=self._accumulator_words,
            server=self._server,
            local=(ipv4_text(member.host.ip), member.udp_port),
            seed=seed,
            ops=job.ops,
            code_table=job.code_table,
            epoch=epoch,
        )


def worker_names(hosts: Sequence[str], count: int) -> tuple[str, ...]:
    """The first ``count`` of ``hosts``. Raises AdmissionError when there are fewer."""
    if count > len(hosts):
        raise AdmissionError(
            f"{count} workers are asked for, but the topology has {len(hosts)}: {', '.join(hosts)}.",
            "Choose a larger topology or fewer workers.",
        )
    return tuple(hosts[:count])

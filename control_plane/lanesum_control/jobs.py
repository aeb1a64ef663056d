# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs as the controller keeps them: what was asked for, the incarnation of now, and who has joined it."""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lanesum import codecs
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.frames import ipv4_text
from lanesum.protocol.lanes import LaneOp, carried_by, check_carried
from lanesum.protocol.spec import MAX_SLOTS, UDP_PORT
from lanesum.transport.ticket import JobTicket
from lanesum_control.errors import AdmissionError
from lanesum_control.model import SwitchJob
from lanesum_control.network import Network
from lanesum_control.placement import Placement
from lanesum_control.planning import Wanted

DEFAULT_SLOTS = 64  # the default window: BMv2 queues that many packets per egress port
DEFAULT_LEASE_S = 120.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a user asks for.

    Attributes:
        name: the job's name, unique among admitted jobs.
        workers: names of hosts, one worker each; the order is the workers' numbers.
        slots: packets under way at most; what the job wishes for at every switch.
        codec: name of a codec whose code table is installed; None for jobs without TABLE8.
        ops: lane operations that the job may use; where None, all that the switches' packets can carry. TABLE8 only
            together with a code table.
        udp_port: port that the workers send from; when None, one that no other job of their hosts has.
        seed: seed of the shared random bits; random when None.
        quota: slots that the job has always, at every switch that it is placed on; all that it wishes for when None.
        priority: jobs of a higher one get first what the quotas leave.
        quorum: contributions that make a result; 0 means all workers'.
        best_effort: take slots of the shared pool only; the same as a quota of 0.
        lease_s: seconds without a sign of life after which the job is removed; 0 means never.
    """

    name: str
    workers: tuple[str, ...]
    slots: int = DEFAULT_SLOTS
    codec: str | None = "thc"
    ops: tuple[LaneOp, ...] | None = None
    udp_port: int | None = None
    seed: int | None = None
    quota: int | None = None
    priority: int = 0
    quorum: int = 0
    best_effort: bool = False
    lease_s: float = DEFAULT_LEASE_S

    @property
    def guaranteed(self) -> int:
        """Slots that must be there at every switch of the job."""
        if self.best_effort:
            return 0
        return self.slots if self.quota is None else self.quota

    @property
    def port(self) -> int:
        """The UDP port that the workers send from."""
        return UDP_PORT if self.udp_port is None else self.udp_port

    @property
    def threshold(self) -> int:
        """The quorum as packets have it: one of everybody is none."""
        return self.quorum if self.quorum < len(self.workers) else 0

    def check(self, network: Network, accumulator_words: int) -> None:
        """Raises AdmissionError for what cannot be in packets of ``accumulator_words``, whoever has room."""
        if not self.name:
            raise AdmissionError("A job needs a name.")
        if not self.workers:
            raise AdmissionError(f"Job {self.name!r} asks for 0 workers.")
        if len(set(self.workers)) != len(self.workers):
            raise AdmissionError(f"Job {self.name!r} names a host twice: {', '.join(self.workers)}.")
        unknown = [name for name in self.workers if name not in network.at]
        if unknown:
            raise AdmissionError(
                f"Job {self.name!r} names unknown hosts: {', '.join(unknown)}.",
                f"This controller knows {', '.join(sorted(network.at))}.",
            )
        if self.ops is not None:
            if not self.ops:
                raise AdmissionError(f"Job {self.name!r} names no lane operation.")
            try:
                check_carried(f"Job {self.name!r}", self.ops, accumulator_words)
            except ConfigurationError as error:
                raise AdmissionError(error.what, error.next_step) from error
        limits = {
            "slots": (self.slots, 1, MAX_SLOTS),
            "quota": (self.guaranteed, 0, self.slots),
            "quorum": (self.quorum, 0, len(self.workers)),
            "lease_s": (self.lease_s, 0, float("inf")),
            "udp_port": (self.port, 1, 0xFFFF),
            "seed": (self.seed or 0, 0, (1 << 64) - 1),
        }
        for name, (value, low, high) in limits.items():
            if not low <= value <= high:
                raise AdmissionError(f"Job {self.name!r}: {name} = {value} is not between {low} and {high}.")

    def with_ops(self, accumulator_words: int) -> JobRequest:
        """With every operation named, as admitted jobs have them."""
        return self if self.ops is not None else dataclasses.replace(self, ops=carried_by(accumulator_words))

    def code_table(self, looks_up: bool = True) -> bytes | None:
        """That of the codec; ``looks_up`` says whether the switches can use one.

        Raises ConfigurationError: unknown codec, or more workers than its lanes hold.
        """
        if self.codec is None:
            return None
        table = codecs.for_job(self.codec, workers=len(self.workers), lookup=looks_up).code_table
        return None if table is None else table.tobytes()

    def to_message(self) -> dict[str, Any]:
        """As JSON has it."""
        message = dataclasses.asdict(self)
        message["workers"] = list(self.workers)
        message["ops"] = None if self.ops is None else [op.name for op in self.ops]
        return message

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> JobRequest:
        """Raises AdmissionError for a message that is no job request."""
        fields = dict(message)
        try:
            if fields.get("ops") is not None:
                fields["ops"] = [LaneOp[name] for name in fields["ops"]]
            strangers = fields.keys() - {one.name for one in dataclasses.fields(cls)}
            if strangers:
                raise ValueError(f"there is no field {', '.join(sorted(strangers))}")
            # Strictly: Python takes many a thing for a number.
            return TypeAdapter(cls).validate_json(json.dumps(fields), strict=True)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
            raise AdmissionError(f"Not a job request: {'; '.join(wrong)}.") from error
        except (KeyError, TypeError, ValueError) as error:
            raise AdmissionError(f"Not a job request: {error!r}.") from error


@dataclass(frozen=True, slots=True)
class Taken:
    """Who has taken a ticket.

    Attributes:
        claimant: random number of the process that joined.
        origin: where it is, for people.
        description: what it says its codec is; None when it says nothing.
    """

    claimant: str
    origin: str
    description: str | None = None


@dataclass(slots=True)
class Incarnation:
    """What a job's workers share until one of them has to begin again.

    A ticket is good for one session: the rounds of a second one would carry the numbers of the first one's, whose
    results a switch or the server may still hold.

    Attributes:
        tag: verification tag, 32 bits.
        epoch: number of the first round, anywhere in the circle of serial numbers: what only works from 0 on, or
            never wraps, shows at once.
        seed: seed of the shared random bits, 64 bits.
        slots: packets under way at most, the same for all its workers; a resized job's workers keep theirs.
        servers: addresses of the aggregation servers; which one has a slot depends on how many there are.
        looks_up: whether all switches looked codes up when it began; else its codec does without, if it can.
        taken: tickets that were handed out, by worker.
    """

    tag: int
    epoch: int
    seed: int
    slots: int
    servers: tuple[Address, ...]
    looks_up: bool
    taken: dict[int, Taken] = field(default_factory=dict)

    @classmethod
    def of(cls, request: JobRequest, servers: tuple[Address, ...], looks_up: bool) -> Incarnation:
        """A new one."""
        seed = secrets.randbits(64) if request.seed is None else request.seed
        return cls(secrets.randbits(32), secrets.randbits(32), seed, request.slots, servers, looks_up)

    @property
    def differing(self) -> bool:
        """Whether two workers say that they use different codecs."""
        return len({taken.description for taken in self.taken.values() if taken.description is not None}) > 1


@dataclass(slots=True)
class Job:
    """A job with its present incarnation. ``order`` grows with every admission; ``group`` is its multicast group."""

    number: int
    group: int
    order: int
    request: JobRequest
    incarnation: Incarnation

    @property
    def started(self) -> bool:
        """All workers have their tickets."""
        return not self.awaited

    @property
    def awaited(self) -> list[str]:
        """Hosts whose workers have not taken their tickets yet."""
        return [name for worker, name in enumerate(self.request.workers) if worker not in self.incarnation.taken]

    @property
    def code_table(self) -> bytes | None:
        """What its codes are looked up in, 16 bytes."""
        return self.request.code_table(self.incarnation.looks_up)

    def ops(self) -> tuple[LaneOp, ...]:
        """The operations that it may use."""
        table = self.code_table
        return tuple(op for op in self.request.ops or () if not op.shape.lookup or table is not None)

    def wanted(self, *, strict: bool = False) -> Wanted:
        """For planning; ``strict``: it is not admitted yet, so its quota may still be refused."""
        base = SwitchJob(
            job=self.number,
            tag=self.incarnation.tag,
            slot_base=0,
            slot_count=0,
            group=self.group,
            members=(),
            ops=self.ops(),
            code_table=self.code_table,
        )
        return Wanted(
            base=base,
            hosts=self.request.workers,
            quorum=self.request.threshold,
            udp_port=self.request.port,
            slots=min(self.request.slots, self.incarnation.slots),  # nobody uses more
            quota=min(self.request.guaranteed, self.incarnation.slots),
            priority=self.request.priority,
            order=self.order,
            strict=strict,
        )


@dataclass(frozen=True, slots=True)
class AdmittedJob:
    """A job as it is now, for whoever asks.

    Attributes:
        request: what was asked for.
        number: the job identifier in packets.
        tickets: one per worker, of the present incarnation.
        joined: workers that have taken theirs.
        switch_jobs: what each switch was told, by switch; a switch that the server stands in for is not there.
        left_out: why a switch on the job's paths has no part in it, in words.
    """

    request: JobRequest
    number: int
    tickets: tuple[JobTicket, ...]
    joined: frozenset[int]
    switch_jobs: Mapping[str, SwitchJob]
    left_out: Mapping[str, str]


def tickets(job: Job, placement: Placement, network: Network, accumulator_words: int) -> tuple[JobTicket, ...]:
    """One ticket per worker of the present incarnation."""
    request, incarnation = job.request, job.incarnation
    shared = JobTicket(
        job=job.number,
        tag=incarnation.tag,
        worker=0,
        workers=len(request.workers),
        slots=incarnation.slots,
        accumulator_words=accumulator_words,
        servers=incarnation.servers,
        seed=incarnation.seed,
        ops=job.ops(),
        code_table=job.code_table,
        epoch=incarnation.epoch,
        quorum=request.threshold,
        places=placement.places,
    )
    return tuple(
        dataclasses.replace(shared, worker=worker, local=(ipv4_text(network.host(name).ip), request.port))
        for worker, name in enumerate(request.workers)
    )

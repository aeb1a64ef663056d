# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs as the controller stores them: request, present incarnation, and taken tickets."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import secrets
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lanesum import codecs
from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp, carried_by, certified_data_words, check_carried, check_certified
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, MAX_SLOTS, MAX_WORDS, UDP_PORT
from lanesum.transport.ticket import JobTicket
from lanesum_control.errors import AdmissionError
from lanesum_control.jobs.left_out import Reason
from lanesum_fabric.program.switch_job import SwitchJob

# Packets in flight of a job that names none. BMv2 queues 64 packets per egress port.
DEFAULT_SLOTS = 64
DEFAULT_SLOTS_WITHOUT_SWITCH = 512
DEFAULT_LEASE_S = 120.0
# Characters of a name and of a codec with its parameters: lists and tickets have both.
MAX_NAME, MAX_CODEC = 128, 4096

#: Added to the checksum of members whose packets may be joined.
JOINED = 1 << 32
Places = tuple[tuple[int, int], ...]  # (rack, bit) of every worker; empty with one level


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Request of a user.

    Attributes:
        name: name of the job, unique among admitted jobs.
        workers: names of hosts, one worker each; the order defines the workers' numbers.
        slots: maximum packets in flight, and demand at every switch; None for the default of the path.
        words: accumulator words of a packet; None for what the path carries.
        codec: name of a codec whose code table is installed; None for jobs without lookup.
        ops: permitted lane operations; None for all that fit the packets. A lookup requires a code table.
        udp_port: source port of the workers; None for one that no other job of their hosts uses.
        seed: seed of the shared random bits; random if None.
        quota: guaranteed slots at every switch of the job; None for the whole demand.
        priority: jobs of a higher one get slots beyond their quota first.
        quorum: contributions that complete a result; 0 means those of all workers.
        best_effort: use slots of the shared pool only, like a quota of 0.
        certified: packets have check words, and a result that fails its check is not used (``JobTicket.certified``).
        lease_s: seconds without a keep-alive after which the job is removed; 0 means never.
        worker_token: SHA-256 of the token of the workers, as hexadecimal digits; empty for none.
    """

    name: str
    workers: tuple[str, ...]
    slots: int | None = None
    codec: str | None = "thc"
    ops: tuple[LaneOp, ...] | None = None
    udp_port: int | None = None
    seed: int | None = None
    quota: int | None = None
    priority: int = 0
    quorum: int = 0
    best_effort: bool = False
    certified: bool = False
    lease_s: float = DEFAULT_LEASE_S
    worker_token: str = ""
    words: int | None = None

    @property
    def in_flight(self) -> int:
        """Maximum packets in flight."""
        return DEFAULT_SLOTS if self.slots is None else self.slots

    @property
    def guaranteed(self) -> int:
        """Guaranteed slots at every switch of the job."""
        if self.best_effort:
            return 0
        return self.in_flight if self.quota is None else self.quota

    @property
    def port(self) -> int:
        """Source UDP port of the workers."""
        return UDP_PORT if self.udp_port is None else self.udp_port

    @property
    def threshold(self) -> int:
        """Quorum as packets have it: 0 if all workers are required."""
        return self.quorum if self.quorum < len(self.workers) else 0

    @property
    def accumulator_words(self) -> int:
        """Accumulator words of a packet."""
        return DEFAULT_ACCUMULATOR_WORDS if self.words is None else self.words

    def check(self, hosts: Collection[str]) -> None:
        """Check the request against the hosts of a network, and its operations against packets of known size.

        Raises AdmissionError.
        """
        if not self.name:
            raise AdmissionError("A job needs a name.")
        if not self.name.isprintable():
            raise AdmissionError(f"Job name {self.name!r} has characters that cannot be printed.")
        for what, text, bound in (("name", self.name, MAX_NAME), ("codec", self.codec or "", MAX_CODEC)):
            if len(text) > bound:
                raise AdmissionError(
                    f"The {what} of job {self.name[:MAX_NAME]!r} has {len(text)} characters, more than {bound}."
                )
        if not self.workers:
            raise AdmissionError(f"Job {self.name!r} asks for 0 workers.")
        if len(set(self.workers)) != len(self.workers):
            raise AdmissionError(f"Job {self.name!r} names a host twice: {', '.join(self.workers)}.")
        unknown = [name for name in self.workers if name not in hosts]
        if unknown:
            raise AdmissionError(
                f"Job {self.name!r} names unknown hosts: {', '.join(unknown)}.",
                f"Hosts of this controller: {', '.join(sorted(hosts))}.",
            )
        if self.ops is not None and not self.ops:
            raise AdmissionError(f"Job {self.name!r} names no lane operation.")
        if self.ops is not None and self.words is not None:
            try:
                check_carried(f"Job {self.name!r}", self.ops, self.accumulator_words)
            except ConfigurationError as error:
                raise AdmissionError(error.what, error.next_step) from error
        if self.certified and self.words is not None:
            self._check_certified(self.words)
        if not re.fullmatch("([0-9a-f]{64})?", self.worker_token):
            raise AdmissionError(f"Job {self.name!r}: worker_token is no SHA-256 in hexadecimal digits.")
        limits = {
            "slots": (self.in_flight, 1, MAX_SLOTS),
            "words": (self.accumulator_words, 2, MAX_WORDS),
            "quota": (self.guaranteed, 0, self.in_flight),
            "quorum": (self.quorum, 0, len(self.workers)),
            "lease_s": (self.lease_s, 0, float("inf")),
            "udp_port": (self.port, 1, 0xFFFF),
            "seed": (self.seed or 0, 0, (1 << 64) - 1),
        }
        for name, (value, low, high) in limits.items():
            if not low <= value <= high:
                raise AdmissionError(f"Job {self.name!r}: {name} = {value} is not between {low} and {high}.")

    def _check_certified(self, accumulator_words: int) -> None:
        """Raise AdmissionError if sums of the job cannot be certified."""
        try:
            # Every codec for gradients needs MAX, apart from those that name their operations.
            ops = (LaneOp.MAX,) if self.ops is None else self.ops
            check_certified(f"Job {self.name!r}", ops, accumulator_words, len(self.workers))
        except ConfigurationError as error:
            raise AdmissionError(error.what, error.next_step) from error
        if self.code_table() is not None:
            raise AdmissionError(
                f"Job {self.name!r}: codec {self.codec!r} looks codes up in a table, so its sums cannot be certified.",
                "Choose a codec without a table, such as thc, or admit the job without certified sums.",
            )

    def with_slots(self, *, switched: bool) -> JobRequest:
        """Return the request with a number of slots; ``switched``: a switch may take part in the job."""
        default = DEFAULT_SLOTS if switched else DEFAULT_SLOTS_WITHOUT_SWITCH
        return self if self.slots is not None else dataclasses.replace(self, slots=default)

    def with_words(self, words: int) -> JobRequest:
        """Return the request with packets of ``words``, and with all permitted operations named that they carry."""
        carried = carried_by(words)
        if self.certified:
            carried = tuple(op for op in carried if certified_data_words(op, words, len(self.workers)))
        ops = carried if self.ops is None else tuple(op for op in self.ops if op in carried)
        return dataclasses.replace(self, words=words, ops=ops)

    def code_table(self, looks_up: bool = True) -> bytes | None:
        """Return the code table of the codec; ``looks_up``: the switches can use one.

        Raises ConfigurationError: unknown codec, or more workers than its lanes hold.
        """
        looks_up = looks_up and not self.certified
        return None if self.codec is None else _code_table(self.codec, len(self.workers), looks_up)

    def to_message(self) -> dict[str, Any]:
        """Return the request as JSON fields."""
        message = dataclasses.asdict(self)
        message["workers"] = list(self.workers)
        message["ops"] = None if self.ops is None else [op.name for op in self.ops]
        return message

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> JobRequest:
        """Read a request. Raises AdmissionError for an invalid message."""
        fields = dict(message)
        try:
            if fields.get("ops") is not None:
                fields["ops"] = [LaneOp[name] for name in fields["ops"]]
            unknown = fields.keys() - {one.name for one in dataclasses.fields(cls)}
            if unknown:
                raise ValueError(f"there is no field {', '.join(sorted(unknown))}")
            # Strict checks: Python converts many types to numbers.
            return TypeAdapter(cls).validate_json(json.dumps(fields), strict=True)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
            raise AdmissionError(f"Not a job request: {'; '.join(wrong)}.") from error
        except (KeyError, TypeError, ValueError) as error:
            raise AdmissionError(f"Not a job request: {error!r}.") from error


@functools.lru_cache(maxsize=1024)  # every plan asks for the tables of all jobs
def _code_table(codec: str, workers: int, looks_up: bool) -> bytes | None:
    table = codecs.for_job(codec, workers=workers, lookup=looks_up).code_table
    return None if table is None else table.tobytes()


@dataclass(frozen=True, slots=True)
class Taken:
    """Claimant of a ticket.

    Attributes:
        claimant: random number of the process that joined.
        origin: its host and process, for messages.
        description: description of its codec; None if it gave none.
    """

    claimant: str
    origin: str
    description: str | None = None


@dataclass(slots=True)
class Incarnation:
    """State that a job's workers share until one of them joins again.

    A ticket is valid for one session: the rounds of a second one would reuse the numbers of the first one, whose
    results a switch or server may still hold.

    Attributes:
        tag: verification tag, 32 bits.
        epoch: number of the first round, random, so that errors of wrapping show at once.
        seed: seed of the shared random bits, 64 bits.
        slots: maximum packets in flight, equal for all workers; it does not change when the job is resized.
        servers: addresses of the aggregation servers; their number determines the server of a slot.
        looks_up: all switches had code tables at the start; else the codec works without, if it can.
        taken: claimants of tickets, by worker.
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
        """Return a new incarnation."""
        seed = secrets.randbits(64) if request.seed is None else request.seed
        return cls(secrets.randbits(32), secrets.randbits(32), seed, request.in_flight, servers, looks_up)

    @property
    def differing(self) -> bool:
        """Return True if two workers described different codecs."""
        return len({taken.description for taken in self.taken.values() if taken.description is not None}) > 1


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its present incarnation: the one record of it, which everything else is derived from.

    ``order`` grows with every admission; ``group`` is its multicast group; ``owner`` is the name of the caller that
    admitted it; ``limited``: the owner is a tenant, whose quota holds.
    """

    number: int
    group: int
    order: int
    request: JobRequest
    incarnation: Incarnation
    owner: str = ""
    limited: bool = False

    @property
    def started(self) -> bool:
        """True if all workers have their tickets."""
        return not self.awaited

    @property
    def awaited(self) -> list[str]:
        """Hosts whose workers have not taken their tickets yet."""
        return [name for worker, name in enumerate(self.request.workers) if worker not in self.incarnation.taken]

    @property
    def slots(self) -> int:
        """Slots of use at every switch; the workers have no more packets in flight until the next incarnation."""
        return min(self.request.in_flight, self.incarnation.slots)

    @property
    def guaranteed(self) -> int:
        """Guaranteed slots at every switch; 0 for a job of the shared pool."""
        return min(self.request.guaranteed, self.incarnation.slots)

    @property
    def tenant(self) -> str | None:
        """Owner whose quota limits the job; None if nothing but the switches does."""
        return self.owner if self.limited else None

    @property
    def code_table(self) -> bytes | None:
        """Code table, 16 bytes."""
        return self.request.code_table(self.incarnation.looks_up)

    @property
    def ops(self) -> tuple[LaneOp, ...]:
        """Permitted operations."""
        table = self.code_table
        return tuple(op for op in self.request.ops or () if not op.shape.lookup or table is not None)

    def tickets(self, places: Places, addresses: Sequence[str], *, joined_packets: bool) -> tuple[JobTicket, ...]:
        """Return one ticket per worker of the present incarnation.

        ``places``: of ``Placement``; ``addresses``: IPv4 addresses of the workers.
        """
        request, now = self.request, self.incarnation
        shared = JobTicket(
            job=self.number,
            tag=now.tag,
            worker=0,
            workers=len(request.workers),
            slots=now.slots,
            accumulator_words=request.accumulator_words,
            servers=now.servers,
            seed=now.seed,
            ops=self.ops,
            code_table=self.code_table,
            epoch=now.epoch,
            quorum=request.threshold,
            places=places,
            codec=request.codec,
            joined_packets=joined_packets,
            certified=request.certified,
        )
        return tuple(
            dataclasses.replace(shared, worker=worker, local=(address, request.port))
            for worker, address in enumerate(addresses)
        )


def checksum(tickets: Sequence[JobTicket]) -> int:
    """Return a checksum of addresses and places of the workers, by which packets name them.

    It is ``JOINED`` higher if their packets may be joined.
    """
    named = zlib.crc32(repr([(ticket.local, ticket.place) for ticket in tickets]).encode())
    return named + JOINED * tickets[0].joined_packets


@dataclass(frozen=True, slots=True)
class Moved:
    """``why`` a switch on the paths of a job does not sum for it, and ``since`` when: seconds since 1970."""

    why: Reason
    since: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class AdmittedJob:
    """Snapshot of a job.

    Attributes:
        request: the user's request.
        number: job identifier in packets.
        owner: name of the caller that admitted it; empty if it gave none.
        tickets: one per worker, of the present incarnation.
        joined: workers that have taken their tickets.
        switch_jobs: entry of each switch; a switch whose part the server does has none.
        left_out: reason why a switch on the job's paths has no part in it.
        moved: switches whose sums the server computes, left out or lost.
    """

    request: JobRequest
    number: int
    owner: str
    tickets: tuple[JobTicket, ...]
    joined: frozenset[int]
    switch_jobs: Mapping[str, SwitchJob]
    left_out: Mapping[str, str]
    moved: Mapping[str, Moved]

    @property
    def result_bytes(self) -> int:
        """Bytes of the accumulator words of a result."""
        return 4 * self.tickets[0].accumulator_words

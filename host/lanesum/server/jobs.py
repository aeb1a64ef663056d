# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Description of a job at the server: its members, slots, operations and quorum; and the status of a server."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from dataclasses import dataclass
from typing import Any

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, MAX_RACKS, MAX_SLOTS, MAX_WORDS, MAX_WORKERS, VERSION
from lanesum.transport.ticket import MAX_SERVERS, JobTicket, check_fields, name_racks

DEFAULT_KEPT_RESULTS = 4096
MAX_KEPT_RESULTS = 1 << 20
_LATER_FIELDS = {"joined_packets": False, "servers": 1}


@dataclass(frozen=True, slots=True)
class MemberIndex:
    """Indices that name one worker: its number in the job, its rack, and its bit in the bitmap of that rack."""

    worker: int
    rack: int
    bit: int


@dataclass(frozen=True, slots=True)
class ServerJob:
    """Job description that the controller sends to the server.

    Attributes:
        job: job identifier, 16 bits.
        tag: verification tag of this incarnation, 32 bits. The members of a job never change under one tag.
        members: index of every worker by the IPv4 address and UDP port that it sends from; at most 32 x 32.
        slots: slots of the job, as in the workers' tickets.
        ops: lane operations that the job may use; if empty, all that its packets can carry.
        code_table: the 16 bytes in which operations with lookup look up codes.
        accumulator_words: 32-bit words of a sum.
        quorum: number of workers that completes a result; 0 means all.
        on_switches: accept aggregates of switches.
        kept_results: results kept for late workers, with a quorum; see ``result_capacity``.
        joined_packets: as in the workers' tickets.
        servers: number of servers of the job, of which this one has every ``servers``-th slot.

    Raises ConfigurationError: a value is out of range, or values contradict each other.
    """

    job: int
    tag: int
    members: dict[Address, MemberIndex]
    slots: int
    ops: tuple[LaneOp, ...] = ()
    code_table: bytes | None = None
    accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS
    quorum: int = 0
    on_switches: bool = False
    kept_results: int = DEFAULT_KEPT_RESULTS
    joined_packets: bool = False
    servers: int = 1

    def __post_init__(self) -> None:
        limits = {
            "job": (0, 0xFFFF),
            "tag": (0, 0xFFFFFFFF),
            "slots": (1, MAX_SLOTS),
            "accumulator_words": (2, MAX_WORDS - MAX_RACKS),  # a partial result carries a bitmap for each rack
            "quorum": (0, len(self.members)),
            "kept_results": (1, MAX_KEPT_RESULTS),
            "servers": (1, MAX_SERVERS),
        }
        check_fields("Job at the server", self, limits)
        self._check_members()

    def _check_members(self) -> None:
        whose = f"Job {self.job} at the server"
        indices = list(self.members.values())
        if not indices:
            raise ConfigurationError(f"{whose}: it has no members.")
        if sorted(index.worker for index in indices) != list(range(len(indices))):
            raise ConfigurationError(f"{whose}: workers are not numbered 0 to {len(indices) - 1}.")
        bits = {(index.rack, index.bit) for index in indices}
        if len(bits) != len(indices):
            raise ConfigurationError(f"{whose}: two workers have the same rack and bit.")
        if any(not (0 <= rack < MAX_RACKS and 0 <= bit < MAX_WORKERS) for rack, bit in bits):
            raise ConfigurationError(f"{whose}: racks and bits go beyond {MAX_RACKS} x {MAX_WORKERS}.")
        for ip, port in self.members:
            try:
                ipaddress.IPv4Address(str(ip))
            except ValueError as error:
                raise ConfigurationError(f"{whose}: {ip!r} is no IPv4 address.") from error
            if not 1 <= port <= 0xFFFF:
                raise ConfigurationError(
                    f"{whose}: no worker can send from port {port} of {ip}.",
                    "Name the port that the worker's socket is bound to.",
                )

    @property
    def two_levels(self) -> bool:
        """Results name racks, not workers."""
        return name_racks((index.worker, index.rack, index.bit) for index in self.members.values())

    @property
    def threshold(self) -> int:
        """Number of workers that completes a result."""
        return self.quorum or len(self.members)

    @property
    def has_quorum(self) -> bool:
        """A result may lack some workers, so a chunk has several correct sums: the server selects one."""
        return self.threshold < len(self.members)

    @property
    def result_capacity(self) -> int:
        """Results that are kept with a quorum: at least two turns of all slots, see ``QuorumResultCache``."""
        return max(self.kept_results, 2 * self.slots)

    @classmethod
    def from_tickets(cls, tickets: list[JobTicket], *, on_switches: bool = False) -> ServerJob:
        """Return the job of these tickets: one for each worker, all with the real ports of their local addresses."""
        first = tickets[0]
        return cls(
            first.job,
            first.tag,
            {ticket.local: MemberIndex(ticket.worker, *ticket.place) for ticket in tickets},
            first.slots,
            first.ops,
            first.code_table,
            first.accumulator_words,
            first.quorum,
            on_switches,
            joined_packets=first.joined_packets,
            servers=len(first.servers),
        )

    def to_json(self) -> str:
        """Return the job as one line of JSON."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["members"] = [[*address, index.worker, index.rack, index.bit] for address, index in self.members.items()]
        fields["code_table"] = None if self.code_table is None else self.code_table.hex()
        for name, default in _LATER_FIELDS.items():  # earlier builds refuse them
            if fields[name] == default:
                del fields[name]
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> ServerJob:
        """Read the output of ``to_json``. Raises ConfigurationError for any other text."""
        try:
            fields = json.loads(text)
            fields["members"] = {
                (ip, _integer(port)): MemberIndex(_integer(worker), _integer(rack), _integer(bit))
                for ip, port, worker, rack, bit in fields["members"]
            }
            fields["ops"] = tuple(LaneOp(op) for op in fields["ops"])
            table = fields["code_table"]
            fields["code_table"] = None if table is None else bytes.fromhex(table)
            fields = {**_LATER_FIELDS, **fields}
            for name in ("job", "tag", "slots", "accumulator_words", "quorum", "kept_results", "servers"):
                _integer(fields[name])
            if not isinstance(fields["on_switches"], bool) or not isinstance(fields["joined_packets"], bool):
                raise TypeError("on_switches or joined_packets is neither true nor false")
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigurationError(f"Not a job for the server: {error!r}.") from error


def _integer(value: object) -> int:
    """Return ``value``, which JSON may have as a number of another type. Raises TypeError then."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is no integer")
    return value


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """Identity, jobs and counters of a server.

    Attributes:
        instance: random text. A new one means that the server was restarted and has no jobs.
        address: IPv4 address and UDP port that packets are addressed to.
        durable: results of jobs with a quorum survive the server's process. Otherwise such a job needs a new tag after
            a restart.
        decisions: contributions of members since the server's start, by decision.
        refused: datagrams that changed nothing, by reason.
        broken: datagrams that could not be handled because of a bug.
        received: datagrams that each thread has received.
        steered_by: ``"slot"``, ``"sender"`` or ``"none"``, see ``Steering``.
    """

    instance: str
    address: Address
    durable: bool
    jobs: dict[int, ServerJob]
    decisions: dict[str, int]
    refused: dict[str, int]
    broken: int
    received: list[int] = dataclasses.field(default_factory=list)
    steered_by: str = "none"

    def to_message(self) -> dict[str, Any]:
        """Return the status as a JSON object."""
        message = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        message["jobs"] = [job.to_json() for job in self.jobs.values()]
        return {**message, "protocol": VERSION}

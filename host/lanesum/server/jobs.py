# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A job as the server knows it: who may contribute, from where, and what makes a result."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp, carried_by, check_carried
from lanesum.protocol.spec import (
    CODE_TABLE_ENTRIES,
    DEFAULT_ACCUMULATOR_WORDS,
    MAX_RACKS,
    MAX_SLOTS,
    MAX_WORDS,
    MAX_WORKERS,
)
from lanesum.transport.ticket import JobTicket, name_racks

DEFAULT_HISTORY = 4096
MAX_HISTORY = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker is: its number in the job, its rack, and its bit in that rack's bitmap."""

    worker: int
    rack: int
    bit: int

    @classmethod
    def in_one_level(cls, worker: int) -> Place:
        """With one level there is one rack, and a worker's bit is its number."""
        return cls(worker, 0, worker)


@dataclass(frozen=True, slots=True)
class ServerJob:
    """What the controller tells the server about a job.

    Attributes:
        job: job identifier, 16 bits.
        tag: verification tag of this incarnation, 32 bits. Who is in the job never changes under one tag.
        members: place of every worker by the IPv4 address and UDP port that it sends from; up to 32 x 32.
        slots: slots of the job, as in the workers' tickets.
        ops: lane operations that the job may use; where none is named, all that its packets can carry.
        code_table: the 16 bytes that TABLE8 looks codes up in.
        accumulator_words: 32-bit words of a sum.
        quorum: workers that make a result; 0 means all.
        on_switches: whether sums that switches have made are accepted.
        history: decisions kept for late workers, with a quorum; see ``decisions_kept``.

    Raises ConfigurationError for values that cannot be.
    """

    job: int
    tag: int
    members: dict[Address, Place]
    slots: int
    ops: tuple[LaneOp, ...] = ()
    code_table: bytes | None = None
    accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS
    quorum: int = 0
    on_switches: bool = False
    history: int = DEFAULT_HISTORY

    def __post_init__(self) -> None:
        # A quorum's result carries a bitmap word per rack behind the sum.
        limits = {
            "job": (0, 0xFFFF),
            "tag": (0, 0xFFFFFFFF),
            "slots": (1, MAX_SLOTS),
            "accumulator_words": (2, MAX_WORDS - MAX_RACKS),
            "quorum": (0, len(self.members)),
            "history": (1, MAX_HISTORY),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigurationError(f"Job at the server: {name} = {value} is not between {low} and {high}.")
        if not self.ops:
            object.__setattr__(self, "ops", carried_by(self.accumulator_words))
        check_carried("Job at the server", self.ops, self.accumulator_words)
        if self.code_table is not None and len(self.code_table) != CODE_TABLE_ENTRIES:
            raise ConfigurationError(f"Job at the server: a code table has {CODE_TABLE_ENTRIES} bytes.")
        self._check_members()

    def _check_members(self) -> None:
        places = list(self.members.values())
        if not places:
            raise ConfigurationError(f"Job {self.job} at the server: it has no members.")
        if sorted(place.worker for place in places) != list(range(len(places))):
            raise ConfigurationError(f"Job {self.job} at the server: workers are not numbered 0 to {len(places) - 1}.")
        spots = {(place.rack, place.bit) for place in places}
        if len(spots) != len(places):
            raise ConfigurationError(f"Job {self.job} at the server: two workers have the same rack and bit.")
        if any(not (0 <= rack < MAX_RACKS and 0 <= bit < MAX_WORKERS) for rack, bit in spots):
            raise ConfigurationError(f"Job {self.job} at the server: places go beyond {MAX_RACKS} x {MAX_WORKERS}.")
        for ip, port in self.members:
            try:
                ipaddress.IPv4Address(str(ip))
            except ValueError as error:
                raise ConfigurationError(f"Job {self.job} at the server: {ip!r} is no IPv4 address.") from error
            if not 1 <= port <= 0xFFFF:
                raise ConfigurationError(
                    f"Job {self.job} at the server: nobody can send from port {port} of {ip}.",
                    "Name the port that the worker's socket is bound to.",
                )

    @property
    def two_levels(self) -> bool:
        """Results name racks, not workers."""
        return name_racks((place.worker, place.rack, place.bit) for place in self.members.values())

    @property
    def threshold(self) -> int:
        """Workers that make a result."""
        return self.quorum or len(self.members)

    @property
    def decides(self) -> bool:
        """A chunk may have more than one right sum, so that somebody has to decide which."""
        return self.threshold < len(self.members)

    @property
    def decisions_kept(self) -> int:
        """At least two turns of all slots: only then is a chunk older than everything kept surely decided."""
        return max(self.history, 2 * self.slots)

    @classmethod
    def from_tickets(cls, tickets: list[JobTicket], *, on_switches: bool = False) -> ServerJob:
        """The job whose workers hold ``tickets``, all of them; their local addresses must have real ports."""
        first = tickets[0]
        return cls(
            first.job,
            first.tag,
            {ticket.local: Place(ticket.worker, *ticket.place) for ticket in tickets},
            first.slots,
            first.ops,
            first.code_table,
            first.accumulator_words,
            first.quorum,
            on_switches,
        )

    def to_json(self) -> str:
        """One line of JSON."""
        fields = {
            "job": self.job,
            "tag": self.tag,
            "members": [[ip, port, place.worker, place.rack, place.bit] for (ip, port), place in self.members.items()],
            "slots": self.slots,
            "ops": list(self.ops),
            "code_table": None if self.code_table is None else self.code_table.hex(),
            "accumulator_words": self.accumulator_words,
            "quorum": self.quorum,
            "on_switches": self.on_switches,
            "history": self.history,
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str) -> ServerJob:
        """Raises ConfigurationError for text that is no job."""
        try:
            fields = json.loads(text)
            fields["members"] = {
                (ip, _whole(port)): Place(_whole(worker), _whole(rack), _whole(bit))
                for ip, port, worker, rack, bit in fields["members"]
            }
            fields["ops"] = tuple(LaneOp(op) for op in fields["ops"])
            table = fields["code_table"]
            fields["code_table"] = None if table is None else bytes.fromhex(table)
            for name in ("job", "tag", "slots", "accumulator_words", "quorum", "history"):
                _whole(fields[name])
            if not isinstance(fields["on_switches"], bool):
                raise TypeError("on_switches is neither true nor false")
            return cls(**fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(f"Not a job for the server: {error!r}.") from error


def _whole(value: object) -> int:
    """JSON knows numbers, strings and booleans that Python would take for an int."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is no whole number")
    return value

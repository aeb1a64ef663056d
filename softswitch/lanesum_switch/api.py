# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Entities of a switch that runs a P4 program, and their errors.

``lanesum_switch.dataplane`` and ``lanesum_switch.tna`` have them; the servers of P4Runtime and BF Runtime call these
switches. Entities and error classes follow the P4Runtime specification 1.4, section 9
("P4 Entity Messages"). Values are Python ints; the compiled program gives their widths. Names are those of the
BMv2 JSON, which are also the full names of the P4Info (``Ingress.membership.member``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lanesum.errors import LanesumError

MatchKind = Literal["exact", "lpm", "ternary", "range", "optional"]


class SwitchError(LanesumError):
    """Base class of all errors of the embedded switch."""


class UnsupportedProgramError(SwitchError):
    """The program uses a construct that this switch does not run; the message names it and its place."""


class NotFoundError(SwitchError):
    """A table, action, entry, member, group or array index does not exist (P4Runtime NOT_FOUND)."""


class AlreadyExistsError(SwitchError):
    """An entry, member or group exists already (P4Runtime ALREADY_EXISTS)."""


class InvalidArgumentError(SwitchError):
    """A value does not fit its field, or an action is not one of the table (P4Runtime INVALID_ARGUMENT)."""


class TableFullError(SwitchError):
    """A table, profile or group holds as many entries as its size allows (P4Runtime RESOURCE_EXHAUSTED)."""


class PermissionDeniedError(SwitchError):
    """Const entries or a const default action cannot be changed (P4Runtime PERMISSION_DENIED)."""


class ParamSpec(NamedTuple):
    """A run-time parameter of an action."""

    name: str
    bits: int


class Match(NamedTuple):
    """A key field of an entry. A tuple, because tables find entries by their matches.

    Attributes:
        value: the value; of a ``range`` the lower bound, inclusive.
        aux: ``lpm``: prefix length in bits; ``ternary`` and ``optional``: mask; ``range``: upper bound, inclusive;
            ``exact``: 0.
    """

    value: int
    aux: int = 0


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action and one argument per run-time parameter."""

    action: str
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberRef:
    """The action of an action profile's member, for entries of indirect tables."""

    member_id: int


@dataclass(frozen=True, slots=True)
class GroupRef:
    """The member of a group that the action selector's hash chooses, for entries of indirect tables."""

    group_id: int


Target = ActionCall | MemberRef | GroupRef


@dataclass(slots=True)
class CounterValue:
    """Packets and bytes that a counter has counted."""

    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class MeterRates:
    """Configuration of a two-rate three-color meter (RFC 2698).

    Rates are in units per second and burst sizes in units; the unit of the meter is bytes or packets.
    """

    cir: int
    cburst: int
    pir: int
    pburst: int


@dataclass(slots=True)
class TableEntry:
    """An entry of a table.

    Attributes:
        match: one item per key field; empty for the default entry.
        target: the action, member or group.
        priority: the entry with the larger number wins; 0 where no key field is ternary, range or optional.
        counter: the direct counter; None without one.
        meter: rates of the direct meter; None colors every packet green.
        idle_timeout_ns: time without a hit after which the entry is reported; 0 for never.
        last_hit_ns: the switch's clock at the last hit.
        is_const: the entry is part of the program.
        handle: number that no other entry of the table has had.
    """

    match: tuple[Match, ...]
    target: Target
    priority: int = 0
    counter: CounterValue | None = None
    meter: MeterRates | None = None
    idle_timeout_ns: int = 0
    last_hit_ns: int = 0
    is_const: bool = False
    handle: int = 0


@dataclass(frozen=True, slots=True)
class Replica:
    """A copy of a packet that the packet replication engine makes."""

    port: int
    instance: int


@dataclass(frozen=True, slots=True)
class CloneSession:
    """A clone session of the packet replication engine (P4Runtime specification, section 9.5)."""

    replicas: tuple[Replica, ...]
    packet_length_bytes: int = 0  # length that copies are truncated to; 0 for no truncation


class PacketOut(NamedTuple):
    """A frame and its egress port. A tuple, because every copy of a packet makes one."""

    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest sample: the name of the digest's struct and its field values."""

    name: str
    values: tuple[int, ...]


DigestListener = Callable[[Digest], None]
CpuListener = Callable[[bytes], None]


@dataclass(slots=True)
class SwitchCounts:
    """Totals since the program was loaded."""

    packets_in: int = 0
    packets_out: int = 0
    dropped: int = 0
    parser_errors: int = 0
    by_port_in: dict[int, int] = field(default_factory=dict)
    by_port_out: dict[int, int] = field(default_factory=dict)
    program_errors: int = 0  # packets dropped because a P4 assert failed or the generated code raised
    pass_drops: int = 0  # packets dropped after too many recirculations or resubmissions
    range_errors: int = 0  # register, counter and meter accesses outside of the array

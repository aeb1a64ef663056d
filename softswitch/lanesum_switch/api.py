# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The run-time interface of a switch: what a control plane may do to a loaded program.

The data plane (``lanesum_switch.dataplane``) implements it, the P4Runtime server
(``lanesum_switch.p4runtime``) is written against it. Values are Python ints everywhere; widths come from the
compiled program. Names are BMv2 JSON names, which are also the P4Info full names (``Ingress.membership.member``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from lanesum.errors import LanesumError

MatchKind = Literal["exact", "lpm", "ternary", "range", "optional"]


class SwitchError(LanesumError):
    """Base of all errors of the embedded switch."""


class UnsupportedProgramError(SwitchError):
    """The BMv2 JSON uses something this switch does not execute; the message names it and where."""


class NotFoundError(SwitchError):
    """No such table, action, entry, member, group, counter... (P4Runtime NOT_FOUND)."""


class AlreadyExistsError(SwitchError):
    """The entry, member or group is already there (P4Runtime ALREADY_EXISTS)."""


class InvalidArgumentError(SwitchError):
    """A value that does not fit its field, a wrong match kind, an action the table lacks (INVALID_ARGUMENT)."""


class TableFullError(SwitchError):
    """The table holds ``size`` entries already (P4Runtime RESOURCE_EXHAUSTED)."""


class PermissionDeniedError(SwitchError):
    """A const table or const default action cannot be written (P4Runtime PERMISSION_DENIED)."""


@dataclass(frozen=True, slots=True)
class KeySpec:
    """One key field of a table."""

    name: str
    kind: MatchKind
    bits: int


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """One run-time parameter of an action."""

    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """An action with its run-time parameters, in order."""

    name: str
    params: tuple[ParamSpec, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """One key field of an entry.

    ``exact``: ``value``. ``lpm``: ``value`` and ``aux`` = prefix length. ``ternary`` and ``optional``: ``value`` and
    ``aux`` = mask. ``range``: ``value`` = low and ``aux`` = high, both inclusive.
    """

    value: int
    aux: int = 0


@dataclass(frozen=True, slots=True)
class ActionCall:
    """An action of the program with one int per run-time parameter."""

    action: str
    args: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberRef:
    """Indirect tables: the action of action-profile member ``member_id``."""

    member_id: int


@dataclass(frozen=True, slots=True)
class GroupRef:
    """Indirect tables: one member of group ``group_id``, chosen by the selector hash."""

    group_id: int


Target = ActionCall | MemberRef | GroupRef


@dataclass(slots=True)
class CounterValue:
    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class MeterRates:
    """Two rates as P4Runtime gives them: units per second and burst sizes in units (bytes or packets)."""

    cir: int
    cburst: int
    pir: int
    pburst: int


@dataclass(slots=True)
class TableEntry:
    """An entry as stored. ``priority`` as in P4Runtime: a larger number wins; 0 where no key needs one."""

    match: tuple[Match, ...]
    target: Target
    priority: int = 0
    counter: CounterValue | None = None
    meter: MeterRates | None = None
    idle_timeout_ns: int = 0
    last_hit_ns: int = 0
    is_const: bool = False
    handle: int = 0


class Table(Protocol):
    """One match-action table. All methods are thread-safe against packets being processed."""

    name: str
    keys: tuple[KeySpec, ...]
    actions: tuple[ActionSpec, ...]
    size: int
    is_const: bool  # entries are part of the program and cannot be changed
    action_profile: str | None  # name of the action profile of an indirect table
    has_direct_counter: bool
    has_direct_meter: bool
    supports_idle_timeout: bool

    def insert(self, entry: TableEntry) -> None: ...

    def modify(self, entry: TableEntry) -> None:
        """Replace target (and timeout) of the entry with the same match and priority; counters are kept."""

    def delete(self, match: tuple[Match, ...], priority: int) -> None: ...

    def get(self, match: tuple[Match, ...], priority: int) -> TableEntry: ...

    def entries(self) -> list[TableEntry]: ...

    def write_counter(self, match: tuple[Match, ...], priority: int, value: CounterValue) -> None:
        """Set the direct counter of an entry."""

    def write_meter(self, match: tuple[Match, ...], priority: int, rates: MeterRates | None) -> None:
        """Set the rates of an entry's direct meter; None: every packet is green."""

    @property
    def default(self) -> TableEntry:
        """The default entry (``match`` empty) with its counter."""

    def set_default(self, target: Target) -> None: ...

    def reset_default(self) -> None:
        """Back to the program's own default action."""


class ActionProfile(Protocol):
    """Members and groups of an action profile or action selector."""

    name: str
    size: int
    with_selector: bool

    def insert_member(self, member_id: int, action: ActionCall) -> None: ...

    def modify_member(self, member_id: int, action: ActionCall) -> None: ...

    def delete_member(self, member_id: int) -> None: ...

    def members(self) -> dict[int, ActionCall]: ...

    def insert_group(self, group_id: int, members: Sequence[tuple[int, int]], max_size: int) -> None:
        """``members``: (member id, weight) pairs."""

    def modify_group(self, group_id: int, members: Sequence[tuple[int, int]]) -> None: ...

    def delete_group(self, group_id: int) -> None: ...

    def groups(self) -> dict[int, list[tuple[int, int]]]: ...


class Counter(Protocol):
    """An indirect counter array."""

    name: str
    size: int
    unit: Literal["packets", "bytes", "both"]

    def read(self, index: int) -> CounterValue: ...

    def write(self, index: int, value: CounterValue) -> None: ...


class Meter(Protocol):
    """An indirect meter array."""

    name: str
    size: int
    unit: Literal["packets", "bytes"]

    def read(self, index: int) -> MeterRates | None: ...

    def write(self, index: int, rates: MeterRates | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy that the packet replication engine makes."""

    port: int
    instance: int


@dataclass(frozen=True, slots=True)
class CloneSession:
    replicas: tuple[Replica, ...]
    class_of_service: int = 0
    packet_length_bytes: int = 0  # 0: not truncated


class PacketOut(NamedTuple):
    """A frame and the port that it leaves by. A tuple, because it is made once per copy of a packet."""

    port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Digest:
    """One digest sample: the name of the digest's struct and its field values."""

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
    faults: int = 0  # packets dropped because a P4 assert failed or the compiled program broke
    pass_drops: int = 0  # packets dropped because they recirculated or were resubmitted too often
    range_errors: int = 0  # register, counter and meter accesses outside of their array


class Switch(Protocol):
    """A loaded program with its state. One instance is one device."""

    cpu_port: int | None
    tables: dict[str, Table]
    action_profiles: dict[str, ActionProfile]
    counters: dict[str, Counter]
    meters: dict[str, Meter]
    multicast_groups: dict[int, tuple[Replica, ...]]  # replaced through set_multicast_group
    clone_sessions: dict[int, CloneSession]
    digests: dict[str, tuple[int, ...]]  # digest (struct) name -> field widths

    @property
    def counts(self) -> SwitchCounts: ...

    def load(self, bmv2_json: bytes) -> None:
        """Compile and install a program; wipes all state. Raises UnsupportedProgramError, InvalidArgumentError."""

    def process(self, port: int, frame: bytes) -> list[PacketOut]:
        """Run one packet to completion: parser, ingress, replication, egress, deparser. Never raises on input."""

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """None deletes the group."""

    def set_clone_session(self, session_id: int, session: CloneSession | None) -> None: ...

    def read_register(self, name: str, index: int) -> int: ...

    def write_register(self, name: str, index: int, value: int) -> None: ...

    def on_cpu_packet(self, listener: CpuListener | None) -> None:
        """Packets sent to ``cpu_port`` go to the listener (as raw bytes, controller header first)."""

    def on_digest(self, listener: DigestListener | None) -> None: ...

    def expire_idle(self, now_ns: int) -> Iterator[tuple[str, TableEntry]]:
        """Entries whose idle timeout has passed since their last hit (each is reported once per timeout)."""


@runtime_checkable
class Outlining(Protocol):
    """A switch whose device config is no BMv2 JSON, and that says itself what is in it."""

    def outline(self, config: bytes) -> dict[str, Any]:
        """The objects of a program by kind, with names and widths, as the BMv2 JSON lists them.

        Raises UnsupportedProgramError, InvalidArgumentError.
        """

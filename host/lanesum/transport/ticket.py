# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Job tickets: all data that a worker needs to take part in a job."""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lanesum._internal.udp_socket import Address
from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp, carried_by, certified_data_words, check_carried, check_certified
from lanesum.protocol.spec import (
    CODE_TABLE_ENTRIES,
    DEFAULT_ACCUMULATOR_WORDS,
    MAX_RACKS,
    MAX_SLOTS,
    MAX_WORDS,
    MAX_WORKERS,
    UDP_PORT,
)

MAX_SERVERS = 256  # every worker has a socket for each
_LATER_FIELDS = {"joined_packets": False, "certified": False, "name": ""}  # and their values where they are missing


def name_racks(places: Iterable[tuple[int, int, int]]) -> bool:
    """Return True if results name racks instead of workers; ``places``: (worker, rack, bit) of a whole job.

    They do if one worker's place is not just its number. Workers and server use the same rule.
    """
    return any((rack, bit) != (0, worker) for worker, rack, bit in places)


def check_fields(whose: str, job: Any, limits: Mapping[str, tuple[int, int]]) -> None:
    """Check integers by their ``limits``, operations and code table of a ticket, or of a job at the server.

    Without operations, they become all that packets can carry. Raises ConfigurationError.
    """
    for name, (low, high) in limits.items():
        value = getattr(job, name)
        if type(value) is not int or not low <= value <= high:
            raise ConfigurationError(f"{whose}: {name} = {value!r}: expected {low} to {high}.")
    if not job.ops:
        object.__setattr__(job, "ops", carried_by(job.accumulator_words))
    check_carried(whose, job.ops, job.accumulator_words)
    if job.code_table is not None and len(job.code_table) != CODE_TABLE_ENTRIES:
        size = len(job.code_table)
        raise ConfigurationError(f"{whose}: code table of {size} bytes: expected {CODE_TABLE_ENTRIES} bytes.")


def _is_address(address: Address) -> bool:
    """Return True for an IPv4 address as text, with a port."""
    ip, port = address
    try:
        socket.inet_pton(socket.AF_INET, ip)
    except (OSError, TypeError):
        return False
    return type(port) is int and 0 <= port <= 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTicket:
    """A worker's place in an admitted job, as the controller hands it out.

    Attributes:
        job: job identifier, 16 bits.
        tag: verification tag of this incarnation, 32 bits.
        worker: this worker's number, from 0; its bit in the bitmap is ``1 << worker``.
        workers: number of workers, the fan-in.
        slots: slots of the job, and so packets in flight at most.
        accumulator_words: 32-bit words of a result packet.
        servers: IPv4 address and UDP port of every aggregation server; a packet is addressed to the one of its slot,
            see ``packet.server_of``. The same list, in the same order, at all workers.
        local: IPv4 address and UDP port to send from; the switch identifies members by it.
        seed: seed of the job's shared random bits, 64 bits.
        ops: lane operations that the job may use; if empty, all that its packets can carry.
        code_table: 16 bytes, the aggregation point's lookup table for codes; None without lookup.
        epoch: number of the job's first round, 32 bits.
        quorum: contributions that complete a chunk; 0 means all workers'.
        places: (rack, bit) of every worker by its number; empty with one level, where a worker's bit is its number.
        codec: name of the codec for which the job was admitted; None if it has none.
        controller: ``host:port`` of the controller through which a session keeps the job alive; empty for none.
        joined_packets: no software switch is on the path of the job's packets, so the kernel may take many as one.
        certified: packets have check words, and a result that fails its check is not used. All workers of a job agree.
        name: name by which the worker joined the job, for messages; empty where the ticket came without one.
    """

    job: int
    tag: int
    worker: int
    workers: int
    slots: int
    accumulator_words: int = DEFAULT_ACCUMULATOR_WORDS
    servers: tuple[Address, ...] = (("127.0.0.1", UDP_PORT),)
    local: Address = ("127.0.0.1", 0)
    seed: int = 0
    ops: tuple[LaneOp, ...] = ()
    code_table: bytes | None = None
    epoch: int = 0
    quorum: int = 0
    places: tuple[tuple[int, int], ...] = ()
    codec: str | None = None
    controller: str = ""
    joined_packets: bool = False
    certified: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        limits = {
            "job": (0, 0xFFFF),
            "tag": (0, 0xFFFFFFFF),
            "epoch": (0, 0xFFFFFFFF),
            "workers": (1, MAX_WORKERS * MAX_RACKS if self.places else MAX_WORKERS),
            "worker": (0, self.workers - 1),
            "slots": (1, MAX_SLOTS),
            "accumulator_words": (2, MAX_WORDS),
            "quorum": (0, self.workers),
            "seed": (0, (1 << 64) - 1),
        }
        explicit = bool(self.ops)
        check_fields("Job ticket", self, limits)
        if self.certified:
            if not explicit:
                object.__setattr__(self, "ops", tuple(op for op in self.ops if self.data_words(op)))
            check_certified("Job ticket", self.ops, self.accumulator_words, self.workers)
        self._check_places()
        if not 1 <= len(self.servers) <= MAX_SERVERS or len(set(self.servers)) != len(self.servers):
            raise ConfigurationError(
                f"Job ticket: servers = {list(self.servers)}: expected 1 to {MAX_SERVERS} different addresses."
            )
        if not all(map(_is_address, (*self.servers, self.local))):
            raise ConfigurationError(
                f"Job ticket: servers = {list(self.servers)}, local = {self.local}: expected IPv4 addresses and ports."
            )

    def _check_places(self) -> None:
        if not self.places:
            return
        if len(self.places) != self.workers or len(set(self.places)) != self.workers:
            raise ConfigurationError(
                f"Job ticket: places = {list(self.places)}: expected {self.workers} different places, one per worker."
            )
        if not all(rack in range(MAX_RACKS) and bit in range(MAX_WORKERS) for rack, bit in self.places):
            raise ConfigurationError(
                f"Job ticket: places = {list(self.places)}: expected racks < {MAX_RACKS} and bits < {MAX_WORKERS}."
            )

    @property
    def server(self) -> Address:
        """The first server, for jobs with one."""
        return self.servers[0]

    @property
    def label(self) -> str:
        """Name of the job in quotes, or its number without one, for messages."""
        return repr(self.name) if self.name else str(self.job)

    @property
    def server_names(self) -> str:
        """Addresses of all servers, for messages."""
        return ", ".join(f"{ip}:{port}" for ip, port in self.servers)

    @property
    def place(self) -> tuple[int, int]:
        """(rack, bit) of this worker."""
        return self.places[self.worker] if self.places else (0, self.worker)

    @property
    def rack_members(self) -> tuple[int, ...]:
        """Bitmap of the workers of every rack; one bitmap with one level."""
        if not self.places:
            return ((1 << self.workers) - 1,)
        bitmaps = [0] * (1 + max(rack for rack, _ in self.places))
        for rack, bit in self.places:
            bitmaps[rack] |= 1 << bit
        return tuple(bitmaps)

    def data_words(self, op: LaneOp) -> int:
        """Return the accumulator words of data in a packet; the others of a certified job are check words."""
        if not self.certified:
            return self.accumulator_words
        return certified_data_words(op, self.accumulator_words, self.workers)

    def to_json(self) -> str:
        """Return one line of JSON."""
        fields = dataclasses.asdict(self)
        fields["code_table"] = None if self.code_table is None else self.code_table.hex()
        for name in _LATER_FIELDS:  # earlier builds refuse them
            if not fields[name]:
                del fields[name]
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str | bytes) -> JobTicket:
        """Return the ticket of ``to_json``. Raises ConfigurationError for other text."""
        try:
            fields = json.loads(text)
            fields["servers"] = tuple((ip, port) for ip, port in fields["servers"])
            fields["local"] = tuple(fields["local"])
            fields["ops"] = tuple(LaneOp(op) for op in fields["ops"])
            table = fields["code_table"]
            fields["code_table"] = None if table is None else bytes.fromhex(table)
            fields["places"] = tuple((rack, bit) for rack, bit in fields["places"])
            if not isinstance(fields["codec"], str | None) or not isinstance(fields["controller"], str):
                raise TypeError("codec or controller is no text")
            for name, default in _LATER_FIELDS.items():
                if not isinstance(fields.get(name, default), type(default)):
                    raise TypeError(f"{name} is no {type(default).__name__}")
            return cls(**fields)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigurationError(
                f"Invalid job ticket: {error}.", "Pass the ticket unchanged, as the controller wrote it."
            ) from error

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Desired state of a switch in plain values, for P4Runtime and for the reference switch."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import FIRST_OWNER, MAX_WORKERS
from lanesum_fabric.tofino.chips import pipe_of

# MAC address of switches, which accept no frames to others; locally administered.
SWITCH_MAC = bytes.fromhex("02000000ffff")
BROADCAST_MAC = b"\xff" * 6
NO_PORT = 511  # port of addresses that are the switch's own, in table ``arp``
FAULT_SCALE = 10_000  # range of the random numbers of p4src/bmv2/faults.p4
DEFAULT_LEASE_TICKS = 1000  # about a second: far beyond any retransmission timer


# Queue depth of a port from which packets are marked: half of BMv2's queue, so that senders slow down before a loss.
DEFAULT_MARK_ABOVE = 32


@dataclass(frozen=True, slots=True)
class Station:
    """A switch as a station on its links.

    Attributes:
        ip: its IPv4 address, for ICMP; 0 for none.
        answer_dscp: DSCP of the answers that it builds (RFC 2474).
        answer_queue: queue of a port that they wait in, from 0; the switch must have that many.
    """

    ip: int = 0
    answer_dscp: int = 0
    answer_queue: int = 0


PLAIN_STATION = Station()  # no address, and no class of answers


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host as one switch sees it. ``ip`` as an int, ``mac`` as six bytes.

    ``attached``: linked to this switch; otherwise ``port`` leads to the next switch on the path, and ``mac`` is that
    switch's.
    """

    port: int
    ip: int
    mac: bytes
    attached: bool = True

    @property
    def is_cpu(self) -> bool:
        """True if it is the operating system of this switch, at the CPU port: it has the switch's MAC address."""
        return self.attached and self.mac == SWITCH_MAC


# Replication ids of racks are this and above; workers have smaller ones. BMv2's program has it, too.
_FIRST_RACK = 2048


class Role(enum.IntFlag):
    """Role of a switch in a job, as table ``member`` holds it."""

    ASCEND = 1  # complete sums are forwarded to the server as contributions
    SHARED = 2  # other jobs may use the entries, and are not disturbed
    UPPER = 4  # members are racks
    QUORUM = 8  # the server decides, and answers late workers
    PARTIAL = 16  # complete before all members are in; ``SwitchJob.role_bits`` sets it
    COMBINED = 128  # with ASCEND: complete sums are forwarded to another pipe of the chip, see ``combined_by``


NO_ROLE = Role(0)  # one level: a complete sum is the result
_PIPE_SHIFT = 5  # the number of the combining pipe has two bits of a role
# Multicast groups of jobs are below; those of a job's pipes have the pipe's number, plus one, above.
_PIPE_GROUP_SHIFT = 12  # agents have groups below 32,768
MAX_GROUP_OF_JOBS = (1 << _PIPE_GROUP_SHIFT) - 1


def combined_by(pipe: int) -> Role:
    """Return the role of a pipe whose sums ``pipe`` combines."""
    return Role(Role.ASCEND | Role.COMBINED | pipe << _PIPE_SHIFT)


@dataclass(frozen=True, slots=True)
class Member:
    """One bit of a job's bitmap at a switch: a worker, or a rack of workers below another switch.

    Attributes:
        worker: number of the bit.
        hosts: source hosts of contributions: the worker, or all workers of the rack as this switch sees them.
        udp_port: source port of the workers.
        aggregate: the member is a rack, whose switch sends partial sums.
        numbers: of the workers at ``hosts`` in their job; empty where they follow from the bits.
    """

    worker: int
    hosts: tuple[HostPort, ...]
    udp_port: int
    aggregate: bool = False
    numbers: tuple[int, ...] = ()

    @property
    def replica(self) -> int:
        """Replication id of this member's copy of a result. The id of a worker is the mark of its own chunks."""
        if self.aggregate:
            return _FIRST_RACK + self.worker
        return FIRST_OWNER + (self.numbers[0] if self.numbers else self.worker)

    @property
    def host(self) -> HostPort:
        """Destination of the copy; any worker of a rack, whose switch replicates it."""
        return self.hosts[0]


@dataclass(frozen=True, slots=True)
class SwitchJob:
    """A job on one switch.

    Attributes:
        slot_base: first slot of the job's range on this switch.
        slot_count: slots of the range; the server sums the job's slots beyond it.
        group: multicast group, from 1.
        code_table: 16 bytes, for operations with lookup only.
        threshold: contributions that complete an entry; 0 means all members.
        uplinks: ports of answers from above; empty without a switch above.
        lease: ticks of 1,024 µs after which an unfinished entry of another job may be reused; SHARED only.
        combining_pipe: pipe of a chip that sums the members; those that are racks are the workers of its other pipes,
            see ``pipe_sums``. None where the members of a job arrive in one pipe, or as racks from other switches.
    """

    job: int
    tag: int
    slot_base: int
    slot_count: int
    group: int
    members: tuple[Member, ...]
    ops: tuple[LaneOp, ...]
    code_table: bytes | None = None
    role: Role = NO_ROLE
    threshold: int = 0
    uplinks: tuple[int, ...] = ()
    lease: int = DEFAULT_LEASE_TICKS
    combining_pipe: int | None = None

    @property
    def pipe_sums(self) -> tuple[SwitchJob, ...]:
        """Return the parts of the other pipes, whose sums the combining pipe gets; none without one."""
        pipe = self.combining_pipe
        if pipe is None:
            return ()
        role = combined_by(pipe) | self.role & Role.SHARED
        return tuple(
            replace(
                self,
                group=pipe_of(rack.host.port) + 1 << _PIPE_GROUP_SHIFT | self.group,
                members=_workers_of(rack),
                role=role,
                combining_pipe=None,
            )
            for rack in self.members
            if rack.aggregate
        )

    @property
    def parts(self) -> tuple[SwitchJob, ...]:
        """Return the parts of all pipes, that of the combining one last; the job itself without pipes."""
        return (*self.pipe_sums, self)

    @property
    def receivers(self) -> tuple[Member, ...]:
        """Return the members with copies of the results. The workers of other pipes have their own."""
        if self.combining_pipe is None:
            return self.members
        workers = (worker for part in self.pipe_sums for worker in part.members)
        return (*(member for member in self.members if not member.aggregate), *workers)

    @property
    def fan_in(self) -> int:
        return self.threshold or len(self.members)

    @property
    def role_bits(self) -> Role:
        """Role as table ``member`` holds it."""
        return self.role | (Role.PARTIAL if self.fan_in < len(self.members) else NO_ROLE)

    @property
    def allowed_ops(self) -> int:
        """Bit set of the permitted operations, as the member table holds it."""
        return sum(1 << op for op in self.ops)

    @property
    def code_table_word(self) -> int:
        """128-bit word of the lookup table, with entry 0 in the lowest byte."""
        return int.from_bytes(self.code_table or b"", "little")


def _workers_of(rack: Member) -> tuple[Member, ...]:
    """Return the workers of a rack, with replicas that no other member of the job has."""
    first = (rack.worker + 1) * MAX_WORKERS
    numbers = rack.numbers or range(first, first + len(rack.hosts))
    return tuple(
        Member(bit, (host,), rack.udp_port, numbers=(number,))
        for bit, (host, number) in enumerate(zip(rack.hosts, numbers, strict=True))
    )

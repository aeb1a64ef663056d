# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Desired state of a switch in plain values, for P4Runtime and for the reference switch."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lanesum.protocol.lanes import LaneOp

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


class Role(enum.IntFlag):
    """Role of a switch in a job, as table ``member`` holds it."""

    ASCEND = 1  # complete sums are forwarded to the server as contributions
    SHARED = 2  # other jobs may use the entries, and are not disturbed
    UPPER = 4  # members are racks
    QUORUM = 8  # the server decides, and answers late workers
    PARTIAL = 16  # complete before all members are in; ``SwitchJob.role_bits`` sets it


NO_ROLE = Role(0)  # one level: a complete sum is the result


@dataclass(frozen=True, slots=True)
class Member:
    """One bit of a job's bitmap at a switch: a worker, or a rack of workers below another switch.

    Attributes:
        worker: number of the bit.
        hosts: source hosts of contributions: the worker, or all workers of the rack as this switch sees them.
        udp_port: source port of the workers.
        aggregate: the member is a rack, whose switch sends partial sums.
    """

    worker: int
    hosts: tuple[HostPort, ...]
    udp_port: int
    aggregate: bool = False

    @property
    def replica(self) -> int:
        """Replication id of this member's copy of a result, from 1; 0 is invalid."""
        return self.worker + 1

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
        ops: permitted lane operations.
        code_table: 16 bytes, TABLE8 only.
        role: see ``Role``.
        threshold: contributions that complete an entry; 0 means all members.
        uplink: port of answers from above; None without a switch above.
        lease: ticks of 1,024 µs after which an unfinished entry of another job may be reused; SHARED only.
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
    uplink: int | None = None
    lease: int = DEFAULT_LEASE_TICKS

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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller tells a switch, in plain values: the same for P4Runtime and for the reference model."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lanesum.protocol.lanes import LaneOp

if TYPE_CHECKING:
    from lanesum_control.capabilities import Capabilities

# The switch answers ARP and routes from one address of its own; locally administered, never on a real wire.
SWITCH_MAC = bytes.fromhex("02000000ffff")
FAULT_SCALE = 10_000  # p4src/bmv2/faults.p4 draws from so many
DEFAULT_LEASE_TICKS = 1000  # about a second: far beyond any retransmission timer


# Packets that wait at a port before it marks: half of what BMv2 queues, so that senders hear of it before it overflows.
DEFAULT_MARK_ABOVE = 32


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host as one switch sees it. ``ip`` as an int, ``mac`` six bytes.

    ``attached``: it hangs at this very switch; otherwise ``port`` leads to the switch that is on the way to it.
    """

    port: int
    ip: int
    mac: bytes
    attached: bool = True


class Role(enum.IntFlag):
    """What a switch is to a job, as table ``member`` holds it."""

    ASCEND = 1  # what is complete here goes on towards the server, as a contribution
    SHARED = 2  # entries may belong to other jobs, which are not disturbed
    UPPER = 4  # members are racks
    QUORUM = 8  # the server decides, and answers who is late
    PARTIAL = 16  # complete before all members are in; ``SwitchJob.role_bits`` sets it


NO_ROLE = Role(0)  # one level: what is complete is the result


@dataclass(frozen=True, slots=True)
class Member:
    """One bit of a job's bitmap at a switch: a worker, or a rack of workers below another switch.

    Attributes:
        worker: number of the bit.
        hosts: whose address contributions carry: the worker; or all workers of the rack, as this switch sees them.
        udp_port: port that the workers send from.
        aggregate: the member is a rack, and sends what its own switch has summed.
    """

    worker: int
    hosts: tuple[HostPort, ...]
    udp_port: int
    aggregate: bool = False

    @property
    def replica(self) -> int:
        """Replication id of this member's copy of a result; 0 is no id, so numbers start at 1."""
        return self.worker + 1

    @property
    def host(self) -> HostPort:
        """Where the copy goes; in a rack any worker will do, because the rack's switch hands it to all."""
        return self.hosts[0]


@dataclass(frozen=True, slots=True)
class SwitchJob:
    """A job on one switch.

    Attributes:
        slot_base: first slot of the job's range on this switch.
        slot_count: slots of the range; the job's slots beyond it are left to the server.
        group: multicast group, from 1.
        ops: lane operations that the job may use.
        code_table: 16 bytes, TABLE8 only.
        role: see ``Role``.
        threshold: contributions that complete an entry; 0 means all members.
        uplink: port that answers from above come in by; None where nothing is above.
        lease: ticks of 1,024 us after which an unfinished entry of another job may be taken; SHARED only.
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
        """The role as table ``member`` holds it."""
        return self.role | (Role.PARTIAL if self.fan_in < len(self.members) else NO_ROLE)

    @property
    def allowed_ops(self) -> int:
        """Bit set of lane operations, as the member table holds it."""
        return sum(1 << op for op in self.ops)

    @property
    def code_table_word(self) -> int:
        """The 128-bit word of the lookup table: entry 0 in the lowest byte."""
        return int.from_bytes(self.code_table or b"", "little")


class ControlledSwitch(Protocol):
    """What the controller needs from a switch, whatever it is."""

    @property
    def slots(self) -> int:
        """Slots of the whole switch."""

    @property
    def capabilities(self) -> Capabilities:
        """What it does for jobs."""

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP for it."""

    def admit(self, job: SwitchJob) -> None:
        """Program a job."""

    def remove(self, job: SwitchJob) -> None:
        """Take a job out again."""

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        """Give an admitted job other slots, role, threshold, operations or lease; its members stay."""

    def set_congestion(self, port: int, depth: int | None) -> None:
        """Mark what leaves by ``port`` while ``depth`` packets or more wait there; None ends it."""

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Lose ``share`` (0 to 1) of a port's packets; 0 ends it."""

    def decisions(self) -> dict[str, int]:
        """Packets by what the program's tables decided about them."""

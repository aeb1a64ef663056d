# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What a controller tells a switch, in plain values: the same for P4Runtime and for the reference model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lanesum.protocol.lanes import LaneOp

# The switch answers ARP and routes from one address of its own; locally administered, never on a real wire.
SWITCH_MAC = bytes.fromhex("02000000ffff")
FAULT_SCALE = 10_000  # p4src/bmv2/faults.p4 draws from so many


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host behind a switch port. ``ip`` as an int, ``mac`` six bytes."""

    port: int
    ip: int
    mac: bytes


@dataclass(frozen=True, slots=True)
class Member:
    """One worker of a job, as the switch sees it."""

    worker: int
    host: HostPort
    udp_port: int

    @property
    def replica(self) -> int:
        """Replication id of this worker's copy of a result; 0 is no id, so numbers start at 1."""
        return self.worker + 1


@dataclass(frozen=True, slots=True)
class SwitchJob:
    """A job on one switch."""

    job: int
    tag: int
    slot_base: int
    slot_count: int
    group: int  # multicast group, from 1
    members: tuple[Member, ...]
    ops: tuple[LaneOp, ...]
    code_table: bytes | None = None  # 16 bytes, TABLE8 only

    @property
    def fan_in(self) -> int:
        return len(self.members)

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

    def add_host(self, host: HostPort) -> None:
        """Route to the host and answer ARP for it."""

    def admit(self, job: SwitchJob) -> None:
        """Program a job."""

    def remove(self, job: SwitchJob) -> None:
        """Take a job out again."""

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Lose ``share`` (0 to 1) of a port's packets; 0 ends it."""

    def decisions(self) -> dict[str, int]:
        """Packets by what the program's tables decided about them."""

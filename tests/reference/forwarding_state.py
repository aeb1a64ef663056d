# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, multicast groups and fault rates of the reference switch, and the controller's interface to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lanesum_fabric.errors import SwitchWriteError
from lanesum_fabric.program.switch_job import FAULT_SCALE, HostPort, Member, Station, SwitchJob

MemberKey = tuple[int, int, int, int, int, bool]  # ingress port, source, source port, job, tag, aggregate


@dataclass(frozen=True, slots=True)
class Admission:
    """Action ``admit`` of table ``member``."""

    job: SwitchJob
    member: Member


class ForwardingState:
    """The state that a controller writes. Attributes have the names of the P4 tables."""

    def __init__(self) -> None:
        self._station = Station()
        self._forward: dict[int, HostPort] = {}
        self._origin: dict[int, HostPort] = {}
        self._member: dict[MemberKey, Admission] = {}
        self._receiver: dict[tuple[int, int], Member] = {}  # (job, replica)
        self._lookup: dict[int, bytes] = {}
        self._descend_entries: dict[tuple[int, int, int], SwitchJob] = {}  # (ingress port, job, tag)
        self._groups: dict[int, tuple[Member, ...]] = {}
        self._congestion: dict[int, int] = {}  # port -> depth
        self._cpu_port: int | None = None
        self._fault: dict[tuple[int, bool], int] = {}  # (port, ingress) -> share in FAULT_SCALE

    def set_station(self, station: Station) -> None:
        """Change the switch's own IPv4 address and the class of its answers."""
        self._station = station

    def add_host(self, host: HostPort) -> None:
        """Route to a host, answer ARP for it, and accept its address at its port only.

        Raises SwitchWriteError if the address has a route already.
        """
        if host.ip in self._forward:
            raise SwitchWriteError(f"Address {host.ip:#010x} has a route already.")
        self._forward[host.ip] = self._origin[host.ip] = host
        if host.is_cpu:
            self._cpu_port = host.port

    def admit(self, job: SwitchJob) -> None:
        """Program a job. Raises SwitchWriteError, with no change, if one of its keys is in use."""
        members, descents = self._member_entries(job), self._descents(job)
        receivers = {(job.job, member.replica): member for member in job.receivers}
        groups = {part.group: part.receivers for part in job.parts}
        clash = (
            bool(members.keys() & self._member.keys())
            or bool(receivers.keys() & self._receiver.keys())
            or bool(descents.keys() & self._descend_entries.keys())
            or bool(groups.keys() & self._groups.keys())
            or (job.code_table is not None and job.job in self._lookup)
        )
        if clash:
            raise SwitchWriteError(f"Job {job.job} has a key that another job of the switch uses.")
        self._groups |= groups
        self._receiver |= receivers
        if job.code_table is not None:
            self._lookup[job.job] = job.code_table
        self._descend_entries |= descents
        self._member |= members

    def modify_all(self, changes: Iterable[tuple[SwitchJob, SwitchJob]]) -> None:
        """Do ``modify`` for several jobs, (old, new) each."""
        for old, new in changes:
            self.modify(old, new)

    def remove(self, job: SwitchJob) -> None:
        """Remove a job; missing entries are ignored."""
        for key in self._member_entries(job):
            self._member.pop(key, None)
        for descent in self._descents(job):
            self._descend_entries.pop(descent, None)
        for member in job.receivers:
            self._receiver.pop((job.job, member.replica), None)
        if job.code_table is not None:
            self._lookup.pop(job.job, None)
        for part in job.parts:
            self._groups.pop(part.group, None)

    def modify(self, old: SwitchJob, new: SwitchJob) -> None:
        """Change slots, role, threshold, operations or lease of an admitted job.

        Raises SwitchWriteError, with no change, if ``old`` is not admitted or ``new`` has other members.
        """
        before, after = self._member_entries(old), self._member_entries(new)
        if before.keys() != after.keys() or not before.keys() <= self._member.keys() or old.group != new.group:
            raise SwitchWriteError(f"Cannot modify job {old.job}: it is not admitted with these members in this group.")
        self._member |= after

    def set_congestion(self, port: int, depth: int | None) -> None:
        """Mark packets that leave by ``port`` while at least ``depth`` packets wait there; None stops it."""
        self._congestion.pop(port, None)
        if depth is not None:
            self._congestion[port] = depth

    def set_fault(self, port: int, *, ingress: bool, share: float) -> None:
        """Drop a share (0 to 1) of a port's packets."""
        self._fault[port, ingress] = round(share * FAULT_SCALE)

    @staticmethod
    def _member_entries(job: SwitchJob) -> dict[MemberKey, Admission]:
        return {
            (host.port, host.ip, member.udp_port, job.job, job.tag, member.aggregate): Admission(part, member)
            for part in job.parts
            for member in part.members
            for host in member.hosts
        }

    @staticmethod
    def _descents(job: SwitchJob) -> dict[tuple[int, int, int], SwitchJob]:
        return {(uplink, job.job, job.tag): job for uplink in job.uplinks}

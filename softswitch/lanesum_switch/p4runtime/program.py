# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The served pipeline: P4Info, the switch that runs it, and the control-plane state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import CounterValue
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.entries import EntryStore
from lanesum_switch.p4runtime.other_programs import DigestManager, IdleMonitor, ProfileManager, Scheduler
from lanesum_switch.p4runtime.p4info import CounterInfo, MeterInfo, P4InfoIndex, ProfileInfo, TableInfo
from lanesum_switch.p4runtime.packet_io import PacketIo
from lanesum_switch.p4runtime.replication import ReplicationManager
from lanesum_switch.p4runtime.status import Code, StatusError, invalid_id
from lanesum_switch.runtime.action_profiles import ActionProfileMembers
from lanesum_switch.runtime.externs import IndirectCounter, IndirectMeter
from lanesum_switch.runtime.tables import MatchTable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verified:
    """A configuration whose halves fit together; ``config`` has both as the client sent them."""

    index: P4InfoIndex
    device_config: bytes
    const_priorities: Mapping[str, list[int]]
    config: Any


class ServedProgram:
    """One configuration on one switch, with all objects that belong to it.

    ``switch`` is replaced when a saved pipeline is committed, so no method may keep objects of the switch. Sweeps run
    in ``scheduler``, under ``lock``, and send messages to the primary by ``send``.
    """

    def __init__(
        self,
        verified: Verified,
        switch: EmbeddedSwitch,
        lock: RLock,
        scheduler: Scheduler,
        send: Callable[[Any], None],
    ) -> None:
        self.index = index = verified.index
        self.config = p4rt.ForwardingPipelineConfig()
        self.config.CopyFrom(verified.config)
        self.switch = switch
        self.const_priorities = verified.const_priorities
        self.store = EntryStore(index)
        self.profiles = {info.id: self._profile_manager(info) for info in index.profiles.values()}
        self.digests = DigestManager(index, scheduler, send)
        self.idle = IdleMonitor(index.tables.values(), self.store, self.target_table, lock, scheduler, send)
        self.replication = ReplicationManager(lambda: self.switch)
        self.packet_io = PacketIo(index)

    def close(self) -> None:
        """Stop all sweeps."""
        self.idle.close()
        self.digests.close()

    def _profile_manager(self, info: ProfileInfo) -> ProfileManager:
        return ProfileManager(self.index, info, lambda: self.target_profile(info), self.store)

    def table_info(self, table_id: int) -> TableInfo:
        """Return a table by id. Raises StatusError INVALID_ARGUMENT for any other id."""
        info = self.index.tables.get(table_id)
        if info is None:
            raise invalid_id(table_id, "a table")
        return info

    def profile(self, profile_id: int) -> ProfileManager:
        """Return an action profile by id. Raises StatusError INVALID_ARGUMENT for any other id."""
        if profile_id not in self.profiles:
            raise invalid_id(profile_id, "an action profile")
        return self.profiles[profile_id]

    def asked_profiles(self, profile_id: int) -> list[ProfileManager]:
        """Return the action profiles that a read names; 0 names all. Raises StatusError INVALID_ARGUMENT."""
        return [self.profile(profile_id)] if profile_id else list(self.profiles.values())

    def target_table(self, info: TableInfo) -> MatchTable:
        return _find(self.switch.tables, info.name, "table")

    def target_profile(self, info: ProfileInfo) -> ActionProfileMembers:
        return _find(self.switch.action_profiles, info.name, "action profile")

    def target_counter(self, info: CounterInfo) -> IndirectCounter:
        return _find(self.switch.counters, info.name, "counter")

    def target_meter(self, info: MeterInfo) -> IndirectMeter:
        return _find(self.switch.meters, info.name, "meter")


def _find(objects: Mapping[str, T], name: str, what: str) -> T:
    # The push compared P4Info and program; a missing object was optimized away by the compiler.
    found = objects.get(name)
    if found is None:
        raise StatusError(Code.UNKNOWN, f"The program in the switch has no {what} {name}")
    return found


def copy_state(source: EmbeddedSwitch, destination: EmbeddedSwitch) -> None:
    """Copy all control-plane state between two switches that have the same program.

    Raises SwitchError: the destination is not freshly loaded.
    """
    for name, profile in source.action_profiles.items():
        for member_id, call in profile.members().items():
            destination.action_profiles[name].insert_member(member_id, call)
        for group_id, members in profile.groups().items():
            destination.action_profiles[name].insert_group(group_id, members, sum(w for _, w in members))
    for name, table in source.tables.items():
        copy = destination.tables[name]
        if table.default.target != copy.default.target:
            copy.set_default(table.default.target)
        for entry in table.entries():
            if not entry.is_const:
                copy.insert(entry)
    for name, counter in source.counters.items():
        for index in range(counter.size):
            value = counter.read(index)
            if value != CounterValue():
                destination.counters[name].write(index, value)
    for name, meter in source.meters.items():
        for index in range(meter.size):
            rates = meter.read(index)
            if rates is not None:
                destination.meters[name].write(index, rates)
    for group, replicas in source.multicast_groups.items():
        destination.set_multicast_group(group, replicas)
    for session_id, session in source.clone_sessions.items():
        destination.set_clone_session(session_id, session)

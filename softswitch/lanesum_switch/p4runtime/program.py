# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The served pipeline: P4Info, the switch that runs it, and the control-plane state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.entries import EntryStore
from lanesum_switch.p4runtime.other_programs import ProfileManager, profile_of
from lanesum_switch.p4runtime.p4info import CounterInfo, MeterInfo, P4InfoIndex, ProfileInfo, TableInfo
from lanesum_switch.p4runtime.status import UNKNOWN, StatusError, invalid_id
from lanesum_switch.runtime.action_profiles import ActionProfileMembers
from lanesum_switch.runtime.externs import IndirectCounter, IndirectMeter
from lanesum_switch.runtime.tables import MatchTable

T = TypeVar("T")


class ServedProgram:
    """One P4Info on one switch.

    ``switch`` is replaced when a saved pipeline is committed, so no method may keep objects of the switch.
    """

    def __init__(
        self, index: P4InfoIndex, switch: EmbeddedSwitch, const_priorities: Mapping[str, list[int]] | None = None
    ) -> None:
        self.index = index
        self.switch = switch
        self.const_priorities = const_priorities or {}
        self.store = EntryStore(index)
        self.profiles = {info.id: self._profile_manager(info) for info in index.profiles.values()}

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
        return profile_of(self.profiles, profile_id)

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
        raise StatusError(UNKNOWN, f"The program in the switch has no {what} {name}")
    return found

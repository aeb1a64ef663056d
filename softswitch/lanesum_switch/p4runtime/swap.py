# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Transfer of the control-plane state to the switch that commits a saved program."""

from __future__ import annotations

from lanesum_switch.api import CounterValue
from lanesum_switch.dataplane import EmbeddedSwitch


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

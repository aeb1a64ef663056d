# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Writes to tables (specification, section 9.1).

Checks are in the order of PI, so that a request with two errors reports the same one.
"""

from __future__ import annotations

from typing import Any

from lanesum_fabric.protobufs import p4info_pb2
from lanesum_switch.api import ActionCall, CounterValue, GroupRef, MemberRef, MeterRates, TableEntry, Target
from lanesum_switch.p4runtime.cells import merge_counter
from lanesum_switch.p4runtime.entries import EntryState
from lanesum_switch.p4runtime.matches import MatchKey, check_action_id, parse_action, parse_key
from lanesum_switch.p4runtime.other_programs import OneShot, check_rates, parse_meter_config
from lanesum_switch.p4runtime.p4info import TableInfo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.status import Code, StatusError, by_type, invalid, on_target

_Scope = p4info_pb2.ActionRef


def write_table(program: ServedProgram, kind: int, entry: Any) -> None:
    """Apply one update of a ``p4.v1.TableEntry``. Raises StatusError: with the code of simple_switch_grpc."""
    info = program.table_info(entry.table_id)
    if entry.HasField("time_since_last_hit"):
        raise invalid("time_since_last_hit is for reads only: leave it out")
    by_type(kind, _insert, _modify, _delete)(program, info, entry)


def _insert(program: ServedProgram, info: TableInfo, entry: Any) -> None:
    if entry.is_default_action:
        raise invalid("The default entry is always there: use MODIFY")
    if not entry.HasField("action"):
        raise invalid(f"The entry for {info.name} has no action")
    key = parse_key(info, entry)
    planned = _plan_action(program, info, entry)
    rates = _direct_rates(info, entry)
    _check_timeout(info, entry)
    if program.store.get(info.id, key) is not None:
        raise StatusError(Code.ALREADY_EXISTS, f"{info.name} has this entry already: use MODIFY to change its action")
    if key.priority < 0:
        raise StatusError(Code.UNKNOWN, f"The switch does not take priority {key.priority}: it must be positive")
    program.store.add(info.id, key, _write(program, info, key, entry, planned, rates, is_new=True))


def _modify(program: ServedProgram, info: TableInfo, entry: Any) -> None:
    key = parse_key(info, entry)
    planned = _plan_action(program, info, entry)
    if not entry.HasField("action") and not entry.is_default_action:
        raise invalid(f"The entry for {info.name} has no action")
    rates = _direct_rates(info, entry)
    _check_timeout(info, entry)
    old = program.store.get(info.id, key)
    if old is None:
        raise StatusError(Code.NOT_FOUND, f"{info.name} has no entry with this match and priority")
    if key.is_default:
        table = program.target_table(info)
        with on_target(f"the default entry of {info.name}"):
            # BMv2 has no direct counter or meter for default entries, so these are dropped.
            if planned is None:
                table.reset_default()
            else:
                assert isinstance(planned, ActionCall)
                table.set_default(planned)
        program.store.replace(info.id, key, EntryState() if planned is None else _state(entry, planned, None))
        return
    program.store.replace(info.id, key, _write(program, info, key, entry, planned, rates, is_new=False))
    _drop_oneshot(program, info, old)


def _write(
    program: ServedProgram,
    info: TableInfo,
    key: MatchKey,
    entry: Any,
    planned: Target | OneShot | None,
    rates: MeterRates | None,
    *,
    is_new: bool,
) -> EntryState:
    """Write an entry with its action and direct resources; return its state. Nothing remains of a refused one-shot."""
    check_rates(rates)
    target, group = _install(program, info, planned)
    table = program.target_table(info)
    try:
        with on_target(f"{'a new entry' if is_new else 'a change of an entry'} of {info.name}"):
            (table.insert if is_new else table.modify)(
                TableEntry(key.match, target, key.priority, idle_timeout_ns=entry.idle_timeout_ns)
            )
            _write_direct(program, info, key, entry, rates)
    except StatusError:
        if group is not None:
            program.profile(info.profile).delete_oneshot(group)
        raise
    return _state(entry, target, group)


def _delete(program: ServedProgram, info: TableInfo, entry: Any) -> None:
    if entry.is_default_action:
        raise invalid("The default entry cannot be deleted: MODIFY it without an action to reset it")
    key = parse_key(info, entry)
    old = program.store.get(info.id, key)
    if old is None:
        raise StatusError(Code.NOT_FOUND, f"{info.name} has no entry with this match and priority")
    with on_target(f"deleting an entry of {info.name}"):
        program.target_table(info).delete(key.match, key.priority)
    program.store.remove(info.id, key)
    _drop_oneshot(program, info, old)


def _state(entry: Any, target: Target | None, oneshot: int | None) -> EntryState:
    return EntryState(
        controller_metadata=entry.controller_metadata,
        metadata=entry.metadata,
        idle_timeout_ns=entry.idle_timeout_ns,
        target=target,
        oneshot=oneshot,
    )


def _drop_oneshot(program: ServedProgram, info: TableInfo, old: EntryState) -> None:
    if old.oneshot is not None:
        program.profile(info.profile).delete_oneshot(old.oneshot)


def _plan_action(program: ServedProgram, info: TableInfo, entry: Any) -> Target | OneShot | None:
    """Return the checked action of a write: a target of the switch, or a one-shot to install first."""
    indirect = info.profile != 0
    if entry.is_default_action:
        if indirect:
            raise invalid(f"The default action of {info.name} cannot be set: the table has an action profile")
        if info.const_default_action:
            raise StatusError(Code.PERMISSION_DENIED, f"The default action of {info.name} is const")
    if not entry.HasField("action"):
        return None
    kind = entry.action.WhichOneof("type")
    if indirect and kind == "action":
        raise invalid(f"{info.name} has an action profile: give a member, a group or a one-shot")
    if not indirect:
        if kind != "action":
            raise invalid(f"{info.name} has no action profile: give an action")
        return _direct_action(program, info, entry)
    manager = program.profile(info.profile)
    if kind == "action_profile_action_set":
        return manager.prepare_oneshot(entry.action.action_profile_action_set)
    if kind is None:
        raise invalid(f"The action of the entry for {info.name} is empty: give a member, a group or a one-shot")
    manager.require_manual()
    if kind == "action_profile_member_id":
        member = entry.action.action_profile_member_id
        if not manager.has_member(member):
            raise invalid(f"The action profile of {info.name} has no member {member}")
        return MemberRef(member)
    group = entry.action.action_profile_group_id
    if not manager.has_group(group):
        raise invalid(f"The action profile of {info.name} has no group {group}")
    return GroupRef(group)


def _direct_action(program: ServedProgram, info: TableInfo, entry: Any) -> ActionCall:
    action = entry.action.action
    check_action_id(program.index, action.action_id)
    scope = info.scopes.get(action.action_id)
    name = program.index.actions[action.action_id].name
    if scope is None:
        raise invalid(f"{name} is not an action of {info.name}")
    if scope == _Scope.TABLE_ONLY and entry.is_default_action:
        raise StatusError(Code.PERMISSION_DENIED, f"{name} is not for the default entry of {info.name}")
    if scope == _Scope.DEFAULT_ONLY and not entry.is_default_action:
        raise StatusError(Code.PERMISSION_DENIED, f"{name} is for the default entry of {info.name} only")
    return parse_action(program.index, action)


def _install(program: ServedProgram, info: TableInfo, planned: Target | OneShot | None) -> tuple[Target, int | None]:
    """Return the target for the switch and, for a one-shot, its new group."""
    if isinstance(planned, OneShot):
        program.profile(info.profile).require_usable_group(None)
        group = program.profile(info.profile).insert_oneshot(planned)
        return GroupRef(group), group
    assert planned is not None
    if isinstance(planned, GroupRef):
        program.profile(info.profile).require_usable_group(planned.group_id)
    return planned, None


def _direct_rates(info: TableInfo, entry: Any) -> MeterRates | None:
    """Return the rates of a write's direct meter, after a check that the table has the direct resources."""
    rates = None
    if entry.HasField("meter_config"):
        if not info.direct_meter:
            raise invalid(f"{info.name} has no direct meter")
        rates = parse_meter_config(entry.meter_config)
    if entry.HasField("counter_data") and not info.direct_counter:
        raise invalid(f"{info.name} has no direct counter")
    return rates


def _write_direct(program: ServedProgram, info: TableInfo, key: MatchKey, entry: Any, rates: MeterRates | None) -> None:
    table = program.target_table(info)
    if entry.HasField("meter_config"):
        table.write_meter(key.match, key.priority, rates)
    if entry.HasField("counter_data"):
        # Unlike a DirectCounterEntry, the data in a TableEntry overwrites counts outside its unit: BMv2 writes zero.
        counter = program.index.direct_counters[info.direct_counter]
        table.write_counter(key.match, key.priority, merge_counter(counter, entry.counter_data, CounterValue()))


def _check_timeout(info: TableInfo, entry: Any) -> None:
    if entry.idle_timeout_ns < 0:
        raise invalid(f"The idle timeout of an entry cannot be {entry.idle_timeout_ns} ns: give at least 0")
    if entry.idle_timeout_ns > 0 and not info.idle_timeout:
        raise invalid(f"{info.name} does not support idle timeouts: idle_timeout_ns must be 0")

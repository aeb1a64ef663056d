# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Switch without a data plane: it stores the writes of the server in dictionaries.

It tests the server's own rules without a data plane, and shows the minimum of a switch.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lanesum_switch.api import (
    ActionCall,
    AlreadyExistsError,
    CloneSession,
    CounterValue,
    CpuListener,
    DigestListener,
    InvalidArgumentError,
    Match,
    MemberRef,
    MeterRates,
    NotFoundError,
    PacketOut,
    PermissionDeniedError,
    Replica,
    TableEntry,
    TableFullError,
    Target,
)
from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.loader import load_program

Key = tuple[tuple[Match, ...], int]


class FakeTable:
    def __init__(self, document: dict[str, Any], actions: dict[int, str], specs: dict[str, ir.Action]) -> None:
        self.name: str = document["name"]
        self.actions: Any = tuple(specs[name] for name in document["actions"])
        self.is_const = "entries" in document
        self.size: int = document.get("max_size", 1024)
        self.has_direct_counter = bool(document.get("with_counters"))
        self.has_direct_meter = bool(document.get("direct_meters"))
        self._entries: dict[Key, TableEntry] = {}
        default = document.get("default_entry")
        target: Target = MemberRef(0)
        if default is not None:
            target = _call(actions, default["action_id"], default["action_data"])
        self._initial = target
        self._default = TableEntry((), target)
        for entry in document.get("entries", ()):
            match = tuple(_const_match(m) for m in entry["match_key"])
            needs_priority = any(m["match_type"] in ("ternary", "range") for m in entry["match_key"])
            call = _call(actions, entry["action_entry"]["action_id"], entry["action_entry"]["action_data"])
            priority = 1000 - entry["priority"] if needs_priority else 0
            self._store(TableEntry(match, call, priority, is_const=True))

    def _store(self, entry: TableEntry) -> None:
        used = {e.handle for e in self._entries.values()}
        entry.handle = next(h for h in range(len(used) + 1) if h not in used)
        if self.has_direct_counter:
            entry.counter = entry.counter or CounterValue()
        self._entries[entry.match, entry.priority] = entry

    def _check_writable(self) -> None:
        if self.is_const:
            raise PermissionDeniedError(f"{self.name} is const")

    def insert(self, entry: TableEntry) -> None:
        self._check_writable()
        if (entry.match, entry.priority) in self._entries:
            raise AlreadyExistsError(self.name)
        if len(self._entries) >= self.size:
            raise TableFullError(self.name)
        if not entry.match:
            raise InvalidArgumentError(f"{self.name} has no key")
        self._store(replace(entry, last_hit_ns=time.monotonic_ns()))

    def modify(self, entry: TableEntry) -> None:
        self._check_writable()
        old = self.get(entry.match, entry.priority)
        old.target = entry.target
        old.idle_timeout_ns = entry.idle_timeout_ns
        old.last_hit_ns = time.monotonic_ns()

    def delete(self, match: tuple[Match, ...], priority: int) -> None:
        self._check_writable()
        self.get(match, priority)
        del self._entries[match, priority]

    def get(self, match: tuple[Match, ...], priority: int) -> TableEntry:
        try:
            return self._entries[match, priority]
        except KeyError:
            raise NotFoundError(self.name) from None

    def entries(self) -> list[TableEntry]:
        return list(self._entries.values())

    def write_counter(self, match: tuple[Match, ...], priority: int, value: CounterValue) -> None:
        self.get(match, priority).counter = value

    def write_meter(self, match: tuple[Match, ...], priority: int, rates: MeterRates | None) -> None:
        self.get(match, priority).meter = rates

    @property
    def default(self) -> TableEntry:
        return self._default

    def set_default(self, target: Target) -> None:
        self._default = TableEntry((), target)

    def reset_default(self) -> None:
        self._default = TableEntry((), self._initial)


def _call(actions: dict[int, str], action_id: int, data: Sequence[str]) -> ActionCall:
    return ActionCall(actions[action_id], tuple(int(value, 16) for value in data))


def _const_match(match: dict[str, Any]) -> Match:
    if match["match_type"] == "exact":
        return Match(int(match["key"], 16))
    assert match["match_type"] == "ternary"
    return Match(int(match["key"], 16), int(match["mask"], 16))


class FakeProfile:
    def __init__(self, document: dict[str, Any]) -> None:
        self.name: str = document["name"]
        self.size: int = document["max_size"]
        self.with_selector = "selector" in document
        self._members: dict[int, ActionCall] = {}
        self._groups: dict[int, list[tuple[int, int]]] = {}

    def insert_member(self, member_id: int, action: ActionCall) -> None:
        if member_id in self._members:
            raise AlreadyExistsError(self.name)
        self._members[member_id] = action

    def modify_member(self, member_id: int, action: ActionCall) -> None:
        self._members[member_id] = action

    def delete_member(self, member_id: int) -> None:
        del self._members[member_id]

    def members(self) -> dict[int, ActionCall]:
        return dict(self._members)

    def insert_group(self, group_id: int, members: Sequence[tuple[int, int]], max_size: int) -> None:
        if group_id in self._groups:
            raise AlreadyExistsError(self.name)
        self.modify_group(group_id, members)

    def modify_group(self, group_id: int, members: Sequence[tuple[int, int]]) -> None:
        if any(member not in self._members for member, _ in members):
            raise NotFoundError(self.name)
        self._groups[group_id] = list(members)

    def delete_group(self, group_id: int) -> None:
        del self._groups[group_id]

    def groups(self) -> dict[int, list[tuple[int, int]]]:
        return dict(self._groups)


class FakeCells:
    """A counter or meter array."""

    def __init__(self, document: dict[str, Any], initial: Any) -> None:
        self.name: str = document["name"]
        self.size: int = document["size"]
        self.unit: Any = "both"
        self._initial = initial
        self._cells: dict[int, Any] = {}

    def _check(self, index: int) -> None:
        if index >= self.size:
            raise InvalidArgumentError(f"index {index}")

    def read(self, index: int) -> Any:
        self._check(index)
        return copy.copy(self._cells.get(index, self._initial))

    def write(self, index: int, value: Any) -> None:
        self._check(index)
        self._cells[index] = value


class FakeSwitch:
    def __init__(self, cpu_port: int | None = None) -> None:
        self.cpu_port = cpu_port
        self.frames: list[tuple[int, bytes]] = []
        self.cpu_listener: CpuListener | None = None
        self.digest_listener: DigestListener | None = None
        self._clear()

    def _clear(self) -> None:
        self.programs: tuple[ir.Program, ...] = ()
        self.tables: dict[str, Any] = {}
        self.action_profiles: dict[str, Any] = {}
        self.counters: dict[str, Any] = {}
        self.meters: dict[str, Any] = {}
        self.multicast_groups: dict[int, tuple[Replica, ...]] = {}
        self.clone_sessions: dict[int, CloneSession] = {}
        self.digests: dict[str, tuple[int, ...]] = {}

    def read(self, config: bytes) -> tuple[ir.Program, ...]:
        return (load_program(config),)

    def load(self, bmv2_json: bytes) -> None:
        document = json.loads(bmv2_json)
        self._clear()
        self.programs = self.read(bmv2_json)
        actions = {a["id"]: a["name"] for a in document["actions"]}
        specs = {a.name: a for program in self.programs for a in program.actions.values()}
        for pipeline in document["pipelines"]:
            for table in pipeline["tables"]:
                self.tables[table["name"]] = FakeTable(table, actions, specs)
            for profile in pipeline["action_profiles"]:
                self.action_profiles[profile["name"]] = FakeProfile(profile)
        for counter in document["counter_arrays"]:
            if not counter.get("is_direct"):
                self.counters[counter["name"]] = FakeCells(counter, CounterValue())
        for meter in document["meter_arrays"]:
            if not meter.get("is_direct"):
                self.meters[meter["name"]] = FakeCells(meter, None)

    def process(self, port: int, frame: bytes) -> list[PacketOut]:
        self.frames.append((port, frame))
        return []

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        if replicas is None:
            del self.multicast_groups[group_id]
        else:
            self.multicast_groups[group_id] = tuple(replicas)

    def set_clone_session(self, session_id: int, session: CloneSession | None) -> None:
        if session is None:
            del self.clone_sessions[session_id]
        else:
            self.clone_sessions[session_id] = session

    def read_register(self, name: str, index: int) -> int:
        raise NotFoundError(name)

    def write_register(self, name: str, index: int, value: int) -> None:
        raise NotFoundError(name)

    def on_cpu_packet(self, listener: CpuListener | None) -> None:
        self.cpu_listener = listener

    def on_digest(self, listener: DigestListener | None) -> None:
        self.digest_listener = listener

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match-action tables: what the control plane writes, and the lookup objects that the generated code reads.

The generated code sees an entry as a *row*: ``(action number, state, *args)``, where ``state`` is the list
``[packets, bytes, last hit in ns, meter]``. Exact tables are a dict from key to row. All others are a cache over a
search; the cache is emptied whenever an entry changes, so that writes need no recompilation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from lanesum_switch.api import (
    ActionCall,
    ActionSpec,
    AlreadyExistsError,
    CounterValue,
    GroupRef,
    InvalidArgumentError,
    KeySpec,
    Match,
    MemberRef,
    MeterRates,
    NotFoundError,
    ParamSpec,
    PermissionDeniedError,
    TableEntry,
    TableFullError,
    Target,
)
from lanesum_switch.bmv2 import ir
from lanesum_switch.runtime.action_profiles import ActionProfile
from lanesum_switch.runtime.externs import GREEN, TokenBuckets
from lanesum_switch.runtime.lookup import GROUP, NO_ACTION, Row, TupleSpaceSearch

_PRIORITY_BASE = 1 << 24  # const entries: BMv2 counts down, P4Runtime counts up


class MatchTable:
    """One table; implements ``api.Table``."""

    def __init__(
        self,
        node: ir.TableNode,
        program: ir.Program,
        profile: ActionProfile | None,
        clock: Callable[[], int],
        lock: AbstractContextManager[object],
    ) -> None:
        self.name = node.name
        self.keys = tuple(KeySpec(k.name, k.kind, k.bits) for k in node.keys)  # type: ignore[arg-type]
        self.actions = tuple(
            ActionSpec(a.name, tuple(ParamSpec(name, bits) for name, bits in a.params)) for a in node.actions
        )
        self.size = node.size
        self.is_const = node.entries_const
        self.action_profile = node.profile
        self.has_direct_counter = node.with_counters
        self.has_direct_meter = node.direct_meter is not None
        self.supports_idle_timeout = node.supports_timeout
        self.default_is_const = node.default_const
        self._node = node
        self._profile = profile
        self._clock = clock
        self._lock = lock
        self._numbers = {action.name: number for number, action in enumerate(node.actions)}
        meter = program.meters.get(node.direct_meter or "")
        self._meter_counts_packets = meter is not None and meter.unit == "packets"
        kinds = tuple(k.kind for k in node.keys)
        self.exact = all(kind == "exact" for kind in kinds)
        self.rows: dict[Any, Row | None] = (
            {} if self.exact else TupleSpaceSearch(kinds, tuple(k.bits for k in node.keys))
        )
        self.default_row: list[Row] = [(NO_ACTION, [0, 0, 0, None])]
        self._entries: dict[tuple[tuple[Match, ...], int], TableEntry] = {}
        self._states: dict[int, list[Any]] = {}
        self._next_handle = 0
        self._default = TableEntry((), ActionCall("", ()))
        self._default_state: list[Any] = [0, 0, 0, None]
        self._load(node)
        if profile is not None:
            profile.changed.append(self._refresh)

    # api.Table

    def insert(self, entry: TableEntry) -> None:
        """Raises PermissionDenied, AlreadyExists, TableFull, NotFound (member, group) or InvalidArgument errors."""
        with self._lock:
            self._writable()
            if not self.keys:
                raise InvalidArgumentError(f"Table {self.name} has no key: only its default entry can be written.")
            match = self._normalize(entry.match)
            key = (match, self._priority(entry.priority))
            if key in self._entries:
                raise AlreadyExistsError(f"Table {self.name} has an entry with this match already.")
            if len(self._entries) >= self.size:
                raise TableFullError(f"Table {self.name} holds {self.size} entries, which is its size.")
            self._check_target(entry.target)
            self._add(match, entry)
            self._refresh_one(key)

    def modify(self, entry: TableEntry) -> None:
        """Raises PermissionDenied, NotFound or InvalidArgument errors."""
        with self._lock:
            self._writable()
            stored = self._stored(entry.match, entry.priority)
            self._check_target(entry.target)
            stored.target = entry.target
            stored.idle_timeout_ns = entry.idle_timeout_ns
            self._states[stored.handle][2] = self._clock()
            self._refresh_one((stored.match, stored.priority))

    def delete(self, match: tuple[Match, ...], priority: int) -> None:
        """Raises PermissionDenied, NotFound or InvalidArgument errors."""
        with self._lock:
            self._writable()
            stored = self._stored(match, priority)
            del self._entries[(stored.match, stored.priority)]
            del self._states[stored.handle]
            if self.exact:
                del self.rows[self._key(stored.match)]
            else:
                self._refresh()

    def get(self, match: tuple[Match, ...], priority: int) -> TableEntry:
        """A copy of an entry with its present counter. Raises NotFound or InvalidArgument errors."""
        with self._lock:
            return self._view(self._stored(match, priority))

    def entries(self) -> list[TableEntry]:
        """Copies of all entries, in the order in which they were inserted."""
        with self._lock:
            return [self._view(entry) for entry in self._entries.values()]

    def write_counter(self, match: tuple[Match, ...], priority: int, value: CounterValue) -> None:
        """Raises NotFound or InvalidArgument errors."""
        with self._lock:
            if not self.has_direct_counter:
                raise InvalidArgumentError(f"Table {self.name} has no direct counter.")
            state = self._states[self._stored(match, priority).handle]
            state[0], state[1] = value.packets, value.bytes

    def write_meter(self, match: tuple[Match, ...], priority: int, rates: MeterRates | None) -> None:
        """Raises NotFound or InvalidArgument errors."""
        with self._lock:
            if not self.has_direct_meter:
                raise InvalidArgumentError(f"Table {self.name} has no direct meter.")
            stored = self._stored(match, priority)
            stored.meter = rates
            state = self._states[stored.handle]
            state[3] = None if rates is None else TokenBuckets(rates, self._clock())

    @property
    def default(self) -> TableEntry:
        """A copy of the default entry."""
        with self._lock:
            return self._view(self._default, self._default_state)

    def set_default(self, target: Target) -> None:
        """Raises PermissionDenied, NotFound or InvalidArgument errors."""
        with self._lock:
            if self.default_is_const:
                raise PermissionDeniedError(f"The default action of table {self.name} is const.")
            self._check_target(target)
            self._default.target = target
            self._refresh_default()

    def reset_default(self) -> None:
        """Back to the program's own default action."""
        with self._lock:
            if self.default_is_const:
                raise PermissionDeniedError(f"The default action of table {self.name} is const.")
            self._program_default()

    # For the generated code and the switch

    def meter_color(self, state: list[Any], frame_length: int) -> int:
        """The color that an entry's direct meter gives a packet."""
        buckets = state[3]
        if buckets is None:
            return GREEN
        color: int = buckets.color(1 if self._meter_counts_packets else frame_length, self._clock())
        return color

    def ordered_rows(self) -> list[tuple[list[tuple[int, int, int]], Row]]:
        """(tests per key field, row) of all entries, best match first; a test is (mask, low, high)."""
        assert isinstance(self.rows, TupleSpaceSearch)
        search = self.rows
        ranked = [(self._rank(e), e.handle, e) for e in self._entries.values()]
        ranked.sort(key=lambda item: (-item[0], item[1]))
        found = []
        for _, _, entry in ranked:
            tests = [search.test(k, w, m) for k, w, m in zip(search.kinds, search.widths, entry.match, strict=True)]
            found.append((tests, self._row(entry.target, self._states[entry.handle])))
        return found

    def expired(self, now_ns: int) -> list[TableEntry]:
        """Entries whose idle timeout passed since their last hit; their clocks start again. The lock is held."""
        found = []
        for entry in self._entries.values():
            state = self._states[entry.handle]
            if entry.idle_timeout_ns > 0 and now_ns - state[2] >= entry.idle_timeout_ns:
                found.append(self._view(entry))
                state[2] = now_ns
        return found

    # Internals; the lock is held

    def _load(self, node: ir.TableNode) -> None:
        self._program_default()
        for item in node.const_entries:
            match = tuple(Match(value, aux) for value, aux in item.match)
            priority = 0 if not self._needs_priority() else _PRIORITY_BASE - item.priority
            entry = TableEntry(match, ActionCall(item.action, item.args), priority, is_const=True)
            self._add(self._normalize(match), entry)
        self._refresh()

    def _program_default(self) -> None:
        action = self._node.default_action
        if action is not None:
            self._default.target = ActionCall(action.name, self._node.default_args)
        self._refresh_default()

    def _refresh_default(self) -> None:
        if self._default.target == ActionCall("", ()):
            self.default_row[0] = (NO_ACTION, self._default_state)
        else:
            self.default_row[0] = self._row(self._default.target, self._default_state)

    def _needs_priority(self) -> bool:
        return any(k.kind in ("ternary", "range", "optional") for k in self.keys)

    def _priority(self, priority: int) -> int:
        if self._needs_priority():
            return priority
        if priority:
            raise InvalidArgumentError(f"Table {self.name} has no ternary, range or optional key: priority must be 0.")
        return 0

    def _writable(self) -> None:
        if self.is_const:
            raise PermissionDeniedError(f"The entries of table {self.name} are part of the program (const entries).")

    def _normalize(self, match: tuple[Match, ...]) -> tuple[Match, ...]:
        if len(match) != len(self.keys):
            raise InvalidArgumentError(f"Table {self.name} has {len(self.keys)} key fields, not {len(match)}.")
        found = []
        for key, item in zip(self.keys, match, strict=True):
            full = (1 << key.bits) - 1
            value, aux = item.value, item.aux
            fits = 0 <= value <= full
            if key.kind == "exact":
                aux = 0
            elif key.kind == "lpm":
                fits = fits and 0 <= aux <= key.bits
                value &= full ^ (full >> aux) if fits else 0
            else:
                fits = fits and 0 <= aux <= full
                if key.kind == "range":
                    fits = fits and value <= aux
                else:
                    value &= aux
            if not fits:
                raise InvalidArgumentError(
                    f"Key field {key.name} of table {self.name} ({key.kind}, {key.bits} bits) cannot be {item}."
                )
            found.append(Match(value, aux))
        return tuple(found)

    def _check_target(self, target: Target) -> None:
        if isinstance(target, ActionCall):
            if self._profile is not None:
                raise InvalidArgumentError(f"Table {self.name} is indirect: its entries name a member or a group.")
            spec = next((a for a in self.actions if a.name == target.action), None)
            if spec is None:
                raise InvalidArgumentError(f"Table {self.name} has no action {target.action}.")
            check_arguments(spec, target.args)
            return
        if self._profile is None:
            raise InvalidArgumentError(f"Table {self.name} has no action profile.")
        if isinstance(target, MemberRef):
            self._profile.require_member(target.member_id)
        else:
            self._profile.require_group(target.group_id)

    def _stored(self, match: tuple[Match, ...], priority: int) -> TableEntry:
        stored = self._entries.get((self._normalize(match), self._priority(priority)))
        if stored is None:
            raise NotFoundError(f"Table {self.name} has no entry with this match and priority.")
        return stored

    def _add(self, match: tuple[Match, ...], entry: TableEntry) -> None:
        self._next_handle += 1
        stored = TableEntry(
            match,
            entry.target,
            entry.priority,
            None,
            entry.meter,
            entry.idle_timeout_ns,
            0,
            entry.is_const,
            self._next_handle,
        )
        now = self._clock()
        counter = entry.counter or CounterValue()
        buckets = None if entry.meter is None else TokenBuckets(entry.meter, now)
        self._entries[(match, entry.priority)] = stored
        self._states[stored.handle] = [counter.packets, counter.bytes, now, buckets]

    def _view(self, entry: TableEntry, state: list[Any] | None = None) -> TableEntry:
        state = self._states[entry.handle] if state is None else state
        return TableEntry(
            entry.match,
            entry.target,
            entry.priority,
            CounterValue(state[0], state[1]) if self.has_direct_counter else None,
            entry.meter,
            entry.idle_timeout_ns,
            state[2],
            entry.is_const,
            entry.handle,
        )

    def _key(self, match: tuple[Match, ...]) -> Any:
        return match[0].value if len(match) == 1 else tuple(m.value for m in match)

    def _row(self, target: Target, state: list[Any]) -> Row:
        if isinstance(target, ActionCall):
            return (self._numbers[target.action], state, *target.args)
        assert self._profile is not None
        if isinstance(target, GroupRef):
            rows = [self._row(call, state) for call in self._profile.group_calls(target.group_id)]
            return (GROUP, state, rows) if rows else (NO_ACTION, state)
        return self._row(self._profile.members_by_id[target.member_id], state)

    def _rank(self, entry: TableEntry) -> int:
        """The larger rank wins. Among equal ones BMv2 leaves the choice open; the older entry wins here."""
        if self._needs_priority():
            return entry.priority
        lpm = next((i for i, k in enumerate(self.keys) if k.kind == "lpm"), None)
        return 0 if lpm is None else entry.match[lpm].aux

    def _refresh_one(self, key: tuple[tuple[Match, ...], int]) -> None:
        if self.exact:
            entry = self._entries[key]
            self.rows[self._key(entry.match)] = self._row(entry.target, self._states[entry.handle])
        else:
            self._refresh()

    def _refresh(self) -> None:
        """Rebuild all rows, for example after a member of the action profile changed."""
        self._refresh_default()
        if isinstance(self.rows, TupleSpaceSearch):
            self.rows.rebuild(
                [
                    (entry.match, self._rank(entry), self._row(entry.target, self._states[entry.handle]))
                    for entry in self._entries.values()
                ]
            )
        else:
            self.rows.clear()
            for entry in self._entries.values():
                self.rows[self._key(entry.match)] = self._row(entry.target, self._states[entry.handle])


def check_arguments(spec: ActionSpec, args: tuple[int, ...]) -> None:
    """Raises InvalidArgumentError where arguments do not fit an action's parameters."""
    if len(args) != len(spec.params):
        raise InvalidArgumentError(f"Action {spec.name} has {len(spec.params)} parameters, not {len(args)}.")
    for param, value in zip(spec.params, args, strict=True):
        if not 0 <= value < 1 << param.bits:
            raise InvalidArgumentError(f"Parameter {param.name} of {spec.name} has {param.bits} bits, not {value}.")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match-action tables (P4_16 specification, section "Tables"; P4Runtime specification, section "TableEntry").

The generated code reads an entry as a *row* ``(action number, state, *args)``, where ``state`` is the list
``[packets, bytes, last hit in ns, meter]``. A table with exact keys only is a dict from key to row. Any other table is
a ``TupleSpaceSearch``. A write changes these objects and recompiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from lanesum_switch.api import (
    ActionCall,
    AlreadyExistsError,
    CounterValue,
    GroupRef,
    InvalidArgumentError,
    Match,
    MemberRef,
    MeterRates,
    NotFoundError,
    PermissionDeniedError,
    TableEntry,
    TableFullError,
    Target,
)
from lanesum_switch.bmv2 import ir
from lanesum_switch.runtime.action_profiles import ActionProfileMembers, check_arguments
from lanesum_switch.runtime.externs import GREEN, TokenBuckets
from lanesum_switch.runtime.lookup import GROUP, NO_ACTION, RankedRow, Row, TupleSpaceSearch

_PRIORITY_BASE = 1 << 24  # const entries: the smaller number wins in the JSON, the larger one in P4Runtime


class MatchTable:
    """A match-action table. All methods may be called while other threads process packets.

    Attributes:
        size: maximum number of entries.
        is_const: the entries are part of the program and cannot be changed.
    """

    def __init__(
        self,
        node: ir.TableNode,
        program: ir.Program,
        profile: ActionProfileMembers | None,
        clock: Callable[[], int],
        lock: AbstractContextManager[object],
    ) -> None:
        self.name = node.name
        self.keys = node.keys
        self.actions = node.actions
        self.size = node.size
        self.is_const = node.entries_const
        self.has_direct_counter = node.with_counters
        self.has_direct_meter = node.direct_meter is not None
        self._node = node
        self._profile = profile
        self._clock = clock
        self._lock = lock
        self._numbers = {action.name: number for number, action in enumerate(node.actions)}
        meter = program.meters.get(node.direct_meter or "")
        self._meter_counts_packets = meter is not None and meter.unit == "packets"
        kinds = tuple(k.kind for k in node.keys)
        exact = all(kind == "exact" for kind in kinds)
        self.rows: dict[Any, Row | None] = {} if exact else TupleSpaceSearch(kinds, tuple(k.bits for k in node.keys))
        self.default_row: list[Row] = [(NO_ACTION, [0, 0, 0, None])]
        self._entries: dict[tuple[tuple[Match, ...], int], TableEntry] = {}
        self._states: dict[int, list[Any]] = {}
        self._next_handle = 0
        self._default = TableEntry((), ActionCall("", ()))
        self._default_state: list[Any] = [0, 0, 0, None]
        self._load(node)
        if profile is not None:
            profile.changed.append(self._refresh)

    # For the servers of P4Runtime and BF Runtime

    def insert(self, entry: TableEntry) -> None:
        """Add an entry.

        Raises PermissionDeniedError, AlreadyExistsError, TableFullError, InvalidArgumentError, or NotFoundError for an
        unknown member or group.
        """
        with self._lock:
            self._writable()
            if not self.keys:
                raise InvalidArgumentError(f"Table {self.name} has no key: write its default entry instead.")
            match = self._normalize(entry.match)
            key = (match, self._priority(entry.priority))
            if key in self._entries:
                raise AlreadyExistsError(f"Table {self.name} already has an entry with this match and priority.")
            if len(self._entries) >= self.size:
                raise TableFullError(f"Table {self.name} is full: it holds {self.size} entries.")
            self._check_target(entry.target)
            self._add(match, entry)
            self._refresh_one(key)

    def modify(self, entry: TableEntry) -> None:
        """Replace target and idle timeout of an entry; keep its counter.

        Raises PermissionDeniedError, NotFoundError or InvalidArgumentError.
        """
        with self._lock:
            self._writable()
            stored = self._stored(entry.match, entry.priority)
            self._check_target(entry.target)
            stored.target = entry.target
            stored.idle_timeout_ns = entry.idle_timeout_ns
            self._states[stored.handle][2] = self._clock()
            self._refresh_one((stored.match, stored.priority))

    def delete(self, match: tuple[Match, ...], priority: int) -> None:
        """Remove an entry. Raises PermissionDeniedError, NotFoundError or InvalidArgumentError."""
        with self._lock:
            self._writable()
            stored = self._stored(match, priority)
            del self._entries[(stored.match, stored.priority)]
            del self._states[stored.handle]
            if isinstance(self.rows, TupleSpaceSearch):
                self.rows.change(self._ranked_rows)
            else:
                del self.rows[self._key(stored.match)]

    def get(self, match: tuple[Match, ...], priority: int) -> TableEntry:
        """Return a copy of an entry. Raises NotFoundError or InvalidArgumentError."""
        with self._lock:
            return self._view(self._stored(match, priority))

    def entries(self) -> list[TableEntry]:
        """Return copies of all entries, in the order of insertion."""
        with self._lock:
            return [self._view(entry) for entry in self._entries.values()]

    def write_counter(self, match: tuple[Match, ...], priority: int, value: CounterValue) -> None:
        """Set the direct counter of an entry. Raises NotFoundError or InvalidArgumentError."""
        with self._lock:
            if not self.has_direct_counter:
                raise InvalidArgumentError(f"Table {self.name} has no direct counter.")
            state = self._states[self._stored(match, priority).handle]
            state[0], state[1] = value.packets, value.bytes

    def write_meter(self, match: tuple[Match, ...], priority: int, rates: MeterRates | None) -> None:
        """Set the rates of an entry's direct meter; None colors every packet green.

        Raises NotFoundError or InvalidArgumentError.
        """
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
        """Replace the default action.

        Raises PermissionDeniedError, NotFoundError or InvalidArgumentError.
        """
        with self._lock:
            self._default_writable()
            self._check_target(target)
            self._default.target = target
            self._refresh_default()

    def reset_default(self) -> None:
        """Restore the default action of the program. Raises PermissionDeniedError."""
        with self._lock:
            self._default_writable()
            self._program_default()

    # For the generated code and the data plane

    def meter_color(self, state: list[Any], frame_length: int) -> int:
        """Return the color that an entry's direct meter gives a packet of ``frame_length`` bytes."""
        buckets = state[3]
        if buckets is None:
            return GREEN
        color: int = buckets.color(1 if self._meter_counts_packets else frame_length, self._clock())
        return color

    def ordered_rows(self) -> list[tuple[list[tuple[int, int, int]], Row]]:
        """Return (tests of the key fields, row) of all entries, best match first; a test is (mask, low, high)."""
        assert isinstance(self.rows, TupleSpaceSearch)
        search = self.rows
        ranked = [(self._rank(e), e.handle, e) for e in self._entries.values()]
        ranked.sort(key=lambda item: (-item[0], item[1]))
        found = []
        for _, _, entry in ranked:
            tests = [search.test(k, w, m) for k, w, m in zip(search.kinds, search.widths, entry.match, strict=True)]
            found.append((tests, self._row(entry.target, self._states[entry.handle])))
        return found

    # Internals; the caller holds the lock

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
            raise InvalidArgumentError(
                f"Table {self.name} has no ternary, range or optional key: its entries have priority 0, not {priority}."
            )
        return 0

    def _writable(self) -> None:
        if self.is_const:
            raise PermissionDeniedError(f"The entries of table {self.name} are const: they are part of the program.")

    def _default_writable(self) -> None:
        if self._node.default_const:
            raise PermissionDeniedError(f"The default action of table {self.name} is const: it is part of the program.")

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
                given = f"{item.value:#x}" if key.kind == "exact" else f"{item.value:#x} with {item.aux:#x}"
                raise InvalidArgumentError(
                    f"{given} does not fit key field {key.name} of table {self.name} ({key.kind}, {key.bits} bits)."
                )
            found.append(Match(value, aux))
        return tuple(found)

    def _check_target(self, target: Target) -> None:
        if isinstance(target, ActionCall):
            if self._profile is not None:
                raise InvalidArgumentError(
                    f"Table {self.name} is indirect: its entries refer to a member or group, not to an action."
                )
            spec = next((a for a in self.actions if a.name == target.action), None)
            if spec is None:
                raise InvalidArgumentError(f"Table {self.name} has no action {target.action}.")
            check_arguments(spec, target.args)
            return
        if self._profile is None:
            raise InvalidArgumentError(
                f"Table {self.name} is not indirect: its entries name an action, not a member or group."
            )
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
        stored = replace(entry, match=match, counter=None, last_hit_ns=0, handle=self._next_handle)
        now = self._clock()
        counter = entry.counter or CounterValue()
        buckets = None if entry.meter is None else TokenBuckets(entry.meter, now)
        self._entries[(match, entry.priority)] = stored
        self._states[stored.handle] = [counter.packets, counter.bytes, now, buckets]

    def _view(self, entry: TableEntry, state: list[Any] | None = None) -> TableEntry:
        state = self._states[entry.handle] if state is None else state
        counter = CounterValue(state[0], state[1]) if self.has_direct_counter else None
        return replace(entry, counter=counter, last_hit_ns=state[2])

    def _key(self, match: tuple[Match, ...]) -> Any:
        return match[0].value if len(match) == 1 else tuple(m.value for m in match)

    def _row(self, target: Target, state: list[Any]) -> Row:
        if isinstance(target, ActionCall):
            return (self._numbers[target.action], state, *target.args)
        assert self._profile is not None
        if isinstance(target, GroupRef):
            rows: list[Row] = []
            for call, weight in self._profile.group_calls(target.group_id):
                rows += [self._row(call, state)] * weight  # one row: a weight costs a pointer
            return (GROUP, state, rows) if rows else (NO_ACTION, state)
        return self._row(self._profile.members_by_id[target.member_id], state)

    def _rank(self, entry: TableEntry) -> int:
        """Return the rank of an entry: the larger one wins, and of equal ones the older entry (BMv2: undefined)."""
        if self._needs_priority():
            return entry.priority
        lpm = next((i for i, k in enumerate(self.keys) if k.kind == "lpm"), None)
        return 0 if lpm is None else entry.match[lpm].aux

    def _refresh_one(self, key: tuple[tuple[Match, ...], int]) -> None:
        if isinstance(self.rows, TupleSpaceSearch):
            self.rows.change(self._ranked_rows)
        else:
            entry = self._entries[key]
            self.rows[self._key(entry.match)] = self._row(entry.target, self._states[entry.handle])

    def _refresh(self) -> None:
        """Rebuild all rows, as after a change of an action profile's member."""
        self._refresh_default()
        if isinstance(self.rows, TupleSpaceSearch):
            self.rows.rebuild(self._ranked_rows())
        else:
            self.rows.clear()
            for entry in self._entries.values():
                self.rows[self._key(entry.match)] = self._row(entry.target, self._states[entry.handle])

    def _ranked_rows(self) -> list[RankedRow]:
        return [
            (entry.match, self._rank(entry), self._row(entry.target, self._states[entry.handle]))
            for entry in self._entries.values()
        ]

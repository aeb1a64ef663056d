# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Match-action tables over BF Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lanesum_fabric.bfruntime import messages
from lanesum_fabric.bfruntime.description import (
    COUNTED_BYTES,
    COUNTED_PACKETS,
    MATCH_ACTION,
    PRIORITY,
    BfRuntimeTable,
    Description,
    Field,
)
from lanesum_switch.api import ActionCall, InvalidArgumentError, Match, TableEntry
from lanesum_switch.bfruntime.values import decode, fields_by_id
from lanesum_switch.p4runtime.status import Code, StatusError, invalid
from lanesum_switch.runtime.tables import MatchTable
from lanesum_switch.tna.load import TnaProgram

_Update = messages.Update
_LOWEST_PRIORITY = 1 << 24  # the smaller number wins here, and the larger one in the switch


def check_fit(description: Description, program: TnaProgram) -> None:
    """Check that a description has all tables of a program as they are. Raises InvalidArgumentError."""
    for table in program.tables:
        found = description.by_name.get(table.name)
        if found is None or found.kind != MATCH_ACTION:
            raise InvalidArgumentError(f"The description has no table {table.name}: send that of this program.")
        if [(key.kind, key.bits) for key in _keys(found)] != [(key.kind, key.bits) for key in table.keys]:
            raise InvalidArgumentError(
                f"The description has other key fields of table {table.name}: send that of this program."
            )
        actions = {
            action.name: [param.bits for _, param in sorted(action.params.items())] for action in found.actions.values()
        }
        if actions != {action.name: [bits for _, bits in action.params] for action in table.actions}:
            raise InvalidArgumentError(
                f"The description has other actions of table {table.name}: send that of this program."
            )


def _keys(table: BfRuntimeTable) -> list[Field]:
    return [key for _, key in sorted(table.keys.items()) if key.name != PRIORITY]


class MatchActionTable:
    """One table of the program and its description."""

    def __init__(self, described: BfRuntimeTable, table: MatchTable) -> None:
        self._described, self._table = described, table
        self._priority = next((key for key in described.keys.values() if key.name == PRIORITY), None)

    def write(self, kind: int, entry: Any) -> None:
        """Handle an update. Raises StatusError, SwitchError."""
        if entry.is_default_entry:
            self._write_default(kind, entry)
        elif kind == _Update.DELETE and not entry.HasField("key"):
            for stored in self._table.entries():
                self._table.delete(stored.match, stored.priority)
        elif kind == _Update.DELETE:
            self._table.delete(*self._key(entry))
        elif kind in (_Update.INSERT, _Update.MODIFY):
            match, priority = self._key(entry)
            written = TableEntry(match, self._action(entry), priority)
            (self._table.insert if kind == _Update.INSERT else self._table.modify)(written)
        else:
            raise StatusError(Code.UNIMPLEMENTED, "Only INSERT, MODIFY and DELETE are supported")

    def _write_default(self, kind: int, entry: Any) -> None:
        if entry.key.fields:
            raise invalid(f"The default entry of {self._described.name} has no key: leave its fields out")
        if kind == _Update.MODIFY:
            self._table.set_default(self._action(entry))
        elif kind == _Update.DELETE:
            self._table.reset_default()
        else:
            raise StatusError(Code.UNIMPLEMENTED, "A default entry takes MODIFY and DELETE")

    def read(self, entry: Any) -> Iterator[Any]:
        """Yield one entry, or all with the default entry. Raises StatusError, SwitchError."""
        if entry.HasField("key"):
            stored = [self._table.get(*self._key(entry))]
        elif entry.is_default_entry:
            stored = []
        else:
            stored = self._table.entries()
        for one in stored:
            found = self._entry(one, entry.table_flags.from_hw)
            self._write_key(one, found)
            yield found
        if not entry.HasField("key"):
            found = self._entry(self._table.default, entry.table_flags.from_hw)
            found.is_default_entry = True
            yield found

    def _key(self, entry: Any) -> tuple[tuple[Match, ...], int]:
        given = fields_by_id(entry.key.fields, self._described.keys, f"Table {self._described.name}")
        match = tuple(_match(field, given.get(field.id)) for field in _keys(self._described))
        if self._priority is None:
            return match, 0
        number = given.get(self._priority.id)
        return match, _LOWEST_PRIORITY - (0 if number is None else decode(number.exact.value, self._priority))

    def _action(self, entry: Any) -> ActionCall:
        action = self._described.actions.get(entry.data.action_id)
        if action is None:
            raise StatusError(Code.NOT_FOUND, f"Table {self._described.name} has no action {entry.data.action_id}")
        given = fields_by_id(entry.data.fields, action.params, f"Action {action.name}")
        missing = [param.name for param in action.params.values() if param.id not in given]
        if missing:
            raise invalid(f"Action {action.name} lacks parameter {missing[0]}")
        return ActionCall(
            action.name, tuple(decode(given[param.id].stream, param) for _, param in sorted(action.params.items()))
        )

    def _entry(self, stored: TableEntry, with_counter: bool) -> Any:
        found = messages.TableEntry(table_id=self._described.id)
        target = stored.target
        action = next(
            (a for a in self._described.actions.values() if isinstance(target, ActionCall) and a.name == target.action),
            None,
        )
        if action is not None:
            assert isinstance(target, ActionCall)
            found.data.action_id = action.id
            for (_, param), value in zip(sorted(action.params.items()), target.args, strict=True):
                found.data.fields.add(field_id=param.id, stream=param.encode(value))
        if with_counter and stored.counter is not None:
            for field in self._described.data.values():
                if field.name in (COUNTED_BYTES, COUNTED_PACKETS):
                    count = stored.counter.bytes if field.name == COUNTED_BYTES else stored.counter.packets
                    found.data.fields.add(field_id=field.id, stream=field.encode(count))
        return found

    def _write_key(self, stored: TableEntry, found: Any) -> None:
        for field, match in zip(_keys(self._described), stored.match, strict=True):
            key = found.key.fields.add(field_id=field.id)
            if field.kind == "exact":
                key.exact.value = field.encode(match.value)
            elif field.kind == "lpm":
                key.lpm.value, key.lpm.prefix_len = field.encode(match.value), match.aux
            elif field.kind == "ternary":
                key.ternary.value, key.ternary.mask = field.encode(match.value), field.encode(match.aux)
            else:
                key.range.low, key.range.high = field.encode(match.value), field.encode(match.aux)
        if self._priority is not None:
            key = found.key.fields.add(field_id=self._priority.id)
            key.exact.value = self._priority.encode(max(0, _LOWEST_PRIORITY - stored.priority))


def _match(field: Field, given: Any) -> Match:
    """Return the match of a field; a missing one that is not exact matches everything."""
    if given is None:
        if field.kind == "exact":
            raise invalid(f"The key lacks field {field.name}")
        return Match(0, (1 << field.bits) - 1 if field.kind == "range" else 0)
    if given.WhichOneof("match_type") != field.kind:
        raise invalid(
            f"Field {field.name} is matched by {field.kind}, not by {given.WhichOneof('match_type') or 'nothing'}"
        )
    if field.kind == "exact":
        return Match(decode(given.exact.value, field))
    if field.kind == "lpm":
        return Match(decode(given.lpm.value, field), given.lpm.prefix_len)
    if field.kind == "ternary":
        return Match(decode(given.ternary.value, field), decode(given.ternary.mask, field))
    return Match(decode(given.range.low, field), decode(given.range.high, field))

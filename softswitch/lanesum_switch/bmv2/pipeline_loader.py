# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Loader of pipelines: tables, conditionals and action calls.

Format: docs/JSON_format.md of p4lang/behavioral-model, section ``pipelines``.
"""

from __future__ import annotations

from typing import Any

from lanesum_switch.bmv2 import ir
from lanesum_switch.bmv2.expression_loader import ExpressionLoader, place_of, unsupported
from lanesum_switch.bmv2.fields import (
    MAX_ENTRIES,
    FieldError,
    Json,
    array,
    boolean,
    integer,
    number,
    optional_reference,
    optional_text,
    record,
    records,
    reference,
    text,
)


class PipelineLoader(ExpressionLoader):
    """Loads pipelines over the headers and actions that the program has so far."""

    def _action(self, holder: Any, key: Any) -> ir.Action:
        """Return the action with a number."""
        action = self.program.actions.get(integer(holder, key))
        if action is None:
            raise FieldError(holder, key, "the number of an action that the program defines")
        return action

    def _action_args(self, holder: Json, key: str, action: ir.Action) -> tuple[int, ...]:
        """Return the arguments of an action, which fit its parameters."""
        args = array(holder, key, len(action.params))
        found = []
        for position, (_, bits) in enumerate(action.params):
            value = number(args, position)
            if not -(1 << bits - 1) <= value < 1 << bits:
                raise FieldError(args, position, f"a number of {bits} bits")
            found.append(value)
        return tuple(found)

    def _pipeline(self, item: Json) -> ir.Pipeline:
        program = self.program
        text(item, "name")
        for profile in records(item, "action_profiles", optional=True):
            selector = None
            if profile.get("selector"):
                chooser = record(profile, "selector")
                selector = ir.Selector(text(chooser, "algo"), self._exprs(chooser, "input"))
            size = integer(profile, "max_size", 0, MAX_ENTRIES, default=0)
            name = text(profile, "name")
            program.profiles[name] = ir.Profile(name, size, selector)
        tables, conditions = records(item, "tables"), records(item, "conditionals")
        calls = records(item, "action_calls", optional=True)
        names = {text(node, "name") for node in (*tables, *conditions, *calls)}
        nodes: dict[str, ir.ControlNode] = {table["name"]: self._table(table, names) for table in tables}
        for condition in conditions:
            nodes[condition["name"]] = ir.ConditionNode(
                condition["name"],
                self._expr(record(condition, "expression")),
                optional_reference(condition, "true_next", names, "node"),
                optional_reference(condition, "false_next", names, "node"),
            )
        for call in calls:
            action = self._action(call, "action_id")
            if action.params:
                raise FieldError(call, "action_id", "the number of an action without parameters")
            nodes[call["name"]] = ir.ActionNode(
                call["name"], action, optional_reference(call, "next_node", names, "node")
            )
        return ir.Pipeline(optional_reference(item, "init_table", names, "node"), nodes)

    def _keys(self, item: Json) -> tuple[ir.KeyField, ...]:
        keys = []
        for part in records(item, "key"):
            kind = text(part, "match_type")
            if kind == "valid":
                holder, place = (part, "target") if type(part.get("target")) is str else (array(part, "target"), 0)
                header = reference(holder, place, self.program.instances, "header")
                source = ir.FieldRef(header, ir.VALID)
                kind = "exact"
            else:
                source = self._field(part, "target")
            if kind not in ("exact", "lpm", "ternary", "range", "optional"):
                raise unsupported(f"match kind {kind!r} in table {item['name']!r}", place_of(item))
            field = self.program.field_type(source)
            if field.variable:
                raise FieldError(part, "target", "a field of fixed width")
            mask = None if part.get("mask") is None else number(part, "mask")
            if mask is not None and mask < 0:
                raise FieldError(part, "mask", "a mask that is not negative")
            name = optional_text(part, "name") or f"{source.header}.{source.name}"
            keys.append(ir.KeyField(name, kind, source, field.bits, mask))
        return tuple(keys)

    def _table_actions(self, item: Json) -> tuple[ir.Action, ...]:
        if "action_ids" in item:
            numbers = array(item, "action_ids")
            return tuple(self._action(numbers, position) for position in range(len(numbers)))
        by_name = {action.name: action for action in self.program.actions.values()}  # before JSON format 2.0
        names = array(item, "actions")
        return tuple(by_name[reference(names, position, by_name, "action")] for position in range(len(names)))

    def _table(self, item: Json, names: set[str]) -> ir.TableNode:
        keys = self._keys(item)
        actions = self._table_actions(item)
        jumps = record(item, "next_tables")
        following = {action: optional_reference(jumps, action, names, "node") for action in jumps}
        default_action = None
        default_args: tuple[int, ...] = ()
        default_const = False
        if item.get("default_entry") is not None:
            default = record(item, "default_entry")
            default_action = self._action(default, "action_id")
            if default.get("action_data") is not None or default_action.params:
                default_args = self._action_args(default, "action_data", default_action)
            default_const = boolean(default, "action_entry_const", False) or boolean(default, "action_const", False)
            if default_action not in actions:
                raise FieldError(default, "action_id", "the number of an action of the table")
        entries = tuple(self._const_entry(e, keys, actions) for e in records(item, "entries", optional=True))
        profile = None
        if text(item, "type") != "simple":
            profile = reference(item, "action_profile", self.program.profiles, "action profile")
        return ir.TableNode(
            name=item["name"],
            keys=keys,
            actions=actions,
            next_by_action=following,
            next_hit=following.get("__HIT__"),
            next_miss=following.get("__MISS__"),
            hit_miss="__HIT__" in following or "__MISS__" in following,
            base_default_next=optional_reference(item, "base_default_next", names, "node"),
            size=integer(item, "max_size", 0, MAX_ENTRIES, default=0),
            profile=profile,
            with_counters=boolean(item, "with_counters", False),
            supports_timeout=boolean(item, "support_timeout", False),
            direct_meter=optional_reference(item, "direct_meters", self.program.meters, "meter"),
            default_action=default_action,
            default_args=default_args,
            default_const=default_const,
            const_entries=entries,
            entries_const="entries" in item,
            place=place_of(item),
        )

    def _const_entry(self, item: Json, keys: tuple[ir.KeyField, ...], actions: tuple[ir.Action, ...]) -> ir.ConstEntry:
        match: list[tuple[int, int]] = []
        parts = array(item, "match_key", len(keys))
        for position, key in enumerate(keys):
            part = record(parts, position)
            kind = text(part, "match_type")
            full = (1 << key.bits) - 1
            if kind == "range":
                match.append((self._key_value(part, "start", full), self._key_value(part, "end", full)))
                continue
            value = self._key_value(part, "key", full)
            if kind == "lpm":
                match.append((value, integer(part, "prefix_length", 0, key.bits)))
            elif kind in ("ternary", "optional"):
                match.append((value, self._key_value(part, "mask", full)))
            elif key.kind == "lpm":
                match.append((value, key.bits))
            elif key.kind in ("ternary", "optional"):
                match.append((value, full))
            else:
                match.append((value, 0))
        entry = record(item, "action_entry")
        action = self._action(entry, "action_id")
        if action not in actions:
            raise FieldError(entry, "action_id", "the number of an action of the table")
        args = self._action_args(entry, "action_data", action)
        return ir.ConstEntry(tuple(match), action.name, args, integer(item, "priority", -1 << 31, 1 << 31, default=0))

    @staticmethod
    def _key_value(part: Json, key: str, high: int) -> int:
        value = part.get(key)
        found = int(value) if isinstance(value, bool) else number(part, key)
        if not 0 <= found <= high:
            raise FieldError(part, key, f"a number from 0 to {high:#x}")
        return found

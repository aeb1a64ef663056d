# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of TNA tables to ``ir`` table nodes."""

from __future__ import annotations

from dataclasses import replace

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna.body import Binding, Body, shown
from lanesum_switch.tna.gress import Gress
from lanesum_switch.tna.parsers import constant
from lanesum_switch.tna.values import Typed, bit_string

DEFAULT_SIZE = 512  # default size of a table in TNA
_KINDS = ("exact", "lpm", "ternary", "range", "optional")
_KNOWN = {"default_action", "size", "counters", "meters", "idle_timeout"}


class Tables:
    """The tables of one control."""

    def __init__(
        self, gress: Gress, block: p4.BlockDeclaration, scope: dict[str, Binding], actions: dict[str, ir.Action]
    ) -> None:
        self.gress = gress
        self.block = block
        self.scope = scope
        self.actions = actions

    def node(
        self, table: p4.TableDeclaration, body: Body, jumps: dict[str, str | None], following: str | None
    ) -> ir.TableNode:
        """Return the node that applies a table.

        ``body`` gets the computation of keys that are not fields. ``jumps``: successors by name of the action in the
        text, or ``__HIT__`` and ``__MISS__``; others continue at ``following``.
        """
        where = table.control_name
        unknown = set(table.properties) - _KNOWN
        if unknown:
            raise UnsupportedProgramError(f"Unsupported: property {', '.join(sorted(unknown))} of table {where}.")
        keys = tuple(self._key(key, body, where) for key in table.keys)
        actions = tuple(self.actions[ref.name] for ref in table.actions)
        default: ir.Action | None = None
        default_args: tuple[int, ...] = ()
        given = table.properties.get("default_action")
        if given is not None:
            default, default_args = self._called(given.value, body)
        else:
            default = next((a for a in actions if a.name == "NoAction"), None)
        size = table.properties.get("size")
        hit_miss = "__HIT__" in jumps
        by_action = {} if hit_miss else {a.name: following for a in actions}
        for name, target in jumps.items():
            if not hit_miss:
                by_action[self.actions[name].name] = target
        counter = table.properties.get("counters")
        counted = self._counted(counter, table)
        meter = table.properties.get("meters")
        return ir.TableNode(
            name=where,
            keys=keys,
            actions=actions,
            next_by_action=by_action,
            next_hit=jumps.get("__HIT__"),
            next_miss=jumps.get("__MISS__"),
            hit_miss=hit_miss,
            base_default_next=following,
            size=size.value.value if size is not None and isinstance(size.value, p4.Number) else DEFAULT_SIZE,
            profile=None,
            with_counters=counter is not None,
            supports_timeout=table.properties.get("idle_timeout", p4.Property(p4.Truth(False), True)).value
            == p4.Truth(True),
            direct_meter=None if meter is None else self._meter(meter, where),
            default_action=default,
            default_args=default_args,
            default_const=given is not None and given.const,
            const_entries=self._entries(table, keys, body),
            entries_const=table.has_entries and table.entries_const,
            place=f"line {table.line}",
            counted_actions=counted,
        )

    def _key(self, key: p4.Key, body: Body, table: str) -> ir.KeyField:
        if key.kind not in _KINDS:
            raise UnsupportedProgramError(f"Unsupported: match kind {key.kind} in table {table}.")
        value = body.value(key.expr)
        source = value.expr
        if not isinstance(source, ir.FieldRef):
            kind = p4.Bits(value.bits)
            copy = self.gress.storage.temporary(kind)
            body.store(copy, Typed(bit_string(value), kind))
            assert isinstance(copy.expr, ir.FieldRef)
            source = copy.expr
        return ir.KeyField(key.name, key.kind, source, value.bits, None)

    def _called(self, expr: p4.Expr, body: Body) -> tuple[ir.Action, tuple[int, ...]]:
        called = expr if isinstance(expr, p4.CallExpression) else p4.CallExpression(expr, (), ())
        if not isinstance(called.function, p4.Path) or called.function.name not in self.actions:
            raise UnsupportedProgramError(f"Unsupported: {shown(called.function)} as an action ({body.where}).")
        action, args = self.actions[called.function.name], called.args
        numbers = tuple(
            constant(body, arg) & ((1 << bits) - 1) for arg, (_, bits) in zip(args, action.params, strict=True)
        )
        return action, numbers

    def _counted(self, counter: p4.Property | None, table: p4.TableDeclaration) -> frozenset[str] | None:
        """Return the actions that count; None for all."""
        if counter is None:
            return None
        assert isinstance(counter.value, p4.Path)
        names = frozenset(self.gress.counted[counter.value.name])
        return None if names >= {self.actions[ref.name].name for ref in table.actions} else names

    def _meter(self, meter: p4.Property, table: str) -> str:
        assert isinstance(meter.value, p4.Path)
        name = self.gress.direct_meters[meter.value.name]
        self.gress.program.meters[name] = replace(self.gress.program.meters[name], binding=table)
        return name

    def _entries(
        self, table: p4.TableDeclaration, keys: tuple[ir.KeyField, ...], body: Body
    ) -> tuple[ir.ConstEntry, ...]:
        found = []
        for number, entry in enumerate(table.entries):
            if len(entry.keys) == 1 and isinstance(entry.keys[0], p4.Anything) and len(keys) > 1:
                sets: tuple[p4.Expr, ...] = tuple(p4.Anything() for _ in keys)
            else:
                sets = entry.keys
            match = tuple(self._match(expr, key, body) for expr, key in zip(sets, keys, strict=True))
            action, args = self._called(entry.action, body)
            found.append(ir.ConstEntry(match, action.name, args, number + 1))
        return tuple(found)

    def _match(self, expr: p4.Expr, key: ir.KeyField, body: Body) -> tuple[int, int]:
        """Return (value, aux) as in ``api.Match``."""
        full = (1 << key.bits) - 1
        match expr:
            case p4.Anything():
                return (0, full) if key.kind == "range" else (0, 0)
            case p4.Masked(value, mask):
                low, ones = constant(body, value) & full, constant(body, mask) & full
                if key.kind == "lpm":
                    return low, ones.bit_count()
                return low, ones
            case p4.Between(low, high):
                return constant(body, low) & full, constant(body, high) & full
        number = constant(body, expr) & full
        return number, {"exact": 0, "lpm": key.bits, "range": number}.get(key.kind, full)

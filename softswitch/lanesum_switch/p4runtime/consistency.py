# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a P4Info with a program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from lanesum_switch.p4runtime.p4info import Action, Field, P4InfoIndex, TableInfo
from lanesum_switch.p4runtime.status import invalid

# BMv2 has no optional matches: p4c writes them as ternary ones.
_ACCEPTED_KINDS = {
    "exact": ("exact", "valid"),
    "lpm": ("lpm",),
    "ternary": ("ternary",),
    "range": ("range",),
    "optional": ("ternary", "optional"),
}


# Maximum priorities of BMv2 and P4Runtime, which count in opposite directions.
_MAX_PRIORITY = 2**31 - 1


def check_program(index: P4InfoIndex, document: dict[str, Any]) -> dict[str, list[int]]:
    """Compare the two halves of a forwarding pipeline configuration; ``document``: from ``bmv2_document`` or
    ``outline``.

    BMv2 does not: it loads both, and fails or aborts at the first access to a missing object. Any pair that BMv2 would
    accept and run is accepted.

    Returns:
        The P4Runtime priorities of the program's own entries, by table, for the tables with priorities.

    Raises:
        StatusError: INVALID_ARGUMENT naming the first object of the P4Info that is missing or different in the program.
    """
    actions = {a.get("name"): a for a in _objects(document, "actions")}
    for action in index.actions.values():
        # Actions that no table uses are in the P4Info, but may be missing in the JSON.
        if action.name in actions:
            _check_action(action, actions[action.name])
    pipelines = _objects(document, "pipelines")
    tables = {t.get("name"): t for p in pipelines for t in _objects(p, "tables")}
    widths = _Widths(document)
    for table in index.tables.values():
        if table.name not in tables:
            raise invalid(f"The device config has no table {table.name}, which the P4Info describes")
        _check_table(index, table, tables[table.name], widths)
    _check_names(
        "action profile",
        (p.name for p in index.profiles.values()),
        (a.get("name") for p in pipelines for a in _objects(p, "action_profiles")),
    )
    _check_names("counter", (c.name for c in index.counters.values()), _names(document, "counter_arrays"))
    _check_names("meter", (m.name for m in index.meters.values()), _names(document, "meter_arrays"))
    _check_names("digest", (d.name for d in index.digests.values()), _names(document, "learn_lists"))
    return {
        table.name: [_MAX_PRIORITY - e.get("priority", 0) for e in _objects(tables[table.name], "entries")]
        for table in index.tables.values()
        if table.needs_priority and "entries" in tables[table.name]
    }


def bmv2_document(device_config: bytes) -> dict[str, Any]:
    """Parse the BMv2 JSON. Raises StatusError INVALID_ARGUMENT for any other data."""
    try:
        document = json.loads(device_config)
    except ValueError as error:
        raise invalid(f"The device config is not BMv2 JSON: {error}") from error
    if not isinstance(document, dict) or "pipelines" not in document:
        raise invalid("The device config is not BMv2 JSON: it has no pipelines")
    return document


def _objects(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [o for o in document.get(name) or [] if isinstance(o, dict)]


def _names(document: dict[str, Any], name: str) -> Iterable[Any]:
    return (o.get("name") for o in _objects(document, name))


def _check_names(what: str, wanted: Iterable[str], found: Iterable[Any]) -> None:
    names = set(found)
    for name in wanted:
        if name not in names:
            raise invalid(f"The device config has no {what} {name}, which the P4Info describes")


def _check_action(action: Action, found: dict[str, Any]) -> None:
    widths = [p.get("bitwidth") for p in _objects(found, "runtime_data")]
    wanted = [p.bits for p in action.params]
    same = len(widths) == len(wanted) and all(
        p.translated or p.bits == bits for p, bits in zip(action.params, widths, strict=True)
    )
    if not same:
        raise invalid(
            f"The parameters of action {action.name} have widths {wanted} in the P4Info and {widths} in the"
            " device config"
        )


def _check_table(index: P4InfoIndex, table: TableInfo, found: dict[str, Any], widths: _Widths) -> None:
    keys = _objects(found, "key")
    if len(keys) != len(table.fields):
        raise invalid(
            f"Table {table.name} has {len(table.fields)} match fields in the P4Info and {len(keys)} in the"
            " device config"
        )
    for field, key in zip(table.fields, keys, strict=True):
        _check_field(table, field, key, widths)
    known = set(found.get("actions") or [])
    for action_id in table.scopes:
        action = index.actions.get(action_id)
        if action is None:
            raise invalid(f"Table {table.name} refers to action {action_id:#x}, which the P4Info does not describe")
        if action.name not in known:
            raise invalid(f"Table {table.name} of the device config has no action {action.name}")


def _check_field(table: TableInfo, field: Field, key: dict[str, Any], widths: _Widths) -> None:
    kind = key.get("match_type")
    if kind not in _ACCEPTED_KINDS[field.kind]:
        raise invalid(
            f"Field {field.name} of table {table.name} is matched by {field.kind} in the P4Info and by {kind} in"
            " the device config"
        )
    if field.translated or field.bits == 0:
        return  # types without bits of their own, such as error, have width 0 in the P4Info
    bits = widths.of(key.get("target"))
    if bits is not None and bits != field.bits:
        raise invalid(
            f"Field {field.name} of table {table.name} has {field.bits} bits in the P4Info and {bits} in the"
            " device config"
        )


class _Widths:
    """Field widths of a program by header instance and field."""

    def __init__(self, document: dict[str, Any]) -> None:
        types = {
            t.get("name"): {f[0]: f[1] for f in t.get("fields") or [] if len(f) > 1}
            for t in _objects(document, "header_types")
        }
        self._headers = {h.get("name"): types.get(h.get("header_type"), {}) for h in _objects(document, "headers")}

    def of(self, target: Any) -> int | None:
        """Return the width of a field; None if the JSON does not name it, as for elements of header unions."""
        if not isinstance(target, list) or len(target) != 2:
            return None
        if target[1] == "$valid$":
            return 1
        bits = self._headers.get(target[0], {}).get(target[1])
        return bits if isinstance(bits, int) else None

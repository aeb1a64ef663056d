# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a P4Info with a program."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from lanesum_switch.bmv2.fields import FieldError, Json, array, integer, optional_text, records, text
from lanesum_switch.p4runtime.p4info import ActionInfo, FieldInfo, P4InfoIndex, TableInfo
from lanesum_switch.p4runtime.status import StatusError, invalid
from lanesum_switch.runtime.tables import MatchTable

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


def check_program(index: P4InfoIndex, document: Json) -> dict[str, list[int]]:
    """Compare the two halves of a forwarding pipeline configuration; ``document`` is BMv2 JSON or an ``outline``.

    BMv2 does not: it loads both, and fails or aborts at the first access to a missing object. Any pair that BMv2 would
    accept and run is accepted.

    Returns:
        The P4Runtime priorities of the program's own entries, by table, for the tables with priorities.

    Raises:
        StatusError: INVALID_ARGUMENT naming the first object of the P4Info that is missing or different in the program,
            or the field of the program that has another type than the format allows.
    """
    try:
        return _check_program(index, document)
    except FieldError as error:
        raise invalid(f"The device config is malformed at {error.message(document)}") from error


def _check_program(index: P4InfoIndex, document: Json) -> dict[str, list[int]]:
    actions = _by_name(document, "actions")
    for action in index.actions.values():
        # Actions that no table uses are in the P4Info, but may be missing in the JSON.
        if action.name in actions:
            _check_action(action, actions[action.name])
    pipelines = records(document, "pipelines")
    tables = {name: table for p in pipelines for name, table in _by_name(p, "tables").items()}
    widths = _Widths(document)
    for table in index.tables.values():
        if table.name not in tables:
            raise _mismatch(f"The device config has no table {table.name}, which the P4Info describes")
        _check_table(index, table, tables[table.name], widths)
    _check_names(
        "action profile",
        (p.name for p in index.profiles.values()),
        {name for p in pipelines for name in _by_name(p, "action_profiles")},
    )
    _check_names("counter", (c.name for c in index.counters.values()), _by_name(document, "counter_arrays"))
    _check_names("meter", (m.name for m in index.meters.values()), _by_name(document, "meter_arrays"))
    _check_names("digest", (d.name for d in index.digests.values()), _by_name(document, "learn_lists"))
    return {
        table.name: [
            _MAX_PRIORITY - integer(entry, "priority", -1 << 31, 1 << 31, default=0)
            for entry in records(tables[table.name], "entries", optional=True)
        ]
        for table in index.tables.values()
        if table.needs_priority and "entries" in tables[table.name]
    }


def check_tables(index: P4InfoIndex, tables: Mapping[str, MatchTable]) -> None:
    """Compare a P4Info with the tables of the switch that runs its program.

    Raises:
        StatusError: INVALID_ARGUMENT naming the first table that is missing, or that has other fields or actions.
    """
    for info in index.tables.values():
        table = tables.get(info.name)
        if table is None:
            raise invalid(f"The switch has no table {info.name}: send the device config too")
        wanted, kinds = [field.kind for field in info.fields], [key.kind for key in table.keys]
        same = len(wanted) == len(kinds) and all(
            kind in _ACCEPTED_KINDS[of] for of, kind in zip(wanted, kinds, strict=True)
        )
        if not same:
            raise invalid(
                f"Table {info.name} is matched by {wanted} in the P4Info and by {kinds} in the switch: send the"
                " device config too"
            )
        for spec in table.actions:
            action = index.actions_by_name.get(spec.name)
            if action is not None and len(action.params) != len(spec.params):
                raise invalid(
                    f"Action {spec.name} has {len(action.params)} parameters in the P4Info and {len(spec.params)} in"
                    " the switch: send the device config too"
                )


def _mismatch(message: str) -> StatusError:
    return invalid(f"{message}: send the P4Info and the device config of one compilation")


def _by_name(document: Json, kind: str) -> dict[str, Json]:
    return {text(item, "name"): item for item in records(document, kind, optional=True)}


def _check_names(what: str, wanted: Iterable[str], found: Container[str]) -> None:
    for name in wanted:
        if name not in found:
            raise _mismatch(f"The device config has no {what} {name}, which the P4Info describes")


def _check_action(action: ActionInfo, found: Json) -> None:
    widths = [integer(p, "bitwidth") for p in records(found, "runtime_data", optional=True)]
    wanted = [p.bits for p in action.params]
    same = len(widths) == len(wanted) and all(
        p.translated or p.bits == bits for p, bits in zip(action.params, widths, strict=True)
    )
    if not same:
        raise _mismatch(
            f"The parameters of action {action.name} have widths {wanted} in the P4Info and {widths} in the"
            " device config"
        )


def _check_table(index: P4InfoIndex, table: TableInfo, found: Json, widths: _Widths) -> None:
    keys = records(found, "key", optional=True)
    if len(keys) != len(table.fields):
        raise _mismatch(
            f"Table {table.name} has {len(table.fields)} match fields in the P4Info and {len(keys)} in the"
            " device config"
        )
    for field, key in zip(table.fields, keys, strict=True):
        _check_field(table, field, key, widths)
    names = array(found, "actions", optional=True)
    known = {text(names, position) for position in range(len(names))}
    for action_id in table.scopes:
        action = index.actions.get(action_id)
        if action is None:
            raise invalid(f"Table {table.name} refers to action {action_id:#x}, which the P4Info does not describe")
        if action.name not in known:
            raise _mismatch(f"Table {table.name} of the device config has no action {action.name}")


def _check_field(table: TableInfo, field: FieldInfo, key: Json, widths: _Widths) -> None:
    kind = key.get("match_type")
    if kind not in _ACCEPTED_KINDS[field.kind]:
        raise _mismatch(
            f"Field {field.name} of table {table.name} is matched by {field.kind} in the P4Info and by {kind} in"
            " the device config"
        )
    if field.translated or field.bits == 0:
        return  # types without bits of their own, such as error, have width 0 in the P4Info
    bits = widths.of(key.get("target"))
    if bits is not None and bits != field.bits:
        raise _mismatch(
            f"Field {field.name} of table {table.name} has {field.bits} bits in the P4Info and {bits} in the"
            " device config"
        )


class _Widths:
    """Field widths of a program by header instance and field; the JSON has ``*`` for a variable width."""

    def __init__(self, document: Json) -> None:
        types: dict[str, dict[str, Any]] = {}
        for name, item in _by_name(document, "header_types").items():
            fields = array(item, "fields", optional=True)
            entries = [array(fields, position) for position in range(len(fields))]
            types[name] = {text(entry, 0): entry[1] for entry in entries if len(entry) > 1}
        self._headers = {
            name: types.get(optional_text(item, "header_type") or "", {})
            for name, item in _by_name(document, "headers").items()
        }

    def of(self, target: Any) -> int | None:
        """Return the width of a field; None if the JSON does not name it, as for elements of header unions."""
        if not isinstance(target, list) or len(target) != 2 or not all(isinstance(part, str) for part in target):
            return None
        if target[1] == "$valid$":
            return 1
        bits = self._headers.get(target[0], {}).get(target[1])
        return bits if isinstance(bits, int) else None

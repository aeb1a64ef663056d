# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler's description of an assembled program, ``context.json``, in the form that the harness needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PARTS = ("match_key_fields", "match_attributes", "static_entries")
_NAMES = ("name", "field_name")
# Printed for keys in binary digits, although they are used.
HARMLESS = "expected a constant value: 0b"


def for_harness(context: dict[str, Any]) -> dict[str, Any]:
    """Change key fields that the harness would misread; return ``context``.

    - A key can have the name of a parameter of its table, behind a dot or alone. The harness finds both by the end of
      the name and writes the parameter into the key, so such a key gets another name.
    - A key can be a part of a field. The compiler counts bits from the lowest of the field, but writes constant entries
      with the bits of the part, which the harness shifts out. So bits are counted from the lowest of the part.
    """
    for table in context["tables"]:
        keys = table.get("match_key_fields", ())
        parameters = {param["name"] for action in table.get("actions", ()) for param in action["p4_parameters"]}
        for key in list(keys):
            name, lowest = key["name"], key["start_bit"]
            shared = name.rpartition(".")[2] in parameters
            for item in _named(table, name) if lowest or shared else ():
                for bit in ("start_bit", "field_bit"):
                    if bit in item:
                        item[bit] -= lowest
                if shared:
                    item.update({kind: f"key_{name.replace('.', '_')}" for kind in _NAMES if kind in item})
    return context


def _named(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the parts of a table's description that name a key field."""
    return [item for part in _PARTS for item in _objects(table[part]) if name in (item.get(kind) for kind in _NAMES)]


def _objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from _objects(item)
    elif isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _objects(value)


def take_ternary_entries(context: dict[str, Any]) -> list[str]:
    """Remove the constant entries of ternary tables; return the commands that write them.

    The harness drops the highest bits of a key that are 0 if wildcards follow.
    """
    commands = []
    for table in context["tables"]:
        if table.get("match_attributes", {}).get("match_type") == "ternary":
            commands += [_entry(table, entry) for entry in table["static_entries"]]
            table["static_entries"] = []
    return commands


def _entry(table: dict[str, Any], entry: dict[str, Any]) -> str:
    """Return the command for a constant entry; the first one has the highest address."""
    size = sum(stage["size"] for stage in table["match_attributes"]["stage_tables"])
    widths = {key["name"]: key["bit_width"] for key in table["match_key_fields"]}
    matches = (
        f"{key['field_name']}:{_digits(int(key['value'], 0), int(key.get('mask', '-1'), 0), widths[key['field_name']])}"
        for key in entry["match_key_fields_values"]
    )
    action = next(action["name"] for action in table["actions"] if action["handle"] == entry["action_handle"])
    parameters = (f"{param['parameter_name']}:{param['value']}" for param in entry["action_parameters_values"])
    address = size - 1 - entry["priority"]
    return f"add {table['name']} {address} {' '.join(matches)} {action}({', '.join(parameters)})"


def _digits(value: int, mask: int, width: int) -> str:
    bits = range(width - 1, -1, -1)
    return "0b" + "".join(str(value >> bit & 1) if mask >> bit & 1 else "*" for bit in bits)

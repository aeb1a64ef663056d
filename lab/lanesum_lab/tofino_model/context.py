# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler's description of an assembled program, ``context.json``."""

from __future__ import annotations

from typing import Any

_PARTS = ("match_key_fields", "match_attributes", "static_entries")


def with_distinct_keys(context: dict[str, Any]) -> dict[str, Any]:
    """Rename keys that have the name of a parameter of their table, and return ``context``.

    The harness finds both by name, and would write the parameter into the key.
    """
    for table in context["tables"]:
        parameters = {param["name"] for action in table.get("actions", ()) for param in action["p4_parameters"]}
        names = {field["name"] for field in table.get("match_key_fields", ())} & parameters
        if names:
            for part in _PARTS:
                _rename(table[part], names)
    return context


def _rename(node: Any, names: set[str]) -> None:
    if isinstance(node, list):
        for item in node:
            _rename(item, names)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("name", "field_name") and value in names:
                node[key] = f"key_{value}"
            else:
                _rename(value, names)

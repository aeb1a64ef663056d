# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The bf-rt description that p4c writes for Tofino, the same in every build of the same program."""

from __future__ import annotations

from typing import Any

# Of a table's id: the rest says what kind of table it is.
_NUMBER = 0xFFFFFF


def repeatable(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema``, changed in place: what differs from one build to the next is taken out.

    The compiler puts snapshots of ingress before those of egress, or behind them, by the address of an object; the
    first of them gives its number to the table that configures both. Raises KeyError where it is no such description.
    """
    schema.pop("build_date", None)
    tables = schema.get("tables", [])
    places = [i for i, table in enumerate(tables) if table["name"].startswith("pipe.snapshot.")]
    found = [tables[i] for i in places]
    ordered = sorted(found, key=lambda table: (".cfg" not in table["name"], ".egress_" in table["name"]))
    for i, table in zip(places, ordered, strict=True):
        tables[i] = table
    if ordered:
        configuring, first = ordered[:2]
        configuring["id"] = configuring["id"] & ~_NUMBER | first["id"] & _NUMBER
        configuring["depends_on"] = [table["id"] for table in ordered if table["name"].endswith("_trigger")]
    return schema

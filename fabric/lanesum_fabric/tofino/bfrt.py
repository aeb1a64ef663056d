# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The bf-rt description that p4c writes for Tofino, made reproducible."""

from __future__ import annotations

from typing import Any

# Bits of a table id that number the table; the others are its kind.
_NUMBER = 0xFFFFFF


def repeatable(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove from ``schema``, in place, the differences between builds of the same program.

    The compiler orders snapshots of ingress and egress by the addresses of objects; the first one gives its number to
    the table that configures both. Raises KeyError for any other JSON.
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

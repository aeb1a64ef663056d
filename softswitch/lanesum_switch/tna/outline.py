# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of a TNA program in the form that ``p4runtime.consistency`` compares with a P4Info."""

from __future__ import annotations

from typing import Any

from lanesum_switch.bmv2 import ir
from lanesum_switch.tna.load import TnaProgram


def outline(program: TnaProgram) -> dict[str, Any]:
    """Return actions, tables, counters, meters and digests with names and widths, as the BMv2 JSON lists them."""
    found: dict[str, Any] = {
        "actions": [],
        "pipelines": [],
        "counter_arrays": [],
        "meter_arrays": [],
        "learn_lists": [],
        "headers": [{"name": "key", "header_type": "key"}],
    }
    widths: dict[str, int] = {}
    for half in program.halves:
        found["actions"] += [
            {"name": a.name, "runtime_data": [{"name": n, "bitwidth": b} for n, b in a.params]}
            for a in half.program.actions.values()
        ]
        tables = [n for n in half.program.ingress.nodes.values() if isinstance(n, ir.TableNode)]
        found["pipelines"].append({"name": half.side, "tables": [_table(table, widths) for table in tables]})
        found["counter_arrays"] += [{"name": name} for name in half.program.counters]
        found["meter_arrays"] += [{"name": name} for name in half.program.meters]
        found["learn_lists"] += [{"name": name} for name in half.digests]
    found["header_types"] = [{"name": "key", "fields": [[name, bits] for name, bits in widths.items()]}]
    return found


def _table(table: ir.TableNode, widths: dict[str, int]) -> dict[str, Any]:
    """Return a table; ``widths`` gets the key fields, as those of one synthetic header."""
    keys = []
    for key in table.keys:
        name = f"{table.name}: {key.name}"
        widths[name] = key.bits
        keys.append({"match_type": key.kind, "target": ["key", name]})
    outlined: dict[str, Any] = {"name": table.name, "key": keys, "actions": [a.name for a in table.actions]}
    if table.entries_const or table.const_entries:
        outlined["entries"] = [{"priority": entry.priority} for entry in table.const_entries]
    return outlined

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Results of flips: their file, and the table that docs/certified-sums.md has of it."""

from __future__ import annotations

import collections
import dataclasses
import json
from pathlib import Path
from typing import Any

from lanesum_lab.markdown import markdown_table, replace_generated
from tests.flips.campaign import CODECS, PLACES, TARGETS, Campaign, Outcomes

RESULTS = Path(__file__).parent / "results.json"
DOCUMENT = Path(__file__).parents[2] / "docs" / "certified-sums.md"
_HEAD = (
    "target",
    "place",
    "flips",
    "without effect",
    "retransmitted",
    "taken again",
    "error",
    "wrong",
    "wrong, not certified",
)


def to_json(certified: Campaign, plain: Campaign, seed: int, processes: int) -> dict[str, Any]:
    """Return the results of two campaigns, with and without check words, as plain values."""
    rows = []
    for (target, place, codec), outcomes in certified.outcomes.items():
        other = plain.outcomes.get((target, place, codec), Outcomes())
        counts = {"flips": outcomes.flips, **dataclasses.asdict(outcomes)}
        row = {"target": target, "place": place, "codec": codec, **counts}
        rows.append({**row, "plain_flips": other.flips, "plain_wrong": other.wrong})
    return {
        "flips": certified.flips,
        "wrong": certified.wrong,
        "plain_flips": plain.flips,
        "seed": seed,
        "processes": processes,
        "wall_s": round(certified.wall_s, 1),
        "rows": rows,
    }


def _table(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[list[str]]:
    sums: dict[tuple[str, ...], collections.Counter[str]] = {}
    for row in rows:
        counts = {name: value for name, value in row.items() if isinstance(value, int)}
        sums.setdefault(tuple(row[key] for key in keys), collections.Counter()).update(counts)
    lines = []
    for names, sum_ in sums.items():
        shown = [f"{sum_[name]:,}" for name in ("flips", "unnoticed", "repeated", "retaken", "errors", "wrong")]
        share = sum_["plain_wrong"] / sum_["plain_flips"] if sum_["plain_flips"] else 0.0
        lines.append([*names, *shown, f"{100 * share:.1f} %"])
    return lines


def tables(results: dict[str, Any]) -> str:
    """Return the tables by target and place, and by codec."""
    order = {name: number for number, name in enumerate((*TARGETS, *PLACES, *CODECS))}
    rows = sorted(results["rows"], key=lambda row: [order[row[key]] for key in ("target", "place", "codec")])
    by_place = markdown_table(_HEAD, _table(rows, ("target", "place")))
    rows = sorted(rows, key=lambda row: order[row["codec"]])
    return by_place + "\n\n" + markdown_table(("codec", *_HEAD[2:]), _table(rows, ("codec",)))


def document(text: str) -> str:
    """Return the text of the page with the tables of the result file."""
    return replace_generated(text, "flips", tables(json.loads(RESULTS.read_text())))

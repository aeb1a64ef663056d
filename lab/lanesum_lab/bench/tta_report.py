# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Report of the time to accuracy: one HTML file with its pictures inside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lanesum._internal.output_file import write_file
from lanesum_lab.bench import pictures
from lanesum_lab.bench.links import HUB
from lanesum_lab.bench.stages import LOOPBACK, SWITCH

_TOPOLOGIES = {
    HUB: "Each worker is behind a link of the stated rate in each direction. The aggregation server is in the place of "
    "a switch, where the links meet, and has no link of its own; no switch takes part.",
    SWITCH: "Each worker is behind a link of the stated rate in each direction. The embedded switch runs the compiled "
    "P4 program where the links meet; packets of gloo pass it, too.",
    LOOPBACK: "No link limits the rate.",
}
_STYLE = """
body { font-family: sans-serif; margin: 2em auto; max-width: 75em; color: #222; }
table { border-collapse: collapse; } td, th { padding: 0.25em 0.8em; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; } img { max-width: 100%; }
"""


#: Titles and rows.
Table = tuple[Sequence[str], Iterable[Sequence[str]]]


def conditions(result: dict[str, Any]) -> str:
    """Return the conditions of a result in words."""
    machine = result["machine"]
    return (
        f"{result['workers']} workers train a {result['what']}. A training has {result['steps']} steps of "
        f"{result['batch']} samples per worker, {len(result['seeds'])} seeds. {_TOPOLOGIES[result['case']]} The target "
        f"is the final test loss of float32 over gloo with the same seed, plus {100 * result['tolerance']:g} %. Tests "
        "are not timed. Medians over the seeds (smallest to largest). All processes share a machine with "
        f"{machine['cores']} cores ({machine['processor']}). Commit {', '.join(result['commits'])}."
        + (f" {result['note']}" if result["note"] else "")
    )


def write(result: dict[str, Any], path: Path, *, winners: Iterable[str], times: Table, parts: Table) -> None:
    """Write the report with two tables, of the times to the target and of the parts of a step.

    Raises MissingToolError without matplotlib.
    """
    drawn = io.BytesIO()
    pictures.tta(result, drawn)
    image = base64.b64encode(drawn.getvalue()).decode()
    first = "".join(f"<li>{html.escape(line)}</li>" for line in winners)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(
        path,
        f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Time to accuracy</title><style>{_STYLE}</style></head><body>
<h1>Time to accuracy: {html.escape(result["job"])}</h1>
<p>{html.escape(conditions(result))}</p>
<h2>Time to target</h2>
<ul>{first}</ul>
{_table(*times)}
<h2>Loss against time and bytes, and the parts of a step</h2>
<img alt="Loss against time, loss against bytes, and the parts of a step" src="data:image/png;base64,{image}">
<h2>Parts of a step</h2>
{_table(*parts)}
</body></html>
""",
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(one)}</th>" for one in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"

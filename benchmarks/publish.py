# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the docs from ``benchmarks/results``: ``python benchmarks/publish.py [--check]``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lanesum.protocol.generate import replace_generated

ROOT = Path(__file__).resolve().parents[1]


def switch_table(result: dict[str, Any]) -> str:
    """Ratios to BMv2 by lane operation."""
    rows: dict[str, dict[str, Any]] = {}
    for figure in result["figures"]:
        rows.setdefault(figure["op"], {})[figure["switch"]] = figure
    lines = ["| operation | BMv2 on veth | embedded on veth | embedded in memory |", "|---|---|---|---|"]
    for op, figures in rows.items():
        peer = figures["BMv2 on veth"]["median_pps"]
        veth, memory = (figures[f"embedded {where}"]["ratio_to_bmv2"] for where in ("on veth", "in memory"))
        lines.append(f"| {op} | 1 ({peer:,.0f} packets/s) | {veth:.1f} | {memory:.1f} |")
    machine = result["machine"]
    lines += ["", f"Measured on {machine['processor']}, {machine['cores']} cores, BMv2 {result['bmv2']}."]
    return "\n".join(lines)


TABLES: dict[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "switch figures": ("switch.json", "docs/switch.md", switch_table),
}


def published() -> dict[Path, str]:
    """Every page with generated figures, as it must read."""
    pages: dict[Path, str] = {}
    for name, (results, page, table) in TABLES.items():
        path = ROOT / page
        result = json.loads((ROOT / "benchmarks" / "results" / results).read_text())
        pages[path] = replace_generated(pages.get(path, path.read_text()), name, table(result))
    return pages


def main(arguments: list[str]) -> int:
    stale = [path for path, text in published().items() if path.read_text() != text]
    for path in stale:
        if "--check" in arguments:
            print(
                f"{path.relative_to(ROOT)} does not say what was measured: run benchmarks/publish.py", file=sys.stderr
            )
        else:
            path.write_text(published()[path])
    return 1 if "--check" in arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

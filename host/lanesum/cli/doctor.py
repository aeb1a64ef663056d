# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum doctor``: what is used on this machine, and what is missing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False) -> None:
    """Say what lanesum uses on this machine and why, and what to do about problems; status 1 if there is one."""
    from lanesum.doctor import examine, usable

    findings = examine()
    fine = usable(findings)
    if as_json:
        typer.echo(json.dumps({"usable": fine, "checks": [asdict(finding) for finding in findings]}, indent=2))
    else:
        table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")  # paths are to be copied
        for finding in findings:
            style = _STYLES[finding.status]
            text = f"{finding.what} {finding.next_step}".strip()
            table.add_row(f"[{style}]{finding.status}[/]", escape(finding.name), escape(text))
        console = Console(highlight=False)
        console.print(table)
        console.print("lanesum can be used." if fine else "lanesum cannot be used until the problems are solved.")
    if not fine:
        raise typer.Exit(1)

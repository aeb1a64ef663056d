# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum plan``: forecast training steps on a network that need not exist."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from lanesum._internal.output_file import check_writable
from lanesum_control.cli.console import console
from lanesum_fabric.cli.options import options_of, typer_main
from lanesum_lab.bench import pictures
from lanesum_lab.forecast.costs import REFERENCE
from lanesum_lab.forecast.plan import PLAN_COLUMNS, rows, run
from lanesum_lab.forecast.scenario import ForecastScenario

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(ForecastScenario):
    """Options of ``lanesum plan``: scenario, source of the host costs, and output."""

    measure: Annotated[bool, typer.Option("--measure", help="Measure the costs of hosts here, in a minute.")] = False
    picture: Annotated[Path | None, typer.Option(help="Write a picture (PNG) here.", dir_okay=False)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False


@app.command()
@options_of(PlanOptions)
def plan(_context: typer.Context, options: PlanOptions) -> None:
    """Forecast a training step by lanesum and its peers, and what the job needs of switches."""
    if options.picture is not None:
        check_writable(options.picture)
    costs = REFERENCE[options.device]
    if options.measure:
        from lanesum_lab.bench.forecast import measure_costs  # its imports take time

        options.network()  # errors come before a minute of measurements
        costs = measure_costs(options.job().codecs, options.device)
    result = run(options, costs)
    if options.picture is not None:
        pictures.plan(result, options.picture)
    if options.as_json:
        typer.echo(json.dumps(result, indent=2))
    else:
        _show(result)


def _show(result: dict[str, Any]) -> None:
    screen = console()
    screen.print(escape(result["advice"]))
    table = Table(*(Column(name, no_wrap=number == 0) for number, name in enumerate(PLAN_COLUMNS)))
    for row in rows(result):
        table.add_row(*row)
    screen.print(table)
    for name, needed in result["slots_needed"].items():
        screen.print(f"{name}: {needed} slots fill the link, a job has {result['slots']} by default.")
    screen.print(f"Packets have {result['packet_words']} words. Costs of hosts: {escape(result['costs'])}.")
    for switch, entries in result["entries"].items():
        used = ", ".join(f"{table} {count}" for table, count in entries.items() if count)
        screen.print(f"Entries of the job at {switch}: {used}.")
    for name, why in result["refused"].items():
        screen.print(escape(f"{name} is left out: {why}"))


main = typer_main("plan", app)

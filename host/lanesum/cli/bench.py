# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum bench``: measurements, side by side with a named peer."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS

app = typer.Typer(help="Measure, side by side with a named peer.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps ``bench`` a group while it has one command."""


@app.command()
def switch(
    ops: Annotated[str, typer.Option(help="Lane operations, separated by commas.")] = "ADD32,EXPAND8,TABLE8",
    chunks: Annotated[int, typer.Option(min=10, help="Chunks in a run; each is one packet from every worker.")] = 2000,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each switch; they take turns.")] = 5,
    words: Annotated[int, typer.Option(help="Accumulator words per packet.")] = DEFAULT_ACCUMULATOR_WORDS,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Packets per second of the embedded switch, beside BMv2 where it is on PATH (veth needs root)."""
    from lanesum.bench.switch import run

    unknown = [name for name in ops.split(",") if name not in LaneOp.__members__]
    if unknown:
        known = ", ".join(LaneOp.__members__)
        raise ConfigurationError(f"There is no lane operation {', '.join(unknown)}.", f"Known ones: {known}.")
    chosen = [LaneOp[name] for name in ops.split(",")]
    result = run(ops=chosen, chunks=chunks, repeats=repeats, accumulator_words=words)
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    table = Table("switch", "operation", "packets/s", "min", "max", "times BMv2")
    for figure in result["figures"]:
        ratio = figure["ratio_to_bmv2"]
        rates = [f"{figure[key]:,.0f}" for key in ("median_pps", "min_pps", "max_pps")]
        table.add_row(figure["switch"], figure["op"], *rates, "-" if ratio is None else f"{ratio:.2f}")
    console = Console()
    console.print(table)
    for name, why in result["left_out"].items():
        console.print(f"{name} was not measured: {why}")

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum bench``: measurements, side by side with a named peer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS

app = typer.Typer(help="Measure, side by side with a named peer.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="Runs of every case; they take turns.")]
Seconds = Annotated[float | None, typer.Option(min=0.1, help="Length of a run.")]
Chunks = Annotated[int | None, typer.Option(min=1, help="Packets of a round, from every worker.")]
Quick = Annotated[bool, typer.Option("--quick", help="One short run of few cases, to see that it works.")]


@app.command()
def switch(
    ops: Annotated[str, typer.Option(help="Lane operations, separated by commas.")] = "ADD32,EXPAND8,TABLE8",
    chunks: Annotated[int, typer.Option(min=10, help="Chunks in a run; each is one packet from every worker.")] = 2000,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each switch; they take turns.")] = 5,
    words: Annotated[int, typer.Option(help="Accumulator words per packet.")] = DEFAULT_ACCUMULATOR_WORDS,
    as_json: Json = False,
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


@app.command()
def faults(
    repeats: Repeats = None, seconds: Seconds = None, chunks: Chunks = None, quick: Quick = False, as_json: Json = False
) -> None:
    """Rounds under loss, beside rounds without; two jobs at one switch, beside one alone. On loopback, no root."""
    from lanesum.bench import faults as bench

    result = bench.run(_settings(bench.QUICK if quick else bench.Settings(), repeats, seconds, chunks))
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    console = Console()
    console.print(_table(bench.LOSS_COLUMNS, bench.loss_rows(result)))
    console.print(_table(bench.SHARING_COLUMNS, bench.sharing_rows(result)))
    console.print(f"{result['words_wrong']} of {result['words_checked']:,} words were wrong.")


@app.command()
def congestion(
    rate: Annotated[float | None, typer.Option(min=0.5, help="Of the slow link, in Mbit/s.")] = None,
    repeats: Repeats = None,
    seconds: Seconds = None,
    chunks: Chunks = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """AIMD beside a fixed window on a slow link, alone and beside a TCP flow. Needs root and Mininet."""
    from lanesum.bench import congestion as bench

    settings = _settings(bench.QUICK if quick else bench.Settings(), repeats, seconds, chunks)
    if rate is not None:
        settings = dataclasses.replace(settings, rate_mbit=rate)
    result = bench.run(settings)
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    console = Console()
    console.print(_table(bench.COLUMNS, bench.rows(result)))
    console.print(f"{result['words_wrong']} of {result['words_checked']:,} words were wrong.")


def _settings(settings: Any, repeats: int | None, seconds: float | None, chunks: int | None) -> Any:
    """A benchmark's settings with those options that were given."""
    given = {"repeats": repeats, "seconds": seconds, "chunks": chunks}
    return dataclasses.replace(settings, **{name: value for name, value in given.items() if value is not None})


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    return table

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum bench``: measurements beside a named peer, a command for each benchmark of the registry."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lanesum._internal.output_file import check_writable
from lanesum_control.cli.console import console
from lanesum_fabric.cli.options import typer_main
from lanesum_lab.bench.registry import Benchmark, BenchmarkOption, benchmarks

app = typer.Typer(help="Measure, side by side with a named peer.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Picture = Annotated[Path | None, typer.Option(help="Write a picture (PNG) of the figures here.", dir_okay=False)]
Quick = Annotated[bool, typer.Option("--quick", help="One short run of few cases.")]


def command(benchmark: Benchmark) -> Callable[..., None]:
    """Return the command of a benchmark; its parameters are the options of the settings."""

    def run(*, quick: bool = False, as_json: bool = False, picture: Path | None = None, **given: Any) -> None:
        settings = benchmark.settings(given, quick=quick)
        if picture is not None:
            check_writable(picture)
        result = {"command": benchmark.command(given, quick=quick), **benchmark.run(settings)}
        _show(benchmark, result, as_json)
        if picture is not None and benchmark.picture is not None:
            benchmark.picture(result, picture)

    annotations = {one.field: _annotation(one) for one in benchmark.options()}
    annotations |= ({"picture": Picture} if benchmark.picture is not None else {}) | {"quick": Quick, "as_json": Json}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name in ("quick", "as_json") else None,
            annotation=annotation,
        )
        for name, annotation in annotations.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = annotations
    run.__doc__ = benchmark.summary
    return run


def _annotation(option: BenchmarkOption) -> Any:
    kind: Any = str if option.is_list else option.kind
    info = typer.Option(option.flag, help=option.help, min=None if option.is_list else option.low)
    return Annotated[kind | None, info]


def _show(benchmark: Benchmark, result: dict[str, Any], as_json: bool) -> None:
    """Print the tables and notes of a result, or JSON."""
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    screen = console()
    for columns, rows in benchmark.tables:
        # The first two columns name the case, which must not be cut off.
        table = Table(*(Column(name, no_wrap=number < 2) for number, name in enumerate(columns)))
        for row in rows(result):
            table.add_row(*row)
        if table.row_count:
            screen.print(table)
    if "words_wrong" in result:
        screen.print(f"{result['words_wrong']} of {result['words_checked']:,} words were wrong.")
    for what, why in result.get("left_out", {}).items():
        screen.print(f"{what} was not measured: {why}")
    for sentence in benchmark.notes(result):
        screen.print(sentence)
    screen.print(f"Command: {result['command']}")


for _benchmark in benchmarks().values():
    app.command(_benchmark.name)(command(_benchmark))

main = typer_main("bench", app)

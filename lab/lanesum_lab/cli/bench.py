# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum bench``: measurements beside a named peer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from lanesum.errors import ConfigurationError
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS
from lanesum_control.cli.console import console
from lanesum_fabric.cli.typer_main import typer_main
from lanesum_lab.bench.errors import BenchError

app = typer.Typer(help="Measure, side by side with a named peer.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Repeats = Annotated[int | None, typer.Option(min=1, help="Runs of every case; cases take turns.")]
Seconds = Annotated[float | None, typer.Option(min=0.1, help="Length of a run.")]
Chunks = Annotated[int | None, typer.Option(min=1, help="Packets of a round, from every worker.")]
Picture = Annotated[Path | None, typer.Option(help="Write a picture (PNG) of the figures here.", dir_okay=False)]
Quick = Annotated[bool, typer.Option("--quick", help="One short run of few cases.")]


@app.command()
def switch(
    ops: Annotated[str, typer.Option(help="Lane operations, separated by commas.")] = "ADD32,EXPAND8,TABLE8,MAX",
    chunks: Annotated[int, typer.Option(min=10, help="Chunks in a run; each is one packet from every worker.")] = 2000,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each switch; they take turns.")] = 5,
    words: Annotated[int, typer.Option(help="Accumulator words per packet.")] = DEFAULT_ACCUMULATOR_WORDS,
    as_json: Json = False,
) -> None:
    """Packets per second of the embedded switch, beside BMv2 where it is on PATH (veth needs root)."""
    from lanesum_lab.bench import switch as bench

    unknown = [name for name in ops.split(",") if name not in LaneOp.__members__]
    if unknown:
        known = ", ".join(LaneOp.__members__)
        raise ConfigurationError(f"There is no lane operation {', '.join(unknown)}.", f"Known ones: {known}.")
    chosen = [LaneOp[name] for name in ops.split(",")]
    result = bench.run(ops=chosen, chunks=chunks, repeats=repeats, accumulator_words=words)
    _show(result, [(bench.COLUMNS, bench.rows)], as_json)


@app.command()
def faults(
    repeats: Repeats = None, seconds: Seconds = None, chunks: Chunks = None, quick: Quick = False, as_json: Json = False
) -> None:
    """Rounds under loss, beside rounds without; two jobs at one switch, beside one alone. On loopback, no root."""
    from lanesum_lab.bench import faults as bench

    result = bench.run(_settings(bench, quick, repeats=repeats, seconds=seconds, chunks=chunks))
    _show(result, [(bench.LOSS_COLUMNS, bench.loss_rows), (bench.SHARING_COLUMNS, bench.sharing_rows)], as_json)


@app.command()
def congestion(
    rate: Annotated[float | None, typer.Option(min=0.5, help="Rate of the slow link, in Mbit/s.")] = None,
    repeats: Repeats = None,
    seconds: Seconds = None,
    chunks: Chunks = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """AIMD beside a fixed window on a slow link, alone and beside a TCP flow. Needs root and Mininet."""
    from lanesum_lab.bench import congestion as bench

    settings = _settings(bench, quick, rate_mbit=rate, repeats=repeats, seconds=seconds, chunks=chunks)
    _show(bench.run(settings), [(bench.COLUMNS, bench.rows)], as_json)


@app.command()
def allreduce(
    values: Annotated[int | None, typer.Option(min=1, help="Length of the vector, float32.")] = None,
    sizes: Annotated[
        str, typer.Option(help="Lengths for a sweep, separated by commas; `1k` is a thousand, `25M` 25 million.")
    ] = "",
    workers: Annotated[str, typer.Option(help="Numbers of workers, separated by commas.")] = "",
    codecs: Annotated[str, typer.Option(help="Codecs, separated by commas; `thc error=0.01` has a parameter.")] = "",
    gradients: Annotated[str | None, typer.Option(help="Recorded gradients of this model, not normal values.")] = None,
    peers: Annotated[
        str | None, typer.Option(help="Peers over gloo beside gloo itself, separated by commas; empty for none.")
    ] = None,
    cases: Annotated[
        str,
        typer.Option(help="Any of loopback, hub, sharded, separated by commas; by default all possible ones."),
    ] = "",
    rates: Annotated[str, typer.Option(help="Rates of the limited links, in Mbit/s, separated by commas.")] = "",
    window: Annotated[int | None, typer.Option(min=1, help="Packets in flight per worker, at most.")] = None,
    words: Annotated[int | None, typer.Option(min=2, help="Accumulator words per packet; fills the MTU.")] = None,
    offload: Annotated[str | None, typer.Option(help="Hand the kernel packets joined: on, off or auto.")] = None,
    pacing: Annotated[bool | None, typer.Option("--pacing", help="Spread a window over a round trip.")] = None,
    buckets: Annotated[
        float | None,
        typer.Option(min=0, help="Also in buckets of this size in MiB, one by one and in flight; DDP's have 25."),
    ] = None,
    repeats: Repeats = None,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """All-reduce beside gloo, on loopback and behind limited links (needs root). Needs PyTorch."""
    from lanesum_lab.bench import allreduce as bench

    settings = _settings(
        bench,
        quick,
        values=_numbers(sizes, "--sizes") or ((values,) if values else None),
        workers=_numbers(workers, "--workers"),
        codecs=tuple(codecs.split(",")) if codecs else None,
        gradients=gradients,
        peers=None if peers is None else tuple(filter(None, peers.split(","))),
        cases=tuple(cases.split(",")) if cases else None,
        rates_mbit=_numbers(rates, "--rates"),
        window=window,
        accumulator_words=words,
        offload=offload,
        pacing=pacing,
        bucket_mib=buckets,
        repeats=repeats,
    )
    tables = [
        (bench.SPEED_COLUMNS, bench.speed_rows),
        (bench.COST_COLUMNS, bench.cost_rows),
        (bench.CHUNK_COLUMNS, bench.chunk_rows),
    ]
    if settings.bucket:
        tables.append((bench.BUCKET_COLUMNS, bench.bucket_rows))
    _show(bench.run(settings), tables, as_json, "allreduce", picture)


@app.command()
def sparse(
    values: Annotated[int | None, typer.Option(min=1, help="Length of the vectors, float32.")] = None,
    workers: Annotated[str, typer.Option(help="Numbers of workers, separated by commas.")] = "",
    rates: Annotated[str, typer.Option(help="Rates of the limited links, in Mbit/s, separated by commas.")] = "",
    repeats: Repeats = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Sparse all-reduce beside dense fixed point and an all-gather, behind limited links (needs root), PyTorch."""
    from lanesum_lab.bench import sparse as bench

    settings = _settings(
        bench,
        quick,
        values=values,
        workers=_numbers(workers, "--workers"),
        rates_mbit=_numbers(rates, "--rates"),
        repeats=repeats,
    )
    _show(bench.run(settings), [(bench.COLUMNS, bench.rows)], as_json)


@app.command()
def server(
    workers: Annotated[int | None, typer.Option(min=1, help="Number of workers.")] = None,
    repeats: Repeats = None,
    seconds: Seconds = None,
    chunks: Chunks = None,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Lanes per core beside memcpy, datagrams per core beside iperf3 where it is on PATH. On loopback, no root."""
    from lanesum_lab.bench import server as bench

    result = bench.run(_settings(bench, quick, workers=workers, repeats=repeats, seconds=seconds, chunks=chunks))
    _show(result, [(bench.LANE_COLUMNS, bench.lane_rows), (bench.COLUMNS, bench.rows)], as_json, "server", picture)


@app.command()
def transport(
    workers: Annotated[int | None, typer.Option(min=2, help="Workers of the small all-reduces.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.5, help="Rate of the limited links, in Mbit/s.")] = None,
    repeats: Repeats = None,
    seconds: Seconds = None,
    chunks: Chunks = None,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Small all-reduces beside a bare UDP echo, and packets per second of one worker. With root also in namespaces."""
    from lanesum_lab.bench import transport as bench

    settings = _settings(bench, quick, workers=workers, rate_mbit=rate, repeats=repeats, seconds=seconds, chunks=chunks)
    tables = [
        (bench.LATENCY_COLUMNS, bench.latency_rows),
        (bench.RATE_COLUMNS, bench.rate_rows),
        (bench.CHUNK_COLUMNS, bench.chunk_rows),
    ]
    _show(bench.run(settings), tables, as_json, "transport", picture)


@app.command()
def nmse(
    values: Annotated[int | None, typer.Option(min=16, help="Length of a drawn vector, a multiple of 16.")] = None,
    workers: Annotated[str, typer.Option(help="Numbers of workers, separated by commas.")] = "",
    runs: Annotated[int | None, typer.Option(min=1, help="Independent runs to average.")] = None,
    widths: Annotated[bool, typer.Option("--widths", help="Only thc with widths per block, all bits counted.")] = False,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Error of the codecs, on drawn vectors and recorded gradients (needs PyTorch), beside QSGD at equal bits."""
    from lanesum_lab.bench import nmse as bench

    if widths:
        from lanesum_lab.bench import widths as blocks

        if values or workers or picture:
            raise ConfigurationError("--widths takes no --values, --workers or --picture.", "Leave them out.")
        settings = _settings(blocks, quick, records=runs)
        result = blocks.run(settings)
        _show(result, [(blocks.columns(result), blocks.rows)], as_json)
        return
    if values is not None and values % 16:
        raise ConfigurationError(f"--values {values} is not a multiple of 16.", "16 layers share them.")
    settings = _settings(bench, quick, size=values, workers=_numbers(workers, "--workers"), runs=runs)
    tables = [(bench.COLUMNS, bench.rows), (bench.ROUNDS_COLUMNS, bench.mean_rows)]
    _show(bench.run(settings), tables, as_json, "nmse", picture)


@app.command()
def codec(
    values: Annotated[int | None, typer.Option(min=4096, help="Length of the vector, a multiple of 4096.")] = None,
    levels: Annotated[str, typer.Option(help="Vector instructions, separated by commas; default: the widest.")] = "",
    part: Annotated[str, typer.Option(help="speed (of THC) or comparison (of all codecs); by default both.")] = "",
    device: Annotated[str, typer.Option(help="Devices (cpu, cuda), separated by commas.")] = "cpu",
    codecs: Annotated[str, typer.Option(help="Rows of the comparison, separated by semicolons; by default all.")] = "",
    repeats: Repeats = None,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Time of THC beside PyTorch's operations; error, bits and time of all codecs beside each other."""
    from lanesum_lab.bench import codec as bench
    from lanesum_lab.bench import comparison, two_threads

    if values is not None and values % 4096:
        raise ConfigurationError(
            f"--values {values} is not a multiple of 4096.", "PyTorch's version takes whole blocks."
        )
    settings = _settings(
        bench,
        quick,
        values=values,
        levels=tuple(levels.split(",")) if levels else None,
        parts=(part,) if part else None,
        devices=tuple(device.split(",")),
        codecs=tuple(codecs.split(";")) if codecs else None,
        repeats=repeats,
    )
    result = bench.run(settings)
    parts = (
        ("figures", bench.COLUMNS, bench.rows),
        ("threads", two_threads.COLUMNS, two_threads.rows),
        ("comparison", comparison.COLUMNS, comparison.rows),
    )
    tables = [(columns, rows) for part, columns, rows in parts if result[part]]
    _show(result, tables, as_json, "codec", picture)


@app.command()
def learning(
    codecs: Annotated[str, typer.Option(help="Codecs, separated by commas.")] = "",
    tasks: Annotated[
        str, typer.Option(help="digits, transformer (by default both), words, each also 'TASK AdamW'; with commas.")
    ] = "",
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of every training.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of workers.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Trainings of each case; figures are means.")] = None,
    density: Annotated[float | None, typer.Option(help="Fraction of values that is selected.")] = None,
    picture: Picture = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Final loss, accuracy and bytes of trainings with each codec, in one process. Needs PyTorch."""
    from lanesum_lab.bench import learning as bench

    chosen = [
        (name, steps or default_steps, seeds or default_seeds)
        for name, default_steps, default_seeds in (
            *_settings(bench, quick).trainings,
            *(bench.FURTHER if tasks else ()),
        )
        if not tasks or name in tasks.split(",")
    ]
    settings = _settings(
        bench,
        quick,
        codecs=tuple(codecs.split(",")) if codecs else None,
        # Trainings that differ only in their steps become one if --steps is given.
        trainings=tuple(dict.fromkeys(chosen)),
        workers=workers,
        density=density,
    )
    _show(bench.run(settings), [(bench.COLUMNS, bench.rows)], as_json, "learning", picture)


@app.command()
def tta(
    job: Annotated[str | None, typer.Option(help="Training job: digits, bytes, words or words-sparse.")] = None,
    by: Annotated[str, typer.Option(help="Codecs and peers, separated by commas; gloo is always measured.")] = "",
    case: Annotated[
        str | None, typer.Option(help="hub (a server where the links meet), switch (embedded, in Mininet) or loopback.")
    ] = None,
    rates: Annotated[str, typer.Option(help="Rates of the links, in Mbit/s, separated by commas.")] = "",
    workers: Annotated[int | None, typer.Option(min=2, help="Number of workers.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds: 1, 2 and so on.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of every training.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples per worker and step.")] = None,
    lr: Annotated[float | None, typer.Option(help="Maximum learning rate.")] = None,
    test_every: Annotated[int | None, typer.Option(min=1, help="Steps from one test to the next.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Images, or bytes of text, to use.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="Share by which the target is above gloo's final loss.")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Sentence for the conditions, for example on other load.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of finished trainings and of report.html.")] = Path("out/tta"),
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Time to accuracy of codecs and their peers behind limited links (needs root and PyTorch); continues where it
    ended."""
    from lanesum_lab.bench import tta as bench
    from lanesum_lab.bench import tta_report

    names = tuple(dict.fromkeys([bench.GLOO, *by.split(",")])) if by else None
    settings = _settings(
        bench,
        quick,
        job=job,
        by=names,
        case=case,
        rates_mbit=_numbers(rates, "--rates"),
        workers=workers,
        seeds=None if seeds is None else tuple(range(1, seeds + 1)),
        steps=steps,
        batch=batch,
        lr=lr,
        test_every=test_every,
        limit=limit,
        tolerance=tolerance,
        note=note,
    )
    errors = Console(stderr=True, highlight=False)
    result = bench.run(settings, out, report=errors.print)
    tta_report.write(result, out / "report.html")
    _show(result, [(bench.COLUMNS, bench.rows), (bench.BREAKDOWN_COLUMNS, bench.breakdown_rows)], as_json)
    for line in () if as_json else bench.winners(result):
        errors.print(line)
    errors.print(f"Report: {out / 'report.html'}")


@app.command()
def growth(
    seconds: Seconds = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Memory of worker and server over ten minutes of all-reduces. On loopback."""
    from lanesum_lab.bench import growth as bench

    result = bench.run(_settings(bench, quick, seconds=seconds))
    _show(result, [(bench.COLUMNS, bench.rows)], as_json)
    if not result["flat"]:
        raise BenchError(f"A process has grown by more than {result['allowed_bytes'] >> 10:,} KiB after warming up.")


@app.command()
def observation(
    sizes: Annotated[str, typer.Option(help="Values of an all-reduce, separated by commas, such as 25k,1M.")] = "",
    repeats: Repeats = None,
    seconds: Seconds = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Cost of top, metrics and traces, beside all-reduces that nothing observes. On loopback."""
    from lanesum_lab.bench import observation as bench

    given = _numbers(sizes, "--sizes")
    result = bench.run(_settings(bench, quick, sizes=given, repeats=repeats, block_s=seconds))
    _show(result, [(bench.COLUMNS, bench.rows), (bench.COST_COLUMNS, bench.cost_rows)], as_json)


@app.command()
def supervision(
    switches: Annotated[str, typer.Option(help="Numbers of switches, separated by commas.")] = "",
    before: Annotated[
        Path | None, typer.Option(help="Another checkout, whose controller and server take turns with these.")
    ] = None,
    seconds: Seconds = None,
    repeats: Repeats = None,
    quick: Quick = False,
    as_json: Json = False,
) -> None:
    """Processor time of an idle controller by its number of switches, and the time of repairs. With fake switches."""
    from lanesum_lab.bench import supervision as bench

    given = _numbers(switches, "--switches")
    settings = _settings(bench, quick, switches=given, before=before, seconds=seconds, repeats=repeats)
    _show(
        bench.run(settings), [(bench.CPU_COLUMNS, bench.cpu_rows), (bench.REPAIR_COLUMNS, bench.repair_rows)], as_json
    )


@app.command()
def tenants(repeats: Repeats = None, quick: Quick = False, as_json: Json = False) -> None:
    """Admissions and sums of a tenant, beside a thousand admissions of another one and beside a spinning process."""
    from lanesum_lab.bench import tenants as bench

    _show(bench.run(_settings(bench, quick, repeats=repeats)), [(bench.COLUMNS, bench.rows)], as_json)


_Rows = Callable[[dict[str, Any]], Iterable[tuple[str, ...]]]


def _show(
    result: dict[str, Any],
    tables: Sequence[tuple[tuple[str, ...], _Rows]],
    as_json: bool,
    name: str = "",
    picture: Path | None = None,
) -> None:
    """Print tables and their notes, or JSON; write the picture ``name`` if requested."""
    if as_json:
        typer.echo(json.dumps(result, indent=2))
    else:
        screen = console()
        for columns, rows in tables:
            # The first two columns name the case, which must not be cut off.
            table = Table(*(Column(name, no_wrap=number < 2) for number, name in enumerate(columns)))
            for row in rows(result):
                table.add_row(*row)
            screen.print(table)
        if "words_wrong" in result:
            screen.print(f"{result['words_wrong']} of {result['words_checked']:,} words were wrong.")
        for what, why in result.get("left_out", {}).items():
            screen.print(f"{what} was not measured: {why}")
    if picture is not None:
        from lanesum_lab.bench import pictures

        getattr(pictures, name)(result, picture)


def _numbers(text: str, option: str) -> tuple[int, ...] | None:
    """Parse positive integers, separated by commas; return None for an empty text."""
    factors = {"k": 1000, "M": 10**6, "G": 10**9}
    numbers = []
    for part in text.split(",") if text else []:
        try:
            number = int(part.rstrip("kMG"))
        except ValueError:
            number = 0
        if number < 1:
            raise ConfigurationError(f"{option}: {part!r} is no positive number.", "Write for example 1k,25M.")
        numbers.append(number * factors.get(part[-1:], 1))
    return tuple(numbers) or None


def _settings(bench: Any, quick: bool, **options: Any) -> Any:
    """Return the settings of the benchmark module ``bench``, with the options that are not None."""
    given = {name: value for name, value in options.items() if value is not None}
    return dataclasses.replace(bench.QUICK if quick else bench.Settings(), **given)


main = typer_main("bench", app)

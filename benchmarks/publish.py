# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Write the tables and pictures of the documents from ``benchmarks/results``: ``python benchmarks/publish.py``.

``--check`` reports stale pages and pictures, and writes nothing. ``--measure NAME...`` runs ``lanesum bench NAME``
first and keeps its result. That takes minutes, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from lanesum_lab.bench import (
    allreduce,
    codec,
    comparison,
    faults,
    learning,
    nmse,
    pictures,
    server,
    sites,
    sparse,
    step,
    transport,
    tta,
)
from lanesum_lab.bench.figures import text as shown
from lanesum_lab.markdown import replace_generated

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = "benchmarks/results/README.md"
_BARE = "lanesum bench allreduce"  # whose defaults may change
TRAINING_PAGE = "benchmarks/results/training.md"
PARTS_PAGE = "benchmarks/results/parts.md"
THC_PAGE = "docs/codec-thc.md"


def switch_table(result: dict[str, Any]) -> str:
    """Return the ratios to BMv2 by lane operation."""
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


def loss_table(result: dict[str, Any]) -> str:
    """Return the throughput under loss."""
    return "\n".join([*_markdown(faults.LOSS_COLUMNS, faults.loss_rows(result)), "", _measured(result)])


def allreduce_table(result: dict[str, Any]) -> str:
    """Return times and costs of all-reduces beside gloo."""
    speed = _markdown(allreduce.SPEED_COLUMNS, allreduce.speed_rows(result))
    cost = _markdown(allreduce.COST_COLUMNS, allreduce.cost_rows(result))
    chunks = _if_any(allreduce.CHUNK_COLUMNS, allreduce.chunk_rows(result))
    return "\n".join([*speed, "", *cost, "", *chunks, _on_one_machine(result)])


def collectives_table(result: dict[str, Any]) -> str:
    """Return reduce-scatters and all-gathers beside gloo and beside all-reduces."""
    table = (allreduce.COLLECTIVE_COLUMNS, *allreduce.collective_rows(result))
    # All have the same number of values.
    columns, *rows = ((*row[:2], row[3], row[4].partition(" ")[0], *row[5:]) for row in table)
    values = f"{result['figures'][0]['values']:,} values."
    return "\n".join([*_markdown(columns, rows), "", f"{values} {_on_one_machine(result)}"])


def forecast_table(result: dict[str, Any]) -> str:
    """Return the deviations of forecasts from measurements, by collective, loss and method."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for one in result["figures"]:
        by = "gloo" if one["by"] == allreduce.GLOO else "lanesum"
        groups.setdefault((one["collective"], f"{one['loss']:g}", by), []).append(abs(one["deviation"]))
    rows = [
        (*group, str(len(found)), f"{statistics.median(found):.1%}", f"{max(found):.1%}")
        for group, found in groups.items()
    ]
    of_all = result["deviation"]
    rows.append(("all", "", "", str(len(result["figures"])), f"{of_all['median']:.1%}", f"{of_all['max']:.1%}"))
    columns = ("collective", "loss", "by", "points", "median deviation", "largest deviation")
    return "\n".join([*_markdown(columns, rows), "", _on_one_machine(result)])


def summary_table(result: dict[str, Any]) -> str:
    """Return the README's comparison with gloo: links that limit the rate, with the server in a hub, and loopback."""
    rows: dict[str, dict[str, str]] = {}
    for figure in sorted(result["figures"], key=lambda figure: figure["rate_mbit"] or float("inf")):
        if figure["case"] != "sharded":
            links = f"{figure['rate_mbit']:g} Mbit/s" if figure["rate_mbit"] else "loopback"
            times = f"{figure['seconds']['median']:#.3g} s"
            if figure["by"] != allreduce.GLOO:
                times += f", {figure['times_gloo']['median']:.2f} times as fast"
            rows.setdefault(links, {})[figure["by"]] = times
    by = tuple(dict.fromkeys(one["by"] for one in result["figures"] if one["by"] not in allreduce.PEERS["cpu"]))
    table = _markdown(("links", *by), ((links, *(row[name] for name in by)) for links, row in rows.items()))
    first, machine = result["figures"][0], result["machine"]
    conditions = (
        f"One all-reduce of {first['values']:,} float32 values over {first['workers']} workers, by PyTorch over gloo "
        f"and by two codecs of lanesum; medians of {result['repeats']} runs. Each worker is behind a link with that "
        "rate in each direction. One aggregation server, in the native extension, stands where a switch would be; no "
        f"switch took part. All processes share a machine with {machine['cores']} cores ({machine['processor']}). "
        f"Commit {machine['commit']}. More peers are on the "
        "[page of all figures](benchmarks/results/README.md#all-reduce)."
    )
    sizes = (
        f"Results had {result.get('accumulator_words') or _sizes(result)['accumulator_words']} words, with a window of "
        f"{result.get('window') or _sizes(result)['slots']} packets, joined (UDP GSO), and one thread for each worker. "
        "A job of `lanesum launch`, or of a controller without a switch, has the same sizes. "
        f"`{allreduce_command(result)}` repeats the figures."
    )
    return "\n".join([*table, "", f"{conditions} {sizes}"])


def _sizes(result: dict[str, Any]) -> dict[str, Any]:
    """Return the first figure of a job, which has its packet size."""
    return next(figure for figure in result["figures"] if "accumulator_words" in figure)


def allreduce_command(result: dict[str, Any]) -> str:
    """Return the command that repeats a result of ``lanesum bench allreduce``; earlier results have none."""
    if result.get("command", _BARE) != _BARE:
        return str(result["command"])
    figures = result["figures"]
    options = {
        "workers": sorted({figure["workers"] for figure in figures}),
        "values": sorted({figure["values"] for figure in figures}),
        "rates": sorted({figure["rate_mbit"] for figure in figures if figure["rate_mbit"]}),
        "repeats": [result["repeats"]],
    }
    words = [f"--{name} {','.join(f'{value:.0f}' for value in values)}" for name, values in options.items()]
    ways = dict.fromkeys(figure["by"] for figure in figures if figure["by"] != allreduce.GLOO)
    peers = [way for way in ways if way in allreduce.PEERS["cpu"]]
    found = ",".join(way for way in ways if way not in peers)
    return " ".join([_BARE, *words, f"--codecs {found}", f"--peers '{','.join(peers)}'"])


def sweep_table(result: dict[str, Any]) -> str:
    """Return times of all-reduces beside gloo."""
    speed = _markdown(allreduce.SPEED_COLUMNS, allreduce.speed_rows(result))
    return "\n".join([*speed, "", _on_one_machine(result)])


def equal_error_table(result: dict[str, Any]) -> str:
    """Return times of all-reduces of recorded gradients, beside their errors."""
    table = _markdown(allreduce.ERROR_COLUMNS, allreduce.error_rows(result))
    first = result["figures"][0]
    model = result["gradients"].replace("_", " ")
    words = f"Gradients of the {model}, repeated to {first['values']:,} values, over {first['workers']} workers. "
    return "\n".join([*table, "", words + _on_one_machine(result)])


def server_tables(result: dict[str, Any]) -> str:
    """Return lanes and datagrams per second of one core."""
    lanes = _markdown(server.LANE_COLUMNS, server.lane_rows(result))
    datagrams = _markdown(server.COLUMNS, server.rows(result))
    return "\n".join([*lanes, "", *datagrams, "", _on_one_machine(result)])


def transport_tables(result: dict[str, Any]) -> str:
    """Return round-trip times, and packets per second of one worker."""
    latency = _markdown(transport.LATENCY_COLUMNS, transport.latency_rows(result))
    rate = _markdown(transport.RATE_COLUMNS, transport.rate_rows(result))
    chunks = _if_any(transport.CHUNK_COLUMNS, transport.chunk_rows(result))
    return "\n".join([*latency, "", *rate, "", *chunks, _on_one_machine(result)])


def step_table(result: dict[str, Any]) -> str:
    """Return the times of steps, and what the jobs have chosen."""
    size, elements = result["size"], result["figures"][0]["parameters"]
    words = (
        f"Steps of a model of {elements:,} parameters ({size['kind']}), by AdamW, {size['batch']} samples a worker. "
        f"A run has {result['steps']} steps, after {result['warm_up']} that are not timed. Behind "
        "links of these rates, or on loopback; one aggregation server where the links meet, no switch. "
    )
    said = [f"- {one}" for one in step.notes(result)]
    return "\n".join([*_markdown(step.COLUMNS, step.rows(result)), "", *said, "", words + _on_one_machine(result)])


def step_summary_table(result: dict[str, Any]) -> str:
    """Return the README's comparison of steps, for the largest number of workers."""
    workers = max(one["workers"] for one in result["figures"])
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for one in result["figures"]:
        if one["workers"] == workers and one["by"] != tta.ALONE:
            rows.setdefault(one["by"], {})[tta.links_name(one)] = one
    head = list(next(iter(rows.values())))
    table = _markdown(
        ("by", *head, "loss"),
        (
            (
                by,
                *(f"{1e3 * row[at]['step_s']['median']:.0f} ms, {row[at]['times_peer']['median']:.2f}" for at in head),
                f"{row[head[-1]]['loss']:.3f}",
            )
            for by, row in rows.items()
        ),
    )
    words = (
        f"Time of a step with {workers} workers, and how many times as fast as by gloo. The loss is that after as many "
        f"steps of a transformer of {result['figures'][0]['parameters']:,} parameters, with AdamW. Where gloo is "
        f"faster, lanesum lets it average. Medians of {result['repeats']} runs, {_machine(result)}. "
        f"`{result['command']}` repeats the figures."
    )
    return "\n".join([*table, "", words])


def sites_table(result: dict[str, Any]) -> str:
    """Return trainings across sites, with their conditions."""
    words = (
        f"{result['workers']} workers train a transformer of {result['elements']:,} parameters on bytes, each at a "
        f"site of its own. Its link carries {result['rate_mbit']:g} Mbit/s, and takes {result['delay_ms']:g} ms, each "
        f"way. A training has {result['steps']} inner steps of 8 samples per worker, an outer step after each "
        f"{result['sync_every']}. A streaming method has {result['fragments']} fragments, sums one during "
        f"{result['overlap']} inner steps, and keeps {result['keep']:.0%} of the progress in these. Medians over "
        f"{len(result['seeds'])} seeds (smallest to largest), "
        f"{_machine(result)}. {result['note']}"
    )
    found = [sites.COLUMNS, *sites.rows(result)]
    losses, traffic = [row[:5] for row in found], [(row[0], *row[5:]) for row in found]
    return "\n".join([*_markdown(losses[0], losses[1:]), "", *_markdown(traffic[0], traffic[1:]), "", words])


def nmse_table(result: dict[str, Any]) -> str:
    """Return the error of the codecs for 1, 8 and 64 workers."""
    shown = [row for row in nmse.rows(result) if row[1] in ("1", "8", "64")]
    return "\n".join([*_markdown(nmse.COLUMNS, shown), "", _averaged(result)])


def training_table(result: dict[str, Any]) -> str:
    """Return the final loss with widths per block beside that of exact sums."""
    rows = [
        (row[0], row[2], row[5], row[6].replace(" ± ", "±"), row[7], row[8])
        for row in learning.rows(result, baseline="fixed")
    ]
    columns = ("task, optimizer", "codec", "loss", "beside fixed", "KB up", "KB down")
    (steps,) = {steps for _, steps, _ in result["trainings"]}
    (seeds,) = {seeds for _, _, seeds in result["trainings"]}
    words = (
        f"{result['workers']} workers, {steps} steps, means over {seeds} seeds; differences within seeds, with their "
        f"standard errors. Trained {_machine(result)}."
    )
    return "\n".join([*_markdown(columns, rows), "", words])


def rounds_table(result: dict[str, Any]) -> str:
    """Return the error of the mean of several rounds."""
    return "\n".join([*_markdown(nmse.ROUNDS_COLUMNS, nmse.mean_rows(result)), "", f"Measured {_machine(result)}."])


def codec_table(result: dict[str, Any]) -> str:
    """Return the processor time of ``thc``."""
    return "\n".join([*_markdown(codec.COLUMNS, codec.rows(result)), "", _on_one_machine(result)])


def sparse_table(result: dict[str, Any]) -> str:
    """Return sparse all-reduces beside dense ones."""
    lines = _markdown(sparse.COLUMNS, sparse.rows(result))
    return "\n".join([*lines, "", f"{result['values']:,} values. {_on_one_machine(result)}"])


def learning_table(result: dict[str, Any]) -> str:
    """Return the accuracy and the traffic of trainings."""
    often = ", ".join(f"{seeds} ({task}, {steps} steps)" for task, steps, seeds in result["trainings"])
    trainings = (
        f"Means of trainings with other first weights and batches: {often}. Beside topk: difference in the same "
        f"trainings, and its standard error. Trained {_machine(result)}."
    )
    # Trainings repeat bit for bit, so a codec that comes later needs no new ones of the others.
    for one in result.get("later", []):
        trainings += f" {' and '.join(one['codecs'])}: at commit {one['commit']}."
    rows = list(learning.rows(result))
    table = _markdown(learning.COLUMNS[:-1], [[cell.replace(" ± ", "±") for cell in row[:-1]] for row in rows])
    phases = [
        (f"{row[0]}, {row[1]}", row[2], row[-1].replace(" x ", "x").replace(" + ", "+"))
        for row in rows
        if row[-1] != "-"
    ]
    by_phase = _markdown(("task, steps", "codec", learning.COLUMNS[-1]), phases)
    return "\n".join([*table, "", *by_phase, "", trainings])


def tta_table(result: dict[str, Any]) -> str:
    """Return all methods with their time to the target, and the parts of a step."""
    table = _markdown(tta.COLUMNS, tta.rows(result))
    parts = _markdown(tta.BREAKDOWN_COLUMNS, tta.breakdown_rows(result))
    return "\n".join([*table, "", *(f"- {one}" for one in tta.winners(result)), "", *parts, "", tta.conditions(result)])


def quality_table(result: dict[str, Any]) -> str:
    """Return the final loss by every method, beside that of gloo with the same seeds."""
    rows = [
        (
            one["by"],
            shown(one["final_loss"], 4),
            shown({name: 100 * value for name, value in one["beside_gloo"].items()}, 3),
        )
        for one in result["figures"]
    ]
    words = (
        f"{result['workers']} workers train a {result['what']}. A training has {result['steps']} steps of "
        f"{result['batch']} samples per worker. Medians over {len(result['seeds'])} seeds (smallest to largest). "
        f"Commit {', '.join(result['commits'])}."
    )
    return "\n".join([*_markdown(("by", "final loss", "beside gloo, %"), rows), "", words])


def tta_summary_table(result: dict[str, Any]) -> str:
    """Return the time to the target of every method, a column for each rate."""
    figures: dict[str, list[dict[str, Any]]] = {}
    for one in result["figures"]:
        if one["by"] != tta.ALONE:
            figures.setdefault(one["by"], []).append(one)
    head = ("by", *(tta.links_name(one) for one in figures[tta.GLOO]))
    rows = [(by, *map(_to_target, some)) for by, some in figures.items()]
    return "\n".join([*_markdown(head, rows), "", tta.conditions(result)])


def _to_target(figure: dict[str, Any]) -> str:
    if figure["to_target_s"] is None:
        return f"not reached (loss {100 * figure['beside_gloo']['median']:+.1f} %)"
    return f"{figure['to_target_s']['median']:.1f} s, {figure['times_gloo']['median']:.2f} times as fast"


def comparison_table(result: dict[str, Any]) -> str:
    """Return a comparison of all codecs."""
    table = _markdown(comparison.COLUMNS, comparison.rows(result))
    return "\n".join([*table, "", f"Times are medians of {result['repeats']} runs, {_machine(result)}."])


def _averaged(result: dict[str, Any]) -> str:
    left_out = "".join(f" Not measured: {name} ({why})." for name, why in result["left_out"].items())
    return (
        f"Means of {result['runs']} runs of {result['size']:,} coordinates, of recorded gradients of "
        f"{max(1, result['runs'] // 2)}. Measured {_machine(result)}.{left_out}"
    )


def _markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]


def _if_any(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table and an empty line, or nothing if the table has no row."""
    some = list(rows)
    return [*_markdown(columns, some), ""] if some else []


def _measured(result: dict[str, Any]) -> str:
    return (
        f"Medians of {result['repeats']} runs of {result['seconds_per_run']:g} s (smallest to largest), "
        f"{_machine(result)}. {result['words_wrong']} of {result['words_checked']:,} words were wrong."
    )


def _on_one_machine(result: dict[str, Any]) -> str:
    left_out = "".join(f" Not measured: {name} ({why})." for name, why in result["left_out"].items())
    return f"Medians of {result['repeats']} runs (smallest to largest), {_machine(result)}.{left_out}"


def _machine(result: dict[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"at commit {machine['commit']}, on {machine['processor']}, {machine['cores']} cores for all processes "
        f"together, Python {machine['python']}"
    )


TABLES: dict[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "switch figures": ("switch.json", "docs/switch.md", switch_table),
    "loss figures": ("faults.json", PARTS_PAGE, loss_table),
    "all-reduce figures": ("allreduce.json", PAGE, allreduce_table),
    "all-reduce summary": ("allreduce.json", "README.md", summary_table),
    "all-reduce by size": ("allreduce-sizes.json", PAGE, sweep_table),
    "all-reduce by workers": ("allreduce-workers.json", PAGE, sweep_table),
    "collectives": ("allreduce-collectives.json", PAGE, collectives_table),
    "all-reduce at equal error": ("allreduce-transformer.json", PAGE, equal_error_table),
    "all-reduce at equal error, large": ("allreduce-large-transformer.json", PAGE, equal_error_table),
    "all-reduce at equal error, words": ("allreduce-word-transformer.json", PAGE, equal_error_table),
    "forecast figures": ("forecast.json", "docs/forecast.md", forecast_table),
    "server figures": ("server.json", PARTS_PAGE, server_tables),
    "transport figures": ("transport.json", PARTS_PAGE, transport_tables),
    "error figures": ("nmse.json", THC_PAGE, nmse_table),
    "widths in training": ("learning-widths.json", THC_PAGE, training_table),
    "widths in longer training": ("learning-long.json", THC_PAGE, training_table),
    "bias figures": ("nmse.json", THC_PAGE, rounds_table),
    "sparse figures": ("sparse.json", "docs/codecs-sparse.md", sparse_table),
    "codec figures": ("codec.json", "docs/codecs.md", codec_table),
    "codec comparison": ("codec-comparison.json", "docs/codec-baselines.md", comparison_table),
    "learning figures": ("learning.json", "docs/lgc.md", learning_table),
    "time to accuracy": ("tta.json", TRAINING_PAGE, tta_table),
    "time to accuracy summary": ("tta.json", "README.md", tta_summary_table),
    "time to accuracy of sparse gradients": ("tta-sparse.json", TRAINING_PAGE, tta_table),
    "time to accuracy through a switch": ("tta-switch.json", TRAINING_PAGE, tta_table),
    "time to accuracy on loopback": ("tta-loopback.json", TRAINING_PAGE, tta_table),
    "sites figures": ("sites.json", "docs/torchft.md", sites_table),
    "sites with overlap": ("sites-overlap.json", "docs/torchft.md", sites_table),
    "steps": ("step.json", TRAINING_PAGE, step_table),
    "steps summary": ("step.json", "README.md", step_summary_table),
    "steps of a small model": ("step-small.json", TRAINING_PAGE, step_table),
    "steps of many tensors": ("step-tensors.json", TRAINING_PAGE, step_table),
    "final loss on bytes": ("quality-bytes.json", TRAINING_PAGE, quality_table),
    "final loss on words": ("quality-words.json", TRAINING_PAGE, quality_table),
}
# Pictures of the documents: the result that each shows, and the function that draws it.
PICTURES: dict[str, tuple[str, Callable[[dict[str, Any], Path], None]]] = {
    "docs/pictures/codecs.png": ("codec-comparison.json", pictures.codec),
    "docs/pictures/learning.png": ("learning.json", pictures.learning),
    "docs/pictures/tta.png": ("tta.json", pictures.tta),
}
# Names that `--measure` takes, with the arguments of `lanesum bench`.
BENCHMARKS: dict[str, tuple[str, ...]] = {
    **{
        name: (name,)
        for name in (
            "switch",
            "faults",
            "allreduce",
            "server",
            "transport",
            "nmse",
            "learning",
        )
    },
    "forecast": ("forecast", "--repeats", "3"),
    "sites": ("sites",),
    "sites-overlap": ("sites", "--by", "streaming thc bits=4", "--overlap", "5", "--keep", "0.5"),
    "step": ("step",),
    **{f"step-{model}": ("step", "--model", model, "--workers", "2", "--by", "thc") for model in ("small", "tensors")},
    "allreduce-sizes": (
        *("allreduce", "--cases", "hub", "--rates", "1000"),
        *("--values", "250,2500,25k,250k,2500k,25M,250M", "--repeats", "3"),
    ),
    **{
        f"allreduce-{model.replace('_', '-')}": (
            *("allreduce", "--gradients", model, "--cases", "hub"),
            *("--codecs", "thc,thc error=0.01,thc budget=8 error=0.01"),
        )
        for model in ("transformer", "large_transformer", "word_transformer")
    },
    "learning-widths": (
        *("learning", "--codecs", "fixed,thc,widths 2,widths 3", "--steps", "100", "--seeds", "5"),
        *("--tasks", "digits,digits AdamW,transformer,transformer AdamW,words,words AdamW"),
    ),
    "learning-long": (
        *("learning", "--codecs", "fixed,thc,widths 2,widths 3", "--steps", "400", "--seeds", "5"),
        *("--tasks", "digits AdamW,transformer AdamW,words AdamW"),
    ),
    "sparse": ("sparse", "--rates", "200", "--repeats", "3"),
    "codec": ("codec", "--part", "speed", "--levels", "avx2,avx512"),
    "codec-comparison": ("codec", "--part", "comparison"),
    "tta": ("tta", "--steps", "24", "--test-every", "2"),
    "tta-sparse": (
        *("tta", "--job", "words-sparse", "--by", "alone,gloo-fp16,two-shot-8,topk,union,auto,thc"),
        *("--steps", "60", "--test-every", "6", "--rates", "1000"),
    ),
    "tta-switch": (
        *("tta", "--job", "digits", "--case", "switch", "--rates", "10", "--by", "alone,gloo-fp16,thc-paper,thc"),
        *("--steps", "55", "--test-every", "11", "--tolerance", "0.02"),
    ),
    "tta-loopback": (
        *("tta", "--job", "bytes", "--case", "loopback", "--by", "alone,gloo-fp16,fixed,auto,thc"),
        *("--steps", "40", "--test-every", "10"),
    ),
    **{
        f"quality-{job}": (
            *("tta", "--job", job, "--case", "loopback", "--by", "thc"),
            *("--seeds", "5", "--steps", "120", "--test-every", "40", "--out", "out/quality"),
        )
        for job in ("bytes", "words")
    },
    "allreduce-collectives": (
        *("allreduce", "--collective", "all-reduce,reduce-scatter,all-gather", "--workers", "4,8"),
        *("--values", "25M", "--cases", "hub,sharded", "--rates", "200"),
        *("--codecs", "thc", "--peers", "", "--repeats", "3"),
    ),
    "allreduce-workers": ("allreduce", "--workers", "2,4,8,16", "--values", "4000000", "--repeats", "3"),
}


def measure(name: str) -> None:
    """Run a benchmark and keep its result. Raises CalledProcessError."""
    command = [sys.executable, "-m", "lanesum.cli", "bench", *BENCHMARKS[name], "--json"]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(json.loads(result.stdout), indent=2) + "\n")


def _kept(results: str) -> Any:
    """Return the content of a file of ``benchmarks/results``."""
    return json.loads((RESULTS / results).read_text())


def _wrapped(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(
        line if line.startswith("|") else textwrap.fill(line, 120, break_on_hyphens=False) for line in lines
    )


def published() -> dict[Path, str]:
    """Return every page with generated figures, with its current text."""
    pages: dict[Path, str] = {}
    for name, (results, page, table) in TABLES.items():
        path = ROOT / page
        text = f"Not measured yet: `--measure {Path(results).stem}`."
        if (RESULTS / results).exists():
            result = _kept(results)
            text = table(result)
            if "command" in result and result["command"] not in text:
                text += f"\n\nCommand: `{result['command']}`"
        pages[path] = replace_generated(pages.get(path, path.read_text()), name, _wrapped(text))
    return pages


def stale_pictures() -> list[str]:
    """Return the pictures that show another result than the kept one."""
    return [
        name
        for name, (results, _) in PICTURES.items()
        if pictures.shown(ROOT / name) != pictures.fingerprint(_kept(results))
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the tables of the docs from benchmarks/results.")
    parser.add_argument("--check", action="store_true", help="only say which pages are out of date")
    parser.add_argument("--measure", nargs="+", choices=BENCHMARKS, default=[], metavar="NAME")
    options = parser.parse_args(arguments)
    for name in options.measure:
        measure(name)
    pages = {path: text for path, text in published().items() if path.read_text() != text}
    drawn = stale_pictures()
    if options.check:
        for name in [*(str(path.relative_to(ROOT)) for path in pages), *drawn]:
            print(f"{name} does not say what was measured: run benchmarks/publish.py", file=sys.stderr)
        return 1 if pages or drawn else 0
    for path, text in pages.items():
        path.write_text(text)
    for name in drawn:
        results, draw = PICTURES[name]
        draw(_kept(results), ROOT / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Time to accuracy: trainings of one job behind limited links, by codecs of lanesum and by their peers.

All methods train from the same weights on the same batches, in turns, in the same processes. Tests are not timed. The
target of a seed is the final test loss of float32 over gloo with this seed, plus a tolerance; a method that ends above
it has no time to target.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum_lab.bench import pictures, registry
from lanesum_lab.bench.devices import require_torch
from lanesum_lab.bench.figures import BenchError, machine, spread, text
from lanesum_lab.bench.places import HUB, Wire
from lanesum_lab.bench.training_network import CASES, LOOPBACK, SWITCH, Trained, TrainingNetwork, training_network

COLUMNS = ("links", "by", "to target, s", "times gloo", "s per step", "MB per step", "final loss", "beside gloo")
BREAKDOWN_COLUMNS = (
    "links",
    "by",
    "forward, ms",
    "backward, ms",
    "optimizer, ms",
    "exposed communication, ms",
    "CPU, ms",
)
GLOO, ALONE = "gloo", "alone"
PHASES = ("forward", "backward", "optimizer")
_OUT = Path("out/tta")
_TOPOLOGIES = {
    HUB: "Each worker is behind a link of the stated rate in each direction. The aggregation server is in the place of "
    "a switch, where the links meet, and has no link of its own; no switch takes part.",
    SWITCH: "Each worker is behind a link of the stated rate in each direction. The embedded switch runs the compiled "
    "P4 program where the links meet; packets of gloo pass it, too.",
    LOOPBACK: "No link limits the rate.",
}


@dataclass(frozen=True, slots=True)
class TtaSettings:
    """Settings of the benchmark; None stands for the setting of the training job."""

    job: str = registry.option("words", "Training job: digits, bytes, words or words-sparse.")
    by: tuple[str, ...] = registry.option(
        (ALONE, GLOO, "gloo-fp16", "gloo-powersgd", "two-shot-8", "two-shot-4", "topk", "dgc", "thc-paper", "thc"),
        "Codecs and peers, separated by commas; gloo is always measured.",
    )
    case: str = registry.option(HUB, "hub (a server where the links meet), switch (embedded, in Mininet) or loopback.")
    workers: int = registry.option(4, "Number of workers.", low=2)
    rates_mbit: tuple[float, ...] = registry.option(
        (200.0, 1000.0), "Rates of the links, in Mbit/s, separated by commas.", flag="--rates"
    )
    seeds: int = registry.option(3, "Number of seeds: 1, 2 and so on.", low=1)
    steps: int | None = registry.option(None, "Steps of every training.", low=1)
    batch: int | None = registry.option(None, "Samples per worker and step.", low=1)
    lr: float | None = registry.option(None, "Maximum learning rate.")
    test_every: int | None = registry.option(None, "Steps from one test to the next.", low=1)
    limit: int | None = registry.option(None, "Images, or bytes of text, to use.", low=1)
    tolerance: float = registry.option(0.005, "Share by which the target is above gloo's final loss.", low=0)
    out: Path = registry.option(_OUT, "Folder of logs.")  # noqa: RUF009 a Path is immutable
    note: str = registry.option("", "Sentence for the conditions, for example on other load.")

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise ConfigurationError(f"There is no case {self.case!r}.", f"Known ones: {', '.join(CASES)}.")
        if self.workers < 2 or self.seeds < 1 or not self.rates_mbit or min(self.rates_mbit) <= 0:
            raise ConfigurationError("A benchmark needs two workers, one seed and a rate above 0 at least.")
        if self.tolerance < 0:
            raise ConfigurationError(f"tolerance = {self.tolerance:g} is below 0.")
        if GLOO not in self.by:  # the target is its final loss
            object.__setattr__(self, "by", (GLOO, *self.by))

    @property
    def rates(self) -> tuple[float | None, ...]:
        """Rates of the links; None on loopback."""
        return (None,) if self.case == LOOPBACK else self.rates_mbit


QUICK = TtaSettings(
    job="digits",
    by=(ALONE, GLOO, "two-shot-8", "thc"),
    workers=2,
    rates_mbit=(20.0,),
    seeds=1,
    steps=4,
    batch=8,
    test_every=2,
    limit=640,
)


def run(settings: TtaSettings) -> dict[str, Any]:
    """Train; return a JSON-ready object with ``figures``. Progress is on standard error.

    Raises MissingToolError without PyTorch, root or namespaces; BenchError if replicas differ.
    """
    require_torch("Training")
    from lanesum_lab.train.jobs import find
    from lanesum_lab.train.methods import check_method

    job, seeds = find(settings.job), range(1, settings.seeds + 1)
    progress = Console(stderr=True, highlight=False)
    for by in settings.by:
        check_method(by, settings.workers)
    training = {
        name: getattr(job, name) if getattr(settings, name) is None else getattr(settings, name)
        for name in ("steps", "batch", "lr", "test_every")
    }
    wanted = [(seed, rate, by) for seed in seeds for rate in settings.rates for by in settings.by]
    runs: dict[tuple[int, float | None, str], Any] = {}
    with training_network(
        settings.case,
        workers=settings.workers,
        job=settings.job,
        limit=settings.limit,
        rates_mbit=settings.rates_mbit,
        logs=settings.out / "logs",
    ) as built:
        for number, (seed, rate, by) in enumerate(wanted, start=1):
            place = "loopback" if rate is None else f"{rate:g} Mbit/s"
            progress.print(f"{number} of {len(wanted)}: {settings.job} by {by}, {place}, seed {seed}")
            built.limit(rate)
            runs[seed, rate, by] = _trained(built, by, seed, training)
    figures = [
        _figure(settings, rate, by, [(runs[seed, rate, by], runs[seed, rate, GLOO]) for seed in seeds])
        for rate in settings.rates
        for by in settings.by
    ]
    return {
        "machine": machine(),
        **dataclasses.asdict(settings),
        **training,
        "seeds": list(seeds),
        "out": str(settings.out),
        "what": job.what,
        "elements": figures[0]["elements"],
        "commits": [str(machine()["commit"])],
        "native": availability().core is not None,
        "figures": figures,
    }


def conditions(result: dict[str, Any]) -> str:
    """Return the conditions of a result in words."""
    machine = result["machine"]
    return (
        f"{result['workers']} workers train a {result['what']}. A training has {result['steps']} steps of "
        f"{result['batch']} samples per worker, {len(result['seeds'])} seeds. {_TOPOLOGIES[result['case']]} The target "
        f"is the final test loss of float32 over gloo with the same seed, plus {100 * result['tolerance']:g} %. Tests "
        "are not timed. Medians over the seeds (smallest to largest). All processes share a machine with "
        f"{machine['cores']} cores ({machine['processor']}). Commit {', '.join(result['commits'])}. "
        f"`{repeated_by(result)}` repeats the trainings." + (f" {result['note']}" if result["note"] else "")
    )


def repeated_by(result: dict[str, Any]) -> str:
    """Return the command that repeats a result; earlier results have none."""
    if "command" in result:
        return str(result["command"])
    options = {name: result[name] for name in ("job", "case", "workers", "steps", "batch")}
    options |= {"rates": ",".join(f"{rate:g}" for rate in result["rates_mbit"]), "seeds": len(result["seeds"])}
    return " ".join(["lanesum bench tta", *(f"--{name} {value}" for name, value in options.items())])


def _trained(built: TrainingNetwork, by: str, seed: int, training: dict[str, Any]) -> dict[str, Any]:
    """Run one training; return its JSON-ready record."""
    from lanesum_lab.train.methods import applies_momentum

    momentum = 0.0 if applies_momentum(by) else 0.9
    trained, wire = built.train(by, {**training, "seed": seed, "momentum": momentum})
    return _record(by, trained, wire, training["steps"])


def _record(by: str, trained: Sequence[Trained], wire: Wire, steps: int) -> dict[str, Any]:
    first = trained[0].curve
    if by != ALONE and len({one.curve["weights_sha256"] for one in trained}) != 1:
        raise BenchError(f"The replicas of the training by {by} differ.", "This is a bug of the method: report it.")
    # Steps end together; a step takes as long as on its slowest worker.
    step_s = [max(times) for times in zip(*(one.curve["step_s"] for one in trained), strict=True)]
    ends = [sum(step_s[: test["step"]]) for test in first["tests"]]
    return {
        "tests": [{**test, "train_s": end} for test, end in zip(first["tests"], ends, strict=True)],
        "step_s": step_s,
        "phases": {name: statistics.fmean(one.curve["phases"][name] for one in trained) / steps for name in PHASES},
        "communication_s": max(one.communication_s for one in trained) / steps,
        "cpu_s": sum(one.cpu_s for one in trained) / steps,
        "mbyte_up": wire.up / steps / len(trained) / 1e6,
        "mbyte_down": wire.down / steps / len(trained) / 1e6,
        "packets": trained[0].packets,
        "elements": first["elements"],
    }


def time_to(tests: Sequence[dict[str, float]], target: float) -> float | None:
    """Return the seconds until the test loss is at most ``target``, interpolated; None if it never is.

    The loss must also be at most the target at the end: a minimum in between does not count.
    """
    # A loss that is not a number is at most nothing.
    above = [number for number, test in enumerate(tests) if not test["loss"] <= target]
    if above and above[-1] == len(tests) - 1:
        return None
    last = above[-1] if above else -1
    reached = tests[last + 1]
    if last < 0:
        return reached["train_s"]
    before = tests[last]
    share = (before["loss"] - target) / (before["loss"] - reached["loss"])
    return before["train_s"] + share * (reached["train_s"] - before["train_s"])


def _figure(settings: TtaSettings, rate: float | None, by: str, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the figure of a method; ``pairs`` has its record of every seed, and gloo's."""
    runs, times, ratios, beside = [], [], [], []
    for seed, (own, gloo) in enumerate(pairs, start=1):
        target = gloo["tests"][-1]["loss"] * (1 + settings.tolerance)
        reached, base = (time_to(one["tests"], target) for one in (own, gloo))
        if base is None:
            raise BenchError(f"The training by {GLOO} with seed {seed} diverged.", "Lower the learning rate by --lr.")
        beside.append(own["tests"][-1]["loss"] / gloo["tests"][-1]["loss"] - 1)
        if reached is not None:
            times.append(reached)
            ratios.append(base / reached)
        runs.append({"seed": seed, "target": target, "to_target_s": reached, "tests": own["tests"]})
    complete = len(times) == len(pairs) and by != ALONE
    records = [own for own, _ in pairs]
    return {
        "case": settings.case,
        "rate_mbit": rate,
        "by": by,
        "elements": records[0]["elements"],
        "packets": records[0].get("packets"),
        "to_target_s": spread(times) if complete else None,
        "times_gloo": spread(ratios) if complete else None,
        "reached": len(times),
        "step_s": spread([statistics.median(one["step_s"]) for one in records]),
        "mbyte_per_step": spread([one["mbyte_up"] + one["mbyte_down"] for one in records]),
        "final_loss": spread([one["tests"][-1]["loss"] for one in records]),
        "beside_gloo": spread(beside),
        "phases": {name: statistics.median(one["phases"][name] for one in records) for name in PHASES},
        "communication_s": statistics.median(one["communication_s"] for one in records),
        "cpu_s": statistics.median(one["cpu_s"] for one in records),
        "runs": runs,
    }


def links_name(figure: dict[str, Any]) -> str:
    """Return the case of a figure with its rate."""
    if figure["rate_mbit"] is None:
        return str(figure["case"])
    return f"{figure['rate_mbit']:g} Mbit/s" + (f", {SWITCH}" if figure["case"] == SWITCH else "")


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    seeds = len(result["seeds"])
    for one in result["figures"]:
        not_reached = "-" if one["by"] == ALONE else f"not reached ({one['reached']} of {seeds} seeds)"
        yield (
            links_name(one),
            one["by"],
            not_reached if one["to_target_s"] is None else text(one["to_target_s"], 1),
            "-" if one["times_gloo"] is None else text(one["times_gloo"]),
            f"{one['step_s']['median']:.3f}",
            f"{one['mbyte_per_step']['median']:.2f}",
            f"{one['final_loss']['median']:.4f}",
            f"{100 * one['beside_gloo']['median']:+.2f} %",
        )


def breakdown_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``BREAKDOWN_COLUMNS``."""
    for one in result["figures"]:
        phases = (f"{1e3 * one['phases'][name]:.0f}" for name in PHASES)
        hidden = exposed(result, one)
        yield (
            links_name(one),
            one["by"],
            *phases,
            "-" if hidden is None else f"{1e3 * hidden:.0f}",
            f"{1e3 * one['cpu_s']:.0f}",
        )


def exposed(result: dict[str, Any], figure: dict[str, Any]) -> float | None:
    """Return the seconds that communication adds to a step; None without a training by ``alone``."""
    alone = [one for one in result["figures"] if one["by"] == ALONE and one["rate_mbit"] == figure["rate_mbit"]]
    if not alone or figure["by"] == ALONE:
        return None
    hidden: float = figure["phases"]["backward"] - alone[0]["phases"]["backward"]
    return max(0.0, hidden)


def winners(result: dict[str, Any]) -> Iterator[str]:
    """Return a sentence for each rate: the method that reaches the target first."""
    for rate in dict.fromkeys(one["rate_mbit"] for one in result["figures"]):
        some = [one for one in result["figures"] if one["rate_mbit"] == rate and one["to_target_s"] is not None]
        ranked = sorted(some, key=lambda one: one["to_target_s"]["median"])
        first = ranked[0]
        faster = f", {first['times_gloo']['median']:.2f} times as fast as {GLOO}"
        yield f"{links_name(first)}: {first['by']} is first at the target{'' if first['by'] == GLOO else faster}."


registry.Benchmark(
    name="tta",
    summary="Time to accuracy behind limited links (needs root and PyTorch).",
    quick=QUICK,
    run=run,
    tables=(
        (COLUMNS, rows),
        (BREAKDOWN_COLUMNS, breakdown_rows),
    ),
    notes=winners,
    picture=pictures.tta,
).register()

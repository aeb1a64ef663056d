# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Final loss, accuracy and bytes of trainings with each codec: all workers in one process, with exact integer sums.

Model, batches and schedule are the same for every codec; codecs with a residual have error feedback. Bytes are the
uplink and downlink payload of one worker over the whole training, including warm-up and the training of an
autoencoder. Top-k, DGC and learned compression select the same fraction of values, per worker or at the leader; learned
compression also runs with as many as the choices of all workers together.

The optimizer is SGD with momentum, or AdamW for tasks whose names end with it. ``widths 2`` is ``thc`` with
``budget=2``, and ``error 0.01`` with ``error=0.01 exponent=2``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum import codecs
from lanesum.codecs import Codec, Part
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import WORD_BYTES
from lanesum_lab.bench import pictures, registry
from lanesum_lab.bench.devices import require_torch
from lanesum_lab.bench.figures import machine
from lanesum_lab.codec_simulation import simulate
from lanesum_lab.torch_threads import one_thread

COLUMNS = (
    "task",
    "steps",
    "codec",
    "accuracy",
    "beside topk",
    "loss",
    "beside topk",
    "KB up",
    "KB down",
    "of float32",
    "by phase, bytes up",
)
LEARNED = ("lgc", "lgc-server")
#: ``lgc`` without its third phase: the cost of the leader's choice alone, without the autoencoder.
PLACES = "lgc places"
#: Codecs whose leader selects the fraction times the number of workers, as many as all workers of ``topk`` together.
WIDER = {f"{name} x workers": name for name in LEARNED}
BASELINE = "topk"
#: ``thc`` with widths per block, by label.
WIDTHS: dict[str, dict[str, Any]] = {
    **{f"widths {bits}": {"budget": bits} for bits in (2, 3, 4)},
    **{f"error {error}": {"error": error, "exponent": 2} for error in (0.01, 0.001)},
}
#: Ending of the name of a task, for another optimizer than SGD.
ADAMW = " AdamW"
#: Tasks, and their learning rates for AdamW.
TASKS = {"digits": 2e-3, "noisy-digits": 2e-3, "transformer": 2e-3, "small-transformer": 2e-3, "words": 1e-2}
#: Further trainings, which ``--tasks`` selects: task, steps, seeds.
FURTHER = tuple((f"{task}{optimizer}", 120, 5) for task in TASKS for optimizer in ("", ADAMW))
_MOMENTUM = 0.9


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """Settings of the benchmark.

    Attributes:
        trainings: task, steps, and number of repetitions with different initial weights and batches; figures are means.
    """

    codecs: tuple[str, ...] = registry.option(
        ("none", "thc", BASELINE, "dgc", PLACES, *LEARNED, *WIDER), "Codecs, separated by commas."
    )
    trainings: tuple[tuple[str, int, int], ...] = (
        ("digits", 110, 8),
        ("digits", 330, 8),
        ("transformer", 300, 3),
        ("transformer", 600, 3),
    )
    workers: int = registry.option(4, "Number of workers.", low=1)
    tasks: tuple[str, ...] = registry.option(
        (), f"{', '.join(TASKS)}, each also 'TASK AdamW'; with commas. By default digits and transformer."
    )
    hook: bool = registry.option(False, "Let the optimizer decide on error feedback and widths, as the DDP hook does.")
    steps: int | None = registry.option(None, "Steps of every training.", low=1)
    seeds: int | None = registry.option(None, "Trainings of each case; figures are means.", low=1)
    density: float = registry.option(0.01, "Fraction of values that is selected.")

    def __post_init__(self) -> None:
        if self.tasks or self.steps or self.seeds:
            # Trainings that differ only in their steps become one if the steps are given.
            chosen = dict.fromkeys(
                (name, self.steps or steps, self.seeds or seeds)
                for name, steps, seeds in (*self.trainings, *(FURTHER if self.tasks else ()))
                if not self.tasks or name in self.tasks
            )
            object.__setattr__(self, "trainings", tuple(chosen))
        unknown = {name.removesuffix(ADAMW) for name in (*self.tasks, *(name for name, _, _ in self.trainings))}
        unknown.difference_update(TASKS)
        if unknown or min(self.workers, *(min(numbers) for _, *numbers in self.trainings)) < 1:
            raise ConfigurationError(f"There are the tasks {', '.join(TASKS)}; all numbers are positive.")


QUICK = LearningSettings(codecs=(BASELINE, PLACES, "lgc", "lgc x workers"), trainings=(("digits", 40, 1),))


def run(settings: LearningSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures``. Raises MissingToolError without PyTorch."""
    require_torch("Training")
    with one_thread():
        figures = [
            _figure(task, name, [train(task, name, steps, settings, seed) for seed in range(seeds)])
            for task, steps, seeds in settings.trainings
            for name in settings.codecs
        ]
    return {"machine": machine(), **dataclasses.asdict(settings), "figures": figures, "left_out": {}}


def built_as(name: str, steps: int, settings: LearningSettings) -> tuple[str, dict[str, Any]]:
    """Return codec and options of a row, for a training of ``steps`` steps."""
    if name in WIDER:
        return WIDER[name], _options(WIDER[name], steps, settings.density * settings.workers)
    if name == PLACES:
        return "lgc", {**_options("lgc", steps, settings.density), "training": steps, "passes": 1}
    if name in WIDTHS:
        return "thc", WIDTHS[name]
    return name, _options(name, steps, settings.density)


def _options(name: str, steps: int, density: float) -> dict[str, Any]:
    if name == "topk":
        return {"density": density}
    if name == "dgc":
        return {"density": density, "momentum": _MOMENTUM, "nesterov": True, "warm_up": max(1, steps // 16)}
    if name in LEARNED:
        return {"density": density, "warm_up": max(1, steps // 64), "training": max(1, steps // 5)}
    return {}


def train(task_name: str, name: str, steps: int, settings: LearningSettings, seed: int) -> dict[str, Any]:
    """Run one training; return its figures."""
    import torch

    from lanesum_lab.bench import gradients

    task = gradients.TASKS[task_name.removesuffix(ADAMW)](seed)
    named = list(task.model.named_parameters())
    stops = np.cumsum([parameter.numel() for _, parameter in named]).tolist()
    parts = [Part(key, start, stop) for (key, _), start, stop in zip(named, [0, *stops], stops, strict=False)]
    codec, options = built_as(name, steps, settings)
    inner: list[Codec] = [codecs.get(codec, workers=settings.workers, **options) for _ in range(settings.workers)]
    own = inner[0].traits.keeps_error_feedback
    traits, adaptive = inner[0].traits, task_name.endswith(ADAMW)
    plain = own or traits.nearly_exact
    plain |= settings.hook and (traits.unbiased or (traits.follows_optimizer and adaptive))
    job: Sequence[Codec] = inner if plain else [codecs.ErrorFeedback(one) for one in inner]
    # DGC applies the momentum itself.
    momentum, lr = 0.0 if own else _MOMENTUM, task.lr
    optimizer: torch.optim.Optimizer
    if adaptive:
        lr = TASKS[task_name.removesuffix(ADAMW)]
        optimizer = torch.optim.AdamW(task.model.parameters(), lr=lr)
    else:
        optimizer = torch.optim.SGD(task.model.parameters(), lr=lr, momentum=momentum, nesterov=momentum > 0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps, cycle_momentum=False)
    up = down = 0
    for step in range(steps):
        vectors = [gradients.gradient(task) for _ in range(settings.workers)]
        went = simulate(
            job, vectors, seed=seed, round=step, tensor="model", parts=parts, complete=True,
            adaptive=settings.hook and adaptive,
        )  # fmt: skip
        up += went.uplink_words
        down += sum(words.size for words in went.aggregates)
        for (_, parameter), part in zip(named, parts, strict=True):
            parameter.grad = torch.from_numpy(went.values[part.start : part.stop].copy()).reshape(parameter.shape)
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        loss = float(gradients.loss_of(task.model, *task.test))
        hits = (task.model(task.test[0]).argmax(dim=-1) == task.test[1]).float().mean().item()
    phases = {phase.value: one.as_dict() for phase, one in getattr(inner[0], "bytes", {}).items()}
    return {
        "steps": steps,
        "values": stops[-1],
        "accuracy": hits,
        "loss": loss,
        "bytes_up": up * WORD_BYTES,
        "bytes_down": down * WORD_BYTES,
        "phases": phases,
    }


def _figure(task: str, name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    first = runs[0]
    means = {key: float(np.mean([one[key] for one in runs])) for key in ("accuracy", "loss", "bytes_up", "bytes_down")}
    spread = {"losses": [one["loss"] for one in runs], "accuracies": [one["accuracy"] for one in runs]}
    dense = first["steps"] * first["values"] * WORD_BYTES
    return {
        "task": task,
        "codec": name,
        "steps": first["steps"],
        "values": first["values"],
        **means,
        **spread,
        "of_float32": means["bytes_up"] / dense,
        "phases": first["phases"],
    }


def rows(result: dict[str, Any], baseline: str = BASELINE) -> Iterable[tuple[str, ...]]:
    """Return one row per task, number of steps and codec."""
    base = {(one["task"], one["steps"]): one for one in result["figures"] if one["codec"] == baseline}
    for one in result["figures"]:
        other = base.get((one["task"], one["steps"]))
        phases = []
        for name, sent in one["phases"].items():
            if sent["all_reduces"]:
                fallbacks = f", {sent['fallbacks']} fallbacks" if sent["fallbacks"] else ""
                each = (sent["bytes_up"] - sent["network_bytes"]) / sent["all_reduces"]
                autoencoder = f" + {sent['network_bytes']:,} once" if sent["network_bytes"] else ""
                phases.append(f"{name} {sent['all_reduces']} x {each:,.0f}{autoencoder}{fallbacks}")
        yield (
            one["task"],
            str(one["steps"]),
            one["codec"],
            f"{one['accuracy']:.4f}",
            _beside(one, other, "accuracies"),
            f"{one['loss']:.4f}",
            _beside(one, other, "losses"),
            f"{one['bytes_up'] / 1000:,.0f}",
            f"{one['bytes_down'] / 1000:,.0f}",
            f"{100 * one['of_float32']:.2f} %",
            "; ".join(phases) or "-",
        )


def _beside(one: dict[str, Any], other: dict[str, Any] | None, key: str) -> str:
    """Return the mean difference from another codec in the same trainings, and its standard error."""
    if other is None or other is one:
        return "-"
    base = np.array(other[key])
    differences = 100 * (np.array(one[key]) - base) / base.mean()
    if differences.size == 1:
        return f"{differences[0]:+.2f} %"
    return f"{differences.mean():+.2f} ± {differences.std(ddof=1) / np.sqrt(differences.size):.2f} %"


registry.Benchmark(
    name="learning",
    summary="Final loss, accuracy and bytes of trainings with each codec, in one process. Needs PyTorch.",
    quick=QUICK,
    run=run,
    tables=((COLUMNS, rows),),
    picture=pictures.learning,
).register()

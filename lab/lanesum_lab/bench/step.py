# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a training with DistributedDataParallel: by lanesum, by its peers, and without communication.

All methods train in the same processes, with the same weights and batches, in turns. Jobs are admitted and attached as
those of users, so lanesum may step aside. *Communication* is what a step takes beyond one without communication.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanesum import codecs
from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.launch.supervisor import Supervisor
from lanesum_lab.bench import devices, registry
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.figures import BenchError, machine, spread, text
from lanesum_lab.bench.places import HUB, LimitedLinks, Loopback, Place, limited_links, open_site, worker_nodes
from lanesum_lab.bench.training_network import LOOPBACK
from lanesum_lab.bench.tta import ALONE, links_name
from lanesum_lab.veth import obstacle

if TYPE_CHECKING:
    from lanesum_lab.bench.stepper import ModelSize

COLUMNS = (
    "links",
    "workers",
    "by",
    "step, ms",
    "times as fast",
    "communication, ms",
    "times as fast",
    "loss",
)
CASES = (LOOPBACK, HUB)
#: Width, layers, context and batch of the transformer on each device.
_SIZES = {"cpu": (384, 4, 16, 4), "cuda": (768, 12, 128, 8)}
_STEPS = {"transformer": 3, "tensors": 20, "small": 200}  # of a run


@dataclass(frozen=True, slots=True)
class StepSettings:
    """Settings of the benchmark."""

    workers: tuple[int, ...] = registry.option((2, 4), "Numbers of workers, separated by commas.")
    cases: tuple[str, ...] | None = registry.option(
        None, "Any of loopback, hub, separated by commas; by default all possible ones."
    )
    rates_mbit: tuple[float, ...] = registry.option(
        (200.0, 1000.0), "Rates of the limited links, in Mbit/s, separated by commas.", flag="--rates"
    )
    by: tuple[str, ...] | None = registry.option(
        None,
        "Codecs and peers, separated by commas; by default thc and PyTorch's hooks. The process group is measured.",
    )
    model: str = registry.option(
        "transformer", "Model: transformer, small (10,000 parameters) or tensors (1,000 of 8 values)."
    )
    width: int | None = registry.option(None, "Width of the transformer, a multiple of 64.", low=64)
    layers: int | None = registry.option(None, "Layers of the transformer.", low=1)
    context: int | None = registry.option(None, "Tokens of a sequence.", low=1)
    batch: int | None = registry.option(None, "Sequences or samples of a worker in a step.", low=1)
    warm_up: int = registry.option(30, "Steps before the first run: lanesum chooses its way in them.", low=0)
    steps: int | None = registry.option(None, "Steps of a run; by default 3, and more of the smaller models.", low=1)
    device: str = registry.option("cpu", "Device of the models: cpu, or cuda with NCCL as a peer.")
    repeats: int = registry.repeats(7)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.cases or ()) - set(CASES))
        if unknown:
            raise ConfigurationError(f"There is no case {', '.join(unknown)}.", f"Known ones: {', '.join(CASES)}.")
        if min(self.workers, default=0) < 2 or min(self.rates_mbit, default=0) <= 0:
            raise ConfigurationError("A step needs two workers and a rate above 0 at least.")
        if self.device not in devices.NAMES:
            raise ConfigurationError(f"There is no device {self.device!r} to measure on.", "Use one of cpu, cuda.")


QUICK = StepSettings(
    workers=(2,), rates_mbit=(100.0,), by=("thc",), width=64, layers=1, batch=2, warm_up=2, steps=2, repeats=2
)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Settings with all defaults: size of the model, methods, and those of them that are peers."""

    settings: StepSettings
    size: ModelSize
    methods: tuple[str, ...]
    peers: frozenset[str]

    @property
    def steps(self) -> int:
        """Steps of a run."""
        return self.settings.steps or _STEPS[self.size.kind]

    @classmethod
    def of(cls, settings: StepSettings) -> _Chosen:
        """Return the choice with all defaults. Raises ConfigurationError."""
        from lanesum_lab.bench.stepper import ModelSize, of_device

        given = settings.width, settings.layers, settings.context, settings.batch
        defaults = zip(given, _SIZES[settings.device], strict=True)
        size = ModelSize(settings.model, *(own if wanted is None else wanted for wanted, own in defaults))
        peers = of_device(settings.device)
        group = next(by for by in peers if by != ALONE)
        hooks = [by for by in peers if by.startswith(f"{group}-")]
        wanted = (*hooks, "thc") if settings.by is None else settings.by
        for by in set(wanted) - set(peers):
            if codecs.parse(by)[0] not in codecs.names():
                known = ", ".join([*peers, *codecs.names()])
                raise ConfigurationError(f"There is no way {by!r} to average gradients.", f"Known ones: {known}.")
            for workers in settings.workers:
                codecs.get(by, workers=workers)
        return cls(settings, size, tuple(dict.fromkeys((ALONE, group, *wanted))), frozenset(peers))


class _Group:
    """Workers at one location, and the jobs in which they train."""

    def __init__(self, chosen: _Chosen, place: Place, workers: int, supervisor: Supervisor, folder: Path) -> None:
        from lanesum_lab.bench.stepper import Stepper

        self._chosen, self._workers = chosen, workers
        self._nodes = worker_nodes(workers)
        self._site = open_site(place, "site", [HUB], self._nodes, supervisor, folder)
        self.agents = Agents(supervisor, folder, place.command)
        for node in self._nodes:
            self.agents.start(node, node, {"LOCAL_WORLD_SIZE": str(workers)})
        store = str(folder / f"group-{secrets.token_hex(4)}")
        self.agents.make(
            {
                node: partial(Stepper, number, workers, store, place.interface, chosen.settings.device)
                for number, node in enumerate(self._nodes)
            }
        )

    def _ask(self, call: Any) -> list[Any]:
        answers = self.agents.ask(dict.fromkeys(self._nodes, call))
        return [answers[node] for node in self._nodes]

    def measure(self, rate_mbit: float | None) -> Iterator[dict[str, Any]]:
        """Yield a figure for each method."""
        from lanesum_lab.bench.stepper import Stepper

        chosen = self._chosen
        settings, size, methods, peers = chosen.settings, chosen.size, chosen.methods, chosen.peers
        counts = {}
        jobs = {by: f"step-{number}" for number, by in enumerate(methods) if by not in peers}
        for by in methods:
            job = None
            if by in jobs:
                job = self._site.controller, jobs[by]
                self._site.admit(jobs[by], self._nodes, codec=by)
            counts[by] = self._ask(partial(Stepper.prepare, by=by, size=size, job=job))[0]
        if settings.warm_up:
            for by in methods:
                self._take(by, settings.warm_up)
        runs: dict[str, list[dict[str, Any]]] = {by: [] for by in methods}
        for _ in range(settings.repeats):
            for by, found in runs.items():
                found.append(self._take(by, chosen.steps))
        self._ask(Stepper.leave)
        for name in jobs.values():
            self._site.remove(name)
        for by in methods:
            yield {
                "case": LOOPBACK if rate_mbit is None else HUB,
                "rate_mbit": rate_mbit,
                "workers": self._workers,
                "by": by,
                **counts[by],
                **_figure(runs[by], runs[methods[1]], runs[ALONE]),
            }

    def _take(self, by: str, steps: int) -> dict[str, Any]:
        """Take steps by a method. Raises BenchError if the replicas differ."""
        from lanesum_lab.bench.stepper import Stepper

        taken = self._ask(partial(Stepper.take, by=by, steps=steps))
        if by != ALONE and len({one.weights_sha256 for one in taken}) != 1:
            raise BenchError(f"The replicas of the training by {by} differ.", "This is a bug of the method: report it.")
        return {
            "step_s": (max(one.end for one in taken) - min(one.begin for one in taken)) / steps,
            "cpu_s": sum(one.cpu_s for one in taken) / steps,
            "loss": sum(one.loss for one in taken) / len(taken),
            "chosen": taken[0].chosen,
        }


def _figure(
    runs: Sequence[dict[str, Any]], peers: Sequence[dict[str, Any]], alone: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return times and ratios within the rounds; no ratio of communication where a round has not shown any."""
    own, peer, bare = ([one["step_s"] for one in some] for some in (runs, peers, alone))
    added = [one - two for one, two in zip(own, bare, strict=True)]
    of_peer = [one - two for one, two in zip(peer, bare, strict=True)]
    return {
        "step_s": spread(own),
        "times_peer": spread([two / one for one, two in zip(own, peer, strict=True)]),
        "communication_s": None if own == bare else spread(added),
        "communication_times_peer": None
        if min(*added, *of_peer) <= 0
        else spread([two / one for one, two in zip(added, of_peer, strict=True)]),
        "cpu_s": spread([one["cpu_s"] for one in runs]),
        "loss": runs[-1]["loss"],
        "chosen": runs[-1]["chosen"],
    }


@contextlib.contextmanager
def _group(chosen: _Chosen, place: Place, workers: int) -> Iterator[_Group]:
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary)
        supervisor = stack.enter_context(Supervisor(folder / "logs"))
        made = _Group(chosen, place, workers, supervisor, folder)
        stack.callback(made.agents.close)
        yield made


def run(settings: StepSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and, under ``left_out``, cases not measured and the reasons.

    Raises MissingToolError without PyTorch or the device, or without root where limited links are requested.
    ConfigurationError for an unknown method. BenchError if replicas differ.
    """
    devices.require_torch("Training")
    described = devices.device(settings.device).described
    chosen, problem = _Chosen.of(settings), obstacle()
    cases = settings.cases or tuple(case for case in CASES if case != HUB or not problem)
    left_out = {HUB: problem} if settings.cases is None and problem else {}
    figures: list[dict[str, Any]] = []
    for workers in settings.workers:
        if LOOPBACK in cases:
            with _group(chosen, Loopback(), workers) as group:
                figures += group.measure(None)
        if HUB in cases:
            with limited_links(workers) as links:
                figures += _behind(chosen, links, workers)
    return {
        "repeats": settings.repeats,
        "warm_up": settings.warm_up,
        "steps": chosen.steps,
        "size": dataclasses.asdict(chosen.size),
        "native": availability().core is not None,
        "machine": machine(),
        "device": described,
        "figures": figures,
        "left_out": left_out,
    }


def _behind(chosen: _Chosen, links: LimitedLinks, workers: int) -> Iterator[dict[str, Any]]:
    """Yield the figures behind links of each rate."""
    rates = chosen.settings.rates_mbit
    links.limit(max(rates))
    with _group(chosen, links, workers) as group:
        for rate in rates:
            links.limit(rate)
            yield from group.measure(rate)


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for one in result["figures"]:
        added, ratio = one["communication_s"], one["communication_times_peer"]
        yield (
            links_name(one),
            str(one["workers"]),
            one["by"],
            text(_in_ms(one["step_s"]), 1 if one["step_s"]["median"] < 0.1 else 0),
            "-" if one["by"] == ALONE else text(one["times_peer"]),
            "-" if added is None else f"{1e3 * added['median']:.1f}",
            "-" if ratio is None else text(ratio),
            f"{one['loss']:.4f}",
        )


def notes(result: dict[str, Any]) -> Iterator[str]:
    """Return a sentence for each job that has stepped aside or measured a way."""
    for one in result["figures"]:
        if one["chosen"]:
            yield f"{links_name(one)}, {one['workers']} workers, {one['by']}: {one['chosen']}."


def _in_ms(figure: dict[str, float]) -> dict[str, float]:
    return {name: 1e3 * value for name, value in figure.items()}


registry.Benchmark(
    name="step",
    summary="Steps of a training beside gloo and its hooks, or NCCL. Limited links need root. Needs PyTorch.",
    quick=QUICK,
    run=run,
    tables=((COLUMNS, rows),),
    notes=notes,
).register()

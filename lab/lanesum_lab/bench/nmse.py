# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error of the codecs, with exact integer aggregation in one process.

NMSE is ||estimate - mean||**2 / ||mean||**2, averaged over independent runs, with the standard error of that average.
There is no error feedback, which would hide the loss of a round. Workers' vectors differ or are equal; recorded
gradients are of one step each. The mean of several rounds of the same vectors shows a bias: without one its root mean
squared error falls with the square root of their number, a slope of -0.5 between logarithms.

EDEN is the peer at equal bits: the codec ``eden``, whose codes cannot be added. Its bits are those of a worker's own
message, without the words for the messages of others.

``digits`` and ``transformer`` are recorded gradients (:mod:`lanesum_lab.bench.gradients`); ``paper`` is ``thc-paper``
with its full rotation, ``paper, blocks`` with the one of 1,024 coordinates as in its artifact; numbers are uplink bits.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum.codecs import THC, Codec
from lanesum.errors import ConfigurationError
from lanesum_lab.baselines import EDEN
from lanesum_lab.baselines.thc_paper import PaperTHC
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import machine
from lanesum_lab.codec_simulation import simulate

Vector = NDArray[np.float32]

DIFFER, AGREE = "differ", "agree"
_LAYERS = 16
# Norms of the workers' vectors in the mean of several rounds; the largest one determines the step of a grid.
_NORMS = (1.0, 0.8, 0.6, 0.4)


@dataclass(frozen=True, slots=True)
class NmseSettings:
    """Settings of the benchmark.

    Attributes:
        recorded: also record gradients from training.
        rounds: numbers of rounds of the same vectors whose mean is taken; the slope is that between the last two.
    """

    size: int = registry.option(65_536, "Length of a drawn vector, a multiple of 16.", flag="--values", low=16)
    runs: int = registry.option(4, "Independent runs to average; half as many of recorded gradients.", low=1)
    workers: tuple[int, ...] = registry.option((1, 2, 4, 8, 16, 64), "Numbers of workers, separated by commas.")
    recorded: bool = True
    rounds: tuple[int, ...] = (1, 16, 256)

    def __post_init__(self) -> None:
        if self.size % _LAYERS:
            raise ConfigurationError(
                f"--values {self.size} is not a multiple of {_LAYERS}.", f"{_LAYERS} layers share them."
            )


QUICK = NmseSettings(size=8192, runs=2, workers=(1, 4), rounds=(1, 4, 16))


def gaussian(rng: np.random.Generator, size: int) -> Vector:
    """Return normal entries of one scale."""
    return rng.normal(size=size).astype(np.float32)


def layers(rng: np.random.Generator, size: int) -> Vector:
    """Return sixteen layers of normal entries with log-normal scales (sigma 1), equal for all workers."""
    scales = np.exp(np.random.default_rng(3).normal(size=_LAYERS)).repeat(size // _LAYERS)
    return (scales * rng.normal(size=size)).astype(np.float32)


def lognormal(rng: np.random.Generator, size: int) -> Vector:
    """Return log-normal magnitudes (sigma 1) with random signs."""
    values: Vector = (rng.lognormal(size=size) * rng.choice([-1.0, 1.0], size=size)).astype(np.float32)
    return values


_DRAWN: dict[str, Callable[[np.random.Generator, int], Vector]] = {
    "Gaussian": gaussian,
    "log-normal": lognormal,
    "layers": layers,
}


def _thc(bits: int) -> Callable[[int], Codec | None]:
    def build(workers: int) -> Codec | None:
        try:
            return THC(workers=workers, bits=bits)
        except ConfigurationError:
            return None

    return build


def _paper(rotation: str) -> Callable[[int], Codec | None]:
    def build(workers: int) -> Codec | None:
        # The published setting where it fits the lane, else the nearest one that does.
        granularity = min(30, 255 // workers)
        return PaperTHC(workers=workers, granularity=granularity, rotation=rotation) if granularity >= 15 else None  # type: ignore[arg-type]

    return build


#: Constructors by label, for a number of workers; None where the codec does not fit. Numbers are uplink bits.
SCHEMES: dict[str, Callable[[int], Codec | None]] = {
    "paper": _paper("full"),
    "paper, blocks": _paper("block"),
    "EDEN 4": lambda workers: EDEN(workers=workers, bits=4),
    "thc 4": _thc(4),
    "thc 3": _thc(3),
    "thc 5": _thc(5),
    "thc 8": _thc(8),
}
COLUMNS = ("vectors", "workers", "that", *SCHEMES)
ROUNDS_COLUMNS = ("mean of rounds", *SCHEMES)


def run(settings: NmseSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object.

    ``figures``: of one round; ``means``: of several; ``left_out``: cases not measured, with the reasons.
    """
    max_workers = max(settings.workers)
    left_out: dict[str, str] = {}
    inputs: dict[str, list[list[Vector]]] = {}
    for name, draw in _DRAWN.items():
        runs = [np.random.default_rng([1, number]) for number in range(settings.runs)]
        inputs[name] = [[draw(rng, settings.size) for _ in range(max_workers)] for rng in runs]
    if settings.recorded:
        inputs.update(_recorded(max_workers, max(1, settings.runs // 2), left_out))
    figures = [
        _figure(name, records, workers, kind, scheme)
        for name, records in inputs.items()
        for workers in settings.workers
        for kind in ((DIFFER,) if workers == 1 else (DIFFER, AGREE))
        for scheme in SCHEMES
    ]
    return {
        "machine": machine(),
        "size": settings.size,
        "runs": settings.runs,
        "figures": [figure for figure in figures if figure is not None],
        "means": [_mean_of_rounds(scheme, settings) for scheme in SCHEMES],
        "left_out": left_out,
    }


def _recorded(workers: int, records: int, left_out: dict[str, str]) -> dict[str, list[list[Vector]]]:
    if importlib.util.find_spec("torch") is None:
        left_out["recorded gradients"] = "PyTorch is not installed"
        return {}
    from lanesum_lab.bench import gradients

    return {model: gradients.recorded(model, workers, records) for model in ("digits", "transformer")}


def _figure(name: str, records: list[list[Vector]], workers: int, kind: str, scheme: str) -> dict[str, Any] | None:
    codec = SCHEMES[scheme](workers)
    if codec is None:
        return None
    errors = []
    for number, record in enumerate(records):
        vectors = record[:workers] if kind == DIFFER else record[:1] * workers
        truth = np.mean(vectors, axis=0, dtype=np.float64)
        values = simulate(codec, vectors, seed=7, round=number, alone=True).values
        errors.append(float(np.sum((values - truth) ** 2) / np.sum(truth**2)))
    spread = float(np.std(errors, ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else None
    size = records[0][0].size
    words = sum(one.words for one in codec.shapes(size))
    if isinstance(codec, EDEN):
        words //= codec.workers
    return {
        "vectors": name,
        "coordinates": size,
        "workers": workers,
        "that": kind,
        "by": scheme,
        "bits_up": words * 32 / size,
        "nmse": float(np.mean(errors)),
        "standard_error": spread,
    }


def _mean_of_rounds(scheme: str, settings: NmseSettings) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    vectors = [np.float32(norm) * gaussian(rng, settings.size) for norm in _NORMS]
    codec = SCHEMES[scheme](len(vectors))
    assert codec is not None
    truth = np.mean(vectors, axis=0, dtype=np.float64)
    total, errors = np.zeros(settings.size), []
    for number in range(settings.rounds[-1]):
        total += simulate(codec, vectors, seed=7, round=number, alone=True).values
        if number + 1 in settings.rounds:
            errors.append(float(np.sum((total / (number + 1) - truth) ** 2) / np.sum(truth**2)))
    (earlier, later), (first, last) = settings.rounds[-2:], errors[-2:]
    slope = math.log(last / first) / 2 / math.log(later / earlier)
    return {"by": scheme, "rounds": list(settings.rounds), "nmse": errors, "slope": slope}


def mean_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return one row per number of rounds, and one with the slopes of the root mean squared error."""
    means = {one["by"]: one for one in result["means"]}
    for place, rounds in enumerate(means["paper"]["rounds"]):
        yield str(rounds), *(_short(means[scheme]["nmse"][place]) for scheme in SCHEMES)
    yield "slope of rms", *(f"{means[scheme]['slope']:.2f}" for scheme in SCHEMES)


def rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return one row per input, number of workers and kind."""
    cases: dict[tuple[str, int, str], dict[str, float]] = {}
    for figure in result["figures"]:
        cases.setdefault((figure["vectors"], figure["workers"], figure["that"]), {})[figure["by"]] = figure["nmse"]
    for (name, workers, kind), found in cases.items():
        yield name, str(workers), "-" if workers == 1 else kind, *(_short(found.get(scheme)) for scheme in SCHEMES)


def _short(error: float | None) -> str:
    return "-" if error is None else f"{error:.5f}" if error >= 0.001 else f"{error:.2g}"


registry.Benchmark(
    name="nmse",
    summary="Error of codecs beside EDEN at equal bits, on drawn vectors and recorded gradients (needs PyTorch).",
    quick=QUICK,
    run=run,
    tables=(
        (COLUMNS, rows),
        (ROUNDS_COLUMNS, mean_rows),
    ),
).register()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error and speed of the codecs, measured in one process with exact integer aggregation.

NMSE is ||estimate - mean||**2 / ||mean||**2, averaged over independent runs, with the standard error of that
average. Run it as ``python benchmarks/nmse.py``; ``--json`` prints the same as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanesum import codecs
from lanesum.codecs import Aggregate, CodecContext
from lanesum.codecs.simulate import simulate
from lanesum.codecs.thc_tables import PUBLISHED, choose_table

Vector = NDArray[np.float32]

# A to D are the columns of the published comparison that this reproduces.
SCHEMES: dict[str, tuple[str, dict[str, Any]]] = {
    "A: thc g30 p1/32, published table": ("thc", {"table": PUBLISHED[4, 30, 32]}),
    "B: thc g30 p1/512, published table": ("thc", {"table": PUBLISHED[4, 30, 512], "p": 1 / 512}),
    "C: thc-uniform p1/64": ("thc-uniform", {"p": 1 / 64}),
    "D: thc-uniform p1/512": ("thc-uniform", {"p": 1 / 512}),
    "thc (default: best table g30 p1/32)": ("thc", {}),
    "thc-uniform (default: p1/32)": ("thc-uniform", {}),
    "thc g17 p1/64": ("thc", {"granularity": 17, "p": 1 / 64}),
    "thc g21 p1/768": ("thc", {"granularity": 21, "p": 1 / 768}),
    "fixed": ("fixed", {}),
}


def gaussian(rng: np.random.Generator, size: int) -> Vector:
    return rng.normal(size=size).astype(np.float32)


def layers(rng: np.random.Generator, size: int) -> Vector:
    """Sixteen layers with normal entries, whose scales are log-normal (sigma 1)."""
    scales = np.exp(rng.normal(size=16)).repeat(size // 16)
    return (scales * rng.normal(size=size)).astype(np.float32)


def lognormal(rng: np.random.Generator, size: int) -> Vector:
    """Log-normal magnitudes (sigma 1) with random signs."""
    return (rng.lognormal(size=size) * rng.choice([-1.0, 1.0], size=size)).astype(np.float32)


Job = Callable[[np.random.Generator, int], list[Vector]]
INPUTS: dict[str, Job] = {
    "gaussian n=1": lambda rng, size: [gaussian(rng, size)],
    "gaussian n=8 identical": lambda rng, size: [gaussian(rng, size)] * 8,
    "gaussian n=8 independent": lambda rng, size: [gaussian(rng, size) for _ in range(8)],
    "lognormal n=8 identical": lambda rng, size: [lognormal(rng, size)] * 8,
}
ROTATION_INPUTS: dict[str, Job] = {
    "gaussian n=1": INPUTS["gaussian n=1"],
    "layers n=1": lambda rng, size: [layers(rng, size)],
    "lognormal n=1": lambda rng, size: [lognormal(rng, size)],
}


def measure(name: str, parameters: dict[str, Any], job: Job, size: int, runs: int) -> dict[str, float]:
    """NMSE over ``runs`` runs: its mean and the standard error of the mean."""
    errors = []
    for run in range(runs):
        vectors = job(np.random.default_rng([1, run]), size)
        codec = codecs.get(name, workers=len(vectors), **parameters)
        truth = np.mean(np.array(vectors, dtype=np.float64), axis=0)
        values = simulate(codec, vectors, seed=7, round=run).values
        errors.append(float(np.sum((values - truth) ** 2) / np.sum(truth**2)))
    spread = float(np.std(errors, ddof=1)) if runs > 1 else math.nan
    return {"nmse": float(np.mean(errors)), "standard_error": spread / math.sqrt(runs)}


def speed(name: str, size: int, repeats: int) -> dict[str, float]:
    """Milliseconds for one worker's steps on ``size`` coordinates, best of ``repeats``."""
    codec = codecs.get(name, workers=4)
    x = gaussian(np.random.default_rng(1), size)
    best: dict[str, float] = {}
    for _ in range(repeats):
        steps = codec.all_reduce(x, CodecContext(workers=4, worker=0))
        marks = [time.perf_counter()]

        def lap(step: str, marks: list[float] = marks) -> None:
            marks.append(time.perf_counter())
            took = (marks[-1] - marks[-2]) * 1e3
            best[step] = min(took, best.get(step, math.inf))

        first = next(steps)
        lap("begin")
        if first.overlap is not None:
            first.overlap()
        lap("overlap")
        second = steps.send(Aggregate(first.words, 1))
        lap("encode")
        try:
            steps.send(Aggregate(np.zeros(second.result_words, dtype=np.uint32), 1))
        except StopIteration:
            lap("decode")
    return best


def wire(name: str, size: int) -> dict[str, float]:
    """Payload bits per coordinate, all rounds together."""
    shapes = codecs.get(name, workers=4).shapes(size)
    return {
        "up": sum(shape.words for shape in shapes) * 32 / size,
        "down": sum(shape.result_words for shape in shapes) * 32 / size,
    }


def report(size: int, runs: int) -> dict[str, Any]:
    names = codecs.names()
    return {
        "size": size,
        "runs": runs,
        "nmse": {
            scheme: {label: measure(name, parameters, job, size, runs) for label, job in INPUTS.items()}
            for scheme, (name, parameters) in SCHEMES.items()
        },
        "rotation": {
            rotation: {
                label: measure("thc", {"rotation": rotation}, job, size, runs) for label, job in ROTATION_INPUTS.items()
            }
            for rotation in ("full", "block")
        },
        "best_tables": {
            str(n): {
                "granularity": (table := choose_table(4, n, agreeing=n)).granularity,
                "inverse_p": round(1 / table.support),
                "expected_nmse_identical": table.error(n),
                "table": list(table.values),
            }
            for n in (2, 4, 8, 16)
        },
        "milliseconds_per_2**20": {name: speed(name, 1 << 20, 5) for name in names},
        "wire_bits_per_coordinate_of_2**20": {name: wire(name, 1 << 20) for name in names},
    }


def show(found: dict[str, Any]) -> None:
    for title in ("nmse", "rotation"):
        rows: dict[str, dict[str, dict[str, float]]] = found[title]
        labels = list(next(iter(rows.values())))
        print(f"\n{title}, {found['size']} coordinates, {found['runs']} runs")
        print(" " * 38 + "".join(f"{label:>26}" for label in labels))
        for scheme, cells in rows.items():
            line = "".join(f"{cells[label]['nmse']:>16.5g} +-{cells[label]['standard_error']:7.1g}" for label in labels)
            print(f"{scheme:38}{line}")
    for title in ("best_tables", "milliseconds_per_2**20", "wire_bits_per_coordinate_of_2**20"):
        print(f"\n{title.replace('_', ' ')}")
        for key, value in found[title].items():
            parts = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items())
            print(f"  {key:14}{', '.join(parts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=65_536, help="coordinates of a vector (a multiple of 16)")
    parser.add_argument("--runs", type=int, default=20, help="independent runs to average")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.size < 16 or options.size % 16 or options.runs < 1:
        parser.error("--size must be a positive multiple of 16, and --runs at least 1")
    found = report(options.size, options.runs)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)


if __name__ == "__main__":
    main()

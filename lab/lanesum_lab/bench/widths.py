# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Error of ``thc`` with widths per block beside flat ``thc``, with all bits counted: uplink, downlink and norms.

Gradients are recorded from five models (:mod:`lanesum_lab.bench.gradients`), one for each worker at the same weights.
Two inputs are those for which widths gain least: equal gradients for all workers, because a block that is not sent
costs most there, and heavy-tailed vectors of independent workers. There is no error feedback.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum import codecs
from lanesum_lab.bench import registry
from lanesum_lab.bench.bounds import Bounds, bounds
from lanesum_lab.bench.devices import require_torch
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.nmse import Vector, lognormal
from lanesum_lab.bench.vectors import MODELS
from lanesum_lab.codec_simulation import simulate

_FLAT = "bits=4"
# An error with the fewest bytes on the downlink, and with the fewest in both directions.
_ERROR, _ERROR_BOTH = "error=0.01", "budget=8, error=0.01"
BOUND_COLUMNS = ("vectors", "NMSE", "rate", "scalar up", "grid", _ERROR, _ERROR_BOTH)
#: Parameters of ``thc``, by label.
CODECS: dict[str, dict[str, Any]] = {
    _FLAT: {},
    **{
        f"budget={budget}{', exponent=2' * (exponent - 1)}": {"budget": budget, "exponent": exponent}
        for budget in (2, 3, 4)
        for exponent in (1, 2)
    },
    _ERROR: {"error": 0.01},
    _ERROR_BOTH: {"budget": 8, "error": 0.01},
    "bits=5": {"bits": 5},
    "budget=5": {"budget": 5},
    "budget=5, exponent=2": {"budget": 5, "exponent": 2},
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        workers: number of workers.
        size: length of a drawn vector.
        models: models whose gradients are recorded.
    """

    records: int = registry.option(2, "Steps whose gradients are averaged.", flag="--runs", low=1)
    workers: int = 4
    size: int = 65_536
    models: tuple[str, ...] = MODELS


QUICK = Settings(records=1, models=("digits",))


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures``. Raises MissingToolError without PyTorch."""
    require_torch("Recording gradients")
    from lanesum_lab.bench import gradients

    inputs: dict[str, list[list[Vector]]] = {
        name.replace("_", " "): getattr(gradients, name)(settings.workers, settings.records) for name in settings.models
    }
    first = settings.models[0]
    equal = f"{first}, equal"
    inputs[equal] = [record[:1] * settings.workers for record in inputs[first.replace("_", " ")]]
    inputs["log-normal"] = [
        [lognormal(np.random.default_rng([number, worker]), settings.size) for worker in range(settings.workers)]
        for number in range(settings.records)
    ]
    figures = [_figure(name, records, label) for name, records in inputs.items() for label in CODECS]
    # The errors of equal vectors are not independent, as the bounds assume.
    bounded = [one for one in figures if one["by"] == _FLAT and one["vectors"] != equal]
    return {
        "machine": machine(),
        "workers": settings.workers,
        "records": settings.records,
        "figures": figures,
        "bounds": [_bound(one, inputs[one["vectors"]]) for one in bounded],
    }


def _figure(name: str, records: list[list[Vector]], label: str) -> dict[str, Any]:
    codec = codecs.get("thc", workers=len(records[0]), **CODECS[label])
    errors, up, down = [], 0, 0
    for number, vectors in enumerate(records):
        truth = np.mean(vectors, axis=0, dtype=np.float64)
        went = simulate(codec, vectors, seed=7, round=number, alone=True)
        errors.append(float(np.sum((went.values - truth) ** 2) / np.sum(truth**2)))
        up += sum(one.words for one in went.rounds)
        down += sum(one.result_words for one in went.rounds)
    size = sum(record[0].size for record in records)
    error = float(np.mean(errors))
    return {"vectors": name, "by": label, "bits_up": up * 32 / size, "bits_down": down * 32 / size, "nmse": error}


def _bound(flat: dict[str, Any], records: list[list[Vector]]) -> dict[str, Any]:
    """Return the fewest bits with the error of flat ``thc``, means over the records."""
    means = np.mean([bounds(record, flat["nmse"]) for record in records], axis=0).tolist()
    return {"vectors": flat["vectors"], "nmse": flat["nmse"], **dict(zip(Bounds._fields, means, strict=True))}


def bound_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return a row of ``BOUND_COLUMNS`` for each input: bits uplink and downlink, of codecs with their NMSE."""
    reached = {(one["vectors"], one["by"]): one for one in result["figures"]}
    for one in result["bounds"]:
        rate, grid = (f"{one[f'{name}_up']:.2f}, {one[f'{name}_down']:.2f}" for name in ("rate", "grid"))
        found = (reached[one["vectors"], label] for label in (_ERROR, _ERROR_BOTH))
        own = (f"{its['bits_up']:.1f}, {its['bits_down']:.1f} ({its['nmse']:.2g})" for its in found)
        yield one["vectors"], f"{one['nmse']:.2g}", rate, f"{one['scalar_up']:.2f}", grid, *own


def columns(result: dict[str, Any]) -> tuple[str, ...]:
    """Return the titles of the columns."""
    return "thc", *dict.fromkeys(one["vectors"] for one in result["figures"]), "up", "down"


def rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return one row for each codec: errors, and the range of bits per coordinate over all vectors."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in result["figures"]:
        found.setdefault(one["by"], []).append(one)
    for label, some in found.items():
        ranges = (sorted(one[way] for one in some) for way in ("bits_up", "bits_down"))
        yield label, *(f"{one['nmse']:.2g}" for one in some), *(f"{way[0]:.1f} to {way[-1]:.1f}" for way in ranges)


registry.register(
    registry.Benchmark(
        name="widths",
        summary="Error of thc with widths per block beside flat thc, all bits counted. Needs PyTorch.",
        quick=QUICK,
        run=run,
        tables=(
            (columns, rows),
            (BOUND_COLUMNS, bound_rows),
        ),
    )
)

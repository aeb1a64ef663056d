# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse all-reduces behind limited links: ``sketch``, ``union`` and ``auto`` beside dense ``fixed`` and an all-gather.

The all-gather sends values and positions, as top-k sparsifiers do. Every sum is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import BenchError, machine, spread, text
from lanesum_lab.bench.places import HUB, limited_links
from lanesum_lab.bench.reducer import ALL_GATHER, Reduction
from lanesum_lab.bench.vectors import Sparse
from lanesum_lab.bench.workers import Measured, ReducingWorkers, ReductionJob, reducing_workers

DENSE = "fixed"
CODECS = (DENSE, "sketch", "union", "auto")
COLUMNS = (
    "Mbit/s",
    "workers",
    "union sparsity",
    "overlap",
    "by",
    "seconds",
    "times fixed",
    "times fewer bytes",
    "MB on the wire",
)
# All-reduces before the measured ones: the size of the next one is predicted from earlier sums.
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class SparseSettings:
    """Settings of the benchmark.

    Attributes:
        sparsities: fractions of positions without a value at any worker.
        overlaps: see ``vectors.Sparse``.
    """

    workers: tuple[int, ...] = registry.option((2, 4), "Numbers of workers, separated by commas.")
    values: int = registry.option(4_000_000, "Length of the vectors, float32.", low=1)
    sparsities: tuple[float, ...] = (0.95, 0.99)
    overlaps: tuple[float, ...] = (1.0, 0.0)
    rates_mbit: tuple[float, ...] = registry.option(
        (200.0,), "Rates of the limited links, in Mbit/s, separated by commas.", flag="--rates"
    )
    repeats: int = registry.repeats(3)

    def __post_init__(self) -> None:
        if not all(0 < sparsity < 1 for sparsity in self.sparsities) or min(self.rates_mbit, default=0) <= 0:
            raise ConfigurationError("A sparsity is between 0 and 1, and a rate above 0.")
        if min(self.workers, default=0) < 2:
            raise ConfigurationError("An all-reduce needs two workers at least.")


QUICK = SparseSettings(workers=(2,), values=100_000, sparsities=(0.95,), overlaps=(0.5,), repeats=1)


def run(settings: SparseSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures``.

    Raises MissingToolError without PyTorch or root, BenchError if a sum is wrong.
    """
    figures: list[dict[str, Any]] = []
    for workers in settings.workers:
        with limited_links(workers) as network:
            network.limit(max(settings.rates_mbit))
            jobs = [ReductionJob(codec, codec, (HUB,)) for codec in CODECS]
            with reducing_workers(network, jobs, workers=workers) as running:
                for rate in settings.rates_mbit:
                    network.limit(rate)
                    figures += _measure(settings, running, workers, rate)
    return {
        "repeats": settings.repeats,
        "values": settings.values,
        "native": availability().core is not None,
        "machine": machine(),
        "figures": figures,
        "left_out": {},
    }


def _measure(settings: SparseSettings, running: ReducingWorkers, workers: int, rate: float) -> Iterator[dict[str, Any]]:
    for sparsity in settings.sparsities:
        for overlap in settings.overlaps:
            sparse = Sparse(1 - sparsity, overlap)
            checks = {}
            for by in (*CODECS, ALL_GATHER):
                check = running.measure(Reduction(by, settings.values, _WARM_UP, check=True, sparse=sparse))
                wanted, error = check.workers[0].expected, check.workers[0].error
                if (wanted is not None and check.digest != wanted) or error is None or error > 1e-12:
                    raise BenchError(f"The sum of {settings.values:,} values by {by} is wrong.")
                checks[by] = check
            runs: dict[str, list[Measured]] = {by: [] for by in checks}
            for _ in range(settings.repeats):
                for by, measured in runs.items():
                    measured.append(running.measure(Reduction(by, settings.values, 1, sparse=sparse)))
                    if measured[-1].digest != checks[by].digest:
                        raise BenchError(f"The sum of {settings.values:,} values by {by} differs between runs.")
            for by, measured in runs.items():
                words = float(np.median([run.workers[0].words for run in measured]))
                yield {
                    "rate_mbit": rate,
                    "workers": workers,
                    "union_sparsity": sparsity,
                    "overlap": overlap,
                    "by": by,
                    "seconds": spread([run.seconds for run in measured]),
                    "times_fixed": spread(
                        [dense.seconds / run.seconds for dense, run in zip(runs[DENSE], measured, strict=True)]
                    ),
                    # Bound of the links: the ratio of the bytes that they carry.
                    "times_fewer_bytes": spread(
                        [_carried(dense) / _carried(run) for dense, run in zip(runs[DENSE], measured, strict=True)]
                    ),
                    "words": words,
                    "packets": running.sizes[by] if by in CODECS else None,
                    "wire_mbyte": spread([_carried(run) / 1e6 for run in measured]),
                }


def _carried(run: Measured) -> int:
    return max(1, run.wire.up + run.wire.down)


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for figure in result["figures"]:
        yield (
            f"{figure['rate_mbit']:g}",
            str(figure["workers"]),
            f"{figure['union_sparsity']:.0%}",
            f"{figure['overlap']:.0%}",
            figure["by"],
            text(figure["seconds"], 3),
            text(figure["times_fixed"]),
            f"{figure['times_fewer_bytes']['median']:.1f}",
            f"{figure['wire_mbyte']['median']:,.2f}",
        )


registry.Benchmark(
    name="sparse",
    summary="Sparse all-reduce beside a dense one and an all-gather, behind limited links. Needs root, PyTorch.",
    quick=QUICK,
    run=run,
    tables=((COLUMNS, rows),),
).register()

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of worker and server during a long series of all-reduces.

The implementations take turns, each with workers and a server of its own kind, in short slices of all-reduces of
different sizes. The memory of each process at the end is compared with its memory after warm-up.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS
from lanesum_lab.bench import registry
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.pinger import ALL_REDUCE, ROUND, Pings
from lanesum_lab.bench.pingers import Pingers, implementations, pingers
from lanesum_lab.bench.places import Loopback

COLUMNS = ("by", "process", "after warming up, MiB", "at the end, MiB", "grown, KiB", "all-reduces")
_MIB = 1 << 20
_FEWEST_SAMPLES = 9  # three of each third


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        workers: number of workers.
        sizes: values of an all-reduce, by slice.
        slice_s: approximate length of a slice.
        allowed_bytes: permitted growth of a process: allocators round up, and caches fill late.
        window: maximum packets in flight.
        accumulator_words: words of a packet.
    """

    workers: int = 2
    seconds: float = registry.seconds(600.0)
    sizes: tuple[int, ...] = (1000, 20_000)
    slice_s: float = 0.5
    allowed_bytes: int = 1 << 20
    window: int = 64
    accumulator_words: int = FULL_ACCUMULATOR_WORDS


QUICK = Settings(seconds=5.0, slice_s=0.1, allowed_bytes=2 << 20)


@dataclass(slots=True)
class _Watched:
    """One implementation, and the memory of each process after every slice."""

    kind: Pingers
    all_reduces: int = 0
    samples: dict[str, list[int]] = field(default_factory=dict)

    def slice(self, settings: Settings) -> None:
        for values in settings.sizes:
            for what in (ALL_REDUCE, ROUND):
                begin = time.monotonic()
                self.kind.pings(Pings(what, values, 1))
                each = time.monotonic() - begin
                count = max(1, int(settings.slice_s / len(settings.sizes) / 2 / each))
                self.kind.pings(Pings(what, values, count))
                self.all_reduces += 2 + count + 1  # every task begins with one that is not timed
        for name, pid in self.kind.processes().items():
            self.samples.setdefault(name, []).append(resident_bytes(pid))


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process (proc_pid_statm(5))."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def grown(samples: list[int]) -> tuple[float, float]:
    """Return the medians of the middle and last third of ``samples``; the first third is warm-up."""
    third = len(samples) // 3
    return statistics.median(samples[third:-third]), statistics.median(samples[-third:])


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and, under ``left_out``, cases not measured.

    ``flat``: no process has grown by more than ``allowed_bytes``. Raises BenchError if a sum is wrong.
    """
    left_out: dict[str, str] = {}
    names = implementations(left_out)
    with pingers(Loopback(), settings, names) as kinds:
        watched = [_Watched(kind) for kind in kinds]
        end = time.monotonic() + settings.seconds
        slices = 0
        while slices < _FEWEST_SAMPLES or time.monotonic() < end:
            for one in watched:
                one.slice(settings)
            slices += 1
    figures = [figure for one in watched for figure in _figures(one)]
    return {
        "workers": settings.workers,
        "seconds": settings.seconds,
        "sizes": settings.sizes,
        "slices": slices,
        "allowed_bytes": settings.allowed_bytes,
        "machine": machine(),
        "figures": figures,
        "flat": all(figure["grown_bytes"] <= settings.allowed_bytes for figure in figures),
        "left_out": left_out,
    }


def _figures(watched: _Watched) -> Iterator[dict[str, Any]]:
    for name, samples in watched.samples.items():
        before, after = grown(samples)
        yield {
            "by": watched.kind.name,
            "process": name,
            "warm_bytes": before,
            "end_bytes": after,
            "grown_bytes": after - before,
            "all_reduces": watched.all_reduces,
        }


def check(result: dict[str, Any]) -> None:
    """Raise BenchError if a process has grown."""
    if not result["flat"]:
        raise BenchError(f"A process has grown by more than {result['allowed_bytes'] >> 10:,} KiB after warming up.")


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for figure in result["figures"]:
        sizes = [f"{figure[key] / _MIB:.1f}" for key in ("warm_bytes", "end_bytes")]
        by, process = figure["by"], figure["process"]
        yield by, process, *sizes, f"{figure['grown_bytes'] / 1024:.0f}", f"{figure['all_reduces']:,}"


registry.register(
    registry.Benchmark(
        name="growth",
        summary="Memory of worker and server over ten minutes of all-reduces. On loopback.",
        quick=QUICK,
        run=run,
        tables=((COLUMNS, rows),),
        check=check,
    )
)

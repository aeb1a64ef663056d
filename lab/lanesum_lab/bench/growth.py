# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Whether worker and server stay of one size: all-reduces for a long time, and what each process has in memory.

The implementations take turns, each with workers and a server of its own kind, in small slices of all-reduces of
different sizes. What a process has in memory at the end is compared with what it had after warming up.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.pinger import ALL_REDUCE, ROUND, Pings
from lanesum_lab.bench.pingers import Pingers, implementations, pingers
from lanesum_lab.bench.places import FULL_ACCUMULATOR_WORDS, Loopback

COLUMNS = ("by", "process", "after warming up, MiB", "at the end, MiB", "grown, KiB", "all-reduces")
_MIB = 1 << 20
_FEWEST_SAMPLES = 9  # three of each third


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is done.

    Attributes:
        workers: of the jobs.
        seconds: of all slices together; longer where that was too short for three slices of each third.
        sizes: values of an all-reduce, from slice to slice.
        slice_s: about how long a slice is.
        allowed_bytes: that a process may grow by: allocators round up, and caches fill late.
        window: packets under way at most.
        accumulator_words: of a packet.
    """

    workers: int = 2
    seconds: float = 600.0
    sizes: tuple[int, ...] = (1000, 20_000)
    slice_s: float = 0.5
    allowed_bytes: int = 1 << 20
    window: int = 64
    accumulator_words: int = FULL_ACCUMULATOR_WORDS


QUICK = Settings(seconds=5.0, slice_s=0.1, allowed_bytes=2 << 20)


@dataclass(slots=True)
class _Watched:
    """One implementation, and bytes in memory by process, slice after slice."""

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
    """What a process has in memory (proc_pid_statm(5))."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def grown(samples: list[int]) -> tuple[float, float]:
    """Medians of the middle third of ``samples`` and of the last one; in the first third a process warms up."""
    third = len(samples) // 3
    return statistics.median(samples[third:-third]), statistics.median(samples[-third:])


def run(settings: Settings) -> dict[str, Any]:
    """Measure; returns a JSON-ready object with ``figures`` and, under ``left_out``, what was not measured.

    ``flat``: no process has grown by more than ``allowed_bytes``. Raises BenchError when a sum is wrong.
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


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """What ``run`` found, for ``COLUMNS``."""
    for figure in result["figures"]:
        sizes = [f"{figure[key] / _MIB:.1f}" for key in ("warm_bytes", "end_bytes")]
        by, process = figure["by"], figure["process"]
        yield by, process, *sizes, f"{figure['grown_bytes'] / 1024:.0f}", f"{figure['all_reduces']:,}"

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of an idle controller by its number of switches, and the time to repair parts.

Controller and server are processes, and so are the switches, which are fakes. The time of a repair begins once the part
listens again, or its intruder has left.
"""

from __future__ import annotations

import functools
import random
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lanesum_lab.bench import registry
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.supervised import SupervisedSite

CPU_COLUMNS = ("switches", "% of a core", "threads")
REPAIR_COLUMNS = ("repair", "switches", "median, s", "max, s", "")


_SERVER_KILLED = "server killed"
# The last one comes last because a controller without audits does not repair it.
DAMAGES: dict[str, Callable[[SupervisedSite], float]] = {
    "switch killed": SupervisedSite.kill_switch,
    _SERVER_KILLED: SupervisedSite.kill_server,
    "program swapped by another primary": functools.partial(SupervisedSite.intrude, steals=False, pushes=True),
    "entry deleted by another primary": functools.partial(SupervisedSite.intrude, steals=False, pushes=False),
    "program swapped with the same election id": functools.partial(SupervisedSite.intrude, steals=True, pushes=True),
    "entry deleted with the same election id": functools.partial(SupervisedSite.intrude, steals=True, pushes=False),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        limit_s: time after which a part counts as not repaired.
        damages: kinds of damage, of ``DAMAGES``.
    """

    switches: tuple[int, ...] = registry.option((1, 10, 100), "Numbers of switches, separated by commas.")
    seconds: float = registry.seconds(30.0)
    repeats: int = registry.repeats(5)
    limit_s: float = 75.0
    damages: tuple[str, ...] = tuple(DAMAGES)


QUICK = Settings(switches=(1,), seconds=2.0, repeats=1, limit_s=3.0)


@dataclass(frozen=True, slots=True)
class CpuFigure:
    """Use of the processor by one idle controller."""

    switches: int
    percent: float
    threads: int


@dataclass(frozen=True, slots=True)
class RepairFigure:
    """Times of one kind of repair; ``whole``: all were finished in time."""

    repair: str
    switches: int
    seconds: list[float]
    whole: bool


def run(settings: Settings) -> dict[str, Any]:
    """Measure. Raises BenchError."""
    cpu, repairs = [], []
    for count in settings.switches:
        with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, SupervisedSite(count, Path(folder)) as site:
            cpu.append(_idle(count, site, settings.seconds))
            repairs += [_repaired(kind, site, count, settings) for kind in settings.damages]
    return {"machine": machine(), "cpu": list(map(asdict, cpu)), "repairs": list(map(asdict, repairs))}


def _idle(count: int, site: SupervisedSite, seconds: float) -> CpuFigure:
    time.sleep(1.0)  # the admission is over
    used_s, began = site.cpu_s(), time.monotonic()
    time.sleep(seconds)
    percent = 100 * (site.cpu_s() - used_s) / (time.monotonic() - began)
    return CpuFigure(count, round(percent, 3), site.threads())


def _repaired(kind: str, site: SupervisedSite, count: int, settings: Settings) -> RepairFigure:
    """Do the same damage several times; once if it is not repaired in time."""
    done: list[float] = []
    for _ in range(settings.repeats):
        time.sleep(random.uniform(0.3, 0.8))  # at any moment between two checks
        whole = site.contents()
        began = DAMAGES[kind](site)
        if kind == _SERVER_KILLED:
            taken = site.served_after(began, settings.limit_s)
        else:
            taken = site.repaired_after(began, whole, settings.limit_s)
        if taken is None:
            return RepairFigure(kind, count, done, whole=False)
        done.append(round(taken, 4))
    return RepairFigure(kind, count, done, whole=True)


def cpu_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return the rows of ``CPU_COLUMNS``."""
    for one in result["cpu"]:
        yield str(one["switches"]), f"{one['percent']:.2f}", str(one["threads"])


def repair_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return the rows of ``REPAIR_COLUMNS``."""
    for one in result["repairs"]:
        done = one["seconds"]
        times = (f"{median(done):.3f}", f"{max(done):.3f}") if done else ("-", "-")
        yield one["repair"], str(one["switches"]), *times, "" if one["whole"] else "not repaired"


registry.register(
    registry.Benchmark(
        name="supervision",
        summary="Processor time of an idle controller by number of switches, and the time of repairs. Fake switches.",
        quick=QUICK,
        run=run,
        tables=(
            (CPU_COLUMNS, cpu_rows),
            (REPAIR_COLUMNS, repair_rows),
        ),
    )
)

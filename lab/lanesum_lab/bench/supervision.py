# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of an idle controller by its number of switches, and the time to repair parts.

Controller and server are processes, of this checkout and of another one (``before``), which take turns. The switches
are fakes in processes of their own. The time of a repair begins once the part listens again, or its intruder has left.
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

from lanesum_fabric.resources import checkout_root
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.supervised import Site

CPU_COLUMNS = ("controller", "switches", "% of a core", "threads")
REPAIR_COLUMNS = ("controller", "repair", "switches", "median, s", "max, s", "")


_SERVER_KILLED = "server killed"
# The last one comes last because a controller without audits does not repair it.
DAMAGES: dict[str, Callable[[Site], float]] = {
    "switch killed": Site.kill_switch,
    _SERVER_KILLED: Site.kill_server,
    "program swapped by another primary": functools.partial(Site.intrude, steals=False, pushes=True),
    "entry deleted by another primary": functools.partial(Site.intrude, steals=False, pushes=False),
    "program swapped with the same election id": functools.partial(Site.intrude, steals=True, pushes=True),
    "entry deleted with the same election id": functools.partial(Site.intrude, steals=True, pushes=False),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        switches: numbers of switches.
        seconds: length of the measurement of processor time.
        repeats: repairs of each kind.
        limit_s: time after which a part counts as not repaired.
        damages: kinds of damage, of ``DAMAGES``.
        before: another checkout, whose controller and server take turns with those of this one.
    """

    switches: tuple[int, ...] = (1, 10, 100)
    seconds: float = 30.0
    repeats: int = 5
    limit_s: float = 75.0
    damages: tuple[str, ...] = tuple(DAMAGES)
    before: Path | None = None


QUICK = Settings(switches=(1,), seconds=2.0, repeats=1, limit_s=3.0)


@dataclass(frozen=True, slots=True)
class CpuFigure:
    """Use of the processor by one idle controller."""

    controller: str
    switches: int
    percent: float
    threads: int


@dataclass(frozen=True, slots=True)
class RepairFigure:
    """Times of one kind of repair; ``whole``: all were finished in time."""

    controller: str
    repair: str
    switches: int
    seconds: list[float]
    whole: bool


def run(settings: Settings) -> dict[str, Any]:
    """Measure. Raises BenchError."""
    roots = {"now": checkout_root(), **({} if settings.before is None else {"before": settings.before})}
    cpu, repairs = [], []
    for count in settings.switches:
        for name, root in roots.items():
            with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, Site(count, Path(folder), root) as site:
                cpu.append(_idle(name, count, site, settings.seconds))
                repairs += [_repaired(name, kind, site, count, settings) for kind in settings.damages]
    return {"machine": machine(), "cpu": list(map(asdict, cpu)), "repairs": list(map(asdict, repairs))}


def _idle(name: str, count: int, site: Site, seconds: float) -> CpuFigure:
    time.sleep(1.0)  # the admission is over
    used_s, began = site.cpu_s(), time.monotonic()
    time.sleep(seconds)
    percent = 100 * (site.cpu_s() - used_s) / (time.monotonic() - began)
    return CpuFigure(name, count, round(percent, 3), site.threads())


def _repaired(name: str, kind: str, site: Site, count: int, settings: Settings) -> RepairFigure:
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
            return RepairFigure(name, kind, count, done, whole=False)
        done.append(round(taken, 4))
    return RepairFigure(name, kind, count, done, whole=True)


def cpu_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return the rows of ``CPU_COLUMNS``."""
    for one in result["cpu"]:
        yield one["controller"], str(one["switches"]), f"{one['percent']:.2f}", str(one["threads"])


def repair_rows(result: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    """Return the rows of ``REPAIR_COLUMNS``."""
    for one in result["repairs"]:
        done = one["seconds"]
        times = (f"{median(done):.3f}", f"{max(done):.3f}") if done else ("-", "-")
        yield one["controller"], one["repair"], str(one["switches"]), *times, "" if one["whole"] else "not repaired"

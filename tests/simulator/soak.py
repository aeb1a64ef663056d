# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Many schedules on several processors, until one fails, all are done or the time is over."""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.simulator.parts import PYTHON, Parts
from tests.simulator.schedule import Schedule, run

_BATCH = 100


@dataclass(slots=True)
class Soak:
    """Result of a soak run. ``failed``: seed of the first schedule that violated an invariant."""

    schedules: int = 0
    contributions: int = 0
    events: int = 0
    wall_s: float = 0.0
    failed: int | None = None

    @property
    def per_second(self) -> float:
        return self.schedules / self.wall_s if self.wall_s else 0.0


def run_seeds(seeds: range, parts: Parts = PYTHON, *, certified: bool = False) -> Soak:
    """Run the schedules of these seeds up to the first failure."""
    done = Soak()
    for seed in seeds:
        outcome = run(Schedule.draw(seed, certified=certified), parts=parts)
        done.schedules += 1
        done.contributions += outcome.contributions
        done.events += outcome.events
        if outcome.violation is not None:
            done.failed = seed
            break
    return done


def soak(
    *,
    schedules: int,
    seed: int = 0,
    seconds: float | None = None,
    processes: int = 1,
    progress: Callable[[Soak], None] | None = None,
    parts: Parts = PYTHON,
    certified: bool = False,
) -> Soak:
    """Run schedules with consecutive seeds from ``seed`` on.

    Args:
        schedules: maximum number of schedules.
        seed: first seed.
        seconds: maximum time.
        processes: number of processes.
        progress: called after every batch.
        parts: implementations.
        certified: with check words and flipped bits.
    """
    total, began = Soak(), time.monotonic()
    batches = [range(first, min(first + _BATCH, seed + schedules)) for first in range(seed, seed + schedules, _BATCH)]
    for batch in _results(batches, processes, functools.partial(run_seeds, parts=parts, certified=certified)):
        total.schedules += batch.schedules
        total.contributions += batch.contributions
        total.events += batch.events
        total.failed = batch.failed
        total.wall_s = time.monotonic() - began
        if progress is not None:
            progress(total)
        if total.failed is not None or (seconds is not None and total.wall_s >= seconds):
            break
    return total


def _results(batches: list[range], processes: int, run_batch: Callable[[range], Soak]) -> Iterator[Soak]:
    if processes == 1 or len(batches) == 1:
        yield from map(run_batch, batches)
        return
    # Not forked: the caller may have threads, whose locks would never be released.
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        # In order, so that the reported seed is the smallest one.
        yield from pool.imap(run_batch, batches)

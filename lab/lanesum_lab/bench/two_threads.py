# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Speed-up of the codec loops by a second thread, beside two runs of the codec at once that share nothing.

Each of those has one thread, and memory of its own. Their rate together, over that of one alone, is what two threads of
this machine can reach: 2 on two idle cores, less on two threads of one core, or beside other processes.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

from lanesum import environment
from lanesum._internal.native import availability
from lanesum_lab.bench.figures import spread, text

COLUMNS = ("step", "times as fast as one thread", "share of two runs at once")
THREADS = 2
# Attempts in a turn; the fastest counts, because other processes only take time.
_ATTEMPTS = 5
Times = Mapping[str, float]


def measure(timed: Callable[[], Times], turns: int) -> list[dict[str, Any]]:
    """Return the speed-up of each step that ``timed`` returns, of all together, and of two runs at once.

    ``timed`` runs the codec with the number of threads in the environment, and returns wall-clock times. Nothing is
    measured without the native extension, or with one processor.
    """
    if availability().core is None or len(os.sched_getaffinity(0)) < THREADS:
        return []
    ratios: dict[str, list[float]] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(turns):
            one, several = (_fastest(timed, threads) for threads in (1, THREADS))
            for step in one:
                ratios.setdefault(step, []).append(one[step] / several[step])
            ratios.setdefault("together", []).append(sum(one.values()) / sum(several.values()))
            alone, at_once = (min(_elapsed(pool, timed, runs) for _ in range(_ATTEMPTS)) for runs in (1, THREADS))
            ratios.setdefault("two runs at once", []).append(THREADS * alone / at_once)
    ceiling = statistics.median(ratios["two runs at once"])
    return [
        {"step": step, "times": spread(some), "of_ceiling": statistics.median(some) / ceiling}
        for step, some in ratios.items()
    ]


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``; none for results of versions that did not measure threads."""
    for figure in result.get("threads", []):
        yield figure["step"], text(figure["times"]), f"{figure['of_ceiling']:.2f}"


def _fastest(timed: Callable[[], Times], threads: int) -> Times:
    with mock.patch.dict(os.environ, {environment.THREADS: str(threads)}):
        return min((timed() for _ in range(_ATTEMPTS)), key=lambda times: sum(times.values()))


def _elapsed(pool: ThreadPoolExecutor, timed: Callable[[], Times], runs: int) -> float:
    begin = time.perf_counter()
    for one in [pool.submit(timed) for _ in range(runs)]:
        one.result()
    return time.perf_counter() - begin

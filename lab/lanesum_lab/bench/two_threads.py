# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Speed-up of the codec loops by a second thread, beside two threads that share nothing.

Those add lanes in a few KiB of their own, in the first-level cache, without a lock. Their rate together, over that of
one alone, is what two threads of this machine can reach: 2 on two idle cores, less on two threads of one core.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

from lanesum import environment
from lanesum._internal.native import availability
from lanesum.protocol.lanes import LaneOp
from lanesum_lab.bench.figures import spread, text

COLUMNS = ("step", "times as fast as one thread", "share of two that share nothing")
THREADS = 2
# Attempts in a turn; the fastest counts, because other processes only take time.
_ATTEMPTS = 3
_LANE_WORDS = 256
Times = Mapping[str, float]


def measure(timed: Callable[[], Times], turns: int, seconds: float) -> list[dict[str, Any]]:
    """Return the speed-up of each step that ``timed`` returns, of all together, and of two threads that share nothing.

    ``timed`` runs the codec with the number of threads in the environment. ``seconds``: time of two threads that share
    nothing, in each turn. Nothing is measured without the native extension, or with one processor.
    """
    core = availability().core
    if core is None or len(os.sched_getaffinity(0)) < THREADS:
        return []
    op = int(LaneOp.TABLE8)

    def rate(_: int) -> float:
        found: float = core.lane_rate(op, _LANE_WORDS, 1, seconds)[0]
        return found

    ceilings: list[float] = []
    ratios: dict[str, list[float]] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(turns):
            one, several = (_fastest(timed, threads) for threads in (1, THREADS))
            ceilings.append(sum(pool.map(rate, range(THREADS))) / rate(0))
            for step in one:
                ratios.setdefault(step, []).append(one[step] / several[step])
            ratios.setdefault("together", []).append(sum(one.values()) / sum(several.values()))
    ceiling = statistics.median(ceilings)
    return [
        {"step": step, "times": spread(some), "of_ceiling": statistics.median(some) / ceiling}
        for step, some in (*ratios.items(), ("two threads that share nothing", ceilings))
    ]


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``; none for results of versions that did not measure threads."""
    for figure in result.get("threads", []):
        yield figure["step"], text(figure["times"]), f"{figure['of_ceiling']:.2f}"


def _fastest(timed: Callable[[], Times], threads: int) -> Times:
    with mock.patch.dict(os.environ, {environment.THREADS: str(threads)}):
        return min((timed() for _ in range(_ATTEMPTS)), key=lambda times: sum(times.values()))

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Lane additions per second of one core, beside copying the same bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lanesum._internal.native import availability
from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES, WORD_BYTES
from lanesum_lab.bench.figures import spread

OPS = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.TABLE8, LaneOp.MAX)
# Accumulators of two turns of a job's slots: they stay in a core's cache, as in a server.
_ENTRIES = 128
_TABLE = bytes(range(CODE_TABLE_ENTRIES))

# Payload bytes per second, added and copied.
Rates = tuple[float, float]


def measure(words: int, seconds: float, repeats: int, left_out: dict[str, str]) -> list[dict[str, Any]]:
    """Return the figures of all operations, per byte of uplink payload."""
    ways: dict[str, Callable[[LaneOp], Rates]] = {"Python": lambda op: _python(op, words, seconds)}
    core = availability().core
    if core is None:
        left_out["native lanes"] = availability().reason
    else:
        ways["native"] = lambda op: core.lane_rate(int(op), words, _ENTRIES, seconds)
    runs: dict[tuple[LaneOp, str], list[Rates]] = {}
    for _ in range(repeats):
        for op in OPS:
            for name, way in ways.items():
                runs.setdefault((op, name), []).append(way(op))
    return [
        {
            "op": op.name,
            "by": name,
            "added_gbyte_s": spread([added / 1e9 for added, _ in rates]),
            "copied_gbyte_s": spread([copied / 1e9 for _, copied in rates]),
            "added_to_copied": spread([added / copied for added, copied in rates]),
        }
        for (op, name), rates in runs.items()
    ]


def _python(op: LaneOp, words: int, seconds: float) -> Rates:
    uplink = np.random.default_rng(1).integers(0, 1 << 32, op.shape.uplink_words(words), np.uint32)
    payload = uplink.astype(">u4")
    accumulator = np.zeros(words, np.uint32)
    table = _TABLE if op.shape.lookup else None

    def add() -> None:
        combine(op, accumulator, expand(op, payload.astype(np.uint32), table))

    def copy() -> None:
        accumulator[: payload.size].view(payload.dtype)[:] = payload

    size = uplink.size * WORD_BYTES
    return size * _rate(add, seconds / 2), size * _rate(copy, seconds / 2)


def _rate(work: Callable[[], None], seconds: float) -> float:
    """Return the calls per second."""
    calls, begin = 0, time.perf_counter()
    while (taken := time.perf_counter() - begin) < seconds:
        for _ in range(100):
            work()
        calls += 100
    return calls / taken

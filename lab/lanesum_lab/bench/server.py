# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Throughput of one core of the aggregation server: lanes beside memcpy, datagrams beside iperf3.

Goodput per core counts received and sent bytes over the processor time of the server's process: with as many results as
contributions of the same size, that is one datagram in and one out. Peers receive and send the same datagrams without
using them. All processes run on loopback.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanesum._internal.native import availability
from lanesum.aggregation.combine import combine, expand
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import CODE_TABLE_ENTRIES, HEADER_BYTES, WORD_BYTES
from lanesum_lab.bench import datagrams, registry
from lanesum_lab.bench.figures import machine, spread, text
from lanesum_lab.bench.pingers import ROUND, WINDOW, WORDS, Pingers, implementations, pingers
from lanesum_lab.bench.places import Loopback

OPS = (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.TABLE8, LaneOp.MAX)
# Accumulators of two turns of a job's slots: they stay in a core's cache, as in a server.
_ENTRIES = 128
_TABLE = bytes(range(CODE_TABLE_ENTRIES))

# Payload bytes per second, added and copied.
Rates = tuple[float, float]


def measure_lanes(words: int, seconds: float, repeats: int, left_out: dict[str, str]) -> list[dict[str, Any]]:
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


LANE_COLUMNS = ("operation", "by", "lanes added, GB/s", "copied, GB/s", "added to copied")
COLUMNS = ("datagrams by", "Gbit/s per core", "1,000 datagrams/s per core", "to iperf3", "Gbit/s in all")
BARE = "bare sockets, a call each"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the benchmark.

    Attributes:
        lane_seconds: length of a run of one lane operation.
    """

    workers: int = registry.option(2, "Number of workers.", low=1)
    chunks: int = registry.chunks(4096)
    seconds: float = registry.seconds(2.0)
    lane_seconds: float = 0.2
    repeats: int = registry.repeats(5)


QUICK = ServerSettings(chunks=100, seconds=0.2, lane_seconds=0.01, repeats=2)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run. ``cpu_s``: per datagram in and out. ``in_all``: datagrams per second; None if not measured."""

    cpu_s: float
    in_all: float | None = None


def _serve(kind: Pingers, settings: ServerSettings) -> _Run:
    flows, used = kind.flow(ROUND, settings.chunks, settings.seconds)
    packets = [flow.sent + flow.received for flow in flows]
    return _Run(2 * used / sum(packets), sum(packets) / max(flow.seconds for flow in flows))


def run(settings: ServerSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``lanes``, ``datagrams`` and, in ``left_out``, cases not measured.

    Raises BenchError if a sum is wrong.
    """
    left_out: dict[str, str] = {}
    size = HEADER_BYTES + WORDS * WORD_BYTES
    names = implementations(left_out)
    figures = measure_lanes(WORDS, settings.lane_seconds, settings.repeats, left_out)
    ways: dict[str, Callable[[], _Run]] = {BARE: lambda: _Run(datagrams.bare_sockets(size, settings.seconds))}
    missing = datagrams.iperf3_missing()
    if missing:
        left_out[datagrams.IPERF3] = missing
    else:
        ways[datagrams.IPERF3] = lambda: _Run(datagrams.iperf3(size, settings.seconds))
    runs: dict[str, list[_Run]] = {}
    with pingers(Loopback(), settings.workers, names) as kinds:
        for kind in kinds:
            ways[f"server, {kind.name}"] = lambda kind=kind: _serve(kind, settings)  # type: ignore[misc]
        for turn in range(settings.repeats + 1):
            for name, way in ways.items():
                one = way()
                if turn:  # the first is warm-up
                    runs.setdefault(name, []).append(one)
    peers = runs.get(datagrams.IPERF3)
    return {
        "workers": settings.workers,
        "datagram_bytes": size,
        "chunks_per_round": settings.chunks,
        "seconds_per_run": settings.seconds,
        "repeats": settings.repeats,
        "window": WINDOW,
        "accumulator_words": WORDS,
        "machine": machine(),
        "lanes": figures,
        "datagrams": [_figure(name, some, peers, size) for name, some in runs.items()],
        "left_out": left_out,
    }


def _figure(name: str, runs: list[_Run], peers: list[_Run] | None, size: int) -> dict[str, Any]:
    bits = 8 * size / 1e9
    in_all = [run.in_all * bits for run in runs if run.in_all is not None]
    ratios = None if peers is None else [peer.cpu_s / run.cpu_s for run, peer in zip(runs, peers, strict=True)]
    return {
        "by": name,
        "gbit_s_per_core": spread([2 * bits / run.cpu_s for run in runs]),
        "datagrams_s_per_core": spread([2 / run.cpu_s for run in runs]),
        "to_iperf3": None if ratios is None else spread(ratios),
        "gbit_s_in_all": spread(in_all) if in_all else None,
    }


def lane_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``LANE_COLUMNS``."""
    for figure in result["lanes"]:
        figures = (figure[name] for name in ("added_gbyte_s", "copied_gbyte_s", "added_to_copied"))
        yield figure["op"], figure["by"], *map(text, figures)


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for figure in result["datagrams"]:
        peer, in_all = figure["to_iperf3"], figure["gbit_s_in_all"]
        yield (
            figure["by"],
            text(figure["gbit_s_per_core"]),
            text({name: 1e-3 * rate for name, rate in figure["datagrams_s_per_core"].items()}, 0),
            "-" if peer is None else text(peer),
            "-" if in_all is None else text(in_all),
        )


registry.Benchmark(
    name="server",
    summary="Lanes per core beside memcpy, datagrams per core beside iperf3 where it is on PATH. On loopback.",
    quick=QUICK,
    run=run,
    tables=(
        (LANE_COLUMNS, lane_rows),
        (COLUMNS, rows),
    ),
).register()

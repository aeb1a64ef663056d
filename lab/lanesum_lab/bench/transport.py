# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Short all-reduces beside a bare UDP echo on the same path, and packets per second of one worker.

The transports in Python and C++ take turns, each with workers and an aggregation server of its own kind. An all-reduce
by ``fixed`` is one round for so few values, or two (scales, then values), with the codec's work; a round is one sum of
words. Besides the echo for one worker alone, there is an echo for all workers at once, whose processes share the
processors, and one of as many packets as a round has, with one system call each.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lanesum.protocol.spec import HEADER_BYTES, WORD_BYTES
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import machine, spread, text
from lanesum_lab.bench.pingers import (
    ALL_REDUCE,
    ALONE,
    ECHO_PORT,
    ROUND,
    WINDOW,
    WORDS,
    Flowed,
    Pinger,
    implementations,
    pingers,
)
from lanesum_lab.bench.places import HUB, Loopback, Place, limited_links
from lanesum_lab.veth import obstacle

ECHO = "UDP echo"
ECHOES = "UDP echo for all at once"
ECHO_BURST = "UDP echo of as many packets"
LATENCY_COLUMNS = ("path", "what", "by", "p50, µs", "p99, µs", "p50 to echo")
CHUNK_COLUMNS = ("path", "by", "chunk p50, µs", "chunk p99, µs")
RATE_COLUMNS = ("path", "by", "packets/s", "packets per CPU second", "retransmitted")


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """Settings of the benchmark.

    Attributes:
        values: values of an all-reduce.
        count: all-reduces of a run.
    """

    workers: int = registry.option(2, "Workers of the small all-reduces.", low=2)
    values: int = 1024
    count: int = 500
    chunks: int = registry.chunks(4096)
    seconds: float = registry.seconds(1.0)
    repeats: int = registry.repeats(11)
    rate_mbit: float = registry.option(1000.0, "Rate of the limited links, in Mbit/s.", flag="--rate", low=0.5)


QUICK = TransportSettings(count=20, chunks=100, seconds=0.1, repeats=2)


@dataclass(frozen=True, slots=True)
class _Latency:
    path: str
    what: str
    by: str


def _measure(
    path: str, place: Place, settings: TransportSettings, names: dict[str, str]
) -> tuple[dict[_Latency, list[list[float]]], dict[str, list[Flowed]]]:
    latencies: dict[_Latency, list[list[float]]] = {}
    flows: dict[str, list[Flowed]] = {}
    packet = HEADER_BYTES + WORDS * WORD_BYTES
    echoes = partial(Pinger.echoes, peer=(place.address(HUB), ECHO_PORT), size=packet, count=settings.count)
    packets = -(-settings.values // WORDS)
    burst = partial(echoes, burst=packets)
    short = {
        ROUND: partial(Pinger.rounds, values=settings.values, count=settings.count),
        ALL_REDUCE: partial(Pinger.all_reduces, values=settings.values, count=settings.count),
    }
    with pingers(place, settings.workers, names, echo=True) as kinds:
        for turn in range(settings.repeats + 1):
            taken = {
                _Latency(path, f"{packet} bytes", ECHO): kinds[0].times(echoes, together=False),
                _Latency(path, f"{packet} bytes", ECHOES): kinds[0].times(echoes),
                _Latency(path, f"{packets} x {packet} bytes", ECHO_BURST): kinds[0].times(burst, together=False),
            }
            flowed = {}
            for kind in kinds:
                for what, call in short.items():
                    label = f"{what}, {settings.values * WORD_BYTES / 1024:g} KiB"
                    taken[_Latency(path, label, kind.name)] = kind.times(call)
                flowed[kind.name] = kind.flow(ALONE, settings.chunks, settings.seconds)[0][0]
            if turn == 0:  # warm-up
                continue
            for case, seconds in taken.items():
                latencies.setdefault(case, []).append(seconds)
            for name, flow in flowed.items():
                flows.setdefault(name, []).append(flow)
    return latencies, flows


def run(settings: TransportSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``latency``, ``rate`` and, under ``left_out``, cases not measured.

    Raises BenchError if a sum is wrong.
    """
    left_out: dict[str, str] = {}
    names = implementations(left_out)
    paths: list[tuple[str, contextlib.AbstractContextManager[Place]]] = [
        ("loopback", contextlib.nullcontext(Loopback()))
    ]
    if problem := obstacle():
        left_out["limited links"] = problem
    else:
        paths.append((f"{settings.rate_mbit:g} Mbit/s", _links(settings)))
    latency, rate = [], []
    for path, opened in paths:
        with opened as place:
            latencies, flows = _measure(path, place, settings, names)
        echo = next(runs for case, runs in latencies.items() if case.by == ECHO)
        latency += [_latency_figure(case, runs, echo) for case, runs in latencies.items()]
        rate += [_rate_figure(path, name, runs) for name, runs in flows.items()]
    return {
        "workers": settings.workers,
        "values": settings.values,
        "all_reduces_per_run": settings.count,
        "chunks_per_round": settings.chunks,
        "seconds_per_run": settings.seconds,
        "repeats": settings.repeats,
        "window": WINDOW,
        "accumulator_words": WORDS,
        "machine": machine(),
        "latency": latency,
        "rate": rate,
        "left_out": left_out,
    }


@contextlib.contextmanager
def _links(settings: TransportSettings) -> Iterator[Place]:
    with limited_links(settings.workers) as network:
        network.limit(settings.rate_mbit)
        yield network


def _percentiles(runs: list[list[float]], percent: float) -> list[float]:
    return [float(np.percentile(seconds, percent)) * 1e6 for seconds in runs]


def _latency_figure(case: _Latency, runs: list[list[float]], echo: list[list[float]]) -> dict[str, Any]:
    medians, peers = _percentiles(runs, 50), _percentiles(echo, 50)
    return {
        "path": case.path,
        "what": case.what,
        "by": case.by,
        "p50_us": spread(medians),
        "p99_us": spread(_percentiles(runs, 99)),
        "p50_to_echo": spread([one / peer for one, peer in zip(medians, peers, strict=True)]),
    }


def _rate_figure(path: str, name: str, runs: list[Flowed]) -> dict[str, Any]:
    """Return the rate of sent and received packets of one worker, alone in its job."""
    return {
        "path": path,
        "by": name,
        "packets_per_s": spread([(run.sent + run.received) / run.seconds for run in runs]),
        "packets_per_cpu_s": spread([(run.sent + run.received) / run.cpu_s for run in runs]),
        "retransmissions": sum(run.retransmissions for run in runs),
        "chunk_p50_s": spread([run.latency.p50 or 0.0 for run in runs]),
        "chunk_p99_s": spread([run.latency.p99 or 0.0 for run in runs]),
    }


def latency_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``LATENCY_COLUMNS``."""
    for figure in result["latency"]:
        times = [text(figure[name], 0) for name in ("p50_us", "p99_us")]
        yield figure["path"], figure["what"], figure["by"], *times, text(figure["p50_to_echo"])


def rate_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``RATE_COLUMNS``."""
    for figure in result["rate"]:
        rates = [text(figure[name], 0) for name in ("packets_per_s", "packets_per_cpu_s")]
        yield figure["path"], figure["by"], *rates, str(figure["retransmissions"])


def chunk_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``CHUNK_COLUMNS``; none for results of versions that did not measure chunks."""
    for figure in result["rate"]:
        if figure.get("chunk_p50_s"):
            times = ({key: 1e6 * one for key, one in figure[f"chunk_{name}_s"].items()} for name in ("p50", "p99"))
            yield figure["path"], figure["by"], *(text(one, 0) for one in times)


registry.Benchmark(
    name="transport",
    summary="Small all-reduces beside a UDP echo, and packets per second of a worker. As root also in namespaces.",
    quick=QUICK,
    run=run,
    tables=(
        (LATENCY_COLUMNS, latency_rows),
        (RATE_COLUMNS, rate_rows),
        (CHUNK_COLUMNS, chunk_rows),
    ),
).register()

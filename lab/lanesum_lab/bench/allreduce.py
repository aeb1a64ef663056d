# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``Session.all_reduce`` beside gloo: the same vectors, processes and network, taking turns.

A two-shot quantized all-reduce over gloo is the peer that needs no switch either, and sends fewer bytes than a ring.

On bare loopback all processes share one kernel's memory, and compression saves no wire time. Limited links need root.
Behind them the aggregation server runs in the hub, in the position of a switch (``hub``), or every worker's host has a
server for its share of the slots, behind the same link as the worker (``sharded``). These links may lose packets.

Other collectives take turns with it: reduce-scatter, all-gather of exact bytes, and an all-reduce made of both.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lanesum import codecs
from lanesum._internal.native import availability
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import ETHERNET_MTU, WORD_BYTES
from lanesum_lab.bench import devices, registry
from lanesum_lab.bench.figures import BenchError, machine, spread, text
from lanesum_lab.bench.places import HUB, Loopback, Place, limited_links, worker_nodes
from lanesum_lab.bench.reducer import (
    ALL_GATHER,
    ALL_REDUCE,
    COLLECTIVES,
    GLOO,
    NCCL,
    NCCL_HALF,
    REDUCE_SCATTER,
    TWO_SHOTS,
    TWO_STEPS,
    Reduction,
)
from lanesum_lab.bench.vectors import MODELS
from lanesum_lab.bench.workers import Measured, ReducingWorkers, ReductionJob, reducing_workers
from lanesum_lab.veth import obstacle

LOOPBACK, SHARDED = "loopback", "sharded"
CASES = (LOOPBACK, HUB, SHARDED)
SPEED_COLUMNS = ("case", "workers", "values", "by", "seconds", "times gloo", "MB/s")
COST_COLUMNS = (
    "case",
    "workers",
    "values",
    "by",
    "wire, MB",
    "needed",
    "CPU s/GB",
    "retransmitted",
    "encode, s",
    "network, s",
    "decode, s",
)
CHUNK_COLUMNS = ("case", "workers", "values", "by", "chunk p50, ms", "chunk p99, ms")
COLLECTIVE_COLUMNS = (*SPEED_COLUMNS[:-1], "times all-reduce", "MB up", "MB down")
ERROR_COLUMNS = ("case", "by", "seconds", "times gloo", "NMSE", "wire, MB", "CPU s/GB")
#: Peers beside gloo, by the device of the vectors.
PEERS = {"cpu": TWO_SHOTS, "cuda": (NCCL, NCCL_HALF)}
_MAX_ITERATIONS = 200
# Bytes of memory per value that a worker needs for vector, sum, codec and round. Measured with 25 M values: 10 with
# THC, 17 with fixed. The constants leave room for the copies of the Python transport.
# A two-shot all-reduce holds its groups as float32 beside codes of a byte.
_BYTES_PER_VALUE = {
    GLOO: 12,
    **dict.fromkeys((NCCL, NCCL_HALF), 12),
    **dict.fromkeys(TWO_SHOTS, 26),
    "thc": 14,
    "thc-paper": 14,
    "thc-uniform": 14,
    "fixed": 26,
}


@dataclass(frozen=True, slots=True)
class AllReduceSettings:
    """Settings of the benchmark.

    Attributes:
        values_per_run: shorter vectors are reduced repeatedly, up to this number of values and at most 200 times.
        singly: send every packet alone without losses, too.
    """

    workers: tuple[int, ...] = registry.option((4,), "Numbers of workers, separated by commas.")
    values: tuple[int, ...] = registry.option(
        (25_000_000,), "Lengths of the float32 vectors, separated by commas; `1k` is a thousand, `25M` 25 million."
    )
    cases: tuple[str, ...] | None = registry.option(
        None, "Any of loopback, hub, sharded, separated by commas; by default all possible ones."
    )
    rates_mbit: tuple[float, ...] = registry.option(
        (200.0, 1000.0), "Rates of the limited links, in Mbit/s, separated by commas.", flag="--rates"
    )
    codecs: tuple[str, ...] = registry.option(
        ("thc", "fixed"), "Codecs, separated by commas; `thc error=0.01` has a parameter."
    )
    gradients: str = registry.option("", "Recorded gradients of this model, not normal values.")
    peers: tuple[str, ...] | None = registry.option(
        None, "Peers beside gloo, separated by commas; by default all, empty for none."
    )
    device: str = registry.option("cpu", "Device of the vectors: cpu, or cuda with NCCL as a peer.")
    collectives: tuple[str, ...] = registry.option(
        (ALL_REDUCE,), f"Any of {', '.join(COLLECTIVES)}, separated by commas.", flag="--collective"
    )
    loss: float = registry.option(0.0, "Fraction of packets that a limited link loses in each direction.", low=0)
    certified: bool = registry.option(False, "Measure each codec with check words, too.")
    repeats: int = registry.repeats(5)
    values_per_run: int = 1 << 20
    singly: bool = False

    @property
    def joined(self) -> bool:
        """True if packets may be joined. With losses they are not: a lost frame drops one packet."""
        return not self.singly and self.loss == 0

    def __post_init__(self) -> None:
        unknown = sorted(set(self.cases or ()) - set(CASES))
        if unknown:
            raise ConfigurationError(f"There is no case {', '.join(unknown)}.", f"Known ones: {', '.join(CASES)}.")
        if min(self.values, default=0) < 1 or min(self.rates_mbit, default=0) <= 0 or min(self.workers, default=0) < 2:
            raise ConfigurationError("An all-reduce needs two workers, one value and a rate above 0 at least.")
        if not self.collectives or set(self.collectives) - set(COLLECTIVES):
            known = ", ".join(COLLECTIVES)
            raise ConfigurationError(f"Unknown collectives={self.collectives}: expected some of {known}.")
        shards = set(self.collectives) - {ALL_REDUCE}
        if shards and any(values % workers for values in self.values for workers in self.workers):
            raise ConfigurationError("Shards need values that are a multiple of the number of workers.")
        if not 0 <= self.loss <= 0.5:
            raise ConfigurationError(f"Invalid loss={self.loss}: expected a fraction from 0 to 0.5.")
        if self.loss and LOOPBACK in (self.cases or ()):
            raise ConfigurationError("Loopback loses no packets: measure losses with --cases hub,sharded.")
        if self.device not in PEERS:
            raise ConfigurationError(f"There is no device {self.device!r} to measure on.", "Use one of cpu, cuda.")
        if set(self.peers or ()) - set(PEERS[self.device]):
            known = ", ".join(PEERS[self.device])
            raise ConfigurationError(f"Unknown peers={self.peers} on {self.device}: expected some of {known}.")
        if ALL_REDUCE not in self.collectives and set(self.peers or ()) & set(TWO_SHOTS):
            raise ConfigurationError("Two shots are an all-reduce: there is no other collective by them.")
        if TWO_STEPS in self.collectives and ALL_REDUCE not in self.collectives:
            raise ConfigurationError(f"{TWO_STEPS} is an all-reduce: measure it beside --collective {ALL_REDUCE}.")
        if self.device != "cpu" and shards & {ALL_GATHER, TWO_STEPS}:
            raise ConfigurationError("All-gathers are measured on the host alone: use --device cpu.")
        if self.gradients not in ("", *MODELS):
            raise ConfigurationError(f"Unknown gradients={self.gradients!r}: expected one of {', '.join(MODELS)}.")
        for codec in self.codecs:
            for workers in self.workers:
                codecs.get(codec, workers=workers)


QUICK = AllReduceSettings(workers=(2,), values=(20_000,), rates_mbit=(100.0,), repeats=2, values_per_run=40_000)


@dataclass(frozen=True, slots=True)
class Method:
    """One way to carry out a collective.

    Attributes:
        by: gloo, a peer over gloo, or a job.
        case, codec: case and codec of the job.
        certified: its packets have check words.
    """

    by: str
    case: str | None = None
    codec: str | None = None
    certified: bool = False
    collective: str = ALL_REDUCE

    @classmethod
    def of_job(cls, case: str, codec: str, collective: str = ALL_REDUCE, *, certified: bool) -> Method:
        """Return the method of a job."""
        return cls(f"{codec} {case}" + " certified" * certified, case, codec, certified, collective)

    def task(self, values: int, iterations: int, *, check: bool = False) -> Reduction:
        """Return ``iterations`` of the collective."""
        return Reduction(self.by, values, iterations, check=check, collective=self.collective)


def compare(method: Method, measured: Measured, expected: str | None) -> None:
    """Check the digest of every sum; None expects nothing. Raises BenchError for a wrong one."""
    if expected is not None and measured.digest != expected:
        raise BenchError(f"The sum of {measured.reduction.values:,} values by {method.by} is wrong.")


class _Group:
    """Measurements with one number of workers at one location."""

    def __init__(self, settings: AllReduceSettings, place: Place, workers: int, cases: Sequence[str]) -> None:
        self._settings, self._place, self._workers = settings, place, workers
        self.figures: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}
        everywhere = tuple(worker_nodes(workers))
        own = [
            Method.of_job(case, codec, certified=certified)
            for case in cases
            for codec in settings.codecs
            for certified in (False, True)[: 1 + settings.certified]
        ]
        self._jobs = [
            ReductionJob(one.by, one.codec, everywhere if one.case == SHARDED else (HUB,), one.certified)
            for one in own
            if one.codec is not None
        ]
        peers = PEERS[settings.device] if settings.peers is None else settings.peers
        self._methods = [
            replace(one, collective=collective)
            for collective in settings.collectives
            for one in (*map(Method, (GLOO, *peers)), *own)
            if collective == ALL_REDUCE or one.by not in TWO_SHOTS
            if collective != TWO_STEPS or one.codec is not None
            # Bytes are gathered without a codec.
            if collective != ALL_GATHER or one.codec in (None, settings.codecs[0])
        ]

    def running(self) -> AbstractContextManager[ReducingWorkers]:
        """Run the worker processes."""
        settings = self._settings
        return reducing_workers(
            self._place,
            self._jobs,
            workers=self._workers,
            device=settings.device,
            gradients=settings.gradients,
            offload="auto" if settings.joined else "off",
        )

    def measure(self, workers: ReducingWorkers, rate_mbit: float | None) -> None:
        """Measure all sizes and methods."""
        for values in self._settings.values:
            methods = [method for method in self._methods if self._fits(method, values)]
            checks = {method: workers.measure(method.task(values, 1, check=True)) for method in methods}
            expected = {method: checks[method].workers[0].expected for method in methods}
            for method, check in checks.items():
                compare(method, check, expected[method])
            iterations = max(1, min(_MAX_ITERATIONS, self._settings.values_per_run // values))
            runs: dict[Method, list[Measured]] = {method: [] for method in methods}
            for _ in range(self._settings.repeats):
                for method, measured in runs.items():
                    measured.append(workers.measure(method.task(values, iterations)))
                    compare(method, measured[-1], expected[method])
            for method, measured in runs.items():
                peer = Method(GLOO, collective=ALL_REDUCE if method.collective == TWO_STEPS else method.collective)
                figure = self._figure(method, rate_mbit, measured, runs[peer], checks[method])
                figure |= workers.sizes[method.by] if method.codec else {}
                if self._settings.device == "cuda":
                    nccl = runs.get(Method(NCCL, collective=method.collective), [])
                    ratios = [peer.seconds / one.seconds for one, peer in zip(measured, nccl, strict=False)]
                    figure["times_nccl"] = spread(ratios) if ratios else None
                if method.certified and method.case and method.codec:
                    plain = runs[Method.of_job(method.case, method.codec, method.collective, certified=False)]
                    ratios = [one.seconds / bare.seconds for one, bare in zip(measured, plain, strict=True)]
                    figure["times_seconds_without_checks"] = spread(ratios)
                whole = runs.get(replace(method, collective=ALL_REDUCE))
                if whole and method.collective in (REDUCE_SCATTER, TWO_STEPS):
                    ratios = [other.seconds / one.seconds for one, other in zip(measured, whole, strict=True)]
                    figure["times_all_reduce"] = spread(ratios)
                figure["exact_sum_checked"] = expected[method] is not None
                self.figures.append(figure)

    def _fits(self, method: Method, values: int) -> bool:
        """Return True if the memory suffices for all workers; otherwise the kernel would end one of them."""
        each = _BYTES_PER_VALUE.get(method.codec or method.by, max(_BYTES_PER_VALUE.values()))
        each += 12 * (method.collective in (ALL_GATHER, TWO_STEPS))  # words, values and shards of an all-gather
        needed = self._workers * values * each
        free = _free_memory()
        if needed < 0.9 * free:
            return True
        where = f"{method.by}, {self._workers} workers, {values:,} values"
        self.left_out[where] = f"needs about {needed / 1e9:.0f} GB of memory, and {free / 1e9:.0f} GB are free"
        if method.by == GLOO:
            raise BenchError(f"{where}: {self.left_out[where]}.", "Measure smaller vectors or fewer workers.")
        return False

    def _figure(
        self, method: Method, rate: float | None, runs: list[Measured], peers: list[Measured], check: Measured
    ) -> dict[str, Any]:
        values = runs[0].reduction.values
        by = "lanesum" if method.codec and method.collective == ALL_GATHER else method.codec or method.by
        gbyte = values * WORD_BYTES / 1e9
        phases = [
            [getattr(worker.phases, name) / run.reduction.iterations for run in runs for worker in run.workers]
            for name in ("encode", "network", "decode")
        ]
        return {
            "case": method.case or (LOOPBACK if rate is None else GLOO),
            "rate_mbit": rate,
            "workers": self._workers,
            "values": values,
            "collective": method.collective,
            "by": by + ", certified" * method.certified,
            "iterations": runs[0].reduction.iterations,
            "seconds": spread([run.seconds for run in runs]),
            "times_gloo": spread([peer.seconds / run.seconds for run, peer in zip(runs, peers, strict=True)]),
            "goodput_mbyte_s": spread([gbyte * 1e3 / run.seconds for run in runs]),
            "wire_mbyte_up": spread([run.wire.up / 1e6 for run in runs]),
            "wire_mbyte_down": spread([run.wire.down / 1e6 for run in runs]),
            "wire_efficiency": spread(
                [self._needed(method, run) / max(1, run.wire.up + run.wire.down) for run in runs]
            ),
            "cpu_s_per_gbyte": spread([run.cpu_s / (gbyte * self._workers) for run in runs]),
            "packets": sum(worker.packets for run in runs for worker in run.workers),
            "retransmissions": sum(worker.retransmissions for run in runs for worker in run.workers),
            **{f"{name}_s": spread(some) for name, some in zip(("encode", "network", "decode"), phases, strict=True)},
            "error": check.workers[0].error,
            **self._chunks(method, runs),
        }

    @staticmethod
    def _chunks(method: Method, runs: list[Measured]) -> dict[str, Any]:
        """Return the latency of the chunks of all workers."""
        if method.codec is None:
            return {"chunk_p50_s": None, "chunk_p99_s": None}
        of_runs = [functools.reduce(operator.add, (worker.latency for worker in run.workers)) for run in runs]
        return {
            name: spread([latency.percentile(percent) or 0.0 for latency in of_runs])
            for name, percent in (("chunk_p50_s", 50), ("chunk_p99_s", 99))
        }

    def _needed(self, method: Method, run: Measured) -> float:
        """Return the bytes of words that have to cross the links in one all-reduce: no headers, no repetitions.

        Uses the words that a codec made, because the shapes of a sparse codec do not fix their number.
        """
        workers = self._workers
        if method.codec is None:
            # In a ring every worker forwards its share of the vector 2 (n - 1) times.
            crossing = (1 + (method.collective == ALL_REDUCE)) * (workers - 1) * run.reduction.values * WORD_BYTES
            if method.by in TWO_SHOTS:
                from lanesum_lab.train.two_shot import TwoShot

                crossing = workers * TwoShot.named(method.by).bytes_each_way(run.reduction.values, workers)
            if method.by == NCCL_HALF:
                crossing //= 2
            return crossing if isinstance(self._place, Loopback) else 2 * crossing
        words = sum(worker.words for worker in run.workers) * WORD_BYTES / run.reduction.iterations
        # Packets to the server on the same host cross no link, all others cross two.
        return 2 * words * (workers - 1) / workers if method.case == SHARDED else words


def run(settings: AllReduceSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures`` and, under ``left_out``, cases not measured and the reasons.

    Raises MissingToolError without PyTorch or the device, or without root where limited links are requested. Raises
    BenchError for a wrong sum.
    """
    left_out: dict[str, str] = {}
    device = devices.device(settings.device)
    problem = obstacle()
    reasons = {LOOPBACK: "it loses no packets" if settings.loss else "", HUB: problem, SHARDED: problem}
    cases = settings.cases or tuple(case for case in CASES if not reasons[case])
    left_out |= {case: reasons[case] for case in CASES if case not in cases and settings.cases is None}
    figures: list[dict[str, Any]] = []
    for workers in settings.workers:
        if LOOPBACK in cases:
            group = _Group(settings, Loopback(), workers, [LOOPBACK])
            with group.running() as running:
                group.measure(running, None)
            figures += group.figures
            left_out |= group.left_out
        linked = [case for case in cases if case != LOOPBACK]
        if linked:
            with limited_links(workers) as network:
                group = _Group(settings, network, workers, linked)
                network.limit(max(settings.rates_mbit))
                if not settings.joined:
                    network.lose(settings.loss)
                with group.running() as running:
                    for rate in settings.rates_mbit:
                        network.limit(rate)
                        group.measure(running, rate)
            figures += group.figures
            left_out |= group.left_out
    return {
        "repeats": settings.repeats,
        "loss": settings.loss,
        "gradients": settings.gradients,
        "mtu": ETHERNET_MTU,
        "native": availability().core is not None,
        "machine": machine(),
        "device": device.described,
        "figures": figures,
        "left_out": left_out,
    }


def _free_memory() -> int:
    """Return the bytes of memory that are available without swapping."""
    (line,) = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    return int(line.split()[1]) << 10


def case_name(figure: dict[str, Any]) -> str:
    """Return the name of a case with its link."""
    if figure["rate_mbit"] is None:
        return LOOPBACK
    links = f"{figure['rate_mbit']:g} Mbit/s"
    return links if figure["case"] == GLOO else f"{links}, {figure['case']}"


def _labels(figure: dict[str, Any]) -> tuple[str, str, str, str]:
    collective = figure.get("collective", ALL_REDUCE)  # results of earlier versions have none
    by = str(figure["by"]) if collective == ALL_REDUCE else f"{figure['by']}, {collective}"
    return case_name(figure), str(figure["workers"]), f"{figure['values']:,}", by


def speed_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``SPEED_COLUMNS``; MB are of float32 values."""
    for figure in result["figures"]:
        digits = 2 if figure["seconds"]["median"] >= 1 else 3 if figure["seconds"]["median"] >= 0.1 else 5
        goodput = f"{figure['goodput_mbyte_s']['median']:,.1f}"
        yield *_labels(figure), text(figure["seconds"], digits), text(figure["times_gloo"]), goodput


def cost_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COST_COLUMNS``; ``needed``: fraction of the wire bytes that had to cross the links."""
    for figure in result["figures"]:
        wire = figure["wire_mbyte_up"]["median"] + figure["wire_mbyte_down"]["median"]
        again = figure["retransmissions"] / max(1, figure["packets"])
        phases = [f"{figure[f'{name}_s']['median']:.3g}" for name in ("encode", "network", "decode")]
        yield (
            *_labels(figure),
            f"{wire:,.2f}",
            f"{figure['wire_efficiency']['median']:.0%}",
            f"{figure['cpu_s_per_gbyte']['median']:.2f}",
            *([f"{again:.1%}", *phases] if figure["packets"] else ["-"] * 4),
        )


def error_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``ERROR_COLUMNS``: time, error and wire bytes of each method side by side."""
    for speed, cost, figure in zip(speed_rows(result), cost_rows(result), result["figures"], strict=True):
        yield speed[0], *speed[3:6], f"{figure['error']:.2g}", cost[4], cost[6]


def chunk_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``CHUNK_COLUMNS``; none for results of versions that did not measure chunks."""
    for figure in result["figures"]:
        if figure.get("chunk_p50_s"):
            times = ({key: 1e3 * one for key, one in figure[f"chunk_{name}_s"].items()} for name in ("p50", "p99"))
            yield *_labels(figure), *map(text, times)


def collective_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLLECTIVE_COLUMNS``, of all collectives but all-reduces; MB of all workers together."""
    for speed, figure in zip(speed_rows(result), result["figures"], strict=True):
        if figure.get("collective", ALL_REDUCE) != ALL_REDUCE:
            times = text(figure["times_all_reduce"]) if "times_all_reduce" in figure else "-"
            wire = (figure[f"wire_mbyte_{way}"]["median"] for way in ("up", "down"))
            yield *speed[:-1], times, *(f"{one:,.{0 if one >= 100 else 2}f}" for one in wire)


registry.Benchmark(
    name="allreduce",
    summary="All-reduce beside gloo, on loopback and behind limited links (needs root). Needs PyTorch.",
    quick=QUICK,
    run=run,
    tables=(
        (SPEED_COLUMNS, speed_rows),
        (COST_COLUMNS, cost_rows),
        (COLLECTIVE_COLUMNS, collective_rows),
        (CHUNK_COLUMNS, chunk_rows),
    ),
).register()

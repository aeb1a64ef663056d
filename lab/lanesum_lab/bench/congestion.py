# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Congestion control of a job beside other traffic on one slow link. Needs root.

The network consists of namespaces. HTB limits one worker's link, as in Mininet, and the kernel's queue in front of it
holds the packets of the switch, which marks packets while that queue is long. Two jobs of the same workers, one with a
fixed window and one with AIMD, take turns, alone and beside a TCP flow with ECN. Delay is that of an echo through the
same queue.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum.transport.constants import DEFAULT_WINDOW
from lanesum_fabric.program.switch_job import DEFAULT_MARK_ABOVE
from lanesum_fabric.topology import load
from lanesum_lab.bench import registry
from lanesum_lab.bench.agents import common
from lanesum_lab.bench.background import BackgroundDone, BackgroundTask
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.figures import spread, text
from lanesum_lab.bench.fleet import Fleet
from lanesum_lab.bench.fleets import TOPOLOGY, mininet_fleet
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.rounds import RoundsTask
from lanesum_lab.run.mininet_net import MininetNetwork

CONTROLS = ("fixed", "aimd")
# Results are twice as long as contributions: the queue is in front of the worker, where the switch measures it.
OP = LaneOp.EXPAND8
COLUMNS = (
    "window",
    "beside",
    "job, Mbit/s",
    "TCP, Mbit/s",
    "delay p50, ms",
    "delay p99, ms",
    "results marked",
    "dropped",
)
_SINK, _SOURCE = "sink", "source"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        settle_s: seconds at its beginning that are left out, until the windows are stable.
    """

    rate_mbit: float = registry.option(10.0, "Rate of the slow link, in Mbit/s.", flag="--rate", low=0.5)
    chunks: int = registry.chunks(128)
    seconds: float = registry.seconds(4.0)
    settle_s: float = 1.0
    repeats: int = registry.repeats(5)


QUICK = Settings(rate_mbit=2.0, chunks=64, seconds=1.0, settle_s=0.2, repeats=1)


class _Run:
    """One run of a job, with or without the TCP flow."""

    def __init__(self, fleet: Fleet, settings: Settings, control: str, bulk: bool, network: _Slow) -> None:
        task = RoundsTask(OP, settings.chunks, settings.seconds)
        dropped, marked = network.dropped(), _marked(fleet)
        answers = fleet.agents.ask(
            {**fleet.tasks(task, control), _SOURCE: BackgroundTask(settings.seconds, bulk)},
        )
        self.job = fleet.done(answers, control)
        self.dropped, self.marked = network.dropped() - dropped, _marked(fleet) - marked
        background: BackgroundDone = answers[_SOURCE]
        progress = self.job.workers[0].progress
        flows = [progress] if background.acknowledged is None else [progress, background.acknowledged]
        start, end = common(flows)
        start = min(start + settings.settle_s, (start + end) / 2)
        self.rounds = progress.rate(start, end)
        self.bulk = None if background.acknowledged is None else background.acknowledged.rate(start, end)
        self.delays = [delay for at, delay in background.echoes if start <= at <= end]
        self.silent = background.silent
        if not self.delays:
            raise BenchError("No echo came back through the slow link.", "Measure for longer, or at a higher rate.")


class _Slow:
    """Counters of the slow link in the kernel."""

    def __init__(self, network: MininetNetwork, switch: str, interface: str) -> None:
        self._command = network.command(switch, ["tc", "-s", "-j", "qdisc", "show", "dev", interface])

    def dropped(self) -> int:
        """Number of packets dropped by the queue towards the worker."""
        output = subprocess.run(self._command, check=True, capture_output=True, text=True).stdout
        (root,) = [queue for queue in json.loads(output) if queue.get("root")]
        drops: int = root["drops"]
        return drops


def _marked(fleet: Fleet) -> int:
    """Return the number of packets that the switch marked, its own answers and others."""
    packets = fleet.counters()["packets"]
    return int(packets.get("mark_answer", 0) + packets.get("mark_packet", 0))


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object. Raises MissingToolError without root or Mininet."""
    runs: dict[tuple[str, bool], list[_Run]] = {}
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, _fleet(Path(folder), settings) as (fleet, slow):
        for control in CONTROLS:  # warm-up
            fleet.measure(RoundsTask(OP, settings.chunks, 0.0), control)
        for _ in range(settings.repeats):
            for bulk in (False, True):
                for control in CONTROLS:
                    runs.setdefault((control, bulk), []).append(_Run(fleet, settings, control, bulk, slow))
    jobs = [one.job for many in runs.values() for one in many]
    return {
        "topology": TOPOLOGY,
        "workers": len(jobs[0].workers),
        "switch": "embedded",
        "rate_mbit": settings.rate_mbit,
        "mark_above": DEFAULT_MARK_ABOVE,
        "window": DEFAULT_WINDOW,
        "op": OP.name,
        "accumulator_words": DEFAULT_ACCUMULATOR_WORDS,
        "chunks_per_round": settings.chunks,
        "seconds_per_run": settings.seconds,
        "repeats": settings.repeats,
        "machine": machine(),
        "words_checked": sum(job.words for job in jobs),
        "words_wrong": sum(job.wrong for job in jobs),
        "cases": [_figure(control, bulk, many, settings.chunks) for (control, bulk), many in runs.items()],
    }


@contextlib.contextmanager
def _fleet(folder: Path, settings: Settings) -> Iterator[tuple[Fleet, _Slow]]:
    """Build two jobs of the first two workers, one behind the slow link; the third host has the other traffic."""
    topology = load(TOPOLOGY)
    slow, other, source, *_ = topology.names("worker")
    with mininet_fleet(folder, folder / "logs", rates_mbit={slow: settings.rate_mbit}) as (fleet, network):
        for control in CONTROLS:
            fleet.admit(control, (slow, other), congestion=control)
        fleet.start_agent(_SINK, slow, "traffic")
        fleet.start_agent(_SOURCE, source, "traffic", topology.address(slow, loopback=False))
        fleet.connect()
        fleet.agents.connect([_SINK, _SOURCE])
        switch = topology.switch_of(slow)
        port = topology.ports(switch)[slow]
        yield fleet, _Slow(network, switch, network.switch_interfaces(switch)[port])


def _figure(control: str, bulk: bool, runs: Sequence[_Run], chunks: int) -> dict[str, Any]:
    """``job_mbit_s``: accumulator words that every worker receives; ``background_mbit_s``: data of the TCP flow."""
    round_mbit = chunks * DEFAULT_ACCUMULATOR_WORDS * WORD_BYTES * 8 / 1e6
    flow = [run.bulk * 8 / 1e6 for run in runs if run.bulk is not None]
    return {
        "congestion": control,
        "background": bulk,
        "job_mbit_s": spread([run.rounds * round_mbit for run in runs]),
        "background_mbit_s": spread(flow) if flow else None,
        "delay_p50_ms": spread([float(np.percentile(run.delays, 50)) * 1e3 for run in runs]),
        "delay_p99_ms": spread([float(np.percentile(run.delays, 99)) * 1e3 for run in runs]),
        "results": sum(len(run.job.workers[0].progress.times) * chunks for run in runs),
        "results_marked": sum(run.job.workers[0].stats["ecn_marks"] for run in runs),
        "packets_marked": sum(run.marked for run in runs),
        "packets_dropped": sum(run.dropped for run in runs),
        "echoes_lost": sum(run.silent for run in runs),
        "retransmissions": sum(run.job.count("retransmissions") for run in runs),
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for case in result["cases"]:
        flow = case["background_mbit_s"]
        yield (
            case["congestion"],
            "a TCP flow" if case["background"] else "nothing",
            text(case["job_mbit_s"]),
            "-" if flow is None else text(flow),
            text(case["delay_p50_ms"], 1),
            text(case["delay_p99_ms"], 1),
            f"{case['results_marked'] / case['results']:.1%}",
            str(case["packets_dropped"]),
        )


registry.register(
    registry.Benchmark(
        name="congestion",
        summary="AIMD beside a fixed window on a slow link, alone and beside a TCP flow. Needs root and Mininet.",
        quick=QUICK,
        run=run,
        tables=((COLUMNS, rows),),
    )
)

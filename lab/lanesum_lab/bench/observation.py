# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of ``lanesum top``, metrics and traces: time of all-reduces while a job is observed, over that while it is not.

Workers, server and controller run as processes on loopback. Short blocks of all-reduces take turns, because the noise
of a shared machine is less between blocks that are near each other. In a block the job is observed once, far more often
than usual, so that the cost exceeds the noise. The cost at usual rates follows from the measured ones. Confidence
intervals are bootstrapped over the turns. The processor time is that of workers, server and controller together; the
reader of top and the scraper run elsewhere in practice.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lanesum import environment
from lanesum.launch.supervisor import Supervisor
from lanesum.rpc import controller as rpc
from lanesum_control.topology import load
from lanesum_control.traces import REPORT_S
from lanesum_lab.bench import process
from lanesum_lab.bench.agents import Agents
from lanesum_lab.bench.errors import BenchError
from lanesum_lab.bench.fleets import TOPOLOGY, relocated
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.observed import AllReduces
from lanesum_lab.run.loopback import free_address
from lanesum_lab.targets.embedded import lanesum_command

COLUMNS = ("values", "observed by", "time", "processor time", "blocks")
PLAIN, READ, SCRAPED, TRACED = "nothing", "top", "top and metrics", "top, metrics and a trace"
MODES = (PLAIN, READ, SCRAPED, TRACED)
USUAL = "all at usual rates"
#: Usual seconds between two reads of top, two scrapes, and two traces; and those of a trace.
TOP_S, SCRAPE_S, TRACE_EVERY_S, TRACE_S = 2.0, 15.0, 60.0, 2.0
_RECORDED = 0.75  # part of a block that a trace records, so that it is sent within the block
_JOB, _WORKERS = "observed", ("w1", "w2")
_START_S = 120.0
_POLL_S = 0.1  # as lanesum job trace
_CALIBRATION_S = 0.2
_CALIBRATIONS = 5
_RESAMPLES = 10_000
_CPU_CLOCK = 2  # clock_getcpuclockid(3): scheduler's clock of a whole process


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        sizes: values of an all-reduce.
        repeats: turns; each has a block of each mode, in random order.
        block_s: approximate length of a block. At most one read, one scrape of both endpoints and one trace are in it.
        codec: codec of the job.
    """

    sizes: tuple[int, ...] = (25_000, 1_000_000)
    repeats: int = 56
    block_s: float = 0.5
    codec: str = "thc"


QUICK = Settings(sizes=(25_000,), repeats=2)


@dataclass(frozen=True, slots=True)
class Block:
    """Seconds of a block, and for one all-reduce of it the seconds and processor seconds of all parts."""

    block_s: float
    wall_s: float
    cpu_s: float


class _Site:
    """Controller, server and workers, and the addresses of their endpoints."""

    def __init__(self, folder: Path, codec: str, supervisor: Supervisor) -> None:
        self.controller = f"unix:{folder / 'controller.sock'}"
        (folder / "topology.yaml").write_text(relocated(load(TOPOLOGY), 0))
        place = ["--topology", str(folder / "topology.yaml"), "--loopback"]
        control = f"unix:{folder / 'server.sock'}"
        self._metrics = ["{}:{}".format(*free_address()) for _ in range(2)]
        server = ["server", *place, "--host", "server", "--control", control, "--metrics", self._metrics[0]]
        listen = ["--listen", self.controller, "--server", control, "--metrics", self._metrics[1]]
        # Without busy polling, processor time is that of work.
        variables = {environment.SPIN: "0", "OMP_NUM_THREADS": "1"}
        supervisor.start("server", lanesum_command(*server), environment=variables)
        supervisor.wait_ready(supervisor.start("controller", lanesum_command("controller", *place, *listen)), _START_S)
        rpc.call(self.controller, rpc.ADMIT, {"name": _JOB, "workers": list(_WORKERS), "codec": codec, "lease_s": 0})
        self._agents = Agents(supervisor, folder)
        for worker, name in enumerate(_WORKERS):
            arguments = (self._agents.path(name), self.controller, _JOB, str(worker), codec)
            supervisor.start(name, process.command("observed", *arguments), environment=variables)
        self._agents.connect(_WORKERS)
        self._clocks = [(~child.process.pid << 3) | _CPU_CLOCK for child in supervisor.children]

    def block(self, mode: str, task: AllReduces, settings: Settings) -> Block:
        """Run all-reduces while the job is observed by ``mode``. Raises BenchError if that fails."""
        failed: list[Exception] = []

        def observe() -> None:
            try:
                self._observe(mode, settings)
            except Exception as error:
                failed.append(error)

        observer = threading.Thread(target=observe)
        cpu_s = self._cpu_s()
        observer.start()
        times = self._agents.ask(dict.fromkeys(_WORKERS, task))
        observer.join()
        used_s = self._cpu_s() - cpu_s
        if failed:
            raise BenchError(f"The job could not be observed: {failed[0]}") from failed[0]
        wall_s = max(end for _, end in times.values()) - min(begin for begin, _ in times.values())
        return Block(wall_s, wall_s / task.count, used_s / (task.count + 1))

    def _observe(self, mode: str, settings: Settings) -> None:
        if mode == PLAIN:
            return
        begin = time.monotonic()
        if mode == TRACED:
            rpc.call(self.controller, rpc.TRACE, {"job": _JOB, "seconds": _RECORDED * settings.block_s})
        rpc.call(self.controller, rpc.LIVE, {})
        for address in () if mode == READ else self._metrics:
            with urllib.request.urlopen(f"http://{address}/metrics") as answer:
                answer.read()
        if mode == TRACED:
            while len(rpc.call(self.controller, rpc.TRACE, {"job": _JOB})["workers"]) < len(_WORKERS):
                if time.monotonic() > begin + settings.block_s + REPORT_S:
                    raise BenchError(f"The workers sent no spans of a trace within {settings.block_s + REPORT_S:g} s.")
                time.sleep(_POLL_S)
            rpc.call(self.controller, rpc.TRACE, {"job": _JOB, "end": True})

    def _cpu_s(self) -> float:
        return sum(map(time.clock_gettime, self._clocks))

    def close(self) -> None:
        """End the workers; idempotent."""
        self._agents.close()


@contextlib.contextmanager
def _site(codec: str) -> Iterator[_Site]:
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder, Supervisor(Path(folder) / "logs") as supervisor:
        site = _Site(Path(folder), codec, supervisor)
        try:
            yield site
        finally:
            site.close()


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with ``figures``. Raises the errors of processes."""
    order = np.random.default_rng(1)
    figures: list[dict[str, Any]] = []
    with _site(settings.codec) as site:
        for values in settings.sizes:
            count = 1
            while site.block(PLAIN, AllReduces(values, count), settings).block_s < _CALIBRATION_S:
                count *= 2
            each_s = min(site.block(PLAIN, AllReduces(values, count), settings).wall_s for _ in range(_CALIBRATIONS))
            task = AllReduces(values, max(1, round(settings.block_s / each_s)))
            for mode in MODES:  # some parts are loaded or connected only once
                site.block(mode, task, settings)
            turns: list[dict[str, Block]] = []
            for _ in range(settings.repeats):
                turns.append({mode: site.block(mode, task, settings) for mode in order.permutation(MODES)})
            figures += figures_of(settings, values, turns)
    return {**asdict(settings), "workers": len(_WORKERS), "machine": machine(), "figures": figures}


def figures_of(settings: Settings, values: int, turns: Sequence[Mapping[str, Block]]) -> Iterator[dict[str, Any]]:
    """Yield the figures of a size: ratios to blocks that nothing observes, measured and at usual rates."""
    ratios: dict[str, dict[str, list[float]]] = {mode: {"time": [], "cpu": []} for mode in (*MODES[1:], USUAL)}
    for turn in turns:
        for name, of in (("time", lambda block: block.wall_s), ("cpu", lambda block: block.cpu_s)):
            read, scraped, traced = measured = [of(turn[mode]) / of(turn[PLAIN]) for mode in MODES[1:]]
            usual = (read - 1) / TOP_S + (scraped - read) / SCRAPE_S
            # As if all of a trace's cost grew with the time that it records.
            usual += (traced - scraped) / TRACE_EVERY_S * TRACE_S / (_RECORDED * settings.block_s)
            for mode, ratio in zip((*MODES[1:], USUAL), (*measured, 1 + usual * turn[PLAIN].block_s), strict=True):
                ratios[mode][name].append(ratio)
    for mode, found in ratios.items():
        intervals = {name: interval(many) for name, many in found.items()}
        yield {"values": values, "by": mode, "blocks": len(turns), **intervals}


def interval(ratios: Sequence[float]) -> dict[str, float]:
    """Return the median of paired ratios, and its confidence interval of 95 % by a percentile bootstrap."""
    found = np.array(ratios)
    picks = np.random.default_rng(2).integers(len(found), size=(_RESAMPLES, len(found)))
    low, high = np.percentile(np.median(found[picks], axis=1), [2.5, 97.5])
    return {"median": float(np.median(found)), "low": float(low), "high": float(high)}


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``: times those without an observer, with their confidence intervals."""
    for figure in result["figures"]:
        ratios = [
            f"{one['median']:.3f} ({one['low']:.3f} to {one['high']:.3f})" for one in (figure["time"], figure["cpu"])
        ]
        yield f"{figure['values']:,}", figure["by"], *ratios, str(figure["blocks"])

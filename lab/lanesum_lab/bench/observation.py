# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of ``lanesum top``, metrics and traces: time of all-reduces while a job is observed, over that while it is not.

Workers, server and controller run as processes on loopback. Short blocks of all-reduces take turns: not observed,
read by ``lanesum top`` and scraped, and traced as well. Ratios are of blocks that are next to each other, and their
confidence intervals are bootstrapped. The processor time is that of workers, server and controller together; the
reader of top and the scraper run elsewhere in practice.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
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
from lanesum_lab.bench.mutual_tls import free_address
from lanesum_lab.bench.observed import AllReduces
from lanesum_lab.targets.embedded import lanesum_command

COLUMNS = ("values", "observed by", "time", "processor time", "blocks")
PLAIN, READ, TRACED = "nothing", "top and metrics", "top, metrics and a trace"
MODES = (PLAIN, READ, TRACED)
_JOB, _WORKERS = "observed", ("w1", "w2")
_START_S = 120.0
_POLL_S = 0.05
_RESAMPLES = 10_000
_CPU_CLOCK = 2  # clock_getcpuclockid(3): scheduler's clock of a whole process


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        sizes: values of an all-reduce.
        repeats: turns; each has a block of each mode, in random order.
        block_s: approximate length of a block. In this time top reads once, both endpoints are scraped once, and a
            trace of half this time is recorded and sent.
        codec: codec of the job.
    """

    sizes: tuple[int, ...] = (25_000, 1_000_000)
    repeats: int = 80
    block_s: float = 0.5
    codec: str = "thc"


QUICK = Settings(sizes=(25_000,), repeats=2, block_s=0.3)


@dataclass(frozen=True, slots=True)
class Block:
    """Seconds of one all-reduce, and processor seconds of all parts for it."""

    wall_s: float
    cpu_s: float


class _Site:
    """Controller, server and workers, and the addresses of their endpoints."""

    def __init__(self, folder: Path, codec: str, supervisor: Supervisor) -> None:
        self.controller = f"unix:{folder / 'controller.sock'}"
        (folder / "topology.yaml").write_text(relocated(load(TOPOLOGY), 0))
        place = ["--topology", str(folder / "topology.yaml"), "--loopback"]
        control = f"unix:{folder / 'server.sock'}"
        self._metrics = [free_address(), free_address()]
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

    def block(self, mode: str, task: AllReduces, seconds: float) -> Block:
        """Run all-reduces while the job is observed by ``mode``. Raises BenchError if nobody could observe it."""
        failed: list[Exception] = []

        def observe() -> None:
            try:
                self._observe(mode, seconds)
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
        return Block(wall_s / task.count, used_s / (task.count + 1))

    def _observe(self, mode: str, seconds: float) -> None:
        if mode == PLAIN:
            return
        if mode == TRACED:  # so that the workers report within the block
            rpc.call(self.controller, rpc.TRACE, {"job": _JOB, "seconds": seconds / 2})
        rpc.call(self.controller, rpc.LIVE, {})
        for address in self._metrics:
            with urllib.request.urlopen(f"http://{address}/metrics") as answer:
                answer.read()
        if mode == TRACED:
            limit = time.monotonic() + seconds + REPORT_S
            while len(rpc.call(self.controller, rpc.TRACE, {"job": _JOB})["workers"]) < len(_WORKERS):
                if time.monotonic() > limit:
                    raise BenchError("The workers sent no spans.")
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
    figures = []
    with _site(settings.codec) as site:
        for values in settings.sizes:
            count = 1
            while (took_s := site.block(PLAIN, AllReduces(values, count), 0.0).wall_s * count) < settings.block_s / 4:
                count *= 2
            count = max(1, round(count * settings.block_s / took_s))
            for mode in MODES:  # what is loaded or connected only once
                site.block(mode, AllReduces(values, count), settings.block_s)
            blocks: dict[str, list[Block]] = {mode: [] for mode in MODES}
            for _ in range(settings.repeats):
                for mode in order.permutation(MODES):
                    blocks[mode].append(site.block(mode, AllReduces(values, count), settings.block_s))
            figures += [_figure(values, mode, blocks[PLAIN], blocks[mode]) for mode in MODES[1:]]
    return {**asdict(settings), "workers": len(_WORKERS), "machine": machine(), "figures": figures}


def _figure(values: int, mode: str, plain: Sequence[Block], observed: Sequence[Block]) -> dict[str, Any]:
    return {
        "values": values,
        "by": mode,
        "blocks": len(observed),
        "time": interval([b.wall_s / a.wall_s for a, b in zip(plain, observed, strict=True)]),
        "cpu": interval([b.cpu_s / a.cpu_s for a, b in zip(plain, observed, strict=True)]),
    }


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

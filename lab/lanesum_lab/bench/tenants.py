# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant that admits and sums, alone and beside another one that admits a thousand jobs.

All parts are processes on loopback. The ways take turns. With the default quota most of the thousand admissions are
refused; without one, all are carried out.

The third way has a spinning process in place of the admissions, so it shows what a processor in use costs alone. With
cores apart, controller and admissions have the last core, and switch, server and workers the others.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum.rpc import controller as rpc
from lanesum.rpc.caller import CallerRole
from lanesum_control.planner.quotas import DEFAULT_QUOTA
from lanesum_control.security import tokens
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import BenchError, machine, spread
from lanesum_lab.bench.fleet import Fleet, RoundsDone, loopback_fleet
from lanesum_lab.run.site import here
from lanesum_switch.faults.topology_names import CONTROLLER

QUIET, BUSY = "red", "blue"
ALONE, BESIDE, SPIN = "alone", "beside a thousand admissions", "beside a spinning process"
_SPINNER = "spinner"
COLUMNS = ("quota and cores", "way", "admission, to alone", "95 %, to alone", "sums, to alone", "others admitted")
_WORKERS, _QUIET_HOST, _BUSY_HOST = ("w1", "w2"), "w3", "w4"
_OP = LaneOp.ADD32
_LOWEST_PRIORITY = 19
_ANSWER_S = 250.0  # of a call at the lowest priority


@dataclass(frozen=True, slots=True)
class TenantsSettings:
    """Settings of the benchmark.

    Attributes:
        admissions: of the quiet tenant, in each run; all together fit its quota.
        pause_s: pause before each of them.
        flood: admissions of the busy tenant, in each run.
        callers: its concurrent calls.
        chunks: packets of a round, from every worker.
    """

    repeats: int = registry.repeats(3)
    admissions: int = 10
    pause_s: float = 0.25
    flood: int = 1000
    callers: int = 16
    chunks: int = 256


QUICK = TenantsSettings(repeats=1, admissions=5, flood=80, chunks=64)


@dataclass(frozen=True, slots=True)
class AdmitDone:
    """Begin and end of each admission, seconds of the monotonic clock, and reasons of the refused ones."""

    admitted: tuple[tuple[float, float], ...]
    refused: tuple[str, ...]


class Admitter:
    """Tenant that admits jobs, in a process of its own.

    Every job has one worker at ``host``. An admission takes the place of the job of the same name before it.
    """

    def __init__(self, controller: str, host: str, job: str) -> None:
        self._controller = controller
        self._message = {"name": job, "workers": [host], "codec": None, "slots": 1, "take_over": True}

    def admit(self, count: int, callers: int = 1, pause_s: float = 0.0, elsewhere: bool = False) -> AdmitDone:
        """Admit ``count`` jobs by ``callers`` threads, with a pause of ``pause_s`` before each.

        ``elsewhere``: the tenant stands for one on another machine, so the others here run before it.
        """
        if elsewhere:
            os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
        with ThreadPoolExecutor(callers) as pool:
            done = list(pool.map(lambda _: self._admit(pause_s), range(count)))
        admitted = tuple(one for one in done if isinstance(one, tuple))
        return AdmitDone(admitted, tuple(one for one in done if isinstance(one, str)))

    def _admit(self, pause_s: float) -> tuple[float, float] | str:
        time.sleep(pause_s)
        begin = time.monotonic()
        try:
            rpc.call(self._controller, rpc.ADMIT, self._message, _ANSWER_S)
        except rpc.ControllerError as error:
            return error.what
        return begin, time.monotonic()

    def spin(self, seconds: float) -> None:
        """Keep one core busy: the control of runs beside admissions."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass


def _split_cores() -> tuple[list[int], list[int]]:
    """Return all cores of this process but the last one, and the last one; a single core is both."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[:-1] or cores, cores[-1:]


def _apart(node: str, command: list[str]) -> list[str]:
    """Return ``command`` with a prefix that keeps it off the cores of the other parts. Raises BenchError."""
    workers, last = _split_cores()
    if workers == last:
        raise BenchError("One core cannot be divided.", "Give the benchmark two cores.")
    cores = last if node in (CONTROLLER, _QUIET_HOST, _BUSY_HOST) else workers
    return ["taskset", "--cpu-list", ",".join(map(str, cores)), *command]


def run(settings: TenantsSettings) -> dict[str, Any]:
    """Measure all cases; return a JSON-ready object. Raises BenchError, and the errors of processes."""
    figures = {
        f"{quota}, {cores}": measure(settings, limited=limited, apart=apart)
        for cores, apart in (("cores shared", False), ("cores apart", True))
        for quota, limited in (("default quota", True), ("no quota", False))
    }
    return {**asdict(settings), "left_out": {}, "machine": machine(), "figures": figures}


def measure(settings: TenantsSettings, *, limited: bool, apart: bool) -> dict[str, Any]:
    """Measure with or without a quota of admissions; return a JSON-ready object. Raises the errors of processes.

    ``apart``: controller and admissions have a core of their own.
    """
    rate = DEFAULT_QUOTA.admissions_per_minute if limited else 100_000
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary:
        folder = Path(temporary)
        known, files = folder / "tokens", {name: folder / f"{name}.token" for name in (QUIET, BUSY)}
        for name, file in files.items():
            tokens.write_token(file, tokens.add(known, name, CallerRole.TENANT))
        options = ["--tokens", str(known), "--tenant-admissions", str(rate)]
        at = _apart if apart else here
        with loopback_fleet(folder / "fleet", number=0, loss=None, controller_options=options, at=at) as fleet:
            fleet.admit(_WORKERS)
            agents = ((QUIET, _QUIET_HOST, QUIET), (BUSY, _BUSY_HOST, BUSY), (_SPINNER, _BUSY_HOST, BUSY))
            for name, host, tenant in agents:
                token = {environment.TOKEN_FILE: str(files[tenant])}
                fleet.agents.start(name, host, token)
            fleet.connect()
            fleet.agents.make({name: partial(Admitter, fleet.site.controller, host, name) for name, host, _ in agents})
            fleet.measure(_OP, settings.chunks, 0.0)  # warm-up
            runs: dict[str, list[Mapping[str, Any]]] = {ALONE: [], BESIDE: [], SPIN: []}
            for _ in range(settings.repeats):
                for name, many in runs.items():
                    many.append(_run(fleet, settings, name))
    return {"admissions_per_minute": rate, **{_key(name): _figures(settings, many) for name, many in runs.items()}}


def _key(way: str) -> str:
    return way.replace(" ", "_")


def _run(fleet: Fleet, settings: TenantsSettings, way: str) -> Mapping[str, Any]:
    seconds = settings.admissions * settings.pause_s
    calls: dict[str, Any] = fleet.rounds(_OP, settings.chunks, seconds)
    calls[QUIET] = partial(Admitter.admit, count=settings.admissions, pause_s=settings.pause_s)
    if way == BESIDE:
        calls[BUSY] = partial(Admitter.admit, count=settings.flood, callers=settings.callers, elsewhere=True)
    elif way == SPIN:
        calls[_SPINNER] = partial(Admitter.spin, seconds=seconds)
    return fleet.agents.ask(calls)


def _figures(settings: TenantsSettings, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``admission_ms``: of the quiet tenant; ``sums_mbyte_s``: of each of its workers; ``flood``: of the busy one."""
    quiet: list[AdmitDone] = [one[QUIET] for one in runs]
    busy: list[AdmitDone] = [one[BUSY] for one in runs if BUSY in one]
    workers = [done for one in runs for done in one.values() if isinstance(done, RoundsDone)]
    times = sorted(1000 * (end - begin) for one in quiet for begin, end in one.admitted)
    mbyte = settings.chunks * _OP.shape.uplink_words(DEFAULT_ACCUMULATOR_WORDS) * WORD_BYTES / 1e6
    rates = [one.rate * mbyte for one in workers]
    return {
        "admission_ms": {**spread(times), "p95": times[len(times) * 95 // 100]},
        "admissions_refused": sum(len(one.refused) for one in quiet),
        "sums_mbyte_s": spread(rates),
        "words": sum(one.words for one in workers),
        "words_wrong": sum(one.wrong for one in workers),
        "flood_admitted": sum(len(one.admitted) for one in busy),
        "flood_refused": sum(len(one.refused) for one in busy),
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of ``COLUMNS``: figures of the second and third way, to those of the first."""
    for case, figures in result["figures"].items():
        alone = figures[_key(ALONE)]
        for way in (BESIDE, SPIN):
            at = figures[_key(way)]
            ratios = [
                at[name][value] / alone[name][value]
                for name, value in (("admission_ms", "median"), ("admission_ms", "p95"), ("sums_mbyte_s", "median"))
            ]
            admitted = f"{at['flood_admitted']:,}" if way == BESIDE else "-"
            yield case, way, *(f"{ratio:.2f}" for ratio in ratios), admitted


registry.register(
    registry.Benchmark(
        name="tenants",
        summary="A tenant's admissions and sums beside a thousand admissions of another, and a spinning process.",
        quick=QUICK,
        run=run,
        tables=((COLUMNS, rows),),
    )
)

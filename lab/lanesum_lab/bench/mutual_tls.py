# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of mutual TLS: the join of a job's workers, and the throughput of their all-reduces, with and without it.

Server and controller are processes on loopback, the workers are in this one. Both settings take turns, so that slow
changes of the machine meet both.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lanesum import environment
from lanesum.joining import join
from lanesum.launch.supervisor import Supervisor
from lanesum.rpc import controller as rpc
from lanesum.session import Session
from lanesum_lab.bench import registry
from lanesum_lab.bench.machine import machine
from lanesum_lab.run.loopback import free_address
from lanesum_lab.targets.embedded import lanesum_command

COLUMNS = ("connections", "join, ms", "all-reduce, Mbit/s of floats for each worker")
WORKERS = 2
_START_S = 60.0
_JOB = "measured"

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Settings:
    """Rounds of both settings; in each, ``joins`` joins and ``sums`` all-reduces of ``values`` floats."""

    rounds: int = 10
    joins: int = 10
    sums: int = 20
    values: int = 1 << 20


QUICK = Settings(rounds=1, joins=2, sums=2, values=1 << 16)


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of one setting.

    Attributes:
        join_ms: medians of the time until all workers have joined, for each round.
        reduce_mbit_s: floats of one worker that were summed, for each round.
    """

    join_ms: list[float]
    reduce_mbit_s: list[float]


def run(settings: Settings) -> dict[str, Any]:
    """Measure; return a JSON-ready object with the times without TLS (``plain``) and with it (``mutual``)."""
    from lanesum_control.security import certs

    measured = {name: Measured([], []) for name in ("plain", "mutual")}
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        certs.init(Path(folder) / "certs")
        for number in range(settings.rounds):
            for name in ("plain", "mutual") if number % 2 else ("mutual", "plain"):
                identities = Path(folder) / "certs" if name == "mutual" else None
                with _parts(Path(folder), identities) as controller:
                    join_s, rate = _measure(controller, settings)
                measured[name].join_ms.append(round(1e3 * join_s, 2))
                measured[name].reduce_mbit_s.append(round(rate / 1e6, 1))
    return {"machine": machine(), **asdict(settings), **{name: asdict(one) for name, one in measured.items()}}


@contextlib.contextmanager
def _parts(folder: Path, identities: Path | None) -> Iterator[str]:
    """Run server and controller; this process has the identity of an operator meanwhile."""
    control, listen = ("{}:{}".format(*free_address()) for _ in range(2))
    variables = {name: "" if identities is None else str(identities / name) for name in ("server", "controller")}
    before = os.environ.get(environment.TLS)
    os.environ[environment.TLS] = "" if identities is None else str(identities / "operator")
    with Supervisor(folder / "logs") as supervisor:
        try:
            command = lanesum_command("server", "--loopback", "--control", control)
            supervisor.start("server", command, environment={environment.TLS: variables["server"]})
            command = lanesum_command("controller", "--loopback", "--server", control, "--listen", listen)
            tls = {environment.TLS: variables["controller"]}
            supervisor.wait_ready(supervisor.start("controller", command, environment=tls), _START_S)
            yield listen
        finally:
            os.environ.pop(environment.TLS)
            if before is not None:
                os.environ[environment.TLS] = before


def _measure(controller: str, settings: Settings) -> tuple[float, float]:
    """Return the median time of a join in seconds, and bits of floats that were summed per second."""
    names = [f"w{number + 1}" for number in range(WORKERS)]
    times = []
    for _ in range(settings.joins):
        rpc.call(controller, rpc.ADMIT, {"name": _JOB, "workers": names, "codec": "fixed"}, _START_S)
        started = time.perf_counter()
        _at_all(lambda number: join(controller=controller, job=_JOB, worker=number, wait=True))
        times.append(time.perf_counter() - started)
        rpc.call(controller, rpc.REMOVE, {"job": _JOB})
    rpc.call(controller, rpc.ADMIT, {"name": _JOB, "workers": names, "codec": "fixed"})
    tickets = _at_all(lambda number: join(controller=controller, job=_JOB, worker=number, wait=True))
    vector = np.ones(settings.values, np.float32)

    def reduce(number: int) -> float:
        with Session(tickets[number], codec="fixed") as session:
            session.all_reduce(vector)
            started = time.perf_counter()
            for _ in range(settings.sums):
                session.all_reduce(vector)
            return time.perf_counter() - started

    elapsed_s = max(_at_all(reduce))
    rpc.call(controller, rpc.REMOVE, {"job": _JOB})
    return statistics.median(times), 8 * vector.nbytes * settings.sums / elapsed_s


def _at_all(work: Callable[[int], _Result]) -> list[_Result]:
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(work, range(WORKERS)))


def rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``COLUMNS``."""
    for name in ("plain", "mutual"):
        medians = (statistics.median(result[name][figure]) for figure in ("join_ms", "reduce_mbit_s"))
        yield name, *(f"{median:,.1f}" for median in medians)


registry.register(
    registry.Benchmark(
        name="mutual-tls",
        summary="Joins and all-reduces with mutual TLS, beside connections without. On loopback.",
        quick=QUICK,
        run=run,
        tables=((COLUMNS, rows),),
    )
)

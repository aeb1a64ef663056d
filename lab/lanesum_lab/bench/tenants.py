# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One tenant that admits and sums, alone and beside another one that admits a thousand jobs.

``python -m lanesum_lab.bench.tenants [--quick] [--json]`` runs all parts as processes on loopback. Both ways take
turns. With the default quota most of the thousand admissions are refused; without one, all are carried out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum.rpc.caller import Role
from lanesum_control import tokens
from lanesum_control.quotas import DEFAULT_QUOTA
from lanesum_lab.bench.admitter import AdmitDone, AdmitTask
from lanesum_lab.bench.figures import spread
from lanesum_lab.bench.fleet import Fleet
from lanesum_lab.bench.fleets import loopback_fleet
from lanesum_lab.bench.machine import machine
from lanesum_lab.bench.rounds import RoundsDone, RoundsTask

QUIET, BUSY = "red", "blue"
ALONE, BESIDE = "alone", "beside a thousand admissions"
_JOB = "sums"
_WORKERS, _QUIET_HOST, _BUSY_HOST = ("w1", "w2"), "w3", "w4"
_OP = LaneOp.ADD32


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the benchmark.

    Attributes:
        repeats: runs of each way.
        admissions: of the quiet tenant, in each run; all together fit its quota.
        pause_s: pause before each of them.
        flood: admissions of the busy tenant, in each run.
        callers: its concurrent calls.
        chunks: packets of a round, from every worker.
    """

    repeats: int = 3
    admissions: int = 10
    pause_s: float = 0.25
    flood: int = 1000
    callers: int = 16
    chunks: int = 256


QUICK = Settings(repeats=1, admissions=5, flood=80, chunks=64)


def run(settings: Settings, *, limited: bool) -> dict[str, Any]:
    """Measure with or without a quota of admissions; return a JSON-ready object. Raises the errors of processes."""
    rate = DEFAULT_QUOTA.admissions_per_minute if limited else 100_000
    with tempfile.TemporaryDirectory(prefix="lanesum-") as temporary:
        folder = Path(temporary)
        known, files = folder / "tokens", {name: folder / f"{name}.token" for name in (QUIET, BUSY)}
        for name, file in files.items():
            tokens.write_token(file, tokens.add(known, name, Role.TENANT))
        options = ["--tokens", str(known), "--tenant-admissions", str(rate)]
        with loopback_fleet(folder / "fleet", number=0, loss=None, controller_options=options) as fleet:
            fleet.admit(_JOB, _WORKERS)
            for name, host in ((QUIET, _QUIET_HOST), (BUSY, _BUSY_HOST)):
                token = {environment.TOKEN_FILE: str(files[name])}
                fleet.start_agent(name, host, "admitter", fleet.controller, host, name, environment=token)
            fleet.connect()
            fleet.agents.connect([QUIET, BUSY])
            fleet.measure(RoundsTask(_OP, settings.chunks, 0.0), _JOB)  # warm-up
            runs: dict[str, list[Mapping[str, Any]]] = {ALONE: [], BESIDE: []}
            for _ in range(settings.repeats):
                for name, many in runs.items():
                    many.append(_run(fleet, settings, flood=name == BESIDE))
    return {
        "settings": asdict(settings),
        "admissions_per_minute": rate,
        "machine": machine(),
        **{name.replace(" ", "_"): _figures(settings, many) for name, many in runs.items()},
    }


def _run(fleet: Fleet, settings: Settings, *, flood: bool) -> Mapping[str, Any]:
    seconds = settings.admissions * settings.pause_s
    tasks: dict[str, Any] = fleet.tasks(RoundsTask(_OP, settings.chunks, seconds), _JOB)
    tasks[QUIET] = AdmitTask(settings.admissions, pause_s=settings.pause_s)
    if flood:
        tasks[BUSY] = AdmitTask(settings.flood, settings.callers, elsewhere=True)
    return fleet.agents.ask(tasks)


def _figures(settings: Settings, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``admission_ms``: of the quiet tenant; ``sums_mbyte_s``: of each of its workers; ``flood``: of the busy one."""
    quiet: list[AdmitDone] = [one[QUIET] for one in runs]
    busy: list[AdmitDone] = [one[BUSY] for one in runs if BUSY in one]
    workers: list[RoundsDone] = [
        done for one in runs for name, done in one.items() if isinstance(done, RoundsDone) and name.startswith(_JOB)
    ]
    times = sorted(1000 * (end - begin) for one in quiet for begin, end in one.admitted)
    mbyte = settings.chunks * _OP.shape.uplink_words(DEFAULT_ACCUMULATOR_WORDS) * WORD_BYTES / 1e6
    rates = [one.progress.rate(one.progress.times[0], one.progress.times[-1]) * mbyte for one in workers]
    return {
        "admission_ms": {**spread(times), "p95": times[len(times) * 95 // 100]},
        "admissions_refused": sum(len(one.refused) for one in quiet),
        "sums_mbyte_s": spread(rates),
        "words": sum(one.words for one in workers),
        "words_wrong": sum(one.wrong for one in workers),
        "flood_admitted": sum(len(one.admitted) for one in busy),
        "flood_refused": sum(len(one.refused) for one in busy),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="One short run of each way.")
    parser.add_argument("--json", action="store_true", help="Machine-readable output.")
    arguments = parser.parse_args()
    settings = QUICK if arguments.quick else Settings()
    results = {
        "default quota": run(settings, limited=True),
        "no quota of admissions": run(settings, limited=False),
    }
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    for name, result in results.items():
        for way in (ALONE, BESIDE):
            at = result[way.replace(" ", "_")]
            print(
                f"{name}, {way}: admission {at['admission_ms']['median']:.1f} ms, 95 % within "
                f"{at['admission_ms']['p95']:.1f} ms; sums {at['sums_mbyte_s']['median']:.1f} MB/s, "
                f"{at['words_wrong']} words wrong; {at['flood_admitted']} others admitted, "
                f"{at['flood_refused']} refused"
            )


if __name__ == "__main__":
    main()

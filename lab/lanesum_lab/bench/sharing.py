# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Two jobs at one switch: with slots of their own, and in a pool smaller than their demand."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum.transport.constants import DEFAULT_WINDOW
from lanesum_fabric.program.pipelines import bmv2_pipeline
from lanesum_fabric.topology import load
from lanesum_lab.bench.agents import common
from lanesum_lab.bench.figures import spread
from lanesum_lab.bench.fleet import Fleet, JobDone
from lanesum_lab.bench.fleets import TOPOLOGY, loopback_fleet
from lanesum_lab.bench.rounds import RoundsTask

JOBS = ("first", "second")
OWN, POOL = "a half of the switch each", "one pool for both"
_OP = LaneOp.ADD32
_COMPLETED = ("claim_and_complete", "contribute_and_complete")


def run(chunks: int, seconds: float, repeats: int, folder: Path) -> tuple[list[dict[str, Any]], list[JobDone]]:
    """Return the figures of both ways to share, and all results, for the comparison of the sums."""
    task = RoundsTask(_OP, chunks, seconds)
    with contextlib.ExitStack() as cleanup:
        fleets = {
            name: cleanup.enter_context(loopback_fleet(folder / f"sharing-{number}", number=number, loss=None))
            for number, name in enumerate((OWN, POOL))
        }
        hosts = load(TOPOLOGY).names("worker")
        half = len(hosts) // 2
        halves = tuple(hosts[:half]), tuple(hosts[half : 2 * half])
        slots = bmv2_pipeline().slots
        for job, workers in zip(JOBS, halves, strict=True):
            fleets[OWN].admit(job, workers, slots=slots // 2)
            fleets[POOL].admit(job, workers, slots=DEFAULT_WINDOW, best_effort=True)
        # An idle job on another host holds the rest: the remaining pool is as large as one window.
        elsewhere = tuple(load(TOPOLOGY).names("controller"))
        fleets[POOL].admit("others", elsewhere, slots=slots - DEFAULT_WINDOW, idle=True)
        for fleet in fleets.values():
            fleet.connect()
            fleet.measure(RoundsTask(_OP, chunks, 0.0), *JOBS)  # warm-up
        runs: dict[str, list[_Run]] = {name: [] for name in fleets}
        for _ in range(repeats):
            for name, fleet in fleets.items():
                runs[name].append(_Run(fleet, task))
    jobs = [job for many in runs.values() for one in many for job in (one.alone, *one.together)]
    return [_figure(name, many, chunks) for name, many in runs.items()], jobs


class _Run:
    """Run one job alone, then both."""

    def __init__(self, fleet: Fleet, task: RoundsTask) -> None:
        (self.alone,) = fleet.measure(task, JOBS[0])
        before = _completions(fleet)
        self.together = fleet.measure(task, *JOBS)
        self.at_switch, self.at_server = (
            after - earlier for after, earlier in zip(_completions(fleet), before, strict=True)
        )
        progress = self.alone.workers[0].progress
        self.alone_rate = progress.rate(progress.times[0], progress.times[-1])
        # Count only the time when both were active.
        both = [job.workers[0].progress for job in self.together]
        self.rates = [one.rate(*common(both)) for one in both]


def _completions(fleet: Fleet) -> tuple[int, int]:
    """Return the chunks completed so far by the switch and by the server."""
    counters = fleet.counters()
    (switch,) = counters["switches"].values()
    server = counters["server"]["decisions"]
    return sum(switch.get(name, 0) for name in _COMPLETED), sum(server.get(name, 0) for name in _COMPLETED)


def _figure(name: str, runs: list[_Run], chunks: int) -> dict[str, Any]:
    """``fairness``: the slower job's throughput over the faster one's, while both ran."""
    round_mbyte = chunks * _OP.shape.uplink_words(DEFAULT_ACCUMULATOR_WORDS) * WORD_BYTES / 1e6
    by_switch, by_server = (sum(getattr(run, where) for run in runs) for where in ("at_switch", "at_server"))
    return {
        "slots": name,
        "op": _OP.name,
        "workers_per_job": len(runs[0].alone.workers),
        "alone_mbyte_s": spread([run.alone_rate * round_mbyte for run in runs]),
        "first_mbyte_s": spread([run.rates[0] * round_mbyte for run in runs]),
        "second_mbyte_s": spread([run.rates[1] * round_mbyte for run in runs]),
        "fairness": spread([min(run.rates) / max(run.rates) for run in runs]),
        "second_to_first": spread([run.rates[1] / run.rates[0] for run in runs]),
        "both_to_alone": spread([sum(run.rates) / run.alone_rate for run in runs]),
        "chunks_by_switch": by_switch,
        "chunks_by_server": by_server,
        "server_share": by_server / (by_switch + by_server),
    }

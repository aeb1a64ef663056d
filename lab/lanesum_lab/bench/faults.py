# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of lossy links: the whole path as processes on loopback.

Fleets with different loss run side by side and take turns, so that a change of the machine's speed affects them alike:
a ratio is of two adjacent runs. Every sum is checked.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, WORD_BYTES
from lanesum.transport.constants import DEFAULT_WINDOW
from lanesum_fabric.topology import load
from lanesum_lab.bench import registry
from lanesum_lab.bench.figures import machine, spread, text
from lanesum_lab.bench.fleet import TOPOLOGY, Fleet, RoundsDone, loopback_fleet

LOSS_COLUMNS = (
    "operation",
    "lost on every link, each way",
    "MB/s per worker",
    "ratio",
    "retransmissions per lost packet",
)
LOSSES = (0.0, 0.01, 0.05, 0.10)
OPS = (LaneOp.ADD32, LaneOp.EXPAND8)


@dataclass(frozen=True, slots=True)
class FaultsSettings:
    """Settings of the benchmark.

    Attributes:
        losses: fractions of lost packets; the first one is the baseline.
    """

    chunks: int = registry.chunks(1024)
    seconds: float = registry.seconds(1.0)
    repeats: int = registry.repeats(5)
    losses: Sequence[float] = LOSSES
    ops: Sequence[LaneOp] = OPS


QUICK = FaultsSettings(chunks=64, seconds=0.2, repeats=1, losses=(0.0, 0.05))


@dataclass(frozen=True, slots=True)
class LossRun:
    """One run with loss.

    Attributes:
        lost: packets that all links together have lost.
        workers: results of the job's workers.
    """

    lost: int
    workers: list[RoundsDone]

    @property
    def rate(self) -> float:
        """Rounds per second."""
        return self.workers[0].rate


def run(settings: FaultsSettings) -> dict[str, Any]:
    """Measure; return a JSON-ready object. Raises the errors of failed processes."""
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        runs = _with_loss(settings, Path(folder))
    workers = [done for many in runs.values() for one in many for done in one.workers]
    return {
        "topology": TOPOLOGY,
        "workers": len(load(TOPOLOGY).names("worker")),
        "accumulator_words": DEFAULT_ACCUMULATOR_WORDS,
        "window": DEFAULT_WINDOW,
        "chunks_per_round": settings.chunks,
        "seconds_per_run": settings.seconds,
        "repeats": settings.repeats,
        "machine": machine(),
        "words_checked": sum(done.words for done in workers),
        "words_wrong": sum(done.wrong for done in workers),
        "loss": [_figure(settings, runs, op, loss) for op in settings.ops for loss in settings.losses],
    }


def _with_loss(settings: FaultsSettings, folder: Path) -> dict[tuple[LaneOp, float], list[LossRun]]:
    runs: dict[tuple[LaneOp, float], list[LossRun]] = {}
    workers = tuple(load(TOPOLOGY).names("worker"))
    with contextlib.ExitStack() as cleanup:
        fleets = {
            loss: cleanup.enter_context(loopback_fleet(folder / f"loss-{loss:g}", number=number, loss=loss))
            for number, loss in enumerate(settings.losses)
        }
        for fleet in fleets.values():
            fleet.admit(workers)
        for fleet in fleets.values():
            fleet.connect()
            for op in settings.ops:  # warm-up
                fleet.measure(op, settings.chunks, 0.0)
        for _ in range(settings.repeats):
            for op in settings.ops:
                for loss, fleet in fleets.items():
                    runs.setdefault((op, loss), []).append(_run(fleet, settings, op))
    return runs


def _run(fleet: Fleet, settings: FaultsSettings, op: LaneOp) -> LossRun:
    before = fleet.lost()
    workers = fleet.measure(op, settings.chunks, settings.seconds)
    return LossRun(fleet.lost() - before, workers)


def _figure(
    settings: FaultsSettings, runs: dict[tuple[LaneOp, float], list[LossRun]], op: LaneOp, loss: float
) -> dict[str, Any]:
    """``payload_mbyte_s``: uplink words of every worker. ``ratio``: to the baseline, of adjacent runs."""
    here, plain = runs[op, loss], runs[op, settings.losses[0]]
    round_mbyte = settings.chunks * op.shape.uplink_words(DEFAULT_ACCUMULATOR_WORDS) * WORD_BYTES / 1e6
    lost = sum(one.lost for one in here)
    again = sum(done.stats["retransmissions"] for one in here for done in one.workers)
    return {
        "op": op.name,
        "loss": loss,
        "payload_mbyte_s": spread([one.rate * round_mbyte for one in here]),
        "ratio": spread([one.rate / beside.rate for one, beside in zip(here, plain, strict=True)]),
        "packets_lost": lost,
        "retransmissions": again,
        "retransmissions_per_lost": again / lost if lost else None,
    }


def loss_rows(result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the rows for ``LOSS_COLUMNS``."""
    for case in result["loss"]:
        each = case["retransmissions_per_lost"]
        yield (
            case["op"],
            f"{case['loss']:.0%}",
            text(case["payload_mbyte_s"]),
            text(case["ratio"]),
            "-" if each is None else f"{each:.2f}",
        )


registry.Benchmark(
    name="faults",
    summary="Rounds under loss, beside rounds without. On loopback.",
    quick=QUICK,
    run=run,
    tables=((LOSS_COLUMNS, loss_rows),),
).register()

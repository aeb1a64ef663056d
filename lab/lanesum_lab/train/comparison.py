# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Training of a job by plain DDP over gloo first, then with every gradient through lanesum.

Every sum is recorded, and checked after the training. Each rank writes ``rank-N.json``. Rank 0 also writes
``report.json`` and ``report.png``, and prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch.distributed as dist

import lanesum.torch
from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError
from lanesum.session import RoundObserver
from lanesum_control.cli.console import console
from lanesum_lab.train.group import check_ranks
from lanesum_lab.train.jobs import Task
from lanesum_lab.train.loop import Curve, TrainingSettings, train
from lanesum_lab.train.methods import lanesum_hook
from lanesum_lab.train.report import Report
from lanesum_lab.train.sum_check import RecordedSumCheck

_COUNTERS = Path("/proc/net/dev")  # of the network namespace of this process
_RECEIVED, _SENT = 0, 8  # columns


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that the link of this process has carried: of whole frames, from the Ethernet header on."""

    sent: int = 0
    received: int = 0

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(self.sent - other.sent, self.received - other.received)

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.sent + other.sent, self.received + other.received)

    @classmethod
    def of(cls, interface: str | None) -> Traffic:
        """Return the totals of an interface; zeros without one. Raises ConfigurationError if it does not exist."""
        if interface is None:
            return cls()
        for line in _COUNTERS.read_text().splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == interface:
                columns = counters.split()
                return cls(int(columns[_SENT]), int(columns[_RECEIVED]))
        raise ConfigurationError(f"There is no interface {interface!r} in this network namespace.")


_MOMENTUM = 0.9  # of plain DDP; a codec may apply it itself


@dataclass(frozen=True, slots=True)
class RankRecord:
    """Record of one rank: the training without lanesum, the one through it, and its counters.

    Attributes:
        wire_plain, wire_through: traffic of the rank's link in each of them; zeros where links are not limited.
    """

    rank: int
    plain: Curve
    through: Curve
    wire_plain: Traffic
    wire_through: Traffic
    stats: lanesum.torch.HookStats
    sums_checked: int
    sums_wrong: int
    check_s: float


def compare(
    options: argparse.Namespace,
    task: Task,
    settings: TrainingSettings,
    state_of: Callable[[RoundObserver], lanesum.torch.State],
) -> int:
    """Run both trainings on this rank, write its JSON file and the report; return the exit status.

    ``state_of`` joins the job with an observer of the rounds. Raises LanesumError if lanesum fails.
    """
    record = run_rank(options, task, settings, state_of)
    report = _gather(options, settings, record)
    if not report.correct and record.rank == 0:
        what = f"{report.sums_wrong:,} of {report.sums_checked:,} sums were wrong"
        print(f"{what}; replicas identical: {report.detail['replicas_identical']}.", file=sys.stderr, flush=True)
    return 0 if report.correct else 1


def run_rank(
    options: argparse.Namespace,
    task: Task,
    settings: TrainingSettings,
    state_of: Callable[[RoundObserver], lanesum.torch.State],
) -> RankRecord:
    """Run both trainings on this rank and write its JSON file."""
    link = None if options.link_mbit is None else os.environ.get("GLOO_SOCKET_IFNAME")
    # Join first, so that a failure shows before the uncompressed training.
    with RecordedSumCheck() as check, state_of(check) as state:
        check_ranks(state.session.ticket.workers)
        before = Traffic.of(link)
        plain = train(task, replace(settings, momentum=_MOMENTUM), title="plain DDP")
        between = Traffic.of(link)
        through = train(task, settings, title=f"lanesum {options.by}", hook=lanesum_hook(state), counted=True)
        wire_through, stats = Traffic.of(link) - between, state.stats
        state.leave()
        check.compare()
        record = RankRecord(
            dist.get_rank(),
            plain,
            through,
            between - before,
            wire_through,
            stats,
            check.checked,
            check.wrong,
            check.seconds,
        )
    described = asdict(record)
    described["stats"]["transport"] = record.stats.transport.figures()
    write_file(options.out / f"rank-{record.rank}.json", json.dumps(described, indent=2) + "\n")
    return record


def _gather(options: argparse.Namespace, settings: TrainingSettings, record: RankRecord) -> Report:
    """Return the report on every rank; rank 0 writes, draws and prints it."""
    records: list[RankRecord] = [record] * dist.get_world_size()
    dist.all_gather_object(records, record)
    report = summarize(options, settings, records)
    if record.rank == 0:
        # Imported by the rank that draws: matplotlib takes a second to load.
        from lanesum_lab.train.plot import plot

        report.write(options.out / "report.json")
        plot(report, options.out / "report.png")
        if not options.no_table:
            screen = console()
            screen.print(report.table())
            screen.print(f"Report: {options.out / 'report.json'} and {options.out / 'report.png'}")
    return report


def summarize(options: argparse.Namespace, settings: TrainingSettings, records: Sequence[RankRecord]) -> Report:
    """Combine the ranks' records into the report."""
    loss = np.mean([record.through.losses for record in records], axis=0)
    loss_plain = np.mean([record.plain.losses for record in records], axis=0)
    first = records[0]
    transport = sum((record.stats.transport for record in records[1:]), start=first.stats.transport)
    epoch = settings.test_every
    wire_through = sum((record.wire_through for record in records[1:]), start=first.wire_through)
    wire_plain = sum((record.wire_plain for record in records[1:]), start=first.wire_plain)
    return Report(
        target=options.target,
        topology=options.topology,
        workers=len(records),
        codec=options.by,
        steps=len(loss),
        loss_first=float(loss[0]),
        loss_last=float(loss[-epoch:].mean()),
        accuracy=first.through.accuracy[-1],
        accuracy_uncompressed=first.plain.accuracy[-1],
        sums_checked=sum(record.sums_checked for record in records),
        sums_wrong=sum(record.sums_wrong for record in records),
        packets=transport.packets_sent,
        bytes_up=transport.bytes_sent,
        bytes_down=transport.bytes_received,
        bytes_fp32=4 * sum(record.stats.elements for record in records),
        retransmissions=transport.retransmissions,
        wall_s=max(record.through.seconds for record in records),
        detail={
            "retransmission_causes": transport.retransmission_causes(),
            "weights_sha256": first.through.weights_sha256,
            "replicas_identical": len({record.through.weights_sha256 for record in records}) == 1,
            "epochs": len(loss) // epoch,
            "steps_per_epoch": epoch,
            "batch_per_worker": settings.batch,
            "lr": settings.lr,
            "seed": settings.seed,
            "gradient_elements": first.through.elements,
            "loss_last_uncompressed": float(loss_plain[-epoch:].mean()),
            "wall_s_uncompressed": max(record.plain.seconds for record in records),
            "communication_s": max(record.stats.busy_s for record in records),
            "link_mbit": options.link_mbit,
            "wire_bytes": asdict(wire_through),
            "wire_bytes_uncompressed": asdict(wire_plain),
            "check_s": max(record.check_s for record in records),
            "transport": transport.figures(),
            "loss": loss.tolist(),
            "loss_uncompressed": loss_plain.tolist(),
            "seconds": np.cumsum(first.through.step_s).tolist(),
            "seconds_uncompressed": np.cumsum(first.plain.step_s).tolist(),
            "accuracy": first.through.accuracy,
            "accuracy_uncompressed": first.plain.accuracy,
        },
    )

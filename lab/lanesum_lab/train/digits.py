# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The training job that ``torchrun`` starts, one process per worker::

    torchrun --nproc-per-node=4 -m lanesum_lab.train.digits --codec thc --out out/run

Trains with plain DDP over gloo first, then with every gradient through lanesum. Every sum is recorded, and checked
after the training. Each rank writes ``rank-N.json`` into the folder. Rank 0 also writes ``report.json`` and
``report.png``, and prints the table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch.distributed as dist

import lanesum.torch
from lanesum._internal.output_file import write_file
from lanesum.join import take_ticket
from lanesum.session import Session
from lanesum.transport.constants import DEFAULT_DEADLINE_S
from lanesum_control.cli.console import console
from lanesum_lab.train.ending import end_process
from lanesum_lab.train.group import check_ranks, run_in_group
from lanesum_lab.train.loop import Curve, Settings, train
from lanesum_lab.train.recorded_sums import RecordedSumCheck
from lanesum_lab.train.report import Report
from lanesum_lab.train.task import DigitsTask
from lanesum_lab.train.traffic import Traffic


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


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="lanesum_lab.train.digits", description="Train a small network on digits with and without lanesum."
    )
    parser.add_argument("--codec", default="thc", help="name of the codec (default: thc)")
    parser.add_argument("--epochs", type=_positive, default=10, help="passes over the data (default: 10)")
    parser.add_argument("--batch", type=_positive, default=32, help="images per worker and step (default: 32)")
    parser.add_argument("--lr", type=float, default=0.03, help="highest learning rate (default: 0.03)")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights and data order (default: 1)")
    parser.add_argument("--limit", type=_positive, help="number of training images to use (default: all)")
    parser.add_argument("--out", type=Path, default=Path("out/run"), help="folder of the report (default: out/run)")
    parser.add_argument("--target", default="server", help="what aggregates, for the report (default: server)")
    parser.add_argument("--topology", default="none", help="name of the topology, for the report (default: none)")
    parser.add_argument("--deadline", type=float, default=DEFAULT_DEADLINE_S, help="seconds without progress")
    parser.add_argument(
        "--link-mbit", type=float, help="rate at which the ranks' links are limited, in Mbit/s (default: not limited)"
    )
    parser.add_argument("--no-table", action="store_true", help="do not print the table")
    parser.add_argument(
        "--ticket", help="ticket file, {rank} stands for the rank; without it the job is joined at the controller"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one rank; return the exit code: 0, or another one if a sum was wrong or an error ended the run."""
    options = arguments(argv)

    def run() -> int:
        record = run_rank(options)
        report = _gather(options, record)
        if not report.correct and record.rank == 0:
            what = f"{report.sums_wrong:,} of {report.sums_checked:,} sums were wrong"
            print(f"{what}; replicas identical: {report.detail['replicas_identical']}.", file=sys.stderr, flush=True)
        return 0 if report.correct else 1

    return run_in_group(run, "torchrun --nproc-per-node=N")


def run_rank(options: argparse.Namespace) -> RankRecord:
    """Run both trainings on this rank and write its JSON file. Raises LanesumError if lanesum fails."""
    rank, workers = dist.get_rank(), dist.get_world_size()
    task = DigitsTask(options.limit)
    epoch = task.steps_per_epoch(workers, options.batch)
    settings = Settings(
        steps=options.epochs * epoch, batch=options.batch, lr=options.lr, seed=options.seed, test_every=epoch
    )
    options.out.mkdir(parents=True, exist_ok=True)
    link = None if options.link_mbit is None else os.environ.get("GLOO_SOCKET_IFNAME")
    # Join first, so that a failure shows before the uncompressed training.
    with RecordedSumCheck() as check, _state(options, check) as state:
        check_ranks(state.session.ticket.workers)
        before = Traffic.of(link)
        plain = train(task, settings, title="plain DDP")
        between = Traffic.of(link)
        hook = state, lanesum.torch.hook
        through = train(task, settings, title=f"lanesum {options.codec}", hook=hook, counted=True)
        wire_through, stats = Traffic.of(link) - between, state.stats
        state.leave()
        check.compare()
        record = RankRecord(
            rank, plain, through, between - before, wire_through, stats, check.checked, check.wrong, check.seconds
        )
    described = asdict(record)
    described["stats"]["transport"] = record.stats.transport.figures()
    write_file(options.out / f"rank-{rank}.json", json.dumps(described, indent=2) + "\n")
    return record


def _state(options: argparse.Namespace, check: RecordedSumCheck) -> lanesum.torch.State:
    if options.ticket is None:
        return lanesum.torch.State.join(codec=options.codec, deadline_s=options.deadline, observer=check)
    ticket = take_ticket(Path(options.ticket.format(rank=dist.get_rank())))
    session = Session(ticket, codec=options.codec, deadline_s=options.deadline, observer=check)
    return lanesum.torch.State(session)


def _gather(options: argparse.Namespace, record: RankRecord) -> Report:
    """Return the report on every rank; rank 0 writes, draws and prints it."""
    records: list[RankRecord] = [record] * dist.get_world_size()
    dist.all_gather_object(records, record)
    report = summarize(options, records)
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


def summarize(options: argparse.Namespace, records: Sequence[RankRecord]) -> Report:
    """Combine the ranks' records into the report."""
    loss = np.mean([record.through.losses for record in records], axis=0)
    loss_plain = np.mean([record.plain.losses for record in records], axis=0)
    first = records[0]
    transport = sum((record.stats.transport for record in records[1:]), start=first.stats.transport)
    epoch = len(loss) // options.epochs
    wire_through = sum((record.wire_through for record in records[1:]), start=first.wire_through)
    wire_plain = sum((record.wire_plain for record in records[1:]), start=first.wire_plain)
    return Report(
        target=options.target,
        topology=options.topology,
        workers=len(records),
        codec=options.codec,
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
            "weights_sha256": first.through.weights_sha256,
            "replicas_identical": len({record.through.weights_sha256 for record in records}) == 1,
            "epochs": options.epochs,
            "steps_per_epoch": epoch,
            "batch_per_worker": options.batch,
            "lr": options.lr,
            "seed": options.seed,
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


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


if __name__ == "__main__":
    end_process(main())

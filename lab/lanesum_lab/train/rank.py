# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One rank of a job of the registry, one process per worker::

    lanesum launch --nproc 4 --codec thc -m lanesum_lab.train.rank words --by thc --out out/words

Each rank writes ``rank-N.json`` into the folder. With ``--compare`` plain DDP trains the job too, and every sum is
checked: :mod:`lanesum_lab.train.comparison`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import torch.distributed as dist

import lanesum.torch
from lanesum._internal.output_file import make_folder, write_file
from lanesum.errors import ConfigurationError
from lanesum.joining import take_ticket
from lanesum.session import RoundObserver, Session
from lanesum.transport.constants import DEFAULT_DEADLINE_S
from lanesum_lab.train.comparison import compare
from lanesum_lab.train.group import end_process, run_in_group
from lanesum_lab.train.jobs import JOBS, Task, TrainingJob, find
from lanesum_lab.train.loop import TrainingSettings
from lanesum_lab.train.methods import PEERS, applies_momentum, check_method, make_codec, train_by
from lanesum_lab.train.task import DigitsTask


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="lanesum_lab.train.rank", description="Train one rank of a job.")
    made.add_argument("job", help=f"one of {', '.join(JOBS)}")
    made.add_argument("--by", default="thc", help=f"a codec of lanesum, or {', '.join(PEERS)} (default: thc)")
    made.add_argument("--steps", type=int, help="optimizer steps (default: the job's)")
    made.add_argument("--epochs", type=int, help="passes over the data in place of steps, with a test after each")
    made.add_argument("--batch", type=int, help="samples per worker and step (default: the job's)")
    made.add_argument("--lr", type=float, help="highest learning rate (default: that of the job)")
    made.add_argument("--seed", type=int, default=1, help="seed of weights and data order (default: 1)")
    made.add_argument("--limit", type=int, help="images, or bytes of text, to use (default: all)")
    made.add_argument("--out", type=Path, default=Path("out/train"), help="folder (default: out/train)")
    made.add_argument(
        "--ticket", help="ticket file, {rank} stands for the rank; without it the job is joined at the controller"
    )
    made.add_argument("--deadline", type=float, default=DEFAULT_DEADLINE_S, help="seconds without progress")
    report = made.add_argument_group("comparison with plain DDP")
    report.add_argument("--compare", action="store_true", help="train both ways, check every sum, write a report")
    report.add_argument("--target", default="server", help="what aggregates, for the report (default: server)")
    report.add_argument("--topology", default="none", help="name of the topology, for the report (default: none)")
    report.add_argument("--link-mbit", type=float, help="rate of the ranks' links in Mbit/s (default: not limited)")
    report.add_argument("--no-table", action="store_true", help="do not print the table")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run one rank; return the exit code."""
    options = parser().parse_args(argv)

    return run_in_group(lambda: run_rank(options), "`lanesum launch --nproc N` or torchrun --nproc-per-node=N")


def run_rank(options: argparse.Namespace) -> int:
    """Train on this rank and write its JSON file; return the exit status. Raises LanesumError."""
    rank, workers = dist.get_rank(), dist.get_world_size()
    job = find(options.job)
    check_method(options.by, workers)
    task = job.load(options.limit)
    settings = _settings(options, job, task, workers)
    make_folder(options.out)
    if options.compare:
        return compare(options, task, settings, lambda observer: _state(options, workers, settings.steps, observer))
    identity = {"job": job.name, "by": options.by, "workers": workers, **dataclasses.asdict(settings)}
    curve, stats = train_by(
        options.by,
        task,
        settings,
        lambda: _state(options, workers, settings.steps),
        title=f"{job.name} by {options.by}",
    )
    transport = {} if stats is None else stats.transport.figures()
    record = {**identity, "rank": rank, **dataclasses.asdict(curve), "transport": transport}
    write_file(options.out / f"rank-{rank}.json", json.dumps(record, indent=2) + "\n")
    return 0


def _settings(options: argparse.Namespace, job: TrainingJob, task: Task, workers: int) -> TrainingSettings:
    """Return the settings of the job, with those that the options name. Raises ConfigurationError."""
    given = {name: getattr(options, name) for name in ("steps", "batch", "lr") if getattr(options, name) is not None}
    chosen = {"steps": job.steps, "batch": job.batch, "lr": job.lr, "test_every": job.test_every, **given}
    if options.epochs is not None:
        if not isinstance(task, DigitsTask):
            raise ConfigurationError(f"The data of job {job.name} has no epochs.", "Pass --steps instead.")
        chosen["test_every"] = task.steps_per_epoch(workers, chosen["batch"])
        chosen["steps"] = options.epochs * chosen["test_every"]
    return TrainingSettings(**chosen, seed=options.seed, momentum=0.0 if applies_momentum(options.by) else 0.9)


def _state(
    options: argparse.Namespace, workers: int, steps: int, observer: RoundObserver | None = None
) -> lanesum.torch.State:
    codec = options.by if options.compare else make_codec(options.by, workers=workers, steps=steps)
    if options.ticket is None:
        return lanesum.torch.State.join(codec=codec, deadline_s=options.deadline, observer=observer, step_aside=False)
    ticket = take_ticket(Path(options.ticket.format(rank=dist.get_rank())))
    return lanesum.torch.State(Session(ticket, codec=codec, deadline_s=options.deadline, observer=observer))


if __name__ == "__main__":
    end_process(main())

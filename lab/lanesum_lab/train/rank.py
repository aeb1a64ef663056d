# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""One rank of a job of the registry, one process per worker::

    torchrun --nproc-per-node=4 -m lanesum_lab.train.rank words --by thc --out out/words

Each rank writes ``rank-N.json`` and its checkpoints into the folder.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist

import lanesum.torch
from lanesum._internal.output_file import write_file
from lanesum.errors import ConfigurationError
from lanesum.join import take_ticket
from lanesum.session import Session
from lanesum_lab.train.checkpoints import Checkpoints
from lanesum_lab.train.curve import Curve
from lanesum_lab.train.ending import end_process
from lanesum_lab.train.group import run_in_group
from lanesum_lab.train.jobs import JOBS, find
from lanesum_lab.train.loop import Settings, train
from lanesum_lab.train.methods import PEERS, applies_momentum, check_method, lanesum_hook, make_codec


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; ``lanesum train`` has the same options."""
    made = argparse.ArgumentParser(prog="lanesum_lab.train.rank", description="Train one rank of a job.")
    made.add_argument("job", help=f"one of {', '.join(JOBS)}")
    made.add_argument("--by", default="thc", help=f"a codec of lanesum, or {', '.join(PEERS)} (default: thc)")
    made.add_argument("--steps", type=int, help="optimizer steps (default: the job's)")
    made.add_argument("--batch", type=int, help="samples per worker and step (default: the job's)")
    made.add_argument("--lr", type=float, help="highest learning rate (default: that of the job)")
    made.add_argument("--seed", type=int, default=1, help="seed of weights and data order (default: 1)")
    made.add_argument("--limit", type=int, help="images, or bytes of text, to use (default: all)")
    made.add_argument("--out", type=Path, default=Path("out/train"), help="folder (default: out/train)")
    made.add_argument("--checkpoint-every", type=int, default=50, help="steps between checkpoints (default: 50)")
    made.add_argument("--resume", action="store_true", help="continue from the last checkpoint")
    made.add_argument(
        "--ticket", help="ticket file, {rank} stands for the rank; without it the job is joined at the controller"
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run one rank; return the exit code."""
    options = parser().parse_args(argv)

    def run() -> int:
        run_rank(options)
        return 0

    return run_in_group(run, "`lanesum train` or torchrun")


def run_rank(options: argparse.Namespace) -> Curve:
    """Train on this rank and write its JSON file. Raises LanesumError."""
    rank, workers = dist.get_rank(), dist.get_world_size()
    job = find(options.job)
    check_method(options.by, workers)
    if options.checkpoint_every < 1:
        raise ConfigurationError(f"--checkpoint-every {options.checkpoint_every} is not positive: pass at least 1.")
    given = {name: getattr(options, name) for name in ("steps", "batch", "lr") if getattr(options, name) is not None}
    settings = Settings(
        **{"steps": job.steps, "batch": job.batch, "lr": job.lr, **given},
        seed=options.seed,
        test_every=job.test_every,
        momentum=0.0 if applies_momentum(options.by) else 0.9,
    )
    options.out.mkdir(parents=True, exist_ok=True)
    identity = {"job": job.name, "by": options.by, "workers": workers, **dataclasses.asdict(settings)}
    checkpoints = Checkpoints(
        options.out,
        every=options.checkpoint_every,
        resume=options.resume,
        identity={**identity, "limit": options.limit},
    )
    if options.by in PEERS:
        peer = PEERS[options.by]
        curve = train(
            job.load(options.limit),
            settings,
            title=f"{job.name} by {options.by}",
            hook=peer.hook(),
            one_bucket=peer.one_bucket,
            checkpoints=checkpoints,
        )
        stats: dict[str, Any] = {}
    else:
        with _state(options, workers, settings.steps) as state:
            curve = train(
                job.load(options.limit),
                settings,
                title=f"{job.name} by {options.by}",
                hook=lanesum_hook(state),
                counted=True,
                checkpoints=checkpoints,
            )
            stats = state.stats.transport.figures()
            state.leave()
    record = {**identity, "rank": rank, **dataclasses.asdict(curve), "transport": stats}
    write_file(options.out / f"rank-{rank}.json", json.dumps(record, indent=2) + "\n")
    return curve


def _state(options: argparse.Namespace, workers: int, steps: int) -> lanesum.torch.State:
    codec = make_codec(options.by, workers=workers, steps=steps)
    if options.ticket is None:
        return lanesum.torch.State.join(codec=codec, step_aside=False)
    ticket = take_ticket(Path(options.ticket.format(rank=dist.get_rank())))
    return lanesum.torch.State(Session(ticket, codec=codec))


if __name__ == "__main__":
    end_process(main())

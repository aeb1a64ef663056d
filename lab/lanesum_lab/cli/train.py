# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum train``: train a job of the registry on this machine."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from lanesum.cli import launch
from lanesum.errors import LanesumError
from lanesum_control.cli.console import console
from lanesum_fabric.cli.typer_main import typer_main

_MODULE = "lanesum_lab.train.rank"


class TrainingFailedError(LanesumError):
    """A rank of the training failed; its messages precede the error."""


def train_ranks(
    job: str, by: str, *, workers: int, switch: str, seed: int, out: Path, arguments: list[str]
) -> list[dict[str, Any]]:
    """Train ``job`` by ``by``; return the ranks' records.

    Args:
        by: name of a method.
        switch: switch on the path of a codec's packets, as for ``lanesum launch``.
        seed: seed of the training, and of the codec's random bits.

    Raises ConfigurationError, TrainingFailedError, and the exceptions of ``lanesum launch``.
    """
    from lanesum_lab.train.jobs import find
    from lanesum_lab.train.methods import PEERS, check_method

    find(job)
    check_method(by, workers)
    command = [job, "--by", by, "--out", str(out), "--seed", str(seed), *arguments]
    if by in PEERS:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
        status = subprocess.run([*torchrun, "-m", _MODULE, *command], check=False).returncode
    else:
        options = ["--nproc", str(workers), "--switch", switch, "--codec", by, "--seed", str(seed)]
        status = launch.main([*options, "--module", _MODULE, *command])
    if status != 0:
        raise TrainingFailedError(f"The training ended with exit code {status}.", "Read the messages above.")
    return [json.loads((out / f"rank-{rank}.json").read_text()) for rank in range(workers)]


def train(
    job: Annotated[str, typer.Argument(help="digits, bytes, words or words-sparse.")],
    by: Annotated[
        str, typer.Option(help="Codec of lanesum, or a peer such as gloo, gloo-fp16, gloo-powersgd or two-shot-8.")
    ] = "thc",
    workers: Annotated[int, typer.Option(min=1, help="Number of workers, each one a process.")] = 4,
    switch: Annotated[str, typer.Option(help="Switch for the packets of a codec: none, or a switch target.")] = "none",
    steps: Annotated[int | None, typer.Option(min=1, help="Optimizer steps; by default the job's.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples per worker and step.")] = None,
    lr: Annotated[float | None, typer.Option(help="Maximum learning rate.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and data order.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Images, or bytes of text, to use.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of results and checkpoints; out/train/JOB.")] = None,
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Steps from one checkpoint to the next.")] = 50,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Train a job on data that every machine has, with all workers on this machine."""
    folder = out or Path("out/train") / job
    given = {"--steps": steps, "--batch": batch, "--lr": lr, "--limit": limit}
    arguments = [f"{name}={value}" for name, value in given.items() if value is not None]
    arguments += [f"--checkpoint-every={checkpoint_every}", *(["--resume"] if resume else [])]
    records = train_ranks(job, by, workers=workers, switch=switch, seed=seed, out=folder, arguments=arguments)
    first = records[0]
    result = {
        "job": job,
        "by": by,
        "workers": workers,
        "steps": first["steps"],
        "loss": first["tests"][-1]["loss"],
        "accuracy": first["tests"][-1]["accuracy"],
        "seconds": max(one["seconds"] for one in records),
        "seconds_per_step": statistics.median(first["step_s"]),
        "bytes_sent": sum(one["transport"].get("bytes_sent", 0) for one in records),
        "bytes_fp32": 4 * first["elements"] * first["steps"] * workers,
        "replicas_identical": len({one["weights_sha256"] for one in records}) == 1,
    }
    if as_json:
        typer.echo(json.dumps(result, indent=2))
        return
    table = Table(title=f"{job} by {by}, {workers} workers, {first['steps']:,} steps", show_header=False)
    table.add_row("test loss", f"{result['loss']:.4f}")
    table.add_row("test accuracy", f"{result['accuracy']:.2%}")
    table.add_row("time, tests included", f"{result['seconds']:.1f} s")
    table.add_row("median step", f"{1e3 * result['seconds_per_step']:.0f} ms")
    if result["bytes_sent"]:
        table.add_row("sent, this start", f"{result['bytes_sent'] / 1e6:.1f} MB")
        table.add_row("gradients as float32", f"{result['bytes_fp32'] / 1e6:.1f} MB")
    table.add_row("replicas identical", "yes" if result["replicas_identical"] else "no")
    screen = console()
    screen.print(table)
    screen.print(f"Results and checkpoints: {folder}")


main = typer_main("train", train)

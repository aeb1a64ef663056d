# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Options of a run, as ``lanesum run`` has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lanesum.transport.constants import DEFAULT_DEADLINE_S


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of ``lanesum run``; their annotations are the help of the command."""

    topology: Annotated[
        str, typer.Option(help="Shipped topology, YAML file, or 'loopback' / 'mininet' for star4 there.")
    ] = "star4"
    runner: Annotated[str | None, typer.Option(help="loopback or mininet. Chosen if not given.")] = None
    switch: Annotated[
        str | None,
        typer.Option(
            help="Switch target, such as embedded, bmv2 or tofino1-w32; or none: the aggregation server sums. "
            "Chosen if not given."
        ),
    ] = None
    workers: Annotated[int | None, typer.Option(help="Number of workers; by default all of the topology.")] = None
    codec: Annotated[str, typer.Option(help="Codec, for example thc, thc-paper or fixed.")] = "thc"
    epochs: Annotated[int, typer.Option(help="Number of passes over the training data.")] = 10
    servers: Annotated[
        int | None,
        typer.Option(help="Number of aggregation servers, which share the slots; by default the topology's."),
    ] = None
    on_workers: Annotated[
        bool,
        typer.Option("--servers-on-workers", help="Run the servers on workers' hosts; switches do not sum then."),
    ] = False
    quorum: Annotated[int, typer.Option(help="Contributions that complete a result; 0: one of each worker.")] = 0
    certified: Annotated[
        bool, typer.Option("--certified", help="Send check words; a sum that fails its check is taken again.")
    ] = False
    faults: Annotated[
        str | None, typer.Option(help="Fault plan: shipped one (everything-dies, flips, lossy) or YAML file.")
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights, data order and random bits.")] = 1
    rate_mbit: Annotated[
        float | None,
        typer.Option(
            "--rate",
            help="Rate of all links in Mbit/s, in both trainings; 0: no limit. By default what the switch can carry.",
        ),
    ] = None
    deadline_s: Annotated[
        float, typer.Option("--deadline", help="Seconds without progress before the workers give up.")
    ] = DEFAULT_DEADLINE_S
    out: Annotated[Path, typer.Option(help="Folder for report.json, report.png and logs.")] = Path("out/run")

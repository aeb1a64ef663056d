# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum run``: train on a topology, with and without lanesum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from lanesum.errors import MissingToolError
from lanesum_control.cli.console import console
from lanesum_fabric.cli.typer_main import typer_main


def run(
    topology: Annotated[
        str, typer.Option(help="Shipped topology, YAML file, or 'loopback' / 'mininet' for star4 there.")
    ] = "star4",
    runner: Annotated[str | None, typer.Option(help="loopback or mininet. Chosen if not given.")] = None,
    switch: Annotated[
        str | None,
        typer.Option(
            help="Switch target, such as embedded, bmv2 or tofino1-w32; or none: the aggregation server sums. "
            "Chosen if not given."
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of workers; by default all of the topology.")] = None,
    codec: Annotated[str, typer.Option(help="Codec, for example thc, thc-paper or fixed.")] = "thc",
    epochs: Annotated[int, typer.Option(help="Number of passes over the training data.")] = 10,
    servers: Annotated[
        int | None,
        typer.Option(help="Number of aggregation servers, which share the slots; by default the topology's."),
    ] = None,
    on_workers: Annotated[
        bool,
        typer.Option("--servers-on-workers", help="Run the servers on workers' hosts; switches do not sum then."),
    ] = False,
    quorum: Annotated[int, typer.Option(help="Contributions that complete a result; 0: one of each worker.")] = 0,
    certified: Annotated[
        bool, typer.Option("--certified", help="Send check words; a sum that fails its check is taken again.")
    ] = False,
    faults: Annotated[
        str | None, typer.Option(help="Fault plan: shipped one (everything-dies, flips, lossy) or YAML file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights, data order and random bits.")] = 1,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Rate of all links in Mbit/s, in both trainings; 0: no limit. By default what the switch can carry."
        ),
    ] = None,
    deadline: Annotated[float, typer.Option(help="Seconds without progress before the workers give up.")] = 30.0,
    out: Annotated[Path, typer.Option(help="Folder for report.json, report.png and logs.")] = Path("out/run"),
) -> None:
    """Train a small network on digits with all gradients through the P4 program; compare with plain DDP."""
    try:
        from lanesum_lab.run.plan import make_plan
        from lanesum_lab.run.start import start
    except ImportError as error:
        raise MissingToolError(
            f"The package {error.name} is not installed.", "Run: pip install lanesum-lab."
        ) from error
    plan = make_plan(
        topology=topology,
        runner=runner,
        switch=switch,
        workers=workers,
        codec=codec,
        epochs=epochs,
        out=out.resolve(),
        quorum=quorum,
        seed=seed,
        deadline_s=deadline,
        certified=certified,
        faults=faults,
        servers=servers,
        on_workers=on_workers,
        rate_mbit=rate,
    )
    screen = console()
    screen.print(f"[bold]Target[/]    {plan.target} ({escape(plan.why)})")
    screen.print(
        f"[bold]Topology[/]  {plan.topology.name}, workers {', '.join(plan.workers)}; codec {plan.codec}"
        + ", certified" * plan.certified
    )
    links = "not limited" if plan.link_mbit is None else f"{plan.link_mbit:g} Mbit/s in each direction"
    screen.print(f"[bold]Links[/]     {links} ({escape(plan.link_why)})")
    if len(plan.servers) > 1 or on_workers:
        screen.print(f"[bold]Servers[/]   {len(plan.servers)}, at {', '.join(plan.servers.values())}")
    if plan.faults is not None:
        screen.print(f"[bold]Faults[/]    {escape(plan.faults_source)}, seed {plan.faults.seed}")
    screen.print(start(plan).table())
    screen.print(f"[bold]Report[/]    {out / 'report.json'}, {out / 'report.png'}; logs in {out / 'logs'}")


main = typer_main("run", run)

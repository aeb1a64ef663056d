# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum run``: train on a topology, with and without lanesum."""

from __future__ import annotations

import typer
from rich.markup import escape

from lanesum.errors import MissingToolError
from lanesum_control.cli.console import console
from lanesum_fabric.cli.options import options_of, typer_main
from lanesum_lab.run.options import RunOptions


@options_of(RunOptions)
def run(_context: typer.Context, options: RunOptions) -> None:
    """Train a small network on digits with all gradients through the P4 program; compare with plain DDP."""
    try:
        from lanesum_lab.run.plan import make_plan
        from lanesum_lab.run.start import start
    except ImportError as error:
        raise MissingToolError(
            f"The package {error.name} is not installed.", "Run: pip install lanesum-lab."
        ) from error
    plan = make_plan(options)
    screen = console()
    screen.print(f"[bold]Target[/]    {plan.target} ({escape(plan.why)})")
    screen.print(
        f"[bold]Topology[/]  {plan.topology.name}, workers {', '.join(plan.workers)}; codec {options.codec}"
        + ", certified" * options.certified
    )
    links = "not limited" if plan.link_mbit is None else f"{plan.link_mbit:g} Mbit/s in each direction"
    screen.print(f"[bold]Links[/]     {links} ({escape(plan.link_why)})")
    if len(plan.servers) > 1 or options.on_workers:
        screen.print(f"[bold]Servers[/]   {len(plan.servers)}, at {', '.join(plan.servers.values())}")
    if plan.faults is not None:
        screen.print(f"[bold]Faults[/]    {escape(str(options.faults))}, seed {plan.faults.seed}")
    screen.print(start(plan).table())
    out = options.out
    screen.print(f"[bold]Report[/]    {out / 'report.json'}, {out / 'report.png'}; logs in {out / 'logs'}")


main = typer_main("run", run)

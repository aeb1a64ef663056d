# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum faults``: check fault plans."""

from __future__ import annotations

from typing import Annotated

import typer

from lanesum_fabric.cli.options import typer_main

app = typer.Typer(help="Check fault plans for `lanesum run --faults`.", no_args_is_help=True)


@app.command()
def check(
    name_or_path: Annotated[str, typer.Argument(help="Shipped fault plan, or YAML file.")],
    topology: Annotated[
        str | None, typer.Option(help="Also check the names of links and processes against this topology.")
    ] = None,
) -> None:
    """Check a fault plan; an error names its line."""
    from lanesum_fabric.topology import load
    from lanesum_switch.faults.plan import FaultPlan
    from lanesum_switch.faults.topology_names import names_in

    names = None if topology is None else names_in(load(topology))
    plan = FaultPlan.load(name_or_path, names)
    memory = f"{len(plan.memory)} for memory, " if plan.memory else ""
    typer.echo(f"valid: {len(plan.rules)} rules for packets, {memory}{len(plan.processes)} faults of processes")


@app.command()
def schema() -> None:
    """Print the JSON schema of fault plans."""
    from lanesum_fabric.yaml_model import schema_text
    from lanesum_switch.faults.plan import FaultPlan

    typer.echo(schema_text(FaultPlan), nl=False)


main = typer_main("faults", app)

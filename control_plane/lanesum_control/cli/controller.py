# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum controller``: run the controller, and back up and restore its state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanesum_control.controller.options import ControllerOptions
from lanesum_fabric.cli.options import options_of
from lanesum_fabric.cli.typer_main import typer_main

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

InsecureDatabase = Annotated[
    bool, typer.Option("--insecure", help="Accept a database at another host that does not authenticate itself.")
]


@app.callback(invoke_without_command=True)
@options_of(ControllerOptions)
def controller(context: typer.Context, options: ControllerOptions) -> None:
    """Push the P4 program to the switches, admit jobs, hand out tickets, and repair restarted parts."""
    if context.invoked_subcommand is None:
        from lanesum_control.controller.process import run

        run(options)


@app.command()
def backup(
    state: Annotated[str, typer.Argument(help="File or URL of --state; a controller may be using it.")],
    out: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    insecure: InsecureDatabase = False,
) -> None:
    """Write a consistent copy of a controller's state, also while the controller runs."""
    from lanesum_control.state.backup import back_up
    from lanesum_control.state.postgresql import state_at

    back_up(state_at(state, insecure=insecure), out)


@app.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="File that lanesum controller backup wrote.")],
    state: Annotated[
        str, typer.Argument(help="File to write for --state, which must not exist, or URL of an empty database.")
    ],
    insecure: InsecureDatabase = False,
) -> None:
    """Write the state of a controller from a backup; every job begins a new incarnation."""
    from lanesum_control.state.backup import restore as restore_state
    from lanesum_control.state.postgresql import state_at

    count = restore_state(backup, state_at(state, insecure=insecure))
    typer.echo(f"{count} jobs restored to {state}")


main = typer_main("controller", app)

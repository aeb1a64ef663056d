# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The command tree, and how errors and signals end a command."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from lanesum.cli import bench, doctor, faults, job, run, serve, topology
from lanesum.errors import LanesumError

EXIT_INTERRUPTED = 130  # as shells report Ctrl-C
_EXIT_TERMINATED = 143

app = typer.Typer(
    name="lanesum",
    help="In-network gradient aggregation: gradients are summed while compressed, in a P4 switch.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("switch")(serve.switch)
app.command("server")(serve.server)
app.command("controller")(serve.controller)
app.command("doctor")(doctor.doctor)
app.add_typer(job.app, name="job")
app.add_typer(topology.app, name="topology")
app.add_typer(faults.app, name="faults")
app.add_typer(bench.app, name="bench")


def main() -> int:
    """Run the command line; returns the exit status. Errors are one line with a next step, never a traceback."""
    signal.signal(signal.SIGTERM, _terminate)
    errors = Console(stderr=True, highlight=False)
    try:
        status = app(standalone_mode=False)
        if status == EXIT_INTERRUPTED:
            errors.print("[bold]lanesum:[/] interrupted; everything was taken down.")
        return status if isinstance(status, int) else 0
    except LanesumError as error:
        errors.print(f"[bold red]lanesum:[/] {escape(str(error))}", soft_wrap=True)
        return error.exit_code
    except typer.Exit as stop:
        return stop.exit_code
    except typer.TyperException as error:
        message = escape(error.format_message().rstrip("."))
        errors.print(f"[bold red]lanesum:[/] {message}. See lanesum --help.", soft_wrap=True)
        return error.exit_code
    except typer.Abort:
        return EXIT_INTERRUPTED


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM unwinds like an exception, so that context managers close what they opened."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(_EXIT_TERMINATED)

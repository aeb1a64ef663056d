# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typer commands as entry points of the ``lanesum`` command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from lanesum.cli.app import EXIT_INTERRUPTED, Main
from lanesum.errors import ConfigurationError


def typer_main(name: str, command: Callable[..., object] | typer.Typer) -> Main:
    """Return the entry point ``lanesum name`` of a Typer application or of a single command.

    The entry point raises ConfigurationError for unknown options and arguments; it returns the exit status.
    """
    if isinstance(command, typer.Typer):
        app = command
    else:
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command()(command)

    def main(argv: Sequence[str]) -> int:
        try:
            status = app(args=list(argv), prog_name=f"lanesum {name}", standalone_mode=False)
        except typer.Exit as stop:
            return stop.exit_code
        except typer.TyperException as error:
            message = error.format_message().rstrip(".")
            raise ConfigurationError(f"{message}.", f"See lanesum {name} --help.") from error
        except typer.Abort:
            return EXIT_INTERRUPTED
        return status if isinstance(status, int) else 0

    return main

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Typer commands as entry points of the ``lanesum`` command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from lanesum.cli.app import EXIT_INTERRUPTED
from lanesum.errors import ConfigurationError


class TyperMain:
    """Entry point ``lanesum NAME`` of a Typer application."""

    def __init__(self, name: str, app: typer.Typer) -> None:
        self.name = name
        self.app = app

    def __call__(self, argv: Sequence[str]) -> int:
        """Run the command; return the exit status. Raises ConfigurationError for unknown options and arguments."""
        try:
            status = self.app(args=list(argv), prog_name=f"lanesum {self.name}", standalone_mode=False)
        except typer.Exit as stop:
            return stop.exit_code
        except typer.TyperException as error:
            message = error.format_message().rstrip(".")
            raise ConfigurationError(f"{message}.", f"See lanesum {self.name} --help.") from error
        except typer.Abort:
            return EXIT_INTERRUPTED
        return status if isinstance(status, int) else 0


def typer_main(name: str, command: Callable[..., object] | typer.Typer) -> TyperMain:
    """Return the entry point ``lanesum name`` of a Typer application or of a single command."""
    if isinstance(command, typer.Typer):
        return TyperMain(name, command)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    return TyperMain(name, app)

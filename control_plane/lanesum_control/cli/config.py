# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum config`` and ``lanesum completion``: the configuration file, and completion of shells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lanesum_fabric.cli.options import typer_main

app = typer.Typer(help="Check a configuration file, and print its schema.", no_args_is_help=True)


@app.command()
def check(path: Annotated[Path, typer.Argument(help="Configuration file, TOML.")]) -> None:
    """Check a configuration file; an error names the key and what is allowed."""
    from lanesum_control.cli import configuration

    configuration.check(str(path))
    typer.echo(f"{path}: no problems")


@app.command()
def schema() -> None:
    """Print the JSON schema of configuration files."""
    from lanesum_control.cli.configuration import model
    from lanesum_control.cli.tree import installed
    from lanesum_fabric.yaml_model import schema_text

    typer.echo(schema_text(model(installed())), nl=False)


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="Shell to complete in.")]) -> None:
    """Print the completion script of a shell. It completes commands and options without starting lanesum."""
    from lanesum_control.cli.completion import script

    typer.echo(script(shell))


main = typer_main("config", app)
completion_main = typer_main("completion", completion)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum token``: tokens of operators and tenants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lanesum.errors import ConfigurationError
from lanesum.rpc.caller import CallerRole
from lanesum_control.security import tokens
from lanesum_fabric.cli.options import typer_main

app = typer.Typer(help="Give and withdraw tokens of operators and tenants.", no_args_is_help=True)

Tokens = Annotated[Path, typer.Argument(help="Token file of the controller (lanesum controller --tokens).")]
Name = Annotated[str, typer.Argument(help="Name of the caller.")]


@app.command()
def add(
    file: Tokens,
    name: Name,
    out: Annotated[Path, typer.Option(help="File for the token, which its owner names in LANESUM_TOKEN_FILE.")],
    role: Annotated[
        CallerRole, typer.Option(help="Rights as a caller; worker is refused: jobs have tokens of their own.")
    ] = CallerRole.TENANT,
) -> None:
    """Give a caller a token, in place of any earlier one. The controller reads the file again."""
    if os.path.realpath(out) == os.path.realpath(file):
        raise ConfigurationError(f"--out {out} is the token file itself.", "Give another file for the token.")
    token = tokens.new_token()
    # The earlier token is void once the new one can be used.
    with tokens.token_output(out, token) as output:
        tokens.add(file, name, role, token)
        output.commit()


@app.command()
def remove(file: Tokens, name: Name) -> None:
    """Withdraw the token of a caller."""
    tokens.remove(file, name)


@app.command("list")
def list_callers(file: Tokens) -> None:
    """List the callers and their roles."""
    for name, role in tokens.roles(file).items():
        typer.echo(f"{name} {role}")


main = typer_main("token", app)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum certs``: a private certificate authority for a lab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lanesum.rpc.caller import CallerRole
from lanesum_fabric.cli.options import typer_main

app = typer.Typer(help="Make a certificate authority for a lab, and issue certificates.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="Folder of the authority, with one folder for each certificate.")]
Host = Annotated[list[str] | None, typer.Option(help="Host name or address at which a service is called; repeatable.")]
Days = Annotated[int, typer.Option(min=1, help="Days until the certificates expire.")]


@app.command()
def init(
    folder: Folder,
    controller_host: Host = None,
    server_host: Host = None,
    switch_host: Host = None,
    days: Days = 365,
) -> None:
    """Make an authority, and certificates for controller, server, switch, operator and worker.

    A service has the names of its own hosts alone; without any it has the names of loopback.
    """
    from lanesum_control.security import certs

    given = (controller_host, server_host, switch_host)
    for made in certs.init(folder, {name: one or [] for name, one in zip(certs.SERVICES, given, strict=True)}, days):
        typer.echo(made)


@app.command()
def issue(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the caller or part, and of its folder.")],
    role: Annotated[CallerRole | None, typer.Option(help="Rights as a caller; none if not given.")] = None,
    host: Host = None,
    days: Days = 365,
) -> None:
    """Issue a certificate, or renew it: services read theirs again."""
    from lanesum_control.security.certs import Authority

    typer.echo(Authority(folder).issue(name, role, hosts=host or [], days=days))


main = typer_main("certs", app)

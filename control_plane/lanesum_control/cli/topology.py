# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum topology``: check and show topology files."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from lanesum_control.cli.console import console
from lanesum_control.cli.typer_main import typer_main

app = typer.Typer(help="Check and show topology files.", no_args_is_help=True)


@app.command()
def check(name_or_path: str) -> None:
    """Check a topology; errors name the line."""
    from lanesum_control.topology import load

    network = load(name_or_path)
    typer.echo(
        f"{network.name}: {len(network.names('worker'))} workers at {', '.join(network.switches())}, no problems"
    )


@app.command()
def show(name_or_path: Annotated[str, typer.Argument(help="Shipped topology or YAML file.")] = "star4") -> None:
    """Show the hosts, their addresses and ports, and the links between switches."""
    from lanesum_control.topology import load

    network = load(name_or_path)
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))  # narrow enough for 80 columns
    for title in ("host", "kind", "port", "address", "on loopback", "MAC"):
        table.add_column(title, no_wrap=True)
    for host, port in network.ports().items():
        node = network.nodes[host]
        table.add_row(
            host, node.kind, f"{network.switch_of(host)}:{port}", str(node.ip), node.loopback_ip, node.mac_text
        )
    for switch, port, other, other_port in network.links_between_switches():
        table.add_row(switch, "switch", f"{other}:{other_port}", f"at its port {port}", "", "")
    console().print(table)


@app.command()
def schema() -> None:
    """Print the JSON schema of topology files."""
    from lanesum_control.topology import Topology
    from lanesum_control.yaml_model import schema_text

    typer.echo(schema_text(Topology), nl=False)


main = typer_main("topology", app)

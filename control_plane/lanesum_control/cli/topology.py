# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum topology``: check and show topology files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from lanesum._internal.output_file import write_file
from lanesum.rpc import controller as rpc
from lanesum_control.cli.console import console
from lanesum_control.jobs.joining import first_names
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller, typer_main

if TYPE_CHECKING:
    from lanesum_fabric.topology import Topology

app = typer.Typer(help="Check, show and draw topology files.", no_args_is_help=True)

NameOrPath = Annotated[str, typer.Argument(help="Shipped topology or YAML file.")]


@app.command()
def check(name_or_path: NameOrPath) -> None:
    """Check a topology, and say what the failure of each part would cost; errors name the line."""
    from lanesum_control.planner.network import Network
    from lanesum_fabric.program.pipelines import bmv2_pipeline
    from lanesum_fabric.topology import load
    from lanesum_fabric.topology.failures import costs

    network = load(name_or_path)
    sizes = bmv2_pipeline().capabilities.sizes  # those of all builds
    Network.of(network, loopback=False).check_tables(dict.fromkeys(network.switches(), sizes))
    where = f"at {', '.join(network.switches())}" if network.switches() else "without a switch"
    typer.echo(f"{network.name}: {len(network.names('worker'))} workers {where}, no problems")
    for cost, parts in costs(network).items():
        typer.echo(f"If {' or '.join(first_names(parts))} fails: {cost}.")


@app.command()
def show(name_or_path: NameOrPath = "star4") -> None:
    """Show the hosts, their addresses and ports, and the links between switches."""
    from lanesum_fabric.topology import load

    network = load(name_or_path)
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))  # narrow enough for 80 columns
    for title in ("host", "kind", "port", "address", "on loopback", "MAC"):
        table.add_column(title, no_wrap=True)
    ports = network.ports()
    for host in network.hosts():
        node = network.nodes[host]
        at = f"{network.switch_of(host)}:{ports[host]}" if host in ports else "none"
        table.add_row(host, node.kind, at, str(node.ip), node.loopback_ip, node.mac_text)
    for switch, port, other, other_port in network.links_between_switches():
        table.add_row(switch, "switch", f"{other}:{other_port}", f"at its port {port}", "", "")
    console().print(table)


@app.command()
def draw(
    name_or_path: NameOrPath = "star4",
    out: Annotated[Path | None, typer.Option(help="SVG file; without it, a tree in the terminal.")] = None,
    controller: Annotated[
        str | None, typer.Option(help="host:port of a controller, for the packets of every switch and server.")
    ] = None,
) -> None:
    """Draw a topology: as a tree, or as an SVG picture."""
    from lanesum_fabric.topology import load
    from lanesum_fabric.topology.drawing import svg, terminal_tree

    network = load(name_or_path)
    notes = (
        {}
        if controller is None
        else packet_notes(network, rpc.call(controller, rpc.COUNTERS, {}, connect_s=rpc.CONNECT_S))
    )
    if out is None:
        console().print(terminal_tree(network, notes))
        return
    _write(out, svg(network, notes))


def _write(out: Path, text: str) -> None:
    write_file(out, text)
    typer.echo(f"wrote {out}")


def packet_notes(network: Topology, counters: dict[str, Any]) -> dict[str, str]:
    """Return a short text about the packets of every switch and server, from the controller's counters."""
    notes = {}
    for switch, counts in counters["switches"].items():
        sums = counts.get("contribute_and_complete", 0) + counts.get("claim_and_complete", 0)
        notes[switch] = f"{counts.get('aggregate', 0):,} contributions, {sums:,} sums"
    notes |= {switch: "lost" for switch, at in counters["slots"].items() if at["lost"] is not None}
    for name, host in zip(network.server_names(), network.server_hosts(), strict=True):
        counts = counters["servers"].get(name)
        notes[host] = "no answer" if counts is None else f"{sum(counts['decisions'].values()):,} packets"
    return notes


@app.command()
def diff(
    name_or_path: NameOrPath,
    controller: Controller = DEFAULT_CONTROLLER,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Compare a topology with that of a running controller: what would change, and for which jobs. Changes nothing.

    To apply it, start the controller again with --topology and the same --state.
    """
    from lanesum_fabric.topology import load

    message = {"topology": load(name_or_path).to_yaml()}
    found = rpc.call(controller, rpc.COMPARE, message, connect_s=rpc.CONNECT_S)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for line in found["network"] or ["The network is the same."]:
        typer.echo(line)
    for name, job in found["jobs"].items():
        before, after = (", ".join(job[at]) or "the server" for at in ("before", "after"))
        words = [f"begins a new incarnation: {why}" for why in job["restarts"]]
        words += [f"is summed by {after} in place of {before}"] if before != after and not job["lacks"] else []
        words += [f"keeps the controller from starting: its host {host} is missing" for host in job["lacks"]]
        typer.echo(f"job {name} {'; '.join(words)}.")
    typer.echo(f"{found['unchanged']} other jobs do not change.")


@app.command("import")
def import_containerlab(
    file: Annotated[Path, typer.Argument(help="Topology file of containerlab.")],
    out: Annotated[Path, typer.Option(help="Topology file, which is overwritten.")],
) -> None:
    """Convert a containerlab file: label lanesum of a node is its role, label lanesum-ip its address.

    Notes name what is left out, with its line.
    """
    from lanesum_fabric.topology import containerlab

    imported = containerlab.load(file)
    for note in imported.notes:
        typer.echo(note, err=True)
    _write(out, imported.topology.to_yaml())


@app.command()
def schema() -> None:
    """Print the JSON schema of topology files."""
    from lanesum_fabric.topology import Topology
    from lanesum_fabric.yaml_model import schema_text

    typer.echo(schema_text(Topology), nl=False)


main = typer_main("topology", app)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum job``: talk to a running controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lanesum import rpc

app = typer.Typer(help="Admit, list and remove jobs at a running controller.", no_args_is_help=True)

Controller = Annotated[str, typer.Option(help="host:port of the controller.", envvar="LANESUM_CONTROLLER")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
_ADDRESS = f"127.0.0.1:{rpc.DEFAULT_PORT}"
_TIMEOUT_S = 5.0


def _print(message: object) -> None:
    typer.echo(json.dumps(message, indent=2))


@app.command()
def admit(
    name: str,
    workers: Annotated[str, typer.Option(help="Hosts, separated by commas; the order is the workers' numbers.")],
    controller: Controller = _ADDRESS,
    codec: Annotated[str, typer.Option(help="Codec whose code table the switch gets.")] = "thc",
    slots: Annotated[int, typer.Option(help="Packets under way at most.")] = 64,
) -> None:
    """Admit a job and print what it was given."""
    message = {"name": name, "workers": workers.split(","), "codec": codec, "slots": slots}
    _print(rpc.call(controller, rpc.ADMIT, message, _TIMEOUT_S))


@app.command()
def remove(name: str, controller: Controller = _ADDRESS) -> None:
    """Take a job out of the switch."""
    rpc.call(controller, rpc.REMOVE, {"job": name}, _TIMEOUT_S)


@app.command("list")
def list_jobs(controller: Controller = _ADDRESS, as_json: Json = False) -> None:
    """All admitted jobs."""
    jobs = rpc.call(controller, rpc.JOBS, {}, _TIMEOUT_S)["jobs"]
    if as_json:
        _print(jobs)
        return
    table = Table("name", "job", "workers", "slots", "group")
    for job in jobs:
        slots = f"{job['slot_base']}..{job['slot_base'] + job['slots'] - 1}"
        table.add_row(job["name"], str(job["job"]), ", ".join(job["workers"]), slots, str(job["group"]))
    Console().print(table)


@app.command()
def ticket(
    name: str,
    worker: Annotated[int, typer.Option(help="The worker's number.")],
    controller: Controller = _ADDRESS,
    out: Annotated[Path | None, typer.Option(help="File to write; standard output when not given.")] = None,
) -> None:
    """Write one worker's ticket, for LANESUM_TICKET."""
    text = rpc.call(controller, rpc.JOIN, {"job": name, "worker": worker}, _TIMEOUT_S)["ticket"]
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text + "\n")


@app.command()
def counters(controller: Controller = _ADDRESS) -> None:
    """What the switch decided about packets, by table action, as JSON."""
    _print(rpc.call(controller, rpc.COUNTERS, {}, _TIMEOUT_S)["packets"])

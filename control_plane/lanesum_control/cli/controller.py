# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum controller``: run the controller, back up and restore its state, and drain its switches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from lanesum.errors import ConfigurationError
from lanesum.rpc import controller as rpc
from lanesum_control.cli.console import console
from lanesum_control.controller.options import ControllerOptions
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller, options_of, typer_main

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

InsecureDatabase = Annotated[
    bool, typer.Option("--insecure", help="Accept a database at another host that does not authenticate itself.")
]

Switch = Annotated[str, typer.Argument(help="Name of the switch, or of a link to a spine: s1-spine1.")]
OneJob = Annotated[str | None, typer.Option(help="Only for this job; without it for all jobs.")]


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


@app.command()
def drain(
    switch: Switch,
    reason: Annotated[str, typer.Option(help="Reason, which lists, metrics and events of the jobs name.")],
    job: OneJob = None,
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Move the jobs of a switch to other switches or to the servers, until its return. Running sessions continue."""
    message = {"switch": switch, "why": reason, "job": job}
    moved = rpc.call(controller, rpc.DRAIN, message, connect_s=rpc.CONNECT_S)["moved"]
    for name, switches in moved.items():
        typer.echo(f"{name}: summed by {', '.join(switches) or 'the server'}")
    typer.echo(f"{switch} is drained{_for_job(job)}; {len(moved)} jobs moved.")


@app.command()
def undrain(switch: Switch, job: OneJob = None, controller: Controller = DEFAULT_CONTROLLER) -> None:
    """Give a drained switch parts in jobs again. Running sessions continue."""
    message = {"switch": switch, "job": job}
    jobs = rpc.call(controller, rpc.UNDRAIN, message, connect_s=rpc.CONNECT_S)["jobs"]
    typer.echo(f"{switch} is returned, and sums for {', '.join(jobs) or 'no job'}.")


@app.command()
def switches(
    controller: Controller = DEFAULT_CONTROLLER,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """List the switches of a running controller: slots, and why one is lost or drained."""
    found = rpc.call(controller, rpc.COUNTERS, {}, connect_s=rpc.CONNECT_S)["slots"]
    drains = rpc.call(controller, rpc.DRAINS, {}, connect_s=rpc.CONNECT_S)["drains"]
    if as_json:
        typer.echo(json.dumps({"switches": found, "drains": drains}, indent=2))
        return
    table = Table("switch", "slots", "state")
    links = {drain["switch"]: {"used": 0, "all": 0, "lost": None} for drain in drains if drain["switch"] not in found}
    for name, one in {**found, **links}.items():
        states = [f"lost: {one['lost']}"] if one["lost"] is not None else []
        states += [
            f"drained{_for_job(drain['job'])} since {drain['since']}: {drain['why']}"
            for drain in drains
            if drain["switch"] == name
        ]
        table.add_row(*map(Text, (name, f"{one['used']}/{one['all']}", "\n".join(states) or "up")))
    console().print(table)


@app.command()
def tenant(
    name: Annotated[str, typer.Argument(help="Name of the tenant, as its token or certificate has it.")],
    share: Annotated[float | None, typer.Option(help="As --tenant-share of the controller, for this tenant.")] = None,
    jobs: Annotated[int | None, typer.Option(help="As --tenant-jobs.")] = None,
    admissions: Annotated[int | None, typer.Option(help="As --tenant-admissions.")] = None,
    packets: Annotated[int | None, typer.Option(help="As --tenant-packets.")] = None,
    priority: Annotated[
        int | None, typer.Option(help="Its jobs get slots beyond their quota before jobs of a lower one; default: 0.")
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Give it the default quota again.")] = False,
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Change the quota of one tenant while its jobs run, and print it. The state keeps it."""
    given = {
        "share": share,
        "jobs": jobs,
        "admissions_per_minute": admissions,
        "packets": packets,
        "priority": priority,
    }
    changes = {kind: value for kind, value in given.items() if value is not None}
    if bool(changes) is default:
        raise ConfigurationError("Give either --default or a part of the quota.", "For example --jobs 10.")
    message = {"tenant": name, "quota": None if default else changes}
    answer = rpc.call(controller, rpc.TENANT, message, connect_s=rpc.CONNECT_S)
    typer.echo(json.dumps(answer["quota"], indent=2))


@app.command()
def tenants(controller: Controller = DEFAULT_CONTROLLER) -> None:
    """Print the default quota, and the quota and jobs of each tenant."""
    typer.echo(json.dumps(rpc.call(controller, rpc.TENANTS, {}, connect_s=rpc.CONNECT_S), indent=2))


def _for_job(job: str | None) -> str:
    return "" if job is None else f" for job {job}"


main = typer_main("controller", app)

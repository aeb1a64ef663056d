# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum job``: manage jobs at a running controller."""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from lanesum._internal.output_file import check_writable, write_file
from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import FULL_ACCUMULATOR_WORDS
from lanesum.rpc import controller as rpc
from lanesum_control.cli import top
from lanesum_control.cli.console import console
from lanesum_control.jobs.joining import first_names
from lanesum_control.jobs.records import DEFAULT_SLOTS, DEFAULT_SLOTS_WITHOUT_SWITCH
from lanesum_control.observe import opentelemetry, traces
from lanesum_control.security import tokens
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller, typer_main

app = typer.Typer(help="Admit, list and remove jobs at a running controller.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the job.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]

#: Call the controller. A change may wait for others, and for a switch that does not answer.
_call = functools.partial(rpc.call, connect_s=rpc.CONNECT_S)
_POLL_S = 0.1  # between two questions for the spans of workers
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _print(message: object) -> None:
    typer.echo(json.dumps(message, indent=2))


@app.command()
def admit(
    name: Name,
    workers: Annotated[str, typer.Option(help="Hosts, separated by commas; the order is the workers' numbers.")],
    controller: Controller = DEFAULT_CONTROLLER,
    codec: Annotated[str, typer.Option(help="Codec whose code table the switches get.")] = "thc",
    slots: Annotated[
        int | None,
        typer.Option(
            help=f"Packets in flight, at most. By default {DEFAULT_SLOTS}, or {DEFAULT_SLOTS_WITHOUT_SWITCH} if no "
            "switch of the controller is on the path."
        ),
    ] = None,
    words: Annotated[
        int | None,
        typer.Option(
            help="Accumulator words of a packet, where no switch of the controller is on the path. By default "
            f"{FULL_ACCUMULATOR_WORDS}, which fill an Ethernet frame."
        ),
    ] = None,
    quota: Annotated[
        int | None, typer.Option(help="Slots guaranteed at every switch; by default all of --slots.")
    ] = None,
    priority: Annotated[int, typer.Option(help="Jobs of a higher priority get slots beyond their quota first.")] = 0,
    quorum: Annotated[int, typer.Option(help="Contributions that complete a result; 0: one of each worker.")] = 0,
    best_effort: Annotated[
        bool, typer.Option("--best-effort", help="Use only slots of the shared pool, together with other jobs.")
    ] = False,
    certified: Annotated[
        bool, typer.Option("--certified", help="Send check words; a sum that fails its check is taken again.")
    ] = False,
    udp_port: Annotated[
        int | None, typer.Option(help="Port that the workers send from; one that is free at their hosts if not given.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the job's random bits: the same seeds give the same sums, bit for bit.")
    ] = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds without a sign of life until the job is removed; 0: never.")
    ] = None,
    worker_token: Annotated[
        Path | None, typer.Option(help="File for a new token, which the workers name in LANESUM_TOKEN_FILE.")
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Remove a job of this name first, even if its workers live.")
    ] = False,
) -> None:
    """Admit a job and print its allocation."""
    message: dict[str, object] = {
        "name": name,
        "workers": workers.split(","),
        "codec": codec,
        "slots": slots,
        "words": words,
        "quota": quota,
        "priority": priority,
        "quorum": quorum,
        "best_effort": best_effort,
        "certified": certified,
        "udp_port": udp_port,
        "take_over": take_over,
        "seed": seed,
    }
    if lease is not None:
        message["lease_s"] = lease
    if worker_token is None:
        _print(_call(controller, rpc.ADMIT, message))
        return
    token = tokens.new_token()
    message["worker_token"] = tokens.token_hash(token)
    # An earlier job may use the file until this one is admitted.
    with tokens.token_output(worker_token, token) as output:
        _print(_call(controller, rpc.ADMIT, message))
        output.commit()


@app.command()
def remove(
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Also a job whose workers live; their sessions end.")] = False,
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Remove a job from servers and switches."""
    _call(controller, rpc.REMOVE, {"job": name, "unused": not force})


@app.command()
def resize(
    name: Name,
    slots: Annotated[int | None, typer.Argument(help="Requested slots; fewer than its quota lower this, too.")] = None,
    quota: Annotated[int | None, typer.Option(help="Slots guaranteed at every switch from now on.")] = None,
    priority: Annotated[int | None, typer.Option(help="Priority from now on, see admit.")] = None,
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Give a running job more or fewer slots, another quota or priority, and print its allocation."""
    _print(_call(controller, rpc.RESIZE, {"job": name, "slots": slots, "quota": quota, "priority": priority}))


@app.command()
def leave(
    name: Name,
    worker: Annotated[str, typer.Argument(help="The worker's host or number.")],
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Continue without a worker: the others join again."""
    _print(_call(controller, rpc.LEAVE, {"job": name, "worker": _worker(worker)}))


@app.command()
def join(
    name: Name,
    host: Annotated[str, typer.Argument(help="Where the new worker runs.")],
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Continue with one more worker: the others join again, and it joins, too."""
    _print(_call(controller, rpc.EXTEND, {"job": name, "host": host}))


def _worker(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _level(at: dict[str, Any]) -> str:
    if at["combining_pipe"] is not None:
        return f"sums of its pipes, combined by pipe {at['combining_pipe']}"
    return at["role"].lower() or "only level"


@app.command("list")
def list_jobs(controller: Controller = DEFAULT_CONTROLLER, as_json: Json = False) -> None:
    """List all jobs: workers, and the slots of every switch that sums for them, or since when and why it does not."""
    jobs = list(rpc.jobs_by_name(controller).values())
    if as_json:
        _print(jobs)
        return
    table = Table("name", "job", "owner", "admitted", "workers", "words", "switch", "slots", "as")
    for job in jobs:
        rows = [
            (switch, f"{at['slot_base']}..{at['slot_base'] + at['slots'] - 1}", _level(at))
            for switch, at in job["placement"].items()
            if switch not in job["moved"]
        ]
        rows += [(switch, "-", f"left out since {one['since']}: {one['why']}") for switch, one in job["moved"].items()]
        first = (
            job["name"],
            str(job["job"]),
            job["owner"] or "-",
            job["admitted"] or "-",
            ", ".join(first_names(job["workers"])),
            f"{job['words']}{', certified' if job['certified'] else ''}",
        )
        for number, row in enumerate(rows or [("", "", "")]):
            cells = (*([""] * len(first) if number else first), *row)
            table.add_row(*map(Text, cells))  # names that tenants choose may contain markup
    console().print(table)


@app.command()
def events(
    controller: Controller = DEFAULT_CONTROLLER,
    since: Annotated[
        str | None,
        typer.Option(
            help="All events after this number, or since a time: 2026-01-31T14:30, or 90s, 15m, 2h, 7d ago. "
            "Without it the last thousand."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the events of switches, servers and jobs, with the callers that caused them."""
    from lanesum_control.state.events import Event

    found = _events(controller, {} if since is None else _since(since, time.time()))
    if as_json:
        _print(list(found))
        return
    for event in found:
        typer.echo(f"{event['number']:>5} {Event.from_message(event).line()}")


def _events(controller: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    more = True
    while more:
        answer = _call(controller, rpc.EVENTS, asked)
        yield from answer["events"]
        more = bool(answer["more"])
        if more:
            asked = {"since": answer["events"][-1]["number"]}


def _since(text: str, now: float) -> dict[str, Any]:
    """Return the fields of a question for events. Raises ConfigurationError."""
    if text.isdecimal() and text.isascii() and len(text) < 19:
        return {"since": int(text)}
    if ago := re.fullmatch(r"(\d{1,9})([smhd])", text, re.ASCII):
        seconds = int(ago[1]) * _SECONDS[ago[2]]
        return {"ago_s": seconds, "since_s": now - seconds}  # earlier controllers read the second one
    try:
        return {"since_s": datetime.datetime.fromisoformat(text).timestamp()}  # local time without a time zone
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigurationError(
            f"--since {text!r} is no number and no time.",
            "Give the number of an event, a time such as 2026-01-31T14:30, or 15m for 15 minutes ago.",
        ) from error


@app.command()
def ticket(
    name: Name,
    worker: Annotated[str, typer.Option(help="The worker's number or host.")],
    controller: Controller = DEFAULT_CONTROLLER,
    out: Annotated[Path | None, typer.Option(help="File to write; standard output when not given.")] = None,
) -> None:
    """Write one worker's ticket, for LANESUM_TICKET."""
    message = {"job": name, "worker": _worker(worker), "origin": "lanesum job ticket"}
    text = _call(controller, rpc.JOIN, message)["ticket"]
    if out is None:
        typer.echo(text)
    else:
        write_file(out, f"{text}\n", private=True)


@app.command()
def counters(controller: Controller = DEFAULT_CONTROLLER, as_json: Json = False) -> None:
    """Print the packet counters of switches and servers that are not 0."""
    found = _call(controller, rpc.COUNTERS, {})
    if as_json:
        _print(found)
        return
    parts = dict(found["switches"])
    for server, status in found["servers"].items():
        if status is None:
            typer.echo(f"{server}: does not answer")
        else:
            refused = {f"refused: {reason}": count for reason, count in status["refused"].items()}
            parts[server] = {**status["decisions"], **refused}
    for switch, slots in found["slots"].items():
        if slots["lost"] is not None:
            typer.echo(f"{switch}: lost: {slots['lost']}")
    table = Table("counter", *(Column(Text(part), justify="right") for part in parts))
    for counter in dict.fromkeys(itertools.chain.from_iterable(parts.values())):
        counts = [counted.get(counter, 0) for counted in parts.values()]
        if any(counts):
            table.add_row(Text(counter), *(f"{count:,}" for count in counts))
    if table.row_count:
        console().print(table)
    else:
        typer.echo("No packets yet.")


@app.command("top")
def show_job(
    name: Name,
    controller: Controller = DEFAULT_CONTROLLER,
    interval: top.Interval = 2.0,
    once: top.Once = False,
    as_json: top.Json = False,
) -> None:
    """Show the workers of a job live, in a terminal; elsewhere one snapshot."""
    top.show(controller, name, interval, once=once, as_json=as_json)


@app.command()
def trace(
    name: Name,
    controller: Controller = DEFAULT_CONTROLLER,
    seconds: Annotated[float, typer.Option(min=0.1, max=rpc.MAX_TRACE_S, help="Time to record.")] = 2.0,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("trace.json"),
    otlp: Annotated[
        bool,
        typer.Option(
            "--otlp", help="Also send the spans to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT."
        ),
    ] = False,
) -> None:
    """Record where the workers of a running job spend their time, as a timeline for Perfetto."""
    check_writable(out)
    alive = _call(controller, rpc.TRACE, {"job": name, "seconds": seconds})["workers"]
    time.sleep(seconds)
    limit = time.monotonic() + traces.REPORT_S
    while time.monotonic() < limit and len(_call(controller, rpc.TRACE, {"job": name})["workers"]) < len(alive):
        time.sleep(_POLL_S)
    found = _call(controller, rpc.TRACE, {"job": name, "end": True})["traces"]
    silent = sorted({*alive} - {one["worker"] for one in found})
    if silent:
        workers = ", ".join(map(str, silent))
        typer.echo(f"No spans of worker {workers}: it has ended, or runs another version of lanesum.", err=True)
    full = [str(one["worker"]) for one in found if len(one["spans"]) == rpc.MAX_SPANS]
    if full:
        typer.echo(f"Only the last {rpc.MAX_SPANS} spans of worker {', '.join(full)} were kept.", err=True)
    traces.write(out, traces.timeline(name, found))
    typer.echo(f"{out}: {sum(len(one['spans']) for one in found)} spans of {len(found)} workers.")
    if otlp:
        typer.echo(f"{opentelemetry.export(name, found)} spans sent, with steps and workers included.")


@app.command()
def merge_profile(
    path: Annotated[Path, typer.Argument(help="File of lanesum job trace, to which the events are added.")],
    profiles: Annotated[list[str], typer.Argument(help="WORKER=FILE: file of torch.profiler at this worker.")],
) -> None:
    """Add the events of torch.profiler to a timeline, on the same clock."""
    found = traces.read_timeline(path)
    for one in profiles:
        worker, _, file = one.partition("=")
        if not (worker.isdecimal() and worker.isascii() and file):
            raise ConfigurationError(f"Invalid profile {one!r}: expected WORKER=FILE.", "For example 0=rank0.json.")
        traces.merge_profile(found, int(worker), traces.read(Path(file)))
    traces.write(path, found)


main = typer_main("job", app)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""``lanesum capture``: print lanesum packets of a network interface, or write them to a file for Wireshark."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from lanesum.errors import ConfigurationError
from lanesum.protocol.spec import UDP_PORT
from lanesum.rpc import controller as rpc
from lanesum_fabric.cli.options import DEFAULT_CONTROLLER, Controller, typer_main
from lanesum_switch.ports.capture import DEFAULT_MAX_FRAMES, InterfaceCapture, PacketSelection, PcapWriter, summary

_MAX_SECONDS = 1e6  # poll(2) takes its timeout as an int of milliseconds


def capture(
    interface: Annotated[str, typer.Argument(help="Network interface, as eth0 or s1-eth1; lo for loopback.")],
    out: Annotated[
        Path | None, typer.Option(help="Capture file (pcap), which is overwritten; - for standard output.")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Number of a job, or its name at the controller.")] = None,
    port: Annotated[
        list[int] | None,
        typer.Option(min=1, max=65535, help=f"UDP port of a server; repeatable [default: {UDP_PORT}]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="End after this number of packets.")] = DEFAULT_MAX_FRAMES,
    seconds: Annotated[float | None, typer.Option(help="End after this time.")] = None,
    controller: Controller = DEFAULT_CONTROLLER,
) -> None:
    """Capture lanesum packets at a network interface until Ctrl-C; print them, or write them to a file. Needs root."""
    if seconds is not None and not 0 < seconds <= _MAX_SECONDS:  # also for nan
        raise ConfigurationError(
            f"Invalid --seconds {seconds:g}: expected more than 0, at most {_MAX_SECONDS:g}.",
            "For example --seconds 10.",
        )
    selection = PacketSelection(tuple(port or [UDP_PORT]), None if job is None else job_number(job, controller))
    captured = 0
    with contextlib.ExitStack() as cleanup:
        source = cleanup.enter_context(InterfaceCapture(interface))
        writer = None if out is None else cleanup.enter_context(PcapWriter(out, count))
        until = None if seconds is None else time.monotonic() + seconds
        print(f"Capturing at {interface}; Ctrl-C ends it.", file=sys.stderr, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            for frame, time_ns in source.frames(until):
                for packet in selection.packets(frame)[: count - captured]:
                    captured += 1
                    if writer is None:
                        print(f"{time_ns / 1e9:.6f} {summary(packet)}", flush=True)
                    else:
                        writer.write(packet, time_ns)
                if writer is not None and str(out) == "-":
                    writer.flush()
                if captured == count:
                    break
        lost = source.lost()
    print(f"{captured} packets captured; the kernel dropped {lost} frames.", file=sys.stderr)


def job_number(job: str, controller: str) -> int:
    """Return the number of a job, given as its number or its name at the controller. Raises ConfigurationError."""
    if job.isdecimal():
        if int(job) >= 1 << 16:
            raise ConfigurationError(f"Invalid --job {job}: numbers of jobs are less than {1 << 16}.")
        return int(job)
    jobs = rpc.jobs_by_name(controller)
    if job not in jobs:
        known = f"Its jobs: {', '.join(jobs)}." if jobs else "It has no jobs."
        raise ConfigurationError(f"The controller at {controller} has no job {job!r}.", known)
    return int(jobs[job]["job"])


main = typer_main("capture", capture)

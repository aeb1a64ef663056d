# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loopback runner: embedded switch, controller and workers as plain processes on 127.0.0.0/8. No root."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from lanesum import rpc
from lanesum.run import commands, steps
from lanesum.run.plan import RunPlan
from lanesum.run.supervisor import Supervisor


def run(plan: RunPlan, supervisor: Supervisor) -> dict[str, int]:
    """Train; returns the switch's packet counts. Raises what the supervisor and the controller raise."""
    topology = plan.topology
    controller = f"{topology.address(topology.names('controller')[0], loopback=True)}:{rpc.DEFAULT_PORT}"
    with tempfile.TemporaryDirectory(prefix="lanesum-") as scratch:
        if plan.switch == "none":
            supervisor.start("server", commands.server_command(plan, controller))
        else:
            p4runtime = f"unix:{Path(scratch) / 's1.sock'}"
            supervisor.start("switch", commands.switch_command(plan, p4runtime))
            supervisor.start("controller", commands.controller_command(plan, p4runtime=p4runtime, listen=controller))
        steps.admit(supervisor, plan, controller)
        workers = steps.start_workers(
            supervisor,
            plan,
            controller,
            master=_free_address(),
            interface=lambda _host: "lo",
            at=lambda _host, command: command,
        )
        supervisor.wait(workers)
        counts: dict[str, int] = rpc.call(controller, rpc.COUNTERS, {})["packets"]
        rpc.call(controller, rpc.REMOVE, {"job": commands.JOB})
        return counts


def _free_address() -> tuple[str, int]:
    """For the process group's store, which the first worker opens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: tuple[str, int] = probe.getsockname()
        return address

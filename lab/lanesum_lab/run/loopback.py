# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The loopback runner: switches, servers, controller and workers as plain processes on 127.0.0.0/8. No root."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.outcome import RunOutcome
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.run.site import here, start_plan
from lanesum_lab.run.steps import Stage
from lanesum_lab.run.supervisor import RunSupervisor


def run(plan: RunPlan, supervisor: RunSupervisor) -> RunOutcome:
    """Train. Raises what the supervisor and the controller raise."""
    with tempfile.TemporaryDirectory(prefix="lanesum-") as folder:
        scratch = Scratch(Path(folder))
        # Without a switch whose ports have the faults, a relay has them.
        relayed = not plan.switches and plan.faults is not None and any(map(plan.faults.touches, plan.links))
        if relayed:
            arguments = ("--loopback", "--topology", plan.topology_source)
            supervisor.start("relay", commands.relay_command(plan, scratch, *arguments))
        site = start_plan(plan, scratch, supervisor, relayed=relayed)
        try:
            return Stage(
                plan,
                supervisor,
                scratch,
                site,
                master=free_address(),
                interface=lambda _host: "lo",
                at=here,
            ).train()
        finally:
            supervisor.close()  # before the files go that the processes have open


def free_address() -> tuple[str, int]:
    """Return a free TCP address, for a process that opens it later."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: tuple[str, int] = probe.getsockname()
        return address

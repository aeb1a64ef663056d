# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Mininet runner: hosts in namespaces, P4 switches between them, one worker per host."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.mininet_net import mininet_network
from lanesum_lab.run.outcome import RunOutcome
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.run.site import start_plan
from lanesum_lab.run.steps import Stage
from lanesum_lab.run.supervisor import RunSupervisor

MASTER_PORT = 29500  # torch's usual one; the network is ours alone


def run(plan: RunPlan, supervisor: RunSupervisor) -> RunOutcome:
    """Train. Raises what the supervisor and the controller raise."""
    topology = plan.topology
    # The embedded switch has the faults at its own ports; another one gets them by relays.
    faulty = [link for link in plan.links if plan.faults is not None and plan.faults.touches(link)]
    gaps = [] if plan.switch is None or plan.switch.injects_faults else faulty
    with (
        tempfile.TemporaryDirectory(prefix="lanesum-") as folder,
        mininet_network(topology, gaps, link_mbit=plan.link_mbit) as network,
    ):
        scratch = Scratch(Path(folder))
        try:
            network.switch_offloads_off()
            for relay in network.relays:
                command = commands.relay_command(plan, scratch, relay.lower, relay.upper, "--link", relay.link)
                supervisor.start(f"relay-{relay.link}", network.command(relay.node, command))
            site = start_plan(plan, scratch, supervisor, at=network.command, interfaces=network.switch_interfaces)
            return Stage(
                plan,
                supervisor,
                scratch,
                site,
                master=(topology.address(plan.workers[0], loopback=False), MASTER_PORT),
                interface=network.host_interface,
                at=network.command,
            ).train()
        finally:
            # Before the network goes: a process in a namespace that is gone can only fail.
            supervisor.close()

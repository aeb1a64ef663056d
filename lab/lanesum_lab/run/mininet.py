# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Mininet runner: hosts in namespaces, P4 switches between them, one worker per host."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lanesum.rpc import controller as rpc
from lanesum.rpc import json_grpc
from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.controller_call import EXIT_UNREACHABLE
from lanesum_lab.run.mininet_net import MininetNetwork, mininet_network
from lanesum_lab.run.outcome import Outcome
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.run.site import start_plan
from lanesum_lab.run.steps import Stage
from lanesum_lab.run.supervisor import RunSupervisor

MASTER_PORT = 29500  # torch's usual one; the network is ours alone


def run(plan: RunPlan, supervisor: RunSupervisor) -> Outcome:
    """Train. Raises what the supervisor and the controller raise."""
    topology = plan.topology
    controller_host = topology.controller
    controller = f"{topology.address(controller_host, loopback=False)}:{rpc.DEFAULT_PORT}"
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
            site = start_plan(
                plan,
                scratch,
                supervisor,
                at=network.command,
                interfaces=network.switch_interfaces,
                listen=controller,
            )

            def call(address: str, method: str, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
                del address  # the controller's host has it too, and we are in no namespace of the network
                return _call_at(network, controller_host, controller, method, message, timeout_s)

            return Stage(
                plan,
                supervisor,
                scratch,
                site,
                master=(topology.address(plan.workers[0], loopback=False), MASTER_PORT),
                interface=network.host_interface,
                at=network.command,
                call=call,
            ).train()
        finally:
            # Before the network goes: a process in a namespace that is gone can only fail.
            supervisor.close()


def _call_at(
    network: MininetNetwork, host: str, address: str, method: str, message: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """One call to the controller, made from its own host's namespace."""
    arguments = [
        sys.executable,
        "-m",
        "lanesum_lab.run.controller_call",
        address,
        method,
        json_grpc.encode(message).decode(),
        str(timeout_s),
    ]
    result = subprocess.run(network.command(host, arguments), capture_output=True)
    if result.returncode == EXIT_UNREACHABLE:
        raise rpc.UnreachableError(result.stderr.decode().strip())
    if result.returncode != 0:
        raise rpc.ControllerError(result.stderr.decode().strip())
    return json_grpc.decode(result.stdout)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The Mininet runner: hosts in namespaces, a P4 switch between them, one worker per host."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lanesum import rpc
from lanesum.run import commands, steps
from lanesum.run.mininet_net import MininetNetwork, NetworkError, mininet_network
from lanesum.run.plan import RunPlan
from lanesum.run.supervisor import Supervisor
from lanesum_control.client import DEFAULT_DEVICE_ID
from lanesum_switch import bmv2

MASTER_PORT = 29500  # torch's usual one; the network is ours alone


def run(plan: RunPlan, supervisor: Supervisor) -> dict[str, int]:
    """Train; returns the switch's packet counts. Raises what the supervisor and the controller raise."""
    topology = plan.topology
    controller_host = topology.names("controller")[0]
    controller = f"{topology.address(controller_host, loopback=False)}:{rpc.DEFAULT_PORT}"
    with tempfile.TemporaryDirectory(prefix="lanesum-") as scratch, mininet_network(topology) as network:
        try:
            _switch_offloads_off(plan, network)
            # A socket file crosses namespaces: the switch needs no address of its own.
            p4runtime = f"unix:{Path(scratch) / 's1.sock'}"
            supervisor.start("switch", network.command(topology.switch, _switch(plan, network, p4runtime)))
            command = commands.controller_command(plan, p4runtime=p4runtime, listen=controller)
            supervisor.start("controller", network.command(controller_host, command))

            def call(address: str, method: str, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
                del address  # the controller's host has it too, and we are in no namespace of the network
                return _call_at(network, controller_host, controller, method, message, timeout_s)

            steps.admit(supervisor, plan, controller, call)
            workers = steps.start_workers(
                supervisor,
                plan,
                controller,
                master=(topology.address(plan.workers[0], loopback=False), MASTER_PORT),
                interface=network.host_interface,
                at=network.command,
            )
            supervisor.wait(workers)
            counts: dict[str, int] = call(controller, rpc.COUNTERS, {}, rpc.DEFAULT_TIMEOUT_S)["packets"]
            call(controller, rpc.REMOVE, {"job": commands.JOB}, rpc.DEFAULT_TIMEOUT_S)
            return counts
        finally:
            # Before the network goes: a process in a namespace that is gone can only fail.
            supervisor.close()


def _switch(plan: RunPlan, network: MininetNetwork, p4runtime: str) -> list[str]:
    interfaces = network.switch_interfaces()
    if plan.switch == "embedded":
        return commands.switch_command(plan, p4runtime, *commands.interface_options(interfaces))
    return bmv2.command(interfaces, p4runtime, DEFAULT_DEVICE_ID)


def _switch_offloads_off(plan: RunPlan, network: MininetNetwork) -> None:
    """A switch that reads whole frames must see real ones: no segments of 60 kB, no checksums left for a NIC."""
    nodes = {name: [network.host_interface(name)] for name in plan.topology.ports()}
    nodes[plan.topology.switch] = list(network.switch_interfaces().values())
    for node, interfaces in nodes.items():
        command = [sys.executable, "-m", "lanesum.run.offloads", *interfaces]
        result = subprocess.run(network.command(node, command), capture_output=True, text=True)
        if result.returncode != 0:
            raise NetworkError(f"Cannot switch off the offloads at {node}: {result.stderr.strip()}.")


def _call_at(
    network: MininetNetwork, host: str, address: str, method: str, message: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """One call to the controller, made from its own host's namespace."""
    arguments = [sys.executable, "-m", "lanesum.rpc", address, method, rpc.encode(message).decode(), str(timeout_s)]
    result = subprocess.run(network.command(host, arguments), capture_output=True)
    if result.returncode == rpc.EXIT_UNREACHABLE:
        raise rpc.UnreachableError(result.stderr.decode().strip())
    if result.returncode != 0:
        raise rpc.ControllerError(result.stderr.decode().strip())
    return rpc.decode(result.stdout)

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines and environments of the processes of a run; the same on loopback and in Mininet."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from lanesum.join import ENV_CONTROLLER, ENV_JOB
from lanesum.run.plan import RunPlan

JOB = "main"


def lanesum_command(*arguments: str) -> list[str]:
    """The lanesum command line under this very interpreter."""
    return [sys.executable, "-m", "lanesum.cli", *arguments]


def interface_options(interfaces: Mapping[int, str]) -> list[str]:
    """Options of ``lanesum switch`` for its interfaces (port -> name)."""
    return [f"--interface={port}@{name}" for port, name in interfaces.items()]


def switch_command(plan: RunPlan, p4runtime: str, *ports: str) -> list[str]:
    """The embedded switch; ``ports`` are its arguments for interfaces, none on loopback."""
    command = lanesum_command("switch", "--topology", plan.topology_source, "--p4runtime", p4runtime, *ports)
    return command + (["--loopback"] if plan.runner == "loopback" else [])


def server_command(plan: RunPlan, listen: str) -> list[str]:
    """The aggregation server with its controller, for runs without a switch."""
    return lanesum_command("server", "--topology", plan.topology_source, "--listen", listen, "--loopback")


def controller_command(plan: RunPlan, *, p4runtime: str, listen: str) -> list[str]:
    """The controller: takes the switch, knows the topology's hosts, serves workers at ``listen``."""
    arguments = ("--topology", plan.topology_source, "--switch", p4runtime, "--listen", listen)
    command = lanesum_command("controller", *arguments)
    return command + (["--loopback"] if plan.runner == "loopback" else [])


def training_arguments(plan: RunPlan) -> list[str]:
    """What every worker's training process is told."""
    return [
        "-m",
        "lanesum.train.digits",
        "--codec",
        plan.codec,
        "--epochs",
        str(plan.epochs),
        "--out",
        str(plan.out),
        "--target",
        plan.target,
        "--topology",
        plan.topology.name,
        "--no-table",
    ]


def training_environment(controller: str, interface: str) -> dict[str, str]:
    """Environment of a worker; ``interface`` is what gloo talks through."""
    return {
        ENV_CONTROLLER: controller,
        ENV_JOB: JOB,
        "GLOO_SOCKET_IFNAME": interface,
        "TP_SOCKET_IFNAME": interface,
        # Several workers share the machine's cores.
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        # Hosts have addresses and no names; torch would warn about every connection.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def rank_environment(rank: int, workers: int, master: tuple[str, int]) -> dict[str, str]:
    """What torchrun sets for its processes: a run places its workers itself, one per host."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": master[0],
        "MASTER_PORT": str(master[1]),
    }

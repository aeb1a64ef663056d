# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines and environments of the processes of a run; the same on loopback and in Mininet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanesum.join import ENV_CONTROLLER, ENV_JOB
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.targets import SwitchProcess
from lanesum_lab.targets.embedded import lanesum_command

JOB = "main"


@dataclass(frozen=True, slots=True)
class Scratch:
    """Files of one run that its processes share; socket files also across network namespaces."""

    folder: Path

    def p4runtime(self, switch: str) -> str:
        """P4Runtime address of a switch."""
        return f"unix:{self.folder / switch}.sock"

    def server_control(self, server: str) -> str:
        """Address at which the controller reaches a server process, whatever becomes of the switches."""
        return f"unix:{self.folder / server}.sock"

    @property
    def state(self) -> Path:
        """The controller's memory."""
        return self.folder / "controller.sqlite"

    def journal(self, server: str) -> Path:
        """The decisions of a server process."""
        return self.folder / f"journal-{server}"

    @property
    def steps(self) -> Path:
        """How many steps the training has done."""
        return self.folder / "steps"

    @property
    def fault_counts(self) -> Path:
        """What injectors count."""
        return self.folder / "faults"


def switch_command(plan: RunPlan, name: str, scratch: Scratch, interfaces: Mapping[int, str] | None) -> list[str]:
    """Return the command line of the switch ``name``; without ``interfaces`` it has its ports on loopback."""
    assert plan.switch is not None
    faults: tuple[str, ...] = ()
    if plan.faults is not None and plan.switch.injects_faults:
        faults = ("--faults", plan.faults_source, "--fault-counts", str(scratch.fault_counts))
    process = SwitchProcess(
        name=name,
        topology=plan.topology_source,
        p4runtime=scratch.p4runtime(name),
        interfaces=interfaces,
        faults=faults,
    )
    return plan.switch.command(process)


def server_command(plan: RunPlan, scratch: Scratch, server: str, host: str, *, behind: bool) -> list[str]:
    """The aggregation server ``server`` at ``host``; ``behind`` a switch or a relay that stands at its address on
    loopback."""
    command = lanesum_command("server", "--topology", plan.topology_source, "--host", host)
    command += ["--control", scratch.server_control(server), "--journal", str(scratch.journal(server))]
    if plan.runner == "loopback":
        command += ["--loopback"]
        if not behind:
            ip, port = plan.topology.server_address(host, loopback=True)
            command += ["--listen", f"{ip}:{port}"]
    return command


def controller_command(plan: RunPlan, scratch: Scratch, *, listen: str) -> list[str]:
    """The controller: owns the switches and the servers, serves workers at ``listen``."""
    command = lanesum_command("controller", "--topology", plan.topology_source, "--listen", listen)
    command += ["--state", str(scratch.state)]
    for server in plan.servers:
        command += ["--server", scratch.server_control(server)]
    for name in plan.switches:
        command += ["--switch", f"{name}={scratch.p4runtime(name)}"]
    if plan.switch is not None:
        command += plan.switch.controller_options
    return command + (["--loopback"] if plan.runner == "loopback" else [])


def relay_command(plan: RunPlan, scratch: Scratch, *arguments: str) -> list[str]:
    """A cable with faults; see ``lanesum_switch.cli.relay`` for ``arguments``."""
    options = ["--plan", plan.faults_source, "--counts", str(scratch.fault_counts)]
    return [sys.executable, "-m", "lanesum_switch.cli.relay", *arguments, *options]


def training_arguments(plan: RunPlan) -> list[str]:
    """What every worker's training process is told."""
    return [
        "-m",
        "lanesum_lab.train.digits",
        "--codec",
        plan.codec,
        "--epochs",
        str(plan.epochs),
        "--seed",
        str(plan.seed),
        "--deadline",
        str(plan.deadline_s),
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
        # A worker that is aborted leaves in its log where its threads were.
        "PYTHONFAULTHANDLER": "1",
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

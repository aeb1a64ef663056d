# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines and environments of the processes of a run, on loopback and in Mininet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lanesum import environment
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.targets import SwitchProcess
from lanesum_lab.targets.embedded import lanesum_command

JOB = "main"


@dataclass(frozen=True, slots=True)
class Scratch:
    """Files that the processes of one run share; socket files work across network namespaces."""

    folder: Path

    def p4runtime(self, switch: str) -> str:
        """Return the P4Runtime address of a switch."""
        return f"unix:{self.folder / switch}.sock"

    def server_control(self, server: str) -> str:
        """Return the control address of a server process; it does not depend on any switch."""
        return f"unix:{self.folder / server}.sock"

    @property
    def state(self) -> Path:
        """State file of the controller."""
        return self.folder / "controller.sqlite"

    def journal(self, server: str) -> Path:
        """Return the journal of a server process."""
        return self.folder / f"journal-{server}"

    @property
    def steps(self) -> Path:
        """File with the number of completed training steps."""
        return self.folder / "steps"

    @property
    def fault_counts(self) -> Path:
        """Folder of the fault injectors' counters."""
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
    """Return the command line of the aggregation server ``server`` at ``host``.

    On loopback, ``behind`` means that a switch or a relay holds the server's address.
    """
    command = lanesum_command("server", "--topology", plan.topology_source, "--host", host)
    command += ["--control", scratch.server_control(server), "--journal", str(scratch.journal(server))]
    if plan.runner == "loopback":
        command += ["--loopback", *(["--behind-switch"] if behind else [])]
    return command


def controller_command(plan: RunPlan, scratch: Scratch, *, listen: str) -> list[str]:
    """Return the command line of the controller, which serves workers at ``listen``."""
    command = lanesum_command("controller", "--topology", plan.topology_source, "--listen", listen)
    command += ["--state", str(scratch.state)]
    for server in plan.servers:
        command += ["--server", scratch.server_control(server)]
    for name in plan.switches:
        command += ["--switch", f"{name}={scratch.p4runtime(name)}"]
    if plan.switch is not None:
        command += plan.switch.controller_options
    # Mininet's network is for this run alone.
    return [*command, "--loopback" if plan.runner == "loopback" else "--insecure"]


def relay_command(plan: RunPlan, scratch: Scratch, *arguments: str) -> list[str]:
    """Return the command line of a relay; ``lanesum_switch.cli.relay`` describes ``arguments``."""
    options = ["--plan", plan.faults_source, "--counts", str(scratch.fault_counts)]
    return [sys.executable, "-m", "lanesum_switch.cli.relay", *arguments, *options]


def training_arguments(plan: RunPlan) -> list[str]:
    """Return the arguments of every worker's training process."""
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
        *([] if plan.link_mbit is None else ["--link-mbit", f"{plan.link_mbit:g}"]),
    ]


def training_environment(controller: str, interface: str, scratch: Scratch) -> dict[str, str]:
    """Return the environment of a worker; gloo uses ``interface``, temporary files end with the run."""
    return {
        environment.CONTROLLER: controller,
        environment.JOB: JOB,
        "GLOO_SOCKET_IFNAME": interface,
        "TP_SOCKET_IFNAME": interface,
        "TMPDIR": str(scratch.folder),
        # Workers share the machine's cores.
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        # An aborted worker writes the stacks of its threads to its log.
        "PYTHONFAULTHANDLER": "1",
        # Hosts have no names: torch would warn about every connection.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    }


def rank_environment(rank: int, workers: int, master: tuple[str, int]) -> dict[str, str]:
    """Return the variables that torchrun sets; a run starts its workers without it, one per host."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(workers),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": master[0],
        "MASTER_PORT": str(master[1]),
    }

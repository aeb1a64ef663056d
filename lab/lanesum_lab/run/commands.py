# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Command lines and environments of the processes of a run, on loopback and in Mininet."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from lanesum import environment
from lanesum_lab.run.plan import RunPlan

JOB = "main"


@dataclass(frozen=True, slots=True)
class Scratch:
    """Files that the processes of one run share; socket files work across network namespaces."""

    folder: Path

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


def relay_command(plan: RunPlan, scratch: Scratch, *arguments: str) -> list[str]:
    """Return the command line of a relay; ``lanesum_switch.cli.relay`` describes ``arguments``."""
    options = ["--plan", plan.faults_source, "--counts", str(scratch.fault_counts)]
    return [sys.executable, "-m", "lanesum_switch.cli.relay", *arguments, *options]


def training_arguments(plan: RunPlan) -> list[str]:
    """Return the arguments of every worker's training process."""
    return [
        "-m",
        "lanesum_lab.train.rank",
        "digits",
        "--compare",
        "--by",
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

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of every runner once switches, servers and controller run: admit, train, read the counters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from lanesum.launch.supervisor import Child
from lanesum.rpc import controller as rpc
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.outcome import FINAL_STATUS_TIMEOUT_S, CounterTotals, RunOutcome
from lanesum_lab.run.plan import RunPlan
from lanesum_lab.run.process_faults import ProcessFaults
from lanesum_lab.run.site import Site
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.train.progress import ENV_STEP_FILE, StepFile
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from lanesum_switch.faults.topology_names import CONTROLLER

_CONTROLLER_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Processes and addresses of a run.

    Attributes:
        master: address of the process group's store, which the first worker opens.
        at: returns a command with a prefix that runs it at a node.
    """

    plan: RunPlan
    supervisor: RunSupervisor
    scratch: Scratch
    site: Site
    master: tuple[str, int]
    interface: Callable[[str], str]
    at: Callable[[str, list[str]], list[str]]

    def train(self) -> RunOutcome:
        """Admit the job, train, and remove the job.

        Raises:
            ProcessFailedError: a process ended unexpectedly.
            ControllerError: the controller refused a call.
        """
        plan = self.plan
        self.site.admit(
            commands.JOB,
            plan.workers,
            slots=plan.slots,
            codec=plan.codec,
            quorum=plan.quorum,
            seed=plan.seed,
            **({"certified": True} if plan.certified else {}),
        )
        workers = start_workers(self)
        servers = {
            name: RemoteServer(address, timeout_s=FINAL_STATUS_TIMEOUT_S).status
            for name, address in self.site.servers.items()
        }
        totals = CounterTotals(self._ask, servers)
        faults = self._train_with_faults(plan.faults, workers, totals) if plan.faults else {}
        self.supervisor.wait(workers)
        # The controller may have been restarted just now: give it the time to start.
        outcome = totals.outcome(_CONTROLLER_START_S, faults)
        self.site.remove(commands.JOB)
        return outcome

    def _ask(self, method: str, timeout_s: float) -> dict[str, Any]:
        """Call the controller. Raises ControllerError, without waiting while the controller is killed."""
        if self.supervisor.child(CONTROLLER) in self.supervisor.killed:
            raise rpc.UnreachableError("The controller was killed as planned.")
        return rpc.call(self.site.controller, method, {}, timeout_s)

    def _train_with_faults(self, plan: FaultPlan, workers: list[Child], totals: CounterTotals) -> dict[str, Any]:
        """Train while the plan's faults are carried out; return them for the report."""
        links = LinkFaults(plan, self.scratch.fault_counts)
        places = [*self.plan.links, *self.plan.switches]
        processes = ProcessFaults(
            plan,
            self.supervisor,
            step=lambda: StepFile.read(self.scratch.steps),
            seen=lambda: links.totals(places)[1],
            before_kill=totals.before_kill,
        )
        self.supervisor.wait(workers, meanwhile=processes.tick)
        processes.finish()
        rules, _ = links.totals(places)
        return {
            "plan": self.plan.faults_source,
            "seed": plan.seed,
            "rules": {label: asdict(counts) for label, counts in rules.items()},
            "processes": processes.report(),
        }


def start_workers(stage: Stage) -> list[Child]:
    """Start one training process per worker; the first one writes to the terminal."""
    plan, children = stage.plan, []
    for rank, host in enumerate(plan.workers):
        environment = commands.training_environment(stage.site.controller, stage.interface(host), stage.scratch)
        environment |= commands.rank_environment(rank, len(plan.workers), stage.master)
        environment |= {ENV_STEP_FILE: str(stage.scratch.steps)}
        command = stage.at(host, [sys.executable, *commands.training_arguments(plan)])
        children.append(stage.supervisor.start(host, command, environment=environment, to_terminal=rank == 0))
    return children

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start a planned run: on loopback as plain processes, or in Mininet with one worker for each host."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum._internal.output_file import make_folder, write_file
from lanesum.launch.supervisor import Child
from lanesum.rpc import controller as rpc
from lanesum_control.servers.remote_server import RemoteServer
from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.mininet_net import mininet_network
from lanesum_lab.run.outcome import FINAL_STATUS_TIMEOUT_S, CounterTotals, RunOutcome
from lanesum_lab.run.plan import TOPOLOGY, RunPlan
from lanesum_lab.run.process_faults import ProcessFaults
from lanesum_lab.run.site import Site, here, start_plan
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.train.progress import ENV_STEP_FILE, StepFile
from lanesum_lab.train.report import Report
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


REPORT = "report.json"
_STALE = (REPORT, "report.png")
_MASTER_PORT = 29500  # PyTorch's default; the network is that of the run alone


def start(plan: RunPlan) -> Report:
    """Run the job, and complete its report with the counters of switches, servers and controller.

    No process, namespace or interface is left behind, also after an error.
    """
    for name in (environment.TLS, environment.TOKEN_FILE):  # the parts of a run are its own
        os.environ.pop(name, None)
    make_folder(plan.out)
    if plan.topology_source == str(plan.out / TOPOLOGY):
        write_file(plan.out / TOPOLOGY, plan.topology.to_yaml())
    for name in _STALE:  # no report of an earlier run after a failed one
        (plan.out / name).unlink(missing_ok=True)
    run = _in_mininet if plan.runner == "mininet" else _on_loopback
    with (
        RunSupervisor(plan.out / "logs") as supervisor,
        tempfile.TemporaryDirectory(prefix="lanesum-") as folder,
    ):
        try:
            outcome = run(plan, Scratch(Path(folder)), supervisor)
        finally:
            supervisor.close()  # before the files go that the processes have open
    report = Report.read(plan.out / REPORT)
    report.add_outcome(outcome.counters, outcome.events, outcome.faults)
    report.write(plan.out / REPORT)
    return report


def _on_loopback(plan: RunPlan, scratch: Scratch, supervisor: RunSupervisor) -> RunOutcome:
    """Train on 127.0.0.0/8, without root. Raises the exceptions of supervisor and controller."""
    # Without a switch whose ports have the faults, a relay has them.
    relayed = not plan.switches and plan.faults is not None and any(map(plan.faults.touches, plan.links))
    if relayed:
        arguments = ("--loopback", "--topology", plan.topology_source)
        supervisor.start("relay", commands.relay_command(plan, scratch, *arguments))
    site = start_plan(plan, scratch, supervisor, relayed=relayed)
    return Stage(plan, supervisor, scratch, site, master=_free_address(), interface=lambda _host: "lo", at=here).train()


def _free_address() -> tuple[str, int]:
    """Return a free TCP address, for a process that opens it later."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address: tuple[str, int] = probe.getsockname()
        return address


def _in_mininet(plan: RunPlan, scratch: Scratch, supervisor: RunSupervisor) -> RunOutcome:
    """Train with hosts in namespaces, and P4 switches between them. Raises the exceptions of ``_on_loopback``."""
    # The embedded switch has the faults at its own ports; another one gets them by relays.
    faulty = [link for link in plan.links if plan.faults is not None and plan.faults.touches(link)]
    gaps = [] if plan.switch is None or plan.switch.injects_faults else faulty
    with mininet_network(plan.topology, gaps, link_mbit=plan.link_mbit) as network:
        try:
            network.switch_offloads_off()
            for relay in network.relays:
                command = commands.relay_command(plan, scratch, relay.lower, relay.upper, "--link", relay.link)
                supervisor.start(f"relay-{relay.link}", network.command(relay.node, command))
            site = start_plan(plan, scratch, supervisor, at=network.command, interfaces=network.switch_interfaces)
            master = plan.topology.address(plan.workers[0], loopback=False), _MASTER_PORT
            interface, at = network.host_interface, network.command
            return Stage(plan, supervisor, scratch, site, master, interface, at).train()
        finally:
            supervisor.close()  # before the network goes: a process in a namespace that is gone can only fail

# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start a planned run: on loopback as plain processes, or in Mininet with one worker for each host.

Counters and events are also those of processes that were killed meanwhile.
"""

from __future__ import annotations

import collections
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lanesum import environment
from lanesum._internal.output_file import make_folder, write_file
from lanesum.launch.supervisor import Child
from lanesum.rpc import controller as rpc
from lanesum.server.jobs import ServerStatus
from lanesum_control.jobs.records import DEFAULT_SLOTS
from lanesum_control.servers.controlled_server import packets_as_of_a_switch
from lanesum_control.servers.remote_server import RemoteServer, ServerError
from lanesum_lab.run.mininet_net import mininet_network
from lanesum_lab.run.plan import TOPOLOGY, RunPlan
from lanesum_lab.run.site import (
    JOB,
    Scratch,
    Site,
    here,
    rank_environment,
    relay_command,
    start_plan,
    training_arguments,
    training_environment,
)
from lanesum_lab.run.supervisor import ProcessFaults, RunSupervisor
from lanesum_lab.train.progress import ENV_STEP_FILE, StepFile
from lanesum_lab.train.report import Report
from lanesum_switch.faults.links import LinkFaults
from lanesum_switch.faults.plan import FaultPlan
from lanesum_switch.faults.topology_names import CONTROLLER

FINAL_STATUS_TIMEOUT_S = 2.0  # a kill waits for no longer


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Counters and events of the processes of a run.

    Attributes:
        counters: in the form of the controller's answer to COUNTERS, summed over all restarts of every process:
            ``packets`` by decision at all switches together, ``switches`` at each of them, ``servers`` with
            ``decisions`` and ``refused`` of each, ``server`` with those of all together.
        events: events of the controller, oldest first.
        faults: rules with their counts, and faults of processes; empty without a fault plan.
    """

    counters: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, Any] = field(default_factory=dict)


class CounterTotals:
    """Sum of the counters of all processes, including those that are lost when a process is killed.

    Args:
        ask: calls a method of the controller, with a time limit in seconds. May raise ControllerError.
        servers: by the name of each server, a function that returns its status. May raise ServerError. Works without
            a controller.
    """

    def __init__(
        self, ask: Callable[[str, float], dict[str, Any]], servers: Mapping[str, Callable[[], ServerStatus]]
    ) -> None:
        self._ask = ask
        self._server_status = servers
        self._packets: collections.Counter[str] = collections.Counter()
        self._switches: dict[str, collections.Counter[str]] = {}
        self._servers: dict[str, dict[str, collections.Counter[str]]] = {
            name: {"decisions": collections.Counter(), "refused": collections.Counter()} for name in servers
        }
        self._server_before: collections.Counter[str] = collections.Counter()
        self._events: list[dict[str, Any]] = []

    def before_kill(self, process: str) -> None:
        """Read the counters of a process that is about to be killed; add an event if it does not answer."""
        try:
            if process == CONTROLLER:
                return  # its events are in its state file
            if process in self._servers:
                status = self._server_status[process]()
                self._servers[process]["decisions"].update(status.decisions)
                self._servers[process]["refused"].update(status.refused)
                self._server_before.update(packets_as_of_a_switch(status))
            else:
                counted = self._ask(rpc.COUNTERS, FINAL_STATUS_TIMEOUT_S)["switches"].get(process, {})
                self._switches.setdefault(process, collections.Counter()).update(counted)
                self._packets.update(counted)
        except (rpc.ControllerError, ServerError):
            self._events.append({"whom": process, "what": "killed; its counters could not be read"})

    def outcome(self, timeout_s: float, faults: dict[str, Any]) -> RunOutcome:
        """Return the totals, including the counters of the running processes. Raises ControllerError."""
        counters = self._ask(rpc.COUNTERS, timeout_s)
        if not counters["switches"]:
            self._packets.update(self._server_before)
        self._packets.update(counters["packets"])
        for name, counted in counters["switches"].items():
            self._switches.setdefault(name, collections.Counter()).update(counted)
        together: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for name, server in self._servers.items():
            for kind, counted in server.items():
                counted.update((counters["servers"].get(name) or {}).get(kind, {}))
                together[kind].update(counted)
        total = {
            "packets": dict(self._packets),
            "switches": {name: dict(counted) for name, counted in self._switches.items()},
            "servers": {
                name: {kind: dict(counted) for kind, counted in server.items()}
                for name, server in self._servers.items()
            },
            "server": {kind: dict(counted) for kind, counted in together.items()},
        }
        return RunOutcome(total, self._events + self._ask(rpc.EVENTS, timeout_s)["events"], faults)


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
            JOB,
            plan.workers,
            slots=DEFAULT_SLOTS,
            codec=plan.options.codec,
            quorum=plan.options.quorum,
            seed=plan.options.seed,
            **({"certified": True} if plan.options.certified else {}),
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
        self.site.remove(JOB)
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
            "plan": self.plan.options.faults,
            "seed": plan.seed,
            "rules": {label: asdict(counts) for label, counts in rules.items()},
            "processes": processes.report(),
        }


def start_workers(stage: Stage) -> list[Child]:
    """Start one training process per worker; the first one writes to the terminal."""
    plan, children = stage.plan, []
    for rank, host in enumerate(plan.workers):
        environment = training_environment(stage.site.controller, stage.interface(host), stage.scratch)
        environment |= rank_environment(rank, len(plan.workers), stage.master)
        environment |= {ENV_STEP_FILE: str(stage.scratch.steps)}
        command = stage.at(host, [sys.executable, *training_arguments(plan)])
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
        supervisor.start("relay", relay_command(plan, scratch, *arguments))
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
                command = relay_command(plan, scratch, relay.lower, relay.upper, "--link", relay.link)
                supervisor.start(f"relay-{relay.link}", network.command(relay.node, command))
            site = start_plan(plan, scratch, supervisor, at=network.command, interfaces=network.switch_interfaces)
            master = plan.topology.address(plan.workers[0], loopback=False), _MASTER_PORT
            interface, at = network.host_interface, network.command
            return Stage(plan, supervisor, scratch, site, master, interface, at).train()
        finally:
            supervisor.close()  # before the network goes: a process in a namespace that is gone can only fail

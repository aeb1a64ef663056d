# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Start a planned run: on loopback as plain processes, or in Mininet with one worker for each host."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from lanesum import environment
from lanesum._internal.output_file import make_folder, write_file
from lanesum_lab.run import commands
from lanesum_lab.run.commands import Scratch
from lanesum_lab.run.mininet_net import mininet_network
from lanesum_lab.run.outcome import RunOutcome
from lanesum_lab.run.plan import TOPOLOGY, RunPlan
from lanesum_lab.run.site import here, start_plan
from lanesum_lab.run.steps import Stage
from lanesum_lab.run.supervisor import RunSupervisor
from lanesum_lab.train.report import Report

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
